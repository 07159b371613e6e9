#include "matrix/record/packed_steps.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "matrix/base/number.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr std::size_t kDigestDigits = 32;
constexpr std::size_t kLeastBytesOfStep = 64;  // so that a list of usual ones is allocated once

// One description of a step for both ways: `Packer` appends each field, `Unpacker` takes it off. Fields that change
// little from step to step are kept as differences.
template <class Way, class Step>
void each_field(Way& way, Step& step) {
  way.integer(step.step);
  way.number(step.loss);
  way.number(step.grad_norm);
  way.real(step.learning_rate);
  way.maybe(step.loss_scale, [&](auto& value) { way.real(value); });
  way.integer(step.samples);
  way.integer(step.step_time_ns);
  way.integer(step.phases.data_ns);
  way.integer(step.phases.forward_ns);
  way.integer(step.phases.backward_ns);
  way.integer(step.phases.optimizer_ns);
  way.integer(step.phases.comm_ns);
  const auto integer = [&](auto& value) { way.integer(value); };
  way.maybe(step.phases.exchange_ns, integer);
  way.maybe(step.phases.exchange_hidden_ns, integer);
  way.maybe(step.phases.data_wait_ns, integer);
  way.integer(step.rss_bytes);
  way.integer(step.anonymous_bytes);
  way.integer(step.allocated_bytes);
  way.digest(step.root);
  way.digest(step.chain);
  way.events(step.events);
  way.maybe(step.block, integer);
  way.maybe(step.ended_ns, integer);
}

enum class NumberForm : char { null, fp32, fp64, other };
enum class EventForm : char { known_names, other };

// A value of each field of the step before, in order, and the names of its events.
struct StepBefore {
  std::vector<std::int64_t> integers;
  std::vector<std::string> event_names;
  std::size_t field = 0;

  std::int64_t& next() {
    if (field == integers.size()) integers.push_back(0);
    return integers[field++];
  }
};

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

class Packer {
 public:
  void begin_step() { before_.field = 0; }
  std::string take() { return std::move(bytes_); }

  void integer(const std::int64_t& value) {
    std::int64_t& before = before_.next();
    const auto difference = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(before);
    before = value;
    varint(difference << 1 ^ (difference >> 63 != 0 ? ~std::uint64_t{0} : 0));  // small ones of either sign are short
  }
  void real(const double& value) { integer(std::bit_cast<std::int64_t>(value)); }
  template <class Value, class Pack>
  void maybe(const std::optional<Value>& value, Pack pack) {
    bytes_ += static_cast<char>(value.has_value());
    if (value) return pack(*value);
    before_.next();
  }
  void number(const json& value) {
    const auto exact = value.is_null() ? std::nullopt : exact_bits(value);
    if (value.is_null()) {
      form(NumberForm::null);
    } else if (!exact) {
      form(NumberForm::other);
      any(value);
    } else if (exact->is_fp32) {
      form(NumberForm::fp32);
      raw(static_cast<std::uint32_t>(exact->bits));
    } else {
      form(NumberForm::fp64);
      raw(exact->bits);
    }
  }
  void digest(const std::string& text) {
    const bool has_length = text.size() == kDigestDigits;
    const auto high = has_length ? parse_hex(std::string_view(text).substr(0, 16)) : std::nullopt;
    const auto low = high ? parse_hex(std::string_view(text).substr(16)) : std::nullopt;
    bytes_ += static_cast<char>(low.has_value());
    if (!low) return string(text);
    raw(big_endian(*high));
    raw(big_endian(*low));
  }
  void events(const json& events) {
    const std::vector<std::string> before = std::exchange(before_.event_names, names_of(events));
    bool has_integers = events.is_object();
    for (const auto& value : events) {
      has_integers = has_integers && value.is_number_integer() &&
                     (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
    }
    if (!has_integers || before_.event_names != before) {
      form(EventForm::other);
      return any(events);
    }
    form(EventForm::known_names);
    for (const auto& value : events) varint(static_cast<std::uint64_t>(value.get<std::int64_t>()));
  }

 private:
  template <class Form>
  void form(Form form) {
    bytes_ += static_cast<char>(form);
  }
  template <class Value>
  void raw(Value value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void string(std::string_view text) {
    varint(text.size());
    bytes_ += text;
  }
  void any(const json& value) {
    const std::vector<std::uint8_t> cbor = json::to_cbor(value);
    string({reinterpret_cast<const char*>(cbor.data()), cbor.size()});
  }

  std::string bytes_;
  StepBefore before_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  bool is_at_end() const { return bytes_.empty(); }
  void begin_step() { before_.field = 0; }

  void integer(std::int64_t& value) {
    std::int64_t& before = before_.next();
    const std::uint64_t zigzag = varint();
    const std::uint64_t difference = zigzag >> 1 ^ ((zigzag & 1) != 0 ? ~std::uint64_t{0} : 0);
    before = value = static_cast<std::int64_t>(static_cast<std::uint64_t>(before) + difference);
  }
  void real(double& value) {
    std::int64_t bits = 0;
    integer(bits);
    value = std::bit_cast<double>(bits);
  }
  template <class Value, class Unpack>
  void maybe(std::optional<Value>& value, Unpack unpack) {
    if (byte() != 0) return unpack(value.emplace());
    value.reset();
    before_.next();
  }
  void number(json& value) {
    switch (static_cast<NumberForm>(byte())) {
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
  void digest(std::string& text) {
    if (byte() == 0) {
      text = string();
      return;
    }
    text = hex_of_bytes(bytes_.substr(0, kDigestDigits / 2));
    bytes_.remove_prefix(kDigestDigits / 2);
  }
  void events(json& events) {
    if (static_cast<EventForm>(byte()) == EventForm::known_names) {
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

 private:
  char byte() {
    const char first = bytes_.at(0);
    bytes_.remove_prefix(1);
    return first;
  }
  template <class Value>
  Value raw() {
    Value value;
    std::memcpy(&value, bytes_.substr(0, sizeof value).data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto seven = static_cast<unsigned char>(byte());
      value |= static_cast<std::uint64_t>(seven & 0x7f) << shift;
      if ((seven & 0x80) == 0) return value;
    }
  }
  std::string_view string() {
    const std::size_t size = varint();
    const std::string_view text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return text;
  }
  json any() {
    const std::string_view cbor = string();
    return json::from_cbor(cbor.begin(), cbor.end());
  }

  std::string_view bytes_;
  StepBefore before_;
};

}  // namespace

std::string packed_steps(std::span<const StepRecord> steps) {
  Packer packer;
  for (const StepRecord& step : steps) {
    packer.begin_step();
    each_field(packer, step);
  }
  std::string bytes = packer.take();
  bytes.shrink_to_fit();
  return bytes;
}

std::vector<StepRecord> unpacked_steps(std::string_view packed) {
  std::vector<StepRecord> steps;
  steps.reserve(packed.size() / kLeastBytesOfStep);
  for (Unpacker unpacker(packed); !unpacker.is_at_end();) {
    unpacker.begin_step();
    each_field(unpacker, steps.emplace_back());
  }
  return steps;
}

}  // namespace reprobench
