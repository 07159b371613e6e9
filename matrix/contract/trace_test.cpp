#include "matrix/contract/trace.hpp"

#include <limits>
#include <string>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/contract/operator_record.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

const std::string kDigest(32, 'a');

StepRecord some_step() {
  StepRecord step;
  step.step = 3;
  step.loss = exact_float(2.25f);
  step.grad_norm = nullptr;
  step.learning_rate = 1e-3;
  step.samples = 32;
  step.step_time_ns = 290'000;
  step.phases = {10'000, 100'000, 150'000, 30'000};
  step.root = kDigest;
  step.chain = kDigest;
  step.events = {{"relu_active", 1733}};
  return step;
}

// The body of a line written and read back, without its newline.
std::variant<nlohmann::json, std::string> through_file(std::string line, std::int64_t expected_seq) {
  REQUIRE(line.back() == '\n');
  line.pop_back();
  return parse_trace_line(line, expected_seq);
}

TEST_CASE("crc32c gives the check value of its definition", "[contract]") {
  CHECK(crc32c("123456789") == 0xe3069283u);
  CHECK(crc32c("") == 0u);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aau);  // RFC 3720, appendix B.4
}

TEST_CASE("a step survives the trace bit for bit", "[contract]") {
  const auto parsed = through_file(trace_line(to_json(some_step()), 7), 7);
  REQUIRE(std::holds_alternative<nlohmann::json>(parsed));
  const StepRecord back = step_record_from_json(std::get<nlohmann::json>(parsed));
  CHECK(to_json(back) == to_json(some_step()));
}

TEST_CASE("tensors written without a tree of values are read as those written with one", "[contract]") {
  TensorsRecord tensors{3, false, {}};
  tensors.tensors.push_back({"fc1.weight", TensorRole::parameter, "float32", {64, 128}, kDigest, {}});
  TensorSketch sketch;
  sketch.nan_count = 1;
  sketch.min = -0.1;
  sketch.max = std::numeric_limits<double>::infinity();
  sketch.signed_sums[0] = 1;
  sketch.signed_sums[63] = -2.5;
  tensors.tensors.push_back({"fc1.\"out\xff\"", TensorRole::forward_output, "bfloat16", {}, kDigest, sketch});
  for (const bool is_final : {false, true}) {
    tensors.is_final = is_final;
    const auto streamed = through_file(trace_line(tensors, 4), 4);
    REQUIRE(std::holds_alternative<nlohmann::json>(streamed));
    CHECK(streamed == through_file(trace_line(to_json(tensors), 4), 4));
    CHECK(tensors_record_from_json(std::get<nlohmann::json>(streamed)).tensors.at(1).name == "fc1.\"out\ufffd\"");
  }
}

TEST_CASE("an operator call written without a tree of values is read as one written with it", "[contract]") {
  OperatorRecord call;
  call.step = 2;
  call.index = 17;
  call.name = "aten::addmm";
  call.depth = 1;
  call.pass = "forward";
  call.module = "fc1";
  OperatorTensor input{"float32", {2, 3}, kDigest, 1};
  input.made_by = -1;
  call.inputs = {input, OperatorTensor{"int64", {}, "", 0}};
  call.outputs = {OperatorTensor{"float32", {2, 3}, kDigest, 0}};
  call.constants = "1, [2, 3], \"sum\"";
  CHECK(through_file(operator_line(call, 0), 0) == through_file(trace_line(to_json(call), 0), 0));
}

TEST_CASE("a step says what it waited for and how its loss was scaled, or is of a worker that did not", "[contract]") {
  StepRecord step = some_step();
  CHECK_FALSE(step_record_from_json(to_json(step)).phases.data_wait_ns);
  CHECK_FALSE(step_record_from_json(to_json(step)).loss_scale);
  step.phases.data_wait_ns = 0;
  step.loss_scale = 65536;
  CHECK(step_record_from_json(to_json(step)).phases.data_wait_ns == 0);
  CHECK(step_record_from_json(to_json(step)).loss_scale == 65536.0);
  nlohmann::json negative = to_json(step);
  negative["phases"]["data_wait_ns"] = -1;
  CHECK_THROWS_AS(step_record_from_json(negative), ContractError);
}

