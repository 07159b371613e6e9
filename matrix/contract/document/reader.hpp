// A described struct from JSON. Whatever is wrong is a ContractError in one sentence that names document and field:
// "result: `fingerprint/threads` is missing".
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/writer.hpp"

namespace reprobench {
namespace document_detail {

// Where in a document a reader is: the document itself, or a field or item of what `outer` is. Costs nothing until
// something is wrong.
struct Place {
  const Place* outer = nullptr;
  const char* name = nullptr;  // nothing: the item at `index`
  std::size_t index = 0;
  int minor = -1;  // of the document's version; -1: unknown
};

[[noreturn]] inline void reject(const Place& place, const std::string& problem) {
  std::string path;
  const Place* at = &place;
  for (; at->outer != nullptr; at = at->outer) {
    const std::string part = at->name != nullptr ? at->name : std::to_string(at->index);
    path = path.empty() ? part : part + "/" + path;
  }
  throw ContractError(std::string(at->name) + ": " + (path.empty() ? "the document" : "`" + path + "`") + " " +
                      problem);
}

[[noreturn]] inline void reject_word(const Place& place, const std::string& word,
                                     std::span<const std::string_view> words) {
  std::string listed;
  for (const std::string_view known : words) listed.append(listed.empty() ? "" : ", ").append(known);
  reject(place, "is `" + word + "`, none of " + listed);
}

[[noreturn]] inline void reject_number(const Place& place, std::int64_t number, const auto& codes) {
  std::string listed;
  for (const auto known : codes) {
    listed.append(listed.empty() ? "" : ", ").append(std::to_string(static_cast<std::int64_t>(known)));
  }
  reject(place, "is " + std::to_string(number) + ", none of " + listed);
}

inline void check_text(const std::string& text, const Rule& rule, const Place& place) {
  if (!rule.words.empty() && std::ranges::find(rule.words, text) == rule.words.end()) {
    reject_word(place, text, rule.words);
  }
  if (text.empty()) {
    if (!rule.may_be_empty) reject(place, "is empty");
    return;
  }
  const auto digits = static_cast<std::size_t>(rule.hex_digits);
  if (digits != 0 && (text.size() != digits || text.find_first_not_of("0123456789abcdef") != std::string::npos)) {
    reject(place, "is not " + std::to_string(digits) + " hex digits");
  }
  if (!rule.letters.empty() && text.find_first_not_of(rule.letters) != std::string::npos) {
    reject(place, "has other letters than `" + std::string(rule.letters) + "`");
  }
  if (rule.most_letters != 0 && text.size() > rule.most_letters) {
    reject(place, "has " + std::to_string(text.size()) + " letters, over " + std::to_string(rule.most_letters));
  }
}

inline void check_integer(std::int64_t value, const Rule& rule, const Place& place) {
  if (value < rule.least) {
    reject(place, "is " + std::to_string(value) + ", under " + std::to_string(rule.least));
  }
  if (value > rule.most) reject(place, "is " + std::to_string(value) + ", over " + std::to_string(rule.most));
}

inline void check_number(double value, const Rule& rule, const Place& place) {
  if (!rule.has_bounds()) return;
  if (!std::isfinite(value)) reject(place, "is not finite");
  if (value < static_cast<double>(rule.least)) {
    reject(place, "is " + std::to_string(value) + ", under " + std::to_string(rule.least));
  }
  if (value > static_cast<double>(rule.most)) {
    reject(place, "is " + std::to_string(value) + ", over " + std::to_string(rule.most));
  }
}

inline std::int64_t integer_from(const nlohmann::json& json, const Place& place) {
  if (!json.is_number_integer()) reject(place, "is not an integer");
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    reject(place, "is no integer of 64 bits");
  }
  return json.get<std::int64_t>();
}

// Up to 2^64 - 1, as a distance in ULP can be.
inline std::uint64_t unsigned_from(const nlohmann::json& json, const Rule& rule, const Place& place) {
  if (!json.is_number_unsigned()) {
    check_integer(integer_from(json, place), rule, place);
    if (json.get<std::int64_t>() < 0) reject(place, "is " + json.dump() + ", under 0");
  }
  const auto value = json.get<std::uint64_t>();
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  check_integer(std::in_range<std::int64_t>(value) ? static_cast<std::int64_t>(value) : kLargest, rule, place);
  return value;
}

inline void check_form(const nlohmann::json& json, const Rule& rule, const Place& place) {
  switch (rule.form) {
    case Rule::Form::any:
      return;
    case Rule::Form::object:
      if (!json.is_object()) reject(place, "is not an object");
      return;
    case Rule::Form::number_or_null:
      if (!json.is_null() && !number_from_json(json)) reject(place, "is neither a number nor null");
      return;
    case Rule::Form::exact_float_or_null:
      if (json.is_null()) return;
      [[fallthrough]];
    case Rule::Form::exact_float:
      if (!exact_float_from_json(json)) reject(place, "is not an exact float, or its bits and value disagree");
  }
}

template <Described T>
void read_part(const nlohmann::json& json, T& value, const Place& place);
template <class Fields>
void read_fields(const nlohmann::json& json, const Fields& fields, const Place& place);

template <class T>
void read_value(const nlohmann::json& json, T& value, const Rule& rule, const Place& place) {
  if constexpr (Described<T>) {
    read_part(json, value, place);
  } else if constexpr (Worded<T>) {
    if (!json.is_string()) reject(place, "is not text");
    const auto found = from_word<T>(json.get_ref<const std::string&>());
    if (!found) reject_word(place, json.get_ref<const std::string&>(), Words<T>::table);
    value = *found;
  } else if constexpr (Numbered<T>) {
    const std::int64_t number = integer_from(json, place);
    const auto known =
        std::ranges::find(Numbers<T>::table, number, [](T code) { return static_cast<std::int64_t>(code); });
    if (known == Numbers<T>::table.end()) reject_number(place, number, Numbers<T>::table);
    value = *known;
  } else if constexpr (Texted<T>) {
    std::string text;
    read_value(json, text, rule, place);
    value = TextForm<T>::value(text);
  } else if constexpr (is_optional<T>) {
    value.reset();
    if (!json.is_null()) read_value(json, value.emplace(), rule, place);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) reject(place, "is neither true nor false");
    value = json.get<bool>();
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    value = unsigned_from(json, rule, place);
  } else if constexpr (std::is_integral_v<T>) {
    const std::int64_t wide = integer_from(json, place);
    check_integer(wide, rule, place);
    if (!std::in_range<T>(wide)) reject(place, "is " + std::to_string(wide) + ", out of range");
    value = static_cast<T>(wide);
  } else if constexpr (std::is_same_v<T, double>) {
    const auto number = number_from_json(json);
    if (!number) reject(place, "is not a number");
    check_number(*number, rule, place);
    value = *number;
  } else if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
    const std::int64_t count = integer_from(json, place);
    check_integer(count, rule, place);
    value = T(count);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) reject(place, "is not text");
    value = json.get_ref<const std::string&>();
    check_text(value, rule, place);
  } else if constexpr (std::is_same_v<T, nlohmann::json>) {
    check_form(json, rule, place);
    value = json;
  } else if constexpr (Mapped<T>) {
    if (!json.is_object()) reject(place, "is not an object");
    value.clear();
    for (const auto& [name, item] : json.get_ref<const nlohmann::json::object_t&>()) {
      read_value(item, value[name], rule, Place{&place, name.c_str(), 0, place.minor});
    }
  } else {
    static_assert(Listed<T>, "documents have no such type");
    if (!json.is_array()) reject(place, "is not a list");
    if constexpr (requires { value.resize(json.size()); }) {
      if (json.size() < rule.least_items) {
        reject(place, "holds " + std::to_string(json.size()) + " items, under " + std::to_string(rule.least_items));
      }
      if (rule.most_items != 0 && json.size() > rule.most_items) {
        reject(place, "holds " + std::to_string(json.size()) + " items, over " + std::to_string(rule.most_items));
      }
      value.clear();
      value.resize(json.size());
    } else if (json.size() != value.size()) {
      reject(place, "holds " + std::to_string(json.size()) + " items, not " + std::to_string(value.size()));
    }
    for (std::size_t i = 0; i < json.size(); ++i) {
      read_value(json[i], value[i], rule, Place{&place, nullptr, i, place.minor});
    }
  }
}

