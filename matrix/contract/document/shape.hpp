// A field's type as data, and the visitors of a described struct's fields. Readers, writers and schemas look at shapes,
// so they are compiled once. A template would be compiled again for each described type and by each of its users.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"

namespace reprobench {

class FieldVisitor;

namespace document_detail {

// A callable that outlives the call it is passed to.
template <class Signature>
class Callback;
template <class... Args>
class Callback<void(Args...)> {
 public:
  template <class Callable>
  Callback(const Callable& callable)  // NOLINT: a lambda is passed as it is
      : callable_(&callable),
        call_([](const void* target, Args... args) { (*static_cast<const Callable*>(target))(args...); }) {}
  void operator()(Args... args) const { call_(callable_, args...); }

 private:
  const void* callable_;
  void (*call_)(const void*, Args...);
};

// Values are passed as `void*` and have the type that the shape beside them describes.
struct Shape {
  enum class Kind {
    part,        // another described struct
    word,        // an enum with Words
    code,        // an enum with Numbers
    other_text,  // a type with a TextForm
    optional,
    flag,
    integer,
    unsigned_64,
    milliseconds,
    real,
    text,
    view,  // text that is only written
    json,
    map,
    list
  };
  using Visit = Callback<void(const std::string& name, const void* item)>;

  Kind kind = Kind::json;
  bool (*is_nothing)(const void*) = nullptr;  // whether an optional field is left out

  const About* about = nullptr;  // for a part
  void (*fields)(FieldVisitor&, void*) = nullptr;
  void (*fields_of_new)(FieldVisitor&) = nullptr;  // visits a part with its default values

  std::int64_t (*integer)(const void*) = nullptr;  // also a word's place in its table, and a code
  void (*set_integer)(void*, std::int64_t) = nullptr;
  std::int64_t least = 0;  // the range of the type
  std::int64_t most = 0;
  bool is_unsigned = false;
  std::span<const std::string_view> words{};
  std::span<const std::int64_t> codes{};

  std::string (*text)(const void*) = nullptr;
  void (*set_text)(void*, const std::string&) = nullptr;

  const Shape* item = nullptr;                      // shape of an optional's value, a map's values or a list's items
  void* (*held)(void*) = nullptr;                   // for an optional: null if it has no value
  void* (*renew)(void*, bool has_value) = nullptr;  // for an optional: returns its new value
  void (*clear)(void*) = nullptr;                   // for a map
  void* (*insert)(void*, const std::string& name) = nullptr;
  void (*visit_items)(const void*, Visit) = nullptr;
  std::size_t (*size)(const void*) = nullptr;    // for a list
  void (*resize)(void*, std::size_t) = nullptr;  // replaces all items by new ones; null if the size is fixed
  std::size_t fixed_size = 0;
  void* (*at)(void*, std::size_t) = nullptr;
};

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
concept Mapped = requires {
  typename T::mapped_type;
};

template <class T>
T& as(void* value) {
  return *static_cast<T*>(value);
}
template <class T>
const T& as(const void* value) {
  return *static_cast<const T*>(value);
}

template <class T>
concept can_be_nothing = is_optional<T> || requires(const T& value) {
  value.empty();
} || requires(const T& value) {
  value == value;
};

// True for an optional without a value, an empty text, list, map or part, and zero.
template <class T>
bool is_nothing(const void* value) {
  if constexpr (is_optional<T>) {
    return !as<T>(value).has_value();
  } else if constexpr (requires { as<T>(value).empty(); }) {
    return as<T>(value).empty();
  } else {
    return as<T>(value) == T{};
  }
}

template <class T>
consteval void add_integer(Shape& shape) {
  shape.integer = [](const void* value) { return static_cast<std::int64_t>(as<T>(value)); };
  shape.set_integer = [](void* value, std::int64_t integer) { as<T>(value) = static_cast<T>(integer); };
}

template <Numbered T>
inline constexpr auto codes_of = [] {
  std::array<std::int64_t, Numbers<T>::table.size()> codes{};
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int64_t>(Numbers<T>::table[i]);
  return codes;
}();

template <class T>
consteval Shape make_shape();
template <class T>
inline constexpr Shape shape_of = make_shape<T>();

template <class T>
consteval void add_part(Shape& shape) {
  shape.about = &Description<T>::about;
  shape.fields = [](FieldVisitor& visitor, void* value) { Description<T>::fields(visitor, as<T>(value)); };
  shape.fields_of_new = [](FieldVisitor& visitor) {
    T value{};
    Description<T>::fields(visitor, value);
  };
}

template <class T>
consteval void add_optional(Shape& shape) {
  shape.item = &shape_of<typename T::value_type>;
  shape.held = [](void* value) -> void* { return as<T>(value) ? std::addressof(*as<T>(value)) : nullptr; };
  shape.renew = [](void* value, bool has_value) -> void* {
    as<T>(value).reset();
    return has_value ? std::addressof(as<T>(value).emplace()) : nullptr;
  };
}

template <class T>
consteval void add_map(Shape& shape) {
  shape.item = &shape_of<typename T::mapped_type>;
  shape.clear = [](void* value) { as<T>(value).clear(); };
  shape.insert = [](void* value, const std::string& name) -> void* { return std::addressof(as<T>(value)[name]); };
  shape.visit_items = [](const void* value, Shape::Visit visit) {
    for (const auto& [name, item] : as<T>(value)) visit(name, &item);
  };
}

template <class T>
consteval void add_list(Shape& shape) {
  shape.item = &shape_of<typename T::value_type>;
  shape.size = [](const void* value) -> std::size_t { return as<T>(value).size(); };
  shape.at = [](void* value, std::size_t index) -> void* { return std::addressof(as<T>(value)[index]); };
  if constexpr (requires(T list) { list.resize(0); }) {
    shape.resize = [](void* value, std::size_t size) {
      as<T>(value).clear();
      as<T>(value).resize(size);
    };
  } else {
    shape.fixed_size = std::tuple_size_v<T>;
  }
}

template <class T>
consteval Shape make_shape() {
  using Kind = Shape::Kind;
  Shape shape;
  if constexpr (can_be_nothing<T>) shape.is_nothing = is_nothing<T>;
  if constexpr (Described<T>) {
    shape.kind = Kind::part;
    add_part<T>(shape);
  } else if constexpr (Worded<T>) {
    shape.kind = Kind::word;
    shape.words = Words<T>::table;
    add_integer<T>(shape);
  } else if constexpr (Numbered<T>) {
    shape.kind = Kind::code;
    shape.codes = codes_of<T>;
    add_integer<T>(shape);
  } else if constexpr (Texted<T>) {
    shape.kind = Kind::other_text;
    shape.text = [](const void* value) -> std::string { return TextForm<T>::text(as<T>(value)); };
    shape.set_text = [](void* value, const std::string& text) { as<T>(value) = TextForm<T>::value(text); };
  } else if constexpr (is_optional<T>) {
    shape.kind = Kind::optional;
    add_optional<T>(shape);
  } else if constexpr (std::is_same_v<T, bool>) {
    shape.kind = Kind::flag;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    shape.kind = Kind::unsigned_64;
    shape.is_unsigned = true;
  } else if constexpr (std::is_integral_v<T>) {
    static_assert(std::in_range<std::int64_t>(std::numeric_limits<T>::max()));
    shape.kind = Kind::integer;
    shape.is_unsigned = std::is_unsigned_v<T>;
    shape.least = std::numeric_limits<T>::min();
    shape.most = std::numeric_limits<T>::max();
    add_integer<T>(shape);
  } else if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
    shape.kind = Kind::milliseconds;
  } else if constexpr (std::is_same_v<T, double>) {
    shape.kind = Kind::real;
  } else if constexpr (std::is_same_v<T, std::string>) {
    shape.kind = Kind::text;
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    shape.kind = Kind::view;
  } else if constexpr (std::is_same_v<T, nlohmann::json>) {
    shape.kind = Kind::json;
  } else if constexpr (Mapped<T>) {
    shape.kind = Kind::map;
    add_map<T>(shape);
  } else {
    static_assert(
        requires(T list) { list[list.size()]; }, "documents have no such type");
    shape.kind = Kind::list;
    add_list<T>(shape);
  }
  return shape;
}

// The ways in which a field may be missing.
struct Presence {
  bool is_optional = false;  // left out if it has nothing to say
  int since_minor = 0;       // > 0: documents of older minor versions lack it
};

inline constexpr Rule kNoRule;

}  // namespace document_detail

