// A described struct as JSON text, without a tree of values in between and with keys in the order of the description:
// for documents of many equal parts, and for text that is hashed.
#pragma once

#include "matrix/contract/document/writer.hpp"
#include "matrix/contract/json_text.hpp"

namespace reprobench {

template <Described T>
void write_text(JsonText& out, const T& value);

namespace document_detail {

template <class T>
void write_value(JsonText& out, const T& value) {
  if constexpr (Described<T>) {
    write_text(out, value);
  } else if constexpr (Worded<T>) {
    out.string(to_string(value));
  } else if constexpr (Numbered<T>) {
    out.integer(static_cast<int>(value));
  } else if constexpr (Texted<T>) {
    out.string(TextForm<T>::text(value));
  } else if constexpr (is_optional<T>) {
    value ? write_value(out, *value) : static_cast<void>(out.null());
  } else if constexpr (std::is_same_v<T, bool>) {
    out.flag(value);
  } else if constexpr (std::is_integral_v<T>) {
    out.integer(value);
  } else if constexpr (std::is_same_v<T, double>) {
    out.number(value);
  } else if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
    out.integer(value.count());
  } else if constexpr (std::is_same_v<T, nlohmann::json>) {
    out.raw(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if constexpr (Mapped<T>) {
    out.open('{');
    for (const auto& [name, item] : value) write_value(out.key(name), item);
    out.close('}');
  } else if constexpr (Listed<T>) {
    out.open('[');
    for (const auto& item : value) write_value(out, item);
    out.close(']');
  } else {
    out.string(value);
  }
}

class TextWriter {
 public:
  explicit TextWriter(JsonText& out) : out_(out) {}

  template <class T>
  void operator()(const char* key, const T& value, const Rule& = {}) {
    write_value(out_.key(key), value);
  }
  template <class T>
  void optional(const char* key, const T& value, const Rule& = {}) {
    if (!is_nothing(value)) (*this)(key, value);
  }
  template <class T>
  void since(int, const char* key, const T& value, const Rule& = {}) {
    (*this)(key, value);
  }
  template <class Get, class Set>
  void as(const char* key, const Get& get, const Set&, const Rule& = {}) {
    (*this)(key, get());
  }
  template <class Fields>
  void group(const char* key, const Fields& fields, const Rule& = {}) {
    out_.key(key).open('{');
    fields(*this);
    out_.close('}');
  }
  bool either(const char*, bool is) { return is; }
  void hold(bool, const char*) {}

 private:
  JsonText& out_;
};

}  // namespace document_detail

// Some fields of a struct, as written_fields.
template <class Fields>
void write_text_fields(JsonText& out, const Fields& fields) {
  out.open('{');
  document_detail::TextWriter writer(out);
  fields(writer);
  out.close('}');
}

template <Described T>
void write_text(JsonText& out, const T& value) {
  constexpr About about = Description<T>::about;
  write_text_fields(out, [&](auto& field) {
    if constexpr (about.has_head) {
      const nlohmann::json head = document(about.name);
      field("schema", head.at("schema"));
      field("version", head.at("version"));
    }
    if constexpr (about.kind != nullptr) field("kind", std::string_view(about.kind));
    Description<T>::fields(field, const_cast<T&>(value));  // as in writer.hpp: nothing is changed
  });
}

}  // namespace reprobench
