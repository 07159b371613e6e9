#include "matrix/contract/document/writer.hpp"

namespace reprobench::document_detail {
namespace {

using nlohmann::json;

json written_value(const Shape& shape, void* value);

json written_list(const Shape& shape, void* value) {
  json list = json::array();
  const std::size_t size = shape.size(value);
  list.get_ref<json::array_t&>().reserve(size);
  for (std::size_t i = 0; i < size; ++i) list.push_back(written_value(*shape.item, shape.at(value, i)));
  return list;
}

json written_map(const Shape& shape, void* value) {
  json object = json::object();
  shape.visit_items(value, [&](const std::string& name, const void* item) {
    object.emplace(name, written_value(*shape.item, const_cast<void*>(item)));
  });
  return object;
}

json written_value(const Shape& shape, void* value) {
  switch (shape.kind) {
    case Shape::Kind::part:
      return written_part(shape, value);
    case Shape::Kind::word:
      return shape.words[static_cast<std::size_t>(shape.integer(value))];
    case Shape::Kind::code:
      return shape.integer(value);
    case Shape::Kind::other_text:
      return shape.text(value);
    case Shape::Kind::optional: {
      void* const held = shape.held(value);
      return held != nullptr ? written_value(*shape.item, held) : json(nullptr);
    }
    case Shape::Kind::flag:
      return as<bool>(value);
    case Shape::Kind::integer:
      if (shape.is_unsigned) return static_cast<std::uint64_t>(shape.integer(value));
      return shape.integer(value);
    case Shape::Kind::unsigned_64:
      return as<std::uint64_t>(value);
    case Shape::Kind::milliseconds:
      return as<std::chrono::milliseconds>(value).count();
    case Shape::Kind::real:
      return json_number(as<double>(value));
    case Shape::Kind::text:
      return as<std::string>(value);
    case Shape::Kind::view:
      return as<std::string_view>(value);
    case Shape::Kind::json:
      return as<json>(value);
    case Shape::Kind::map:
      return written_map(shape, value);
    case Shape::Kind::list:
      return written_list(shape, value);
  }
  return nullptr;
}

class Writer final : public FieldVisitor {
 public:
  explicit Writer(json& object) : object_(object) {}

  bool either(const char*, bool is) override { return is; }
  void hold(bool, const char*) override {}

 protected:
  void visit(const char* key, void* value, const Shape& shape, const Rule&, Presence presence) override {
    if (presence.is_optional && shape.is_nothing(value)) return;
    object_[key] = written_value(shape, value);
  }
  void visit_group(const char* key, Fields fields, const Rule&) override {
    json& part = object_[key] = json::object();
    Writer writer(part);
    fields(writer);
  }

 private:
  json& object_;
};

}  // namespace

json written_part(const Shape& shape, void* value) {
  json object = shape.about->has_head ? document(shape.about->name) : json::object();
  if (shape.about->kind != nullptr) object["kind"] = shape.about->kind;
  Writer writer(object);
  shape.fields(writer, value);
  return object;
}

json written_fields(Callback<void(FieldVisitor&)> fields) {
  json object = json::object();
  Writer writer(object);
  fields(writer);
  return object;
}

}  // namespace reprobench::document_detail
