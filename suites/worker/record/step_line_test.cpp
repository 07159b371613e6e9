#include "suites/worker/record/step_line.hpp"

#include <limits>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"

namespace reprobench {
namespace {

StepMeasurement full_step() {
  StepMeasurement step;
  step.step = 50;
  step.loss = {static_cast<double>(0.1F), false};
  step.grad_norm = 1e-300;
  step.learning_rate = 1e-3;
  step.loss_scale = 65536;
  step.samples = 32;
  step.step_time_ns = 290'123;
  step.phases = {1, 2, 3, 4};
  step.phases.data_wait_ns = 0;
  step.rss_bytes = 123'456'789;
  step.root = {1, 2};
  step.chain = {3, 4};
  step.events = {{"relu_active", 1733}, {"other", 0}};
  step.ended_ns = 7'000'000'123;
  step.block = 4;
  return step;
}

// The document the contract would have written for it.
nlohmann::json document_of(const StepMeasurement& step) {
  StepRecord record;
  record.step = step.step;
  record.loss = step.loss.is_fp64 ? exact_float(step.loss.value) : exact_float(static_cast<float>(step.loss.value));
  if (step.grad_norm) record.grad_norm = exact_float(*step.grad_norm);
  record.learning_rate = step.learning_rate;
  record.loss_scale = step.loss_scale;
  record.samples = step.samples;
  record.step_time_ns = step.step_time_ns;
  record.phases = step.phases;
  record.rss_bytes = step.rss_bytes;
  record.root = to_hex(step.root);
  record.chain = to_hex(step.chain);
  for (const auto& [name, count] : step.events) record.events[name] = count;
  record.ended_ns = step.ended_ns;
  record.block = step.block;
  return to_json(record);
}

nlohmann::json parsed(const StepMeasurement& step, std::int64_t seq) {
  std::string text;
  append_step_line(text, step, seq);
  REQUIRE(text.back() == '\n');
  text.pop_back();
  const auto body = parse_trace_line(text, seq);
  INFO((body.index() == 1 ? std::get<1>(body) : std::string()));
  REQUIRE(body.index() == 0);
  return std::get<0>(body);
}

TEST_CASE("a step line reads back as the contract's own document", "[worker]") {
  StepMeasurement step = full_step();
  CHECK(parsed(step, 7) == document_of(step));
  CHECK(step_record_from_json(parsed(step, 7)).phases.backward_ns == 3);

  step.grad_norm.reset();
  step.loss_scale.reset();
  step.phases.data_wait_ns.reset();
  step.rss_bytes = -1;
  step.events.clear();
  step.block.reset();
  step.loss = {0.1, true};
  CHECK(parsed(step, 8) == document_of(step));
}

TEST_CASE("a loss that is not finite is written as a word", "[worker]") {
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()}) {
    StepMeasurement step = full_step();
    step.loss = {value, false};
    CHECK(parsed(step, 0).at("loss").at("value") == json_number(value));
  }
}

TEST_CASE("a second line keeps the first and has its own checksum", "[worker]") {
  std::string text;
  append_step_line(text, full_step(), 0);
  const std::size_t first = text.size();
  append_step_line(text, full_step(), 1);
  CHECK(parse_trace_line(text.substr(0, first - 1), 0).index() == 0);
  CHECK(parse_trace_line(text.substr(first, text.size() - first - 1), 1).index() == 0);
}

}  // namespace
}  // namespace reprobench
