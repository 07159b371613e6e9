// A described struct as JSON.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"
#include "matrix/contract/number.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {

template <Described T>
nlohmann::json written(const T& value);

namespace document_detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
concept Listed = requires(T list) {
  list.begin();
}
&&!requires { typename T::mapped_type; }
&&!std::is_convertible_v<T, std::string_view> && !std::is_same_v<T, nlohmann::json>;
template <class T>
concept Mapped = requires {
  typename T::mapped_type;
};

// What an optional field is left out for: no value, an empty text, list, map or part, zero.
template <class T>
bool is_nothing(const T& value) {
  if constexpr (is_optional<T>) {
    return !value.has_value();
  } else if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else {
    return value == T{};
  }
}

template <class T>
nlohmann::json written_value(const T& value) {
  if constexpr (Described<T>) {
    return written(value);
  } else if constexpr (Worded<T>) {
    return to_string(value);
  } else if constexpr (Numbered<T>) {
    return static_cast<int>(value);
  } else if constexpr (Texted<T>) {
    return TextForm<T>::text(value);
  } else if constexpr (is_optional<T>) {
    return value ? written_value(*value) : nlohmann::json(nullptr);
  } else if constexpr (std::is_same_v<T, double>) {
    return json_number(value);
  } else if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
    return value.count();
  } else if constexpr (Mapped<T>) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [name, item] : value) object.emplace(name, written_value(item));
    return object;
  } else if constexpr (Listed<T>) {
    nlohmann::json list = nlohmann::json::array();
    list.get_ref<nlohmann::json::array_t&>().reserve(value.size());
    for (const auto& item : value) list.push_back(written_value(item));
    return list;
  } else {
    return value;
  }
}

class Writer {
 public:
  explicit Writer(nlohmann::json& object) : object_(object) {}

  template <class T>
  void operator()(const char* key, const T& value, const Rule& = {}) {
    object_[key] = document_detail::written_value(value);
  }
  template <class T>
  void optional(const char* key, const T& value, const Rule& = {}) {
    if (!document_detail::is_nothing(value)) (*this)(key, value);
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
    nlohmann::json& part = object_[key] = nlohmann::json::object();
    Writer writer(part);
    fields(writer);
  }
  bool either(const char*, bool is) { return is; }
  void hold(bool, const char*) {}

 private:
  nlohmann::json& object_;
};

}  // namespace document_detail

// With its head or its kind, where it has them.
template <Described T>
nlohmann::json written(const T& value) {
  constexpr About about = Description<T>::about;
  nlohmann::json object = about.has_head ? document(about.name) : nlohmann::json::object();
  if constexpr (about.kind != nullptr) object["kind"] = about.kind;
  document_detail::Writer writer(object);
  // `fields` serves readers too, so it takes what it may change; a writer changes nothing.
  Description<T>::fields(writer, const_cast<T&>(value));
  return object;
}

// Some fields of a struct, without head: `written_fields([&](auto& field) { ... })`.
template <class Fields>
nlohmann::json written_fields(const Fields& fields) {
  nlohmann::json object = nlohmann::json::object();
  document_detail::Writer writer(object);
  fields(writer);
  return object;
}

}  // namespace reprobench
