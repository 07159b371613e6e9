// Writes JSON as text, without a tree of values in between. It serves documents of many equal parts, for which building
// the tree would cost more than everything else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reprobench {

class JsonText {
 public:
  JsonText& open(char bracket);   // '{' or '['
  JsonText& close(char bracket);  // '}' or ']'
  JsonText& key(std::string_view name);

  JsonText& string(std::string_view value);  // bytes that are not UTF-8 become U+FFFD
  JsonText& integer(std::int64_t value);
  JsonText& number(double value);  // in the form of json_number(value)
  JsonText& flag(bool value);
  JsonText& null();
  JsonText& raw(std::string_view json);  // a value that already is JSON

  // Writes {"name": "text", ...} for a map of texts.
  template <class Map>
  JsonText& texts(const Map& map) {
    open('{');
    for (const auto& [name, value] : map) key(name).string(value);
    return close('}');
  }

  const std::string& text() const { return text_; }
  void clear();

 private:
  void separate();

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace reprobench
