// The JSON Schema (draft-07) of a described document or of the lines of a file.
#pragma once

#include <string>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/reader.hpp"

namespace reprobench {

// Keys in the order of the description, as people read it.
using SchemaJson = nlohmann::ordered_json;

namespace document_detail {

// What a schema is of: a whole document, a line of a file, or something in one of these.
enum class Extent { document, line, part };

template <Described T>
SchemaJson schema_of_part(SchemaJson& definitions, Extent extent);

inline SchemaJson reference_to(const char* name) { return {{"$ref", std::string("#/definitions/") + name}}; }

inline SchemaJson nullable(const SchemaJson& schema) {
  return {{"anyOf", SchemaJson::array({schema, {{"type", "null"}}})}};
}

inline SchemaJson number_schema(SchemaJson& definitions) {
  definitions["number"] = {{"description", "A JSON number, or the word for a value JSON has no number for."},
                           {"oneOf", {{{"type", "number"}}, {{"enum", {"nan", "inf", "-inf"}}}}}};
  return reference_to("number");
}

inline SchemaJson exact_float_schema(SchemaJson& definitions) {
  definitions["exact_float"] = {{"description", "A float with its exact bits: 8 hex digits for fp32, 16 for fp64."},
                                {"type", "object"},
                                {"additionalProperties", false},
                                {"required", {"value", "bits"}},
                                {"properties",
                                 {{"value", number_schema(definitions)},
                                  {"bits", {{"type", "string"}, {"pattern", "^([0-9a-f]{8}|[0-9a-f]{16})$"}}}}}};
  return reference_to("exact_float");
}

inline SchemaJson integer_schema(std::int64_t least, std::int64_t most) {
  SchemaJson schema = {{"type", "integer"}};
  if (least != std::numeric_limits<std::int64_t>::min()) schema["minimum"] = least;
  if (most != std::numeric_limits<std::int64_t>::max()) schema["maximum"] = most;
  return schema;
}

inline SchemaJson bounded_number_schema(const Rule& rule) {
  SchemaJson schema = integer_schema(rule.least, rule.most);
  schema["type"] = "number";
  return schema;
}

inline SchemaJson text_schema(const Rule& rule) {
  if (!rule.words.empty()) return {{"enum", std::vector<std::string_view>(rule.words.begin(), rule.words.end())}};
  SchemaJson schema = {{"type", "string"}};
  std::string pattern;
  if (rule.hex_digits != 0) pattern = "[0-9a-f]{" + std::to_string(rule.hex_digits) + "}";
  if (!rule.letters.empty()) {
    pattern = "[" + std::string(rule.letters) + "]";
    pattern += rule.most_letters == 0 ? "+" : "{1," + std::to_string(rule.most_letters) + "}";
  }
  if (!pattern.empty() && rule.may_be_empty) pattern = "(" + pattern + ")?";
  if (!pattern.empty()) {
    schema["pattern"] = "^" + pattern + "$";
  } else if (!rule.may_be_empty) {
    schema["minLength"] = 1;
  }
  return schema;
}

template <class T>
SchemaJson schema_of_value(const Rule& rule, SchemaJson& definitions) {
  if constexpr (Described<T>) {
    const char* const name = Description<T>::about.name;
    if (!definitions.contains(name)) {
      definitions[name] = nullptr;  // its place, before those it refers to
      definitions[name] = schema_of_part<T>(definitions, Extent::part);
    }
    return reference_to(name);
  } else if constexpr (Worded<T>) {
    return {{"enum", Words<T>::table}};
  } else if constexpr (Numbered<T>) {
    SchemaJson numbers = SchemaJson::array();
    for (const T number : Numbers<T>::table) numbers.push_back(static_cast<int>(number));
    return {{"enum", std::move(numbers)}};
  } else if constexpr (is_optional<T>) {
    return nullable(schema_of_value<typename T::value_type>(rule, definitions));
  } else if constexpr (std::is_same_v<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::is_same_v<T, double>) {
    return rule.has_bounds() ? bounded_number_schema(rule) : number_schema(definitions);
  } else if constexpr (std::is_integral_v<T> || std::is_same_v<T, std::chrono::milliseconds>) {
    return integer_schema(std::is_unsigned_v<T> ? std::max<std::int64_t>(rule.least, 0) : rule.least, rule.most);
  } else if constexpr (std::is_same_v<T, std::string> || Texted<T>) {
    return text_schema(rule);
  } else if constexpr (std::is_same_v<T, nlohmann::json>) {
    switch (rule.form) {
      case Rule::Form::any:
        return SchemaJson::object();
      case Rule::Form::object:
        return {{"type", "object"}};
      case Rule::Form::number_or_null:
        return nullable(number_schema(definitions));
      case Rule::Form::exact_float:
        return exact_float_schema(definitions);
      case Rule::Form::exact_float_or_null:
        return nullable(exact_float_schema(definitions));
    }
    return nullptr;
  } else if constexpr (Mapped<T>) {
    return {{"type", "object"}, {"additionalProperties", schema_of_value<typename T::mapped_type>(rule, definitions)}};
  } else {
    SchemaJson schema = {{"type", "array"}, {"items", schema_of_value<typename T::value_type>(rule, definitions)}};
    if constexpr (!requires(T list) { list.resize(0); }) {
      schema["minItems"] = std::tuple_size_v<T>;
      schema["maxItems"] = std::tuple_size_v<T>;
    } else {
      if (rule.least_items != 0) schema["minItems"] = rule.least_items;
      if (rule.most_items != 0) schema["maxItems"] = rule.most_items;
    }
    return schema;
  }
}

class SchemaWriter {
 public:
  SchemaWriter(SchemaJson& definitions, bool first_choice) : definitions_(definitions), first_choice_(first_choice) {}

