#include "matrix/record/packer.hpp"

#include <bit>
#include <utility>

#include <nlohmann/json.hpp>

#include "matrix/base/number.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr std::size_t kDigestDigits = 32;

enum class NumberForm : char { null, fp32, fp64, other };
enum class EventForm : char { known_names, other };

// In the order of the digits, so that they can be written byte by byte.
std::uint64_t big_endian(std::uint64_t value) {
  return std::endian::native == std::endian::little ? __builtin_bswap64(value) : value;
}

double value_of_bits(std::uint64_t bits, bool is_fp32) {
  if (!is_fp32) return std::bit_cast<double>(bits);
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
}

struct ExactBits {
  std::uint64_t bits = 0;
  bool is_fp32 = false;
};

// Nothing for what is no exact float, or would not be the same text again.
std::optional<ExactBits> exact_bits(const json& number) {
  if (!number.is_object() || number.size() != 2) return std::nullopt;
  const auto digits = number.find("bits");
  const auto value = number.find("value");
  if (digits == number.end() || value == number.end() || !digits->is_string()) return std::nullopt;
  const auto& text = digits->get_ref<const std::string&>();
  const auto bits = text.size() == 8 || text.size() == 16 ? parse_hex(text) : std::nullopt;
  if (!bits) return std::nullopt;
  const ExactBits exact{*bits, text.size() == 8};
  const double exact_value = value_of_bits(*bits, exact.is_fp32);
  const bool is_same = value->is_number_float() ? std::bit_cast<std::uint64_t>(value->get<double>()) ==
                                                      std::bit_cast<std::uint64_t>(exact_value)
                                                : value->is_string() && *value == json_number(exact_value);
  return is_same ? std::optional(exact) : std::nullopt;
}

// As exact_float() makes it, without its lists of lists: this is most of the time that a packed trace takes.
json exact_number(std::string digits, double value) {
  json::object_t object;
  object.emplace_hint(object.end(), "bits", std::move(digits));
  object.emplace_hint(object.end(), "value", json_number(value));
  return json(std::move(object));
}

json exact32(std::uint32_t bits) { return exact_number(hex32(bits), value_of_bits(bits, true)); }
json exact64(std::uint64_t bits) { return exact_number(hex64(bits), value_of_bits(bits, false)); }

std::vector<std::string> names_of(const json& events) {
  std::vector<std::string> names;
  if (!events.is_object()) return names;
  for (const auto& [name, _] : events.items()) names.push_back(name);
  return names;
}

}  // namespace

void RecordBefore::begin_record() {
  integers.begin_record();
  texts.begin_record();
  shapes.begin_record();
}

std::string Packer::take() {
  bytes_.shrink_to_fit();
  return std::move(bytes_);
}

void Packer::integer(const std::int64_t& value) {
  std::int64_t& before = before_.integers.next();
  const auto difference = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(before);
  before = value;
  varint(difference << 1 ^ (difference >> 63 != 0 ? ~std::uint64_t{0} : 0));  // small ones of either sign are short
}

void Packer::real(const double& value) { integer(std::bit_cast<std::int64_t>(value)); }

void Packer::number(const json& value) {
  const auto exact = value.is_null() ? std::nullopt : exact_bits(value);
  if (value.is_null()) {
    raw(NumberForm::null);
  } else if (!exact) {
    raw(NumberForm::other);
    any(value);
  } else if (exact->is_fp32) {
    raw(NumberForm::fp32);
    raw(static_cast<std::uint32_t>(exact->bits));
  } else {
    raw(NumberForm::fp64);
    raw(exact->bits);
  }
}

void Packer::digest(const std::string& text) {
  const bool has_length = text.size() == kDigestDigits;
  const auto high = has_length ? parse_hex(std::string_view(text).substr(0, 16)) : std::nullopt;
  const auto low = high ? parse_hex(std::string_view(text).substr(16)) : std::nullopt;
  raw(low.has_value());
  if (!low) return string(text);
  raw(big_endian(*high));
  raw(big_endian(*low));
}

