#include "suites/worker/record/step_line.hpp"

#include <bit>
#include <charconv>
#include <cmath>

#include "matrix/base/number.hpp"

namespace reprobench {
namespace {

void append_integer(std::string& text, std::int64_t value) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// json_number() of base/number.hpp.
void append_number(std::string& text, double value) {
  if (!std::isfinite(value)) {
    text += std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"";
    return;
  }
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// exact_float() of base/number.hpp.
void append_exact(std::string& text, const ExactValue& exact) {
  text += "{\"bits\":\"";
  text += bits_of(exact);
  text += "\",\"value\":";
  append_number(text, exact.value);
  text += '}';
}

void append_field(std::string& text, const char* key, std::int64_t value) {
  text += key;
  append_integer(text, value);
}

void append_events(std::string& text, const std::map<std::string, std::int64_t>& events) {
  text += ",\"events\":{";
  const char* separator = "";
  for (const auto& [name, count] : events) {
    text += separator;
    text += '"';
    text += name;
    append_field(text, "\":", count);
    separator = ",";
  }
  text += '}';
}

}  // namespace

std::string bits_of(const ExactValue& exact) {
  return exact.is_fp64 ? hex64(std::bit_cast<std::uint64_t>(exact.value))
                       : hex32(std::bit_cast<std::uint32_t>(static_cast<float>(exact.value)));
}

void append_step_line(std::string& text, const StepMeasurement& step, std::int64_t seq) {
  const std::size_t begin = text.size();
  append_field(text, "{\"kind\":\"step\",\"step\":", step.step);
  text += ",\"loss\":";
  append_exact(text, step.loss);
  text += ",\"grad_norm\":";
  if (step.grad_norm) {
    append_exact(text, {*step.grad_norm, true});
  } else {
    text += "null";
  }
  text += ",\"learning_rate\":";
  append_number(text, step.learning_rate);
  if (step.loss_scale) {
    text += ",\"loss_scale\":";
    append_number(text, *step.loss_scale);
  }
  append_field(text, ",\"samples\":", step.samples);
  append_field(text, ",\"step_time_ns\":", step.step_time_ns);
  append_field(text, ",\"phases\":{\"data_ns\":", step.phases.data_ns);
  append_field(text, ",\"forward_ns\":", step.phases.forward_ns);
  append_field(text, ",\"backward_ns\":", step.phases.backward_ns);
  append_field(text, ",\"optimizer_ns\":", step.phases.optimizer_ns);
  if (step.phases.comm_ns > 0) append_field(text, ",\"comm_ns\":", step.phases.comm_ns);
  if (step.phases.exchange_ns) append_field(text, ",\"exchange_ns\":", *step.phases.exchange_ns);
  if (step.phases.exchange_hidden_ns) append_field(text, ",\"exchange_hidden_ns\":", *step.phases.exchange_hidden_ns);
  if (step.phases.data_wait_ns) append_field(text, ",\"data_wait_ns\":", *step.phases.data_wait_ns);
  append_field(text, "},\"rss_bytes\":", step.rss_bytes);
  append_field(text, ",\"anonymous_bytes\":", step.anonymous_bytes);
  append_field(text, ",\"allocated_bytes\":", step.allocated_bytes);
  text += ",\"root\":\"";
  text += to_hex(step.root);
  text += "\",\"chain\":\"";
  text += to_hex(step.chain);
  text += '"';
  append_events(text, step.events);
  if (step.block) append_field(text, ",\"block\":", *step.block);
  append_field(text, ",\"ended_ns\":", step.ended_ns);
  append_field(text, ",\"seq\":", seq);
  const std::uint32_t checksum = crc32c(std::string_view(text).substr(begin));
  text += ",\"crc32c\":\"";
  text += hex32(checksum);
  text += "\"}\n";
}

}  // namespace reprobench