  void property(const char* key, const SchemaJson& schema, bool is_required = true) {
    properties_[key] = schema;
    if (is_required) required_.push_back(key);
  }
  template <class T>
  void operator()(const char* key, const T&, const Rule& rule = {}) {
    property(key, described<T>(rule));
  }
  template <class T>
  void optional(const char* key, const T&, const Rule& rule = {}) {
    if constexpr (is_optional<T>) {
      property(key, described<typename T::value_type>(rule), false);
    } else {
      property(key, described<T>(rule), false);
    }
  }
  template <class T>
  void since(int, const char* key, const T&, const Rule& rule = {}) {
    property(key, described<T>(rule), false);
  }
  template <class Get, class Set>
  void as(const char* key, const Get& get, const Set&, const Rule& rule = {}) {
    (*this)(key, get(), rule);
  }
  template <class Fields>
  void group(const char* key, const Fields& fields, const Rule& rule = {}) {
    SchemaWriter inner(definitions_, first_choice_);
    fields(inner);
    property(key, inner.schema(rule.text));
  }
  bool either(const char*, bool) {
    has_choice = true;
    return first_choice_;
  }
  void hold(bool, const char*) {}

  SchemaJson schema(const char* text) const {
    SchemaJson result = SchemaJson::object();
    if (*text != '\0') result["description"] = text;
    result["type"] = "object";
    result["additionalProperties"] = false;
    if (!required_.empty()) result["required"] = required_;
    result["properties"] = properties_;
    return result;
  }

  bool has_choice = false;

 private:
  template <class T>
  SchemaJson described(const Rule& rule) {
    return with_text(rule, schema_of_value<T>(rule, definitions_));
  }
  static SchemaJson with_text(const Rule& rule, SchemaJson schema) {
    if (*rule.text == '\0') return schema;
    SchemaJson result = {{"description", rule.text}};
    result.update(schema);
    return result;
  }

  SchemaJson& definitions_;
  bool first_choice_;
  SchemaJson properties_ = SchemaJson::object();
  SchemaJson required_ = SchemaJson::array();
};

// A document in another one may be older than that: it was passed on.
inline SchemaJson minor_schema(Extent extent) {
  if (extent == Extent::part) return integer_schema(0, kContractVersion.minor);
  return {{"const", kContractVersion.minor}};
}

// Of any type, told by what visits its fields: a template would compile this once for every described type.
inline SchemaJson schema_of_part(SchemaJson& definitions, Extent extent, const About& about,
                                 void (*visit_fields)(SchemaWriter&)) {
  const auto visited = [&](bool first_choice) {
    SchemaWriter writer(definitions, first_choice);
    if (about.has_head) {
      writer.property("schema", {{"const", std::string("reprobench/") + about.name}});
      writer.property("version", {{"type", "object"},
                                  {"additionalProperties", false},
                                  {"required", {"major", "minor"}},
                                  {"properties",
                                   {{"major", {{"const", kContractVersion.major}}}, {"minor", minor_schema(extent)}}}});
    }
    if (about.kind != nullptr) writer.property("kind", {{"const", about.kind}});
    visit_fields(writer);
    if (extent == Extent::line) {
      writer.property("seq", {{"type", "integer"}, {"minimum", 0}, {"description", "Counts from 0 without a gap."}});
      SchemaJson schema = text_schema(rule::hex(8));
      schema["description"] = "Of all bytes of the line before the comma in front of this key.";
      writer.property("crc32c", schema);
    }
    return writer;
  };
  const SchemaWriter first = visited(true);
  if (!first.has_choice) return first.schema(about.text);
  SchemaJson result = SchemaJson::object();
  if (*about.text != '\0') result["description"] = about.text;
  result["oneOf"] = SchemaJson::array({first.schema(""), visited(false).schema("")});
  return result;
}

template <Described T>
SchemaJson schema_of_part(SchemaJson& definitions, Extent extent) {
  return schema_of_part(definitions, extent, Description<T>::about, [](SchemaWriter& writer) {
    T value{};
    Description<T>::fields(writer, value);
  });
}

inline constexpr const char* kDraft = "http://json-schema.org/draft-07/schema#";

}  // namespace document_detail

template <Described T>
SchemaJson document_schema() {
  SchemaJson definitions = SchemaJson::object();
  SchemaJson part = document_detail::schema_of_part<T>(definitions, document_detail::Extent::document);
  SchemaJson schema = {{"$schema", document_detail::kDraft}, {"title", Description<T>::about.text}};
  part.erase("description");
  schema.update(part);
  if (!definitions.empty()) schema["definitions"] = definitions;
  return schema;
}

// Of a file of lines: each is one of `Lines`.
template <Described... Lines>
SchemaJson lines_schema(const char* title) {
  SchemaJson definitions = SchemaJson::object();
  SchemaJson alternatives = SchemaJson::array();
  const auto add = [&](const char* kind, auto schema_of) {
    definitions[kind] = nullptr;
    definitions[kind] = schema_of(definitions);
    alternatives.push_back(document_detail::reference_to(kind));
  };
  (add(Description<Lines>::about.kind != nullptr ? Description<Lines>::about.kind : Description<Lines>::about.name,
       [](SchemaJson& parts) { return document_detail::schema_of_part<Lines>(parts, document_detail::Extent::line); }),
   ...);
  return {{"$schema", document_detail::kDraft},
          {"title", title},
          {"oneOf", std::move(alternatives)},
          {"definitions", std::move(definitions)}};
}

}  // namespace reprobench
