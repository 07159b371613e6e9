// A document is described once, right below its struct:
//
//   template <>
//   struct Description<ExitRecord> {
//     static constexpr About about = About::document("exit", "exit.json: how the worker ended");
//     static void fields(auto& field, ExitRecord& exit) {
//       field("nonce", exit.nonce, rule::not_empty);
//       field("signal", exit.signal);                                  // std::optional: null where there is none
//       field("duration_ns", exit.duration_ns, rule::at_least(0));
//       field.optional("monotonic_us", exit.monotonic_us, rule::time);       // left out where there is none
//       field.since(1, "ranks", exit.ranks);                           // older minor versions lack it
//     }
//   };
//
// Writing (writer.hpp), reading (reader.hpp) and the JSON Schema (schema.hpp) all call `fields`, each with a
// FieldVisitor of its own (shape.hpp). A type of a field is a bool, an integer, a double (non-finite ones are words;
// one with bounds is finite), text, an enum with Words or Numbers, a type with a TextForm, milliseconds, another
// described struct, an optional, vector, array or map of these, or any JSON.
//
// `field.group("bound", fields)` is an object whose fields stand in the same struct, `field.as("origin", get, set)` a
// value the struct holds in another form, `field.either(key, is)` chooses between two sets of fields, of which the
// first has `key`.
//
// One rule each: a key that is not described is refused. An integer is an integer, in its type's range. A word that
// is not in the table is refused. What must hold between fields is a `field.hold(condition, sentence)`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace reprobench {

// What a description is of.
struct About {
  const char* name;            // a document's; of a line its file's, "trace"; of a part its definition's in schemas
  const char* text;            // title or description in the schema
  const char* kind = nullptr;  // of a line: the value of its field `kind`
  bool has_head = false;       // begins with `schema` and `version` (version.hpp)

  static constexpr About document(const char* name, const char* text) { return {name, text, nullptr, true}; }
  static constexpr About first_line(const char* file, const char* kind, const char* text) {
    return {file, text, kind, true};
  }
  static constexpr About line(const char* file, const char* kind, const char* text) { return {file, text, kind}; }
  static constexpr About part(const char* name, const char* text = "") { return {name, text}; }
};

template <class T>
struct Description;

template <class T>
concept Described = requires {
  Description<T>::about;
};

// Specialised beside a type that documents hold as one text, with `static std::string text(const T&)` and its inverse
// `static T value(const std::string&)`.
template <class T>
struct TextForm;

template <class T>
concept Texted = requires {
  &TextForm<T>::text;
};

// What a value must satisfy beyond its type. Of a list or map it holds for every item, but for the number of items.
struct Rule {
  enum class Form { any, object, number_or_null, exact_float, exact_float_or_null };  // of a field that is JSON itself

  const char* text = "";  // for readers of the schema
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  int hex_digits = 0;                         // text of exactly so many lower-case hex digits
  std::string_view letters{};                 // text of these letters only, at least one
  std::size_t most_letters = 0;               // of a text of `letters`; 0: any number
  std::span<const std::string_view> words{};  // one of these texts, where they are no enum of ours
  bool may_be_empty = true;                   // text
  std::size_t least_items = 0;                // of a list
  std::size_t most_items = 0;                 // of a list; 0: any number
  Form form = Form::any;

  constexpr Rule() = default;
  constexpr Rule(const char* text_for_people) : text(text_for_people) {}  // NOLINT: `field("x", x, "what it is")`

  constexpr bool has_bounds() const {
    return least != std::numeric_limits<std::int64_t>::min() || most != std::numeric_limits<std::int64_t>::max();
  }
  constexpr Rule says(const char* text_for_people) const {
    Rule rule = *this;
    rule.text = text_for_people;
    return rule;
  }
};

namespace rule {

constexpr Rule between(std::int64_t least, std::int64_t most) {
  Rule result;
  result.least = least;
  result.most = most;
  return result;
}
constexpr Rule at_least(std::int64_t least) { return between(least, std::numeric_limits<std::int64_t>::max()); }

constexpr Rule hex(int digits, bool may_be_empty = false) {
  Rule result;
  result.hex_digits = digits;
  result.may_be_empty = may_be_empty;
  return result;
}
constexpr Rule letters_of(std::string_view letters, std::size_t most_letters = 0) {
  Rule result;
  result.letters = letters;
  result.most_letters = most_letters;
  result.may_be_empty = false;
  return result;
}
constexpr Rule one_of(std::span<const std::string_view> words) {
  Rule result;
  result.words = words;
  return result;
}
constexpr Rule up_to(std::size_t items, std::int64_t least) {
  Rule result = at_least(least);
  result.most_items = items;
  return result;
}
constexpr Rule of_form(Rule::Form form) {
  Rule result;
  result.form = form;
  return result;
}
constexpr Rule text_not_empty() {
  Rule result;
  result.may_be_empty = false;
  return result;
}
constexpr Rule of_items(std::size_t least_items) {
  Rule result;
  result.least_items = least_items;
  return result;
}

inline constexpr Rule not_empty = text_not_empty();
inline constexpr Rule not_empty_list = of_items(1);
inline constexpr Rule digest = hex(32);
// A moment or a duration: never negative, and no more than every reader of JSON keeps exactly.
inline constexpr Rule time = between(0, std::int64_t{1} << 53);

}  // namespace rule

}  // namespace reprobench
