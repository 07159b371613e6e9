// A document is described once, right below its struct:
//
//   template <>
//   struct Description<ExitRecord> {
//     static constexpr About about = About::document("exit", "exit.json: how the worker ended");
//     static void fields(auto& field, ExitRecord& exit) {
//       field("nonce", exit.nonce, rule::not_empty);
//       field("signal", exit.signal);                                  // std::optional: null if it has no value
//       field("duration_ns", exit.duration_ns, rule::at_least(0));
//       field.optional("monotonic_us", exit.monotonic_us, rule::time); // left out if it has no value
//       field.since(1, "ranks", exit.ranks);                           // older minor versions lack it
//     }
//   };
//
// Writing (writer.hpp), reading (reader.hpp) and the JSON Schema (schema.hpp) all call `fields`, each with a
// FieldVisitor of its own (shape.hpp). A field may be a bool, an integer, a double, text, any JSON, milliseconds, or an
// enum with Words or Numbers. It may also be a type with a TextForm, another described struct, or an optional, vector,
// array or map of these. Doubles that are not finite are written as words; a double with bounds must be finite.
//
// `field.group("bound", fields)` is a JSON object whose fields are members of the same struct. `field.as("origin", get,
// set)` is a value that the struct holds in another form. `field.either(key, is)` chooses between two sets of fields,
// of which the first has `key`.
//
// Rules for all documents: a key that is not described is refused. An integer must be a JSON integer in its type's
// range. A word that is not in the table is refused. Conditions between fields are stated by `field.hold(condition,
// sentence)`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace reprobench {

// The thing that a description describes.
struct About {
  const char* name;            // of a document, of a line's file ("trace"), or of a part's definition in schemas
  const char* text;            // title or description in the schema
  const char* kind = nullptr;  // for a line: the value of its field `kind`
  bool has_head = false;       // whether it begins with `schema` and `version` (version.hpp)

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

// Specialised beside a type that documents store as one text, with `static std::string text(const T&)` and its inverse
// `static T value(const std::string&)`.
template <class T>
struct TextForm;

template <class T>
concept Texted = requires {
  &TextForm<T>::text;
};

// A condition that a value must satisfy beyond its type. For a list or map every item must satisfy it, except for the
// number of items.
struct Rule {
  enum class Form { any, object, number_or_null, exact_float, exact_float_or_null };  // for a field that is JSON itself

  const char* text = "";  // for readers of the schema
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  int hex_digits = 0;                         // text of exactly this many lower-case hex digits
  std::string_view letters{};                 // text of these letters only, at least one
  std::size_t most_letters = 0;               // for a text of `letters`; 0: any number
  std::span<const std::string_view> words{};  // text that is one of these, if they are not an enum of ours
  bool may_be_empty = true;                   // for text
  std::size_t least_items = 0;                // for a list
  std::size_t most_items = 0;                 // for a list; 0: any number
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
// A moment or a duration: never negative, and at most the largest integer that every reader of JSON keeps exactly.
inline constexpr Rule time = between(0, std::int64_t{1} << 53);

}  // namespace rule

}  // namespace reprobench