void Packer::text(const std::string& value) {
  std::string& before = before_.texts.next();
  raw(value == before);
  if (value == before) return;
  before = value;
  string(value);
}

void Packer::shape(const std::vector<std::int64_t>& value) {
  std::vector<std::int64_t>& before = before_.shapes.next();
  raw(value == before);
  if (value == before) return;
  before = value;
  varint(value.size());
  for (const std::int64_t extent : value) varint(static_cast<std::uint64_t>(extent));
}

void Packer::events(const json& events) {
  const std::vector<std::string> before = std::exchange(before_.event_names, names_of(events));
  bool has_integers = events.is_object();
  for (const auto& value : events) {
    has_integers = has_integers && value.is_number_integer() &&
                   (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
  }
  if (!has_integers || before_.event_names != before) {
    raw(EventForm::other);
    return any(events);
  }
  raw(EventForm::known_names);
  for (const auto& value : events) varint(static_cast<std::uint64_t>(value.get<std::int64_t>()));
}

void Packer::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

void Packer::string(std::string_view text) {
  varint(text.size());
  bytes_ += text;
}

void Packer::any(const json& value) {
  const std::vector<std::uint8_t> cbor = json::to_cbor(value);
  string({reinterpret_cast<const char*>(cbor.data()), cbor.size()});
}

void Unpacker::integer(std::int64_t& value) {
  std::int64_t& before = before_.integers.next();
  const std::uint64_t zigzag = varint();
  const std::uint64_t difference = zigzag >> 1 ^ ((zigzag & 1) != 0 ? ~std::uint64_t{0} : 0);
  before = value = static_cast<std::int64_t>(static_cast<std::uint64_t>(before) + difference);
}

void Unpacker::real(double& value) {
  std::int64_t bits = 0;
  integer(bits);
  value = std::bit_cast<double>(bits);
}

void Unpacker::number(json& value) {
  switch (raw<NumberForm>()) {
    case NumberForm::null:
      value = nullptr;
      return;
    case NumberForm::fp32:
      value = exact32(raw<std::uint32_t>());
      return;
    case NumberForm::fp64:
      value = exact64(raw<std::uint64_t>());
      return;
    case NumberForm::other:
      value = any();
  }
}

void Unpacker::digest(std::string& text) {
  if (!raw<bool>()) {
    text = string();
    return;
  }
  text = hex_of_bytes(bytes_.substr(0, kDigestDigits / 2));
  bytes_.remove_prefix(kDigestDigits / 2);
}

void Unpacker::text(std::string& value) {
  std::string& before = before_.texts.next();
  if (!raw<bool>()) before = string();
  value = before;
}

void Unpacker::shape(std::vector<std::int64_t>& value) {
  std::vector<std::int64_t>& before = before_.shapes.next();
  if (!raw<bool>()) {
    before.resize(varint());
    for (std::int64_t& extent : before) extent = static_cast<std::int64_t>(varint());
  }
  value = before;
}

void Unpacker::events(json& events) {
  if (raw<EventForm>() == EventForm::known_names) {
    json::object_t object;
    for (const std::string& name : before_.event_names) {
      object.emplace_hint(object.end(), name, static_cast<std::int64_t>(varint()));
    }
    events = json(std::move(object));
    return;
  }
  events = any();
  before_.event_names = names_of(events);
}

std::uint64_t Unpacker::varint() {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto seven = raw<unsigned char>();
    value |= static_cast<std::uint64_t>(seven & 0x7f) << shift;
    if ((seven & 0x80) == 0) return value;
  }
}

std::string_view Unpacker::string() {
  const std::size_t size = varint();
  const std::string_view text = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return text;
}

json Unpacker::any() {
  const std::string_view cbor = string();
  return json::from_cbor(cbor.begin(), cbor.end());
}

}  // namespace reprobench