TEST_CASE("a step says when it ended, or is of a worker that did not", "[contract]") {
  StepRecord step = some_step();
  CHECK_FALSE(step_record_from_json(to_json(step)).ended_ns);
  step.ended_ns = 7'000'000'123;
  CHECK(step_record_from_json(to_json(step)).ended_ns == 7'000'000'123);
  TraceHeader header{"aaa", "0011", kDigest, TraceLevel::step};
  CHECK_FALSE(trace_header_from_json(to_json(header)).monotonic_us);
  header.monotonic_us = 86'400'000'000;
  CHECK(trace_header_from_json(to_json(header)).monotonic_us == 86'400'000'000);
}

TEST_CASE("B53 B56: a time before the start, or one that readers of JSON would round, is refused", "[contract]") {
  const std::int64_t time_ns = GENERATE(std::int64_t{-1}, (std::int64_t{1} << 53) + 1);
  StepRecord step = some_step();
  step.ended_ns = time_ns;
  CHECK_THROWS_WITH(step_record_from_json(to_json(step)),
                    Catch::Matchers::StartsWith("trace: `ended_ns` is " + std::to_string(time_ns)));
}

TEST_CASE("tensors with sketches survive the trace", "[contract]") {
  TensorsRecord tensors;
  tensors.step = 1;
  TensorSketch sketch;
  sketch.l2 = 0.5;
  sketch.signed_sums[63] = -1.25e-30;
  tensors.tensors.push_back({"fc1.weight", TensorRole::parameter_gradient, "float32", {128, 784}, kDigest, sketch});
  tensors.tensors.push_back({"fc1", TensorRole::forward_output, "bfloat16", {32, 128}, kDigest, std::nullopt});
  const TensorsRecord back = tensors_record_from_json(to_json(tensors));
  REQUIRE(back.tensors.size() == 2);
  CHECK(to_json(back) == to_json(tensors));
  CHECK(back.tensors[0].sketch->signed_sums[63] == -1.25e-30);
}

TEST_CASE("one flipped bit anywhere in a line is found", "[contract]") {
  std::string line = trace_line(to_json(some_step()), 0);
  line.pop_back();
  for (std::size_t i = 0; i < line.size(); ++i) {
    std::string damaged = line;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    INFO("byte " << i);
    CHECK(std::holds_alternative<std::string>(parse_trace_line(damaged, 0)));
  }
}

TEST_CASE("a line cut short says after how many bytes", "[contract]") {
  const std::string line = trace_line(to_json(some_step()), 0);
  CHECK(std::get<std::string>(parse_trace_line(line.substr(0, 73), 0)) == "line cut after 73 bytes");
  CHECK(std::get<std::string>(parse_trace_line("", 0)) == "line cut after 0 bytes");
}

TEST_CASE("a gap in the sequence is named", "[contract]") {
  const auto parsed = through_file(trace_line(to_json(some_step()), 8), 7);
  CHECK(std::get<std::string>(parsed) == "seq is 8, expected 7");
}

TEST_CASE("a step without a loss, with a null loss or with a step time of zero is refused", "[contract]") {
  nlohmann::json step = to_json(some_step());
  SECTION("missing") { step.erase("loss"); }
  SECTION("null, which is how a careless writer spells NaN") {
    step["loss"] = {{"value", nullptr}, {"bits", "7fc00000"}};
  }
  SECTION("no time") { step["step_time_ns"] = 0; }
  SECTION("short digest") { step["chain"] = "abc"; }
  CHECK_THROWS_AS(step_record_from_json(step), ContractError);
}

TEST_CASE("a NaN loss is kept as NaN", "[contract]") {
  StepRecord step = some_step();
  step.loss = exact_float(std::numeric_limits<float>::quiet_NaN());
  const StepRecord back = step_record_from_json(to_json(step));
  CHECK(back.loss["value"] == "nan");
}

}  // namespace
}  // namespace reprobench
