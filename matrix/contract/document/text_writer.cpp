#include "matrix/contract/document/text_writer.hpp"

#include "matrix/contract/version.hpp"

namespace reprobench::document_detail {
namespace {

void write_value(JsonText& out, const Shape& shape, void* value);

void write_map(JsonText& out, const Shape& shape, void* value) {
  out.open('{');
  shape.visit_items(value, [&](const std::string& name, const void* item) {
    write_value(out.key(name), *shape.item, const_cast<void*>(item));
  });
  out.close('}');
}

void write_list(JsonText& out, const Shape& shape, void* value) {
  out.open('[');
  const std::size_t size = shape.size(value);
  for (std::size_t i = 0; i < size; ++i) write_value(out, *shape.item, shape.at(value, i));
  out.close(']');
}

void write_json(JsonText& out, const nlohmann::json& source) {
  out.raw(source.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void write_value(JsonText& out, const Shape& shape, void* value) {
  switch (shape.kind) {
    case Shape::Kind::part:
      return write_text_part(out, shape, value);
    case Shape::Kind::word:
      return static_cast<void>(out.string(shape.words[static_cast<std::size_t>(shape.integer(value))]));
    case Shape::Kind::other_text:
      return static_cast<void>(out.string(shape.text(value)));
    case Shape::Kind::optional: {
      void* const held = shape.held(value);
      if (held != nullptr) return write_value(out, *shape.item, held);
      return static_cast<void>(out.null());
    }
    case Shape::Kind::flag:
      return static_cast<void>(out.flag(as<bool>(value)));
    case Shape::Kind::code:
    case Shape::Kind::integer:
      return static_cast<void>(out.integer(shape.integer(value)));
    case Shape::Kind::unsigned_64:
      return static_cast<void>(out.raw(std::to_string(as<std::uint64_t>(value))));
    case Shape::Kind::milliseconds:
      return static_cast<void>(out.integer(as<std::chrono::milliseconds>(value).count()));
    case Shape::Kind::real:
      return static_cast<void>(out.number(as<double>(value)));
    case Shape::Kind::text:
      return static_cast<void>(out.string(as<std::string>(value)));
    case Shape::Kind::view:
      return static_cast<void>(out.string(as<std::string_view>(value)));
    case Shape::Kind::json:
      return write_json(out, as<nlohmann::json>(value));
    case Shape::Kind::map:
      return write_map(out, shape, value);
    case Shape::Kind::list:
      return write_list(out, shape, value);
  }
}

class TextWriter final : public FieldVisitor {
 public:
  explicit TextWriter(JsonText& out) : out_(out) {}

  bool either(const char*, bool is) override { return is; }
  void hold(bool, const char*) override {}

 protected:
  void visit(const char* key, void* value, const Shape& shape, const Rule&, Presence presence) override {
    if (presence.is_optional && shape.is_nothing(value)) return;
    write_value(out_.key(key), shape, value);
  }
  void visit_group(const char* key, Fields fields, const Rule&) override {
    out_.key(key);
    write_text_fields(out_, fields);
  }

 private:
  JsonText& out_;
};

}  // namespace

void write_text_part(JsonText& out, const Shape& shape, void* value) {
  write_text_fields(out, [&](FieldVisitor& field) {
    if (shape.about->has_head) {
      const nlohmann::json head = document(shape.about->name);
      field("schema", head.at("schema"));
      field("version", head.at("version"));
    }
    if (shape.about->kind != nullptr) field("kind", std::string_view(shape.about->kind));
    shape.fields(field, value);
  });
}

void write_text_fields(JsonText& out, Callback<void(FieldVisitor&)> fields) {
  out.open('{');
  TextWriter writer(out);
  fields(writer);
  out.close('}');
}

}  // namespace reprobench::document_detail
