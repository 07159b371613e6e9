#include "matrix/record/event_file.hpp"

#include <bit>

#include "matrix/base/number.hpp"

namespace reprobench {
namespace {

// Wire types of protocol buffers.
constexpr std::uint8_t kVarint = 0;
constexpr std::uint8_t kFixed64 = 1;
constexpr std::uint8_t kBytes = 2;
constexpr std::uint8_t kFixed32 = 5;

template <class Integer>
void append_little_endian(std::string& text, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
}

void append_varint(std::string& text, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  text += static_cast<char>(value);
}

void append_key(std::string& text, std::uint8_t field, std::uint8_t wire_type) {
  text += static_cast<char>(field << 3 | wire_type);
}

void append_bytes(std::string& text, std::uint8_t field, std::string_view bytes) {
  append_key(text, field, kBytes);
  append_varint(text, bytes.size());
  text += bytes;
}

// Event.wall_time
std::string event_at(double at_s) {
  std::string event;
  append_key(event, 1, kFixed64);
  append_little_endian(event, std::bit_cast<std::uint64_t>(at_s));
  return event;
}

std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

}  // namespace

EventFile::EventFile(double begun_s) {
  std::string event = event_at(begun_s);
  append_bytes(event, 3, "brain.Event:2");  // Event.file_version
  add_record(event);
}

void EventFile::add(std::int64_t step, double at_s, const std::vector<Scalar>& scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    std::string value;
    append_bytes(value, 1, scalar.tag);  // Summary.Value.tag
    append_key(value, 2, kFixed32);      // Summary.Value.simple_value
    append_little_endian(value, std::bit_cast<std::uint32_t>(static_cast<float>(scalar.value)));
    append_bytes(summary, 1, value);  // Summary.value
  }
  std::string event = event_at(at_s);
  append_key(event, 2, kVarint);  // Event.step
  append_varint(event, static_cast<std::uint64_t>(step));
  append_bytes(event, 5, summary);  // Event.summary
  add_record(event);
}

void EventFile::add_record(const std::string& event) {
  std::string length;
  append_little_endian(length, static_cast<std::uint64_t>(event.size()));
  bytes_ += length;
  append_little_endian(bytes_, masked_crc(length));
  bytes_ += event;
  append_little_endian(bytes_, masked_crc(event));
}

std::string event_file_of(const Trace& trace, double begun_s) {
  constexpr double kSecond_ns = 1e9;
  EventFile file(begun_s);
  std::int64_t worked_ns = 0;
  for (const StepRecord& step : trace.steps) {
    worked_ns += step.step_time_ns;
    std::vector<Scalar> scalars;
    const auto add = [&](std::string_view tag, std::optional<double> value) {
      if (value) scalars.push_back({tag, *value});
    };
    const auto bytes = [](std::int64_t value) { return value < 0 ? std::nullopt : std::optional<double>(value); };
    add("train/loss", exact_float_from_json(step.loss));
    add("train/grad_norm", exact_float_from_json(step.grad_norm));
    add("train/learning_rate", step.learning_rate);
    add("throughput/step_time_s", static_cast<double>(step.step_time_ns) / kSecond_ns);
    if (step.step_time_ns > 0) {
      add("throughput/samples_per_s",
          static_cast<double>(step.samples) * kSecond_ns / static_cast<double>(step.step_time_ns));
    }
    add("memory/rss_bytes", bytes(step.rss_bytes));
    add("memory/anonymous_bytes", bytes(step.anonymous_bytes));
    add("memory/allocated_bytes", bytes(step.allocated_bytes));
    file.add(step.step, begun_s + static_cast<double>(step.ended_ns.value_or(worked_ns)) / kSecond_ns, scalars);
  }
  return file.bytes();
}

}  // namespace reprobench
