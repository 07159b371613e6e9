#include "matrix/contract/document/schema.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "matrix/contract/version.hpp"

namespace reprobench::document_detail {
namespace {

// The thing that a schema describes: a whole document, a line of a file, or something in one of these.
enum class Extent { document, line, part };

SchemaJson schema_of_part(SchemaJson& definitions, Extent extent, const Shape& shape);

SchemaJson reference_to(const char* name) { return {{"$ref", std::string("#/definitions/") + name}}; }

SchemaJson nullable(const SchemaJson& schema) { return {{"anyOf", SchemaJson::array({schema, {{"type", "null"}}})}}; }

SchemaJson number_schema(SchemaJson& definitions) {
  definitions["number"] = {{"description", "A JSON number, or the word for a value JSON has no number for."},
                           {"oneOf", {{{"type", "number"}}, {{"enum", {"nan", "inf", "-inf"}}}}}};
  return reference_to("number");
}

SchemaJson exact_float_schema(SchemaJson& definitions) {
  definitions["exact_float"] = {{"description", "A float with its exact bits: 8 hex digits for fp32, 16 for fp64."},
                                {"type", "object"},
                                {"additionalProperties", false},
                                {"required", {"value", "bits"}},
                                {"properties",
                                 {{"value", number_schema(definitions)},
                                  {"bits", {{"type", "string"}, {"pattern", "^([0-9a-f]{8}|[0-9a-f]{16})$"}}}}}};
  return reference_to("exact_float");
}

SchemaJson integer_schema(std::int64_t least, std::int64_t most) {
  SchemaJson schema = {{"type", "integer"}};
  if (least != std::numeric_limits<std::int64_t>::min()) schema["minimum"] = least;
  if (most != std::numeric_limits<std::int64_t>::max()) schema["maximum"] = most;
  return schema;
}

SchemaJson bounded_number_schema(const Rule& rule) {
  SchemaJson schema = integer_schema(rule.least, rule.most);
  schema["type"] = "number";
  return schema;
}

SchemaJson text_schema(const Rule& rule) {
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

SchemaJson form_schema(const Rule& rule, SchemaJson& definitions) {
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
}

SchemaJson schema_of_value(const Shape& shape, const Rule& rule, SchemaJson& definitions);

SchemaJson list_schema(const Shape& shape, const Rule& rule, SchemaJson& definitions) {
  SchemaJson schema = {{"type", "array"}, {"items", schema_of_value(*shape.item, rule, definitions)}};
  if (shape.resize == nullptr) {
    schema["minItems"] = shape.fixed_size;
    schema["maxItems"] = shape.fixed_size;
  } else {
    if (rule.least_items != 0) schema["minItems"] = rule.least_items;
    if (rule.most_items != 0) schema["maxItems"] = rule.most_items;
  }
  return schema;
}

SchemaJson schema_of_value(const Shape& shape, const Rule& rule, SchemaJson& definitions) {
  switch (shape.kind) {
    case Shape::Kind::part: {
      const char* const name = shape.about->name;
      if (!definitions.contains(name)) {
        definitions[name] = nullptr;  // its place, before those it refers to
        definitions[name] = schema_of_part(definitions, Extent::part, shape);
      }
      return reference_to(name);
    }
    case Shape::Kind::word:
      return {{"enum", std::vector<std::string_view>(shape.words.begin(), shape.words.end())}};
    case Shape::Kind::code:
      return {{"enum", std::vector<std::int64_t>(shape.codes.begin(), shape.codes.end())}};
    case Shape::Kind::optional:
      return nullable(schema_of_value(*shape.item, rule, definitions));
    case Shape::Kind::flag:
      return {{"type", "boolean"}};
    case Shape::Kind::real:
      return rule.has_bounds() ? bounded_number_schema(rule) : number_schema(definitions);
    case Shape::Kind::integer:
    case Shape::Kind::unsigned_64:
    case Shape::Kind::milliseconds:
      return integer_schema(shape.is_unsigned ? std::max<std::int64_t>(rule.least, 0) : rule.least, rule.most);
    case Shape::Kind::text:
    case Shape::Kind::view:
    case Shape::Kind::other_text:
      return text_schema(rule);
    case Shape::Kind::json:
      return form_schema(rule, definitions);
    case Shape::Kind::map:
      return {{"type", "object"}, {"additionalProperties", schema_of_value(*shape.item, rule, definitions)}};
    case Shape::Kind::list:
      return list_schema(shape, rule, definitions);
  }
  return nullptr;
}

class SchemaWriter final : public FieldVisitor {
 public:
  SchemaWriter(SchemaJson& definitions, bool first_choice) : definitions_(definitions), first_choice_(first_choice) {}

  bool either(const char*, bool) override {
    has_choice_ = true;
    return first_choice_;
  }
  void hold(bool, const char*) override {}

  void property(const char* key, const SchemaJson& schema, bool is_required = true) {
    properties_[key] = schema;
    if (is_required) required_.push_back(key);
  }
  SchemaJson schema(const char* text) const {
    SchemaJson result = SchemaJson::object();
    if (*text != '\0') result["description"] = text;
    result["type"] = "object";
    result["additionalProperties"] = false;
    if (!required_.empty()) result["required"] = required_;
    result["properties"] = properties_;
    return result;
  }
  bool has_choice() const { return has_choice_; }

 protected:
  void visit(const char* key, void*, const Shape& shape, const Rule& rule, Presence presence) override {
    const bool is_absent_for_nothing = presence.is_optional && shape.kind == Shape::Kind::optional;
    const Shape& described = is_absent_for_nothing ? *shape.item : shape;
    property(key, with_text(rule, schema_of_value(described, rule, definitions_)),
             !presence.is_optional && presence.since_minor == 0);
  }
  void visit_group(const char* key, Fields fields, const Rule& rule) override {
    SchemaWriter inner(definitions_, first_choice_);
    fields(inner);
    property(key, inner.schema(rule.text));
  }

 private:
  static SchemaJson with_text(const Rule& rule, SchemaJson schema) {
    if (*rule.text == '\0') return schema;
    SchemaJson result = {{"description", rule.text}};
    result.update(schema);
    return result;
  }

  SchemaJson& definitions_;
  bool first_choice_;
  bool has_choice_ = false;
  SchemaJson properties_ = SchemaJson::object();
  SchemaJson required_ = SchemaJson::array();
};

// A document in another one may be older than that: it was passed on.
SchemaJson minor_schema(Extent extent) {
  if (extent == Extent::part) return integer_schema(0, kContractVersion.minor);
  return {{"const", kContractVersion.minor}};
}

SchemaJson schema_of_part(SchemaJson& definitions, Extent extent, const Shape& shape) {
  const About& about = *shape.about;
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
    shape.fields_of_new(writer);
    if (extent == Extent::line) {
      writer.property("seq", {{"type", "integer"}, {"minimum", 0}, {"description", "Counts from 0 without a gap."}});
      SchemaJson schema = text_schema(rule::hex(8));
      schema["description"] = "Of all bytes of the line before the comma in front of this key.";
      writer.property("crc32c", schema);
    }
    return writer;
  };
  const SchemaWriter first = visited(true);
  if (!first.has_choice()) return first.schema(about.text);
  SchemaJson result = SchemaJson::object();
  if (*about.text != '\0') result["description"] = about.text;
  result["oneOf"] = SchemaJson::array({first.schema(""), visited(false).schema("")});
  return result;
}

constexpr const char* kDraft = "http://json-schema.org/draft-07/schema#";

}  // namespace

SchemaJson document_schema(const Shape& shape) {
  SchemaJson definitions = SchemaJson::object();
  SchemaJson part = schema_of_part(definitions, Extent::document, shape);
  SchemaJson schema = {{"$schema", kDraft}, {"title", shape.about->text}};
  part.erase("description");
  schema.update(part);
  if (!definitions.empty()) schema["definitions"] = definitions;
  return schema;
}

SchemaJson lines_schema(const char* title, std::span<const Shape* const> lines) {
  SchemaJson definitions = SchemaJson::object();
  SchemaJson alternatives = SchemaJson::array();
  for (const Shape* const line : lines) {
    const char* const kind = line->about->kind != nullptr ? line->about->kind : line->about->name;
    definitions[kind] = nullptr;
    definitions[kind] = schema_of_part(definitions, Extent::line, *line);
    alternatives.push_back(reference_to(kind));
  }
  return {{"$schema", kDraft},
          {"title", title},
          {"oneOf", std::move(alternatives)},
          {"definitions", std::move(definitions)}};
}

}  // namespace reprobench::document_detail