class Reader {
 public:
  Reader(const nlohmann::json& object, const Place& place) : object_(object), place_(place) {}

  template <class T>
  void operator()(const char* key, T& value, const Rule& rule = {}) {
    const auto found = object_.find(key);
    if (found == object_.end()) reject(at(key), "is missing");
    ++found_;
    read_value(*found, value, rule, at(key));
  }
  template <class T>
  void optional(const char* key, T& value, const Rule& rule = {}) {
    const auto found = object_.find(key);
    if (found == object_.end()) return;
    ++found_;
    if constexpr (is_optional<T>) {  // absent is its way to say nothing; null says something else
      read_value(*found, value.emplace(), rule, at(key));
    } else {
      read_value(*found, value, rule, at(key));
    }
  }
  template <class T>
  void since(int minor, const char* key, T& value, const Rule& rule = {}) {
    if (place_.minor < minor && !object_.contains(key)) return;
    (*this)(key, value, rule);
  }
  template <class Get, class Set>
  void as(const char* key, const Get& get, const Set& set, const Rule& rule = {}) {
    auto value = get();
    (*this)(key, value, rule);
    set(value);
  }
  template <class Fields>
  void group(const char* key, const Fields& fields, const Rule& = {}) {
    const auto found = object_.find(key);
    if (found == object_.end()) reject(at(key), "is missing");
    ++found_;
    read_fields(*found, fields, at(key));
  }
  bool either(const char* key, bool) { return object_.contains(key); }
  void hold(bool holds, const char* sentence) {
    if (!holds) reject(place_, sentence);
  }