// The argument of `Description<T>::fields`. It is told the key and the value of each field, and the rule for the value.
class FieldVisitor {
 public:
  template <class T>
  void operator()(const char* key, const T& value, const Rule& rule = document_detail::kNoRule) {
    visit_value(key, value, rule, {});
  }
  template <class T>
  void optional(const char* key, const T& value, const Rule& rule = document_detail::kNoRule) {
    static_assert(document_detail::can_be_nothing<T>, "such a value is always there");
    visit_value(key, value, rule, {true, 0});
  }
  template <class T>
  void since(int minor, const char* key, const T& value, const Rule& rule = document_detail::kNoRule) {
    visit_value(key, value, rule, {false, minor});
  }
  template <class Get, class Set>
  void as(const char* key, const Get& get, const Set& set, const Rule& rule = document_detail::kNoRule) {
    if (!changes_values_) return visit_value(key, get(), rule, {});
    auto value = get();
    visit_value(key, value, rule, {});
    set(value);
  }
  template <class Fields>
  void group(const char* key, const Fields& fields, const Rule& rule = document_detail::kNoRule) {
    visit_group(key, fields, rule);
  }
  virtual bool either(const char* key, bool is) = 0;
  virtual void hold(bool holds, const char* sentence) = 0;

 protected:
  using Shape = document_detail::Shape;
  using Presence = document_detail::Presence;
  using Fields = document_detail::Callback<void(FieldVisitor&)>;

  explicit FieldVisitor(bool changes_values = false) : changes_values_(changes_values) {}
  FieldVisitor(const FieldVisitor&) = default;
  ~FieldVisitor() = default;

  // Only a visitor that was made with `changes_values` changes `value`.
  virtual void visit(const char* key, void* value, const Shape& shape, const Rule& rule, Presence presence) = 0;
  virtual void visit_group(const char* key, Fields fields, const Rule& rule) = 0;

 private:
  template <class T>
  void visit_value(const char* key, const T& value, const Rule& rule, Presence presence) {
    if constexpr (std::is_array_v<T>) {
      const std::string_view view = value;
      visit_value(key, view, rule, presence);
    } else {
      visit(key, const_cast<T*>(&value), document_detail::shape_of<T>, rule, presence);
    }
  }

  bool changes_values_;
};

}  // namespace reprobench
