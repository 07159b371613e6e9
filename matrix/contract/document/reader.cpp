#include "matrix/contract/document/reader.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace reprobench::document_detail {
namespace {

using nlohmann::json;

// The place of a reader in a document: the document itself, or a field or item of `outer`. It costs nothing until
// something is wrong.
struct Place {
  const Place* outer = nullptr;
  const char* name = nullptr;  // nothing: the item at `index`
  std::size_t index = 0;
  int minor = -1;  // of the document's version; -1: unknown
};

[[noreturn]] void reject(const Place& place, const std::string& problem) {
  std::string path;
  const Place* at = &place;
  for (; at->outer != nullptr; at = at->outer) {
    const std::string part = at->name != nullptr ? at->name : std::to_string(at->index);
    path = path.empty() ? part : part + "/" + path;
  }
  throw ContractError(std::string(at->name) + ": " + (path.empty() ? "the document" : "`" + path + "`") + " " +
                      problem);
}

[[noreturn]] void reject_word(const Place& place, const std::string& word, std::span<const std::string_view> words) {
  std::string listed;
  for (const std::string_view known : words) listed.append(listed.empty() ? "" : ", ").append(known);
  reject(place, "is `" + word + "`, none of " + listed);
}

[[noreturn]] void reject_number(const Place& place, std::int64_t number, std::span<const std::int64_t> codes) {
  std::string listed;
  for (const std::int64_t known : codes) listed.append(listed.empty() ? "" : ", ").append(std::to_string(known));
  reject(place, "is " + std::to_string(number) + ", none of " + listed);
}

void check_text(const std::string& text, const Rule& rule, const Place& place) {
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

void check_integer(std::int64_t value, const Rule& rule, const Place& place) {
  if (value < rule.least) {
    reject(place, "is " + std::to_string(value) + ", under " + std::to_string(rule.least));
  }
  if (value > rule.most) reject(place, "is " + std::to_string(value) + ", over " + std::to_string(rule.most));
}

void check_number(double value, const Rule& rule, const Place& place) {
  if (!rule.has_bounds()) return;
  if (!std::isfinite(value)) reject(place, "is not finite");
  if (value < static_cast<double>(rule.least)) {
    reject(place, "is " + std::to_string(value) + ", under " + std::to_string(rule.least));
  }
  if (value > static_cast<double>(rule.most)) {
    reject(place, "is " + std::to_string(value) + ", over " + std::to_string(rule.most));
  }
}

std::int64_t integer_from(const json& source, const Place& place) {
  if (!source.is_number_integer()) reject(place, "is not an integer");
  if (source.is_number_unsigned() && source.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    reject(place, "is no integer of 64 bits");
  }
  return source.get<std::int64_t>();
}

// Up to 2^64 - 1, as a distance in ULP can be.
std::uint64_t unsigned_from(const json& source, const Rule& rule, const Place& place) {
  if (!source.is_number_unsigned()) {
    check_integer(integer_from(source, place), rule, place);
    if (source.get<std::int64_t>() < 0) reject(place, "is " + source.dump() + ", under 0");
  }
  const auto value = source.get<std::uint64_t>();
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  check_integer(std::in_range<std::int64_t>(value) ? static_cast<std::int64_t>(value) : kLargest, rule, place);
  return value;
}

void check_form(const json& source, const Rule& rule, const Place& place) {
  switch (rule.form) {
    case Rule::Form::any:
      return;
    case Rule::Form::object:
      if (!source.is_object()) reject(place, "is not an object");
      return;
    case Rule::Form::number_or_null:
      if (!source.is_null() && !number_from_json(source)) reject(place, "is neither a number nor null");
      return;
    case Rule::Form::exact_float_or_null:
      if (source.is_null()) return;
      [[fallthrough]];
    case Rule::Form::exact_float:
      if (!exact_float_from_json(source)) reject(place, "is not an exact float, or its bits and value disagree");
  }
}

void read_value(const json& source, void* value, const Shape& shape, const Rule& rule, const Place& place);

void read_word(const json& source, void* value, const Shape& shape, const Place& place) {
  if (!source.is_string()) reject(place, "is not text");
  const auto& word = source.get_ref<const std::string&>();
  const auto found = std::ranges::find(shape.words, word);
  if (found == shape.words.end()) reject_word(place, word, shape.words);
  shape.set_integer(value, found - shape.words.begin());
}

void read_code(const json& source, void* value, const Shape& shape, const Place& place) {
  const std::int64_t number = integer_from(source, place);
  if (std::ranges::find(shape.codes, number) == shape.codes.end()) reject_number(place, number, shape.codes);
  shape.set_integer(value, number);
}

void read_integer(const json& source, void* value, const Shape& shape, const Rule& rule, const Place& place) {
  const std::int64_t wide = integer_from(source, place);
  check_integer(wide, rule, place);
  if (wide < shape.least || wide > shape.most) reject(place, "is " + std::to_string(wide) + ", out of range");
  shape.set_integer(value, wide);
}

void read_text(const json& source, std::string& value, const Rule& rule, const Place& place) {
  if (!source.is_string()) reject(place, "is not text");
  value = source.get_ref<const std::string&>();
  check_text(value, rule, place);
}

void read_map(const json& source, void* value, const Shape& shape, const Rule& rule, const Place& place) {
  if (!source.is_object()) reject(place, "is not an object");
  shape.clear(value);
  for (const auto& [name, item] : source.get_ref<const json::object_t&>()) {
    read_value(item, shape.insert(value, name), *shape.item, rule, Place{&place, name.c_str(), 0, place.minor});
  }
}

void read_list(const json& source, void* value, const Shape& shape, const Rule& rule, const Place& place) {
  if (!source.is_array()) reject(place, "is not a list");
  if (shape.resize != nullptr) {
    if (source.size() < rule.least_items) {
      reject(place, "holds " + std::to_string(source.size()) + " items, under " + std::to_string(rule.least_items));
    }
    if (rule.most_items != 0 && source.size() > rule.most_items) {
      reject(place, "holds " + std::to_string(source.size()) + " items, over " + std::to_string(rule.most_items));
    }
    shape.resize(value, source.size());
  } else if (const std::size_t size = shape.size(value); source.size() != size) {
    reject(place, "holds " + std::to_string(source.size()) + " items, not " + std::to_string(size));
  }
  for (std::size_t i = 0; i < source.size(); ++i) {
    read_value(source[i], shape.at(value, i), *shape.item, rule, Place{&place, nullptr, i, place.minor});
  }
}

void read_part(const json& source, void* value, const Shape& shape, const Place& place);

void read_value(const json& source, void* value, const Shape& shape, const Rule& rule, const Place& place) {
  switch (shape.kind) {
    case Shape::Kind::part:
      return read_part(source, value, shape, place);
    case Shape::Kind::word:
      return read_word(source, value, shape, place);
    case Shape::Kind::code:
      return read_code(source, value, shape, place);
    case Shape::Kind::other_text: {
      std::string text;
      read_text(source, text, rule, place);
      return shape.set_text(value, text);
    }
    case Shape::Kind::optional: {
      void* const held = shape.renew(value, !source.is_null());
      if (held != nullptr) read_value(source, held, *shape.item, rule, place);
      return;
    }
    case Shape::Kind::flag:
      if (!source.is_boolean()) reject(place, "is neither true nor false");
      as<bool>(value) = source.get<bool>();
      return;
    case Shape::Kind::integer:
      return read_integer(source, value, shape, rule, place);
    case Shape::Kind::unsigned_64:
      as<std::uint64_t>(value) = unsigned_from(source, rule, place);
      return;
    case Shape::Kind::milliseconds: {
      const std::int64_t count = integer_from(source, place);
      check_integer(count, rule, place);
      as<std::chrono::milliseconds>(value) = std::chrono::milliseconds(count);
      return;
    }
    case Shape::Kind::real: {
      const auto number = number_from_json(source);
      if (!number) reject(place, "is not a number");
      check_number(*number, rule, place);
      as<double>(value) = *number;
      return;
    }
    case Shape::Kind::text:
      return read_text(source, as<std::string>(value), rule, place);
    case Shape::Kind::view:
      throw std::logic_error("a view is written, not read");
    case Shape::Kind::json:
      check_form(source, rule, place);
      as<json>(value) = source;
      return;
    case Shape::Kind::map:
      return read_map(source, value, shape, rule, place);
    case Shape::Kind::list:
      return read_list(source, value, shape, rule, place);
  }
}

using Fields = Callback<void(FieldVisitor&)>;
void read_fields(const json& source, const About* about, Fields fields, const Place& place);

class Reader final : public FieldVisitor {
 public:
  Reader(const json& object, const Place& place) : FieldVisitor(true), object_(object), place_(place) {}

  bool either(const char* key, bool) override { return object_.contains(key); }
  void hold(bool holds, const char* sentence) override {
    if (!holds) reject(place_, sentence);
  }

  void constant(const char* key, const char* text) {
    std::string value;
    (*this)(key, value);
    if (value != text) reject(at(key), "is `" + value + "`, not `" + text + "`");
  }
  void skip(const char* key) { found_ += object_.contains(key) ? 1 : 0; }
  bool found_all() const { return found_ == object_.size(); }

 protected:
  void visit(const char* key, void* value, const Shape& shape, const Rule& rule, Presence presence) override {
    const auto found = object_.find(key);
    if (found == object_.end()) {
      if (presence.is_optional || (presence.since_minor > 0 && place_.minor < presence.since_minor)) return;
      reject(at(key), "is missing");
    }
    ++found_;
    if (presence.is_optional && shape.kind == Shape::Kind::optional) {
      // Absent is its way to say nothing; null says something else.
      read_value(*found, shape.renew(value, true), *shape.item, rule, at(key));
    } else {
      read_value(*found, value, shape, rule, at(key));
    }
  }
  void visit_group(const char* key, Fields fields, const Rule&) override {
    const auto found = object_.find(key);
    if (found == object_.end()) reject(at(key), "is missing");
    ++found_;
    read_fields(*found, nullptr, fields, at(key));
  }

 private:
  Place at(const char* key) const { return {&place_, key, 0, place_.minor}; }

  const json& object_;
  const Place& place_;
  std::size_t found_ = 0;
};

// Asked only when a document holds a key too many: which one it is.
class UnknownKey final : public FieldVisitor {
 public:
  explicit UnknownKey(const json& object) : whole_(object), left_(object) {}

  bool either(const char* key, bool) override { return whole_.contains(key); }
  void hold(bool, const char*) override {}
  void skip(const char* key) { left_.erase(key); }
  std::string name() const { return left_.empty() ? "" : left_.begin().key(); }

 protected:
  void visit(const char* key, void*, const Shape&, const Rule&, Presence) override { left_.erase(key); }
  void visit_group(const char* key, Fields, const Rule&) override { left_.erase(key); }

 private:
  const json& whole_;
  json left_;
};

// `fields` visits every key that `source` may have beside those of its head; `about` is none of a group of fields.
void read_fields(const json& source, const About* about, Fields fields, const Place& place) {
  if (!source.is_object()) reject(place, "is not an object");
  const bool has_head = about != nullptr && about->has_head;
  const bool has_kind = about != nullptr && about->kind != nullptr;
  Reader reader(source, place);
  if (has_head) {
    reader.skip("schema");
    reader.skip("version");
  }
  if (has_kind) reader.constant("kind", about->kind);
  fields(reader);
  if (reader.found_all()) return;
  UnknownKey unknown(source);
  if (has_head) {
    unknown.skip("schema");
    unknown.skip("version");
  }
  if (has_kind) unknown.skip("kind");
  fields(unknown);
  reject({&place, unknown.name().c_str(), 0, place.minor}, "is not a field of this document");
}

void read_part(const json& source, void* value, const Shape& shape, const Place& place) {
  Place here = place;
  if (shape.about->has_head) here.minor = require_document(source, shape.about->name);
  read_fields(
      source, shape.about, [&](FieldVisitor& field) { shape.fields(field, value); }, here);
}

}  // namespace

void read_document(const json& source, const char* name, const Shape& shape, void* value) {
  read_part(source, value, shape, {nullptr, name, 0, -1});
}

void read_fields(const json& source, const char* name, Callback<void(FieldVisitor&)> fields) {
  read_fields(source, nullptr, fields, Place{nullptr, name, 0, -1});
}

}  // namespace reprobench::document_detail