  void constant(const char* key, const char* text) {
    std::string value;
    (*this)(key, value);
    if (value != text) reject(at(key), "is `" + value + "`, not `" + text + "`");
  }
  void skip(const char* key) { found_ += object_.contains(key) ? 1 : 0; }
  bool found_all() const { return found_ == object_.size(); }

 private:
  Place at(const char* key) const { return {&place_, key, 0, place_.minor}; }

  const nlohmann::json& object_;
  const Place& place_;
  std::size_t found_ = 0;
};

// Asked only when a document holds a key too many: which one it is.
class UnknownKey {
 public:
  explicit UnknownKey(const nlohmann::json& object) : whole_(object), left_(object) {}

  template <class T>
  void operator()(const char* key, const T&, const Rule& = {}) {
    left_.erase(key);
  }
  template <class T>
  void optional(const char* key, const T&, const Rule& = {}) {
    left_.erase(key);
  }
  template <class T>
  void since(int, const char* key, const T&, const Rule& = {}) {
    left_.erase(key);
  }
  template <class Get, class Set>
  void as(const char* key, const Get&, const Set&, const Rule& = {}) {
    left_.erase(key);
  }
  template <class Fields>
  void group(const char* key, const Fields&, const Rule& = {}) {
    left_.erase(key);
  }
  bool either(const char* key, bool) { return whole_.contains(key); }
  void hold(bool, const char*) {}

  void constant(const char* key, const char*) { left_.erase(key); }
  void skip(const char* key) { left_.erase(key); }
  std::string name() const { return left_.empty() ? "" : left_.begin().key(); }

 private:
  const nlohmann::json& whole_;
  nlohmann::json left_;
};

// `fields(field)` visits every key `json` may have.
template <class Fields>
void read_fields(const nlohmann::json& json, const Fields& fields, const Place& place) {
  if (!json.is_object()) reject(place, "is not an object");
  Reader reader(json, place);
  fields(reader);
  if (reader.found_all()) return;
  UnknownKey unknown(json);
  fields(unknown);
  reject({&place, unknown.name().c_str(), 0, place.minor}, "is not a field of this document");
}

template <Described T>
void read_part(const nlohmann::json& json, T& value, const Place& place) {
  constexpr About about = Description<T>::about;
  Place here = place;
  if constexpr (about.has_head) here.minor = require_document(json, about.name);
  const auto fields = [&](auto& field) {
    if constexpr (about.has_head) {
      field.skip("schema");
      field.skip("version");
    }
    if constexpr (about.kind != nullptr) field.constant("kind", about.kind);
    Description<T>::fields(field, value);
  };
  read_fields(json, fields, here);
}

}  // namespace document_detail

// Throws ContractError. `name` is what messages call the document.
template <Described T>
T read_document(const nlohmann::json& json, const char* name = Description<T>::about.name) {
  T value;
  document_detail::read_part(json, value, {nullptr, name, 0, -1});
  return value;
}

// The inverse of written_fields: `name` is what messages call the document.
template <class Fields>
void read_fields_of(const nlohmann::json& json, const char* name, const Fields& fields) {
  document_detail::read_fields(json, fields, {nullptr, name, 0, -1});
}

}  // namespace reprobench
