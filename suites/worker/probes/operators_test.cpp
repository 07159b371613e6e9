// Single operator calls on the CPU: their records, and what a planted fault changes in them.
#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include "ci/catch.hpp"
#include "matrix/contract/version.hpp"
#include "suites/worker/probes/call_output.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/single_call.hpp"
#include "suites/worker/record/host_tensor.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {
namespace {

CellRequest calls_request(std::vector<std::string> calls) {
  CellRequest request;
  request.cell_id = "3f9c1e0a7b52";
  request.nonce = "0123456789abcdef";
  request.workload = {"", "base", 0, 0, "operators", 2};
  request.workload.calls = std::move(calls);
  request.device = "cpu";
  request.knobs = with_defaults({});
  return request;
}

CellResult result_for(const CellRequest& request) {
  const TemporaryFolder folder;
  CellResult result;
  run_probe(request, folder.path(), result);
  return result;
}

std::vector<ProbeMeasurement> measurements_for(const CellRequest& request) {
  const CellResult result = result_for(request);
  for (const ProbeMeasurement& measurement : result.measurements) {
    CHECK(probe_measurement_from_json(to_json(measurement)) == measurement);
  }
  return result.measurements;
}

ProbeMeasurement only_call(const std::string& call) { return measurements_for(calls_request({call})).at(0); }

std::vector<std::string> output_names(const CallRecord& record) {
  std::vector<std::string> names;
  for (const CallOutput& output : record.outputs) names.push_back(output.name);
  return names;
}

TEST_CASE("a call leaves its outputs and the gradients of its tensors, near fp64, and its time", "[probe]") {
  const ProbeMeasurement layer_norm = only_call("native_layer_norm(f32[8, 64], [64], f32[64], f32[64] constant, 1e-5)");
  CHECK(layer_norm.status == MeasurementStatus::measured);
  CHECK(layer_norm.samples.size() == 2);
  const CallRecord& record = *layer_norm.call;
  CHECK(output_names(record) ==
        std::vector<std::string>{"output.0", "output.1", "output.2", "gradient.0", "gradient.2"});
  CHECK(record.repeats);
  for (const CallOutput& output : record.outputs) {
    CAPTURE(output.name);
    CHECK(output.no_fp64.empty());
    CHECK(*output.error_rel > 0);
    CHECK(*output.error_rel < 1e-6);
  }
}

TEST_CASE("a call says how a library did it, or why that is not known", "[probe]") {
  const ProbeMeasurement product = only_call("mm(f32[64, 32], f32[32, 16])");
  CHECK(product.algorithm == "gemm");
  CHECK(product.algorithm_unknown.empty());
  CHECK_FALSE(product.kernels.empty());
  const ProbeMeasurement own = only_call("relu(f32[8])");
  CHECK(own.algorithm.empty());
  CHECK_FALSE(own.algorithm_unknown.empty());
  CHECK(only_call("no_such_operator(f32[8])").algorithm_unknown.empty());  // it never ran
}

TEST_CASE("arguments come from the call's text alone, and strides say how they lie", "[probe]") {
  const c10::Device cpu(at::kCPU);
  const auto product = [&](const std::string& text, std::uint64_t seed) {
    Digest inputs;
    const MadeTensors made = SingleCall(parse_call(text), {seed, cpu}).run(false, &inputs);
    return std::pair(inputs, made.front().second);
  };
  const auto [inputs, made] = product("mm(f32[3, 4], f32[4, 2])", 1);
  CHECK(product("mm(f32[3, 4], f32[4, 2])", 1).first == inputs);
  CHECK_FALSE(product("mm(f32[3, 4], f32[4, 2])", 2).first == inputs);
  CHECK_FALSE(product("mm(f32[4, 4], f32[4, 2])", 1).first == inputs);
  CHECK(product("mm(f32[3, 4] strides [1, 3], f32[4, 2])", 1).second.sizes() == made.sizes());
}

TEST_CASE("whole numbers and random numbers have no fp64, and say so", "[probe]") {
  const ProbeMeasurement largest = only_call("argmax(f32[4, 16], 1)");
  CHECK(largest.call->outputs.at(0).no_fp64 == "whole numbers");
  CHECK_FALSE(largest.call->outputs.at(0).error_rel);
  const ProbeMeasurement dropout = only_call("native_dropout(f32[64, 64], 0.5, true)");
  CHECK_FALSE(dropout.call->repeats);
  CHECK_THAT(dropout.call->outputs.at(0).no_fp64, Catch::Contains("draws random numbers"));
  CHECK(only_call("native_dropout(f32[64, 64], 0.5, true)").call->outputs.at(0).digest ==
        dropout.call->outputs.at(0).digest);  // its generator begins alike
}

TEST_CASE("what is zero throughout in fp64 has no relative error", "[probe]") {
  const at::Tensor zero = at::zeros({4}, at::kDouble);
  CallOutput equal = record_of("output.0", at::zeros({4}));
  hold_against(zero, at::zeros({4}), equal);
  CHECK(equal.error_rel == 0);
  CallOutput other = record_of("output.0", at::full({4}, 1e-9));
  hold_against(zero, at::full({4}, 1e-9, at::kFloat), other);
  CHECK_FALSE(other.error_rel.has_value());
  CHECK(other.fp64_sums.empty());
  CHECK_THAT(other.no_fp64, Catch::Contains("zero throughout"));
}

TEST_CASE("what a release does not have is absent, with the reason, and the next call runs", "[probe]") {
  const auto all = measurements_for(calls_request(
      {"no_such_operator(f32[2])", "relu(f32[2], nonsense=3)", "relu(f32[2], 1, 2)", "mm(f32[2, 2])", "relu(f32[2])"}));
  REQUIRE(all.size() == 5);
  for (int i = 0; i < 4; ++i) {
    CHECK(all[static_cast<std::size_t>(i)].status == MeasurementStatus::unsupported);
    CHECK(all[static_cast<std::size_t>(i)].call->end == CallEnd::absent);
  }
  CHECK(all[0].finding == "this release has no operator aten::no_such_operator");
  CHECK_THAT(all[1].finding, Catch::Contains("takes no argument `nonsense`"));
  CHECK_THAT(all[3].finding, Catch::Contains("wants an argument `mat2`"));
  CHECK(all[4].call->end == CallEnd::ran);
}

TEST_CASE("what LibTorch refuses and what needs more memory than allowed is not run", "[probe]") {
  CHECK(only_call("mm(f32[2, 3], f32[4, 5])").call->end == CallEnd::refused);
  CellRequest request = calls_request({"relu(f32[1024, 1024])", "relu(f32[8])"});
  request.workload.memory_bytes = 1 << 20;
  const auto all = measurements_for(request);
  CHECK(all[0].call->end == CallEnd::too_large);
  CHECK(all[0].finding == "needs 24 MiB, the list allows 1 MiB");  // 2 (4 + 8) bytes an element
  CHECK(all[1].call->end == CallEnd::ran);
}

TEST_CASE("#41: a call that reaches beyond tensors is refused by the operator's schema, and touches no file",
          "[probe]") {
  const TemporaryFolder folder;
  const auto canary = folder.path() / "canary";
  const std::string quoted = "'" + canary.string() + "'";
  for (const std::string& call :
       {"from_file(" + quoted + ", true, 25)", "from_file(filename=" + quoted + ", shared=true, size=25)",
        "from_file(approximate=" + quoted + ", true, 25)", std::string("zeros([2], device='f32')"),
        std::string("zeros([2], device=1)"), std::string("record_stream(f32[2], 0)"), std::string("_print(s='tanh')"),
        std::string("set_.source_Storage(f32[2], 0)"), std::string("profiler::_record_function_enter(name='tanh')")}) {
    CAPTURE(call);
    const ProbeMeasurement refused = only_call(call);
    CHECK(refused.call->end == CallEnd::refused);
    CHECK_FALSE(refused.finding.empty());
    CHECK_FALSE(std::filesystem::exists(canary));
  }
  CHECK(only_call("gelu(f32[8], approximate='tanh')").call->end == CallEnd::ran);
  CHECK(only_call("sum(f32[8], dtype='f64')").call->end == CallEnd::ran);
  CHECK(only_call("einsum(equation='ij,jk->ik', {f32[2, 3], f32[3, 4]})").call->end == CallEnd::ran);
}

TEST_CASE("an operator in place is known by what it wrote, each time from the same start", "[probe]") {
  const ProbeMeasurement list = only_call("_foreach_add_.List({f32[8], f32[3]}, {f32[8], f32[3]}, alpha=-0.5)");
  CHECK(output_names(*list.call) == std::vector<std::string>{"changed.0", "changed.0.1"});
  CHECK(list.call->repeats);
  const ProbeMeasurement added = only_call("addcmul_(f32[8], f32[8], f32[8], value=0.5)");
  CHECK(output_names(*added.call) == std::vector<std::string>{"output.0"});
  CHECK(added.call->repeats);
  CHECK(*added.call->outputs.at(0).error_rel < 1e-6);
}

TEST_CASE("a planted fault turns its call and no other", "[probe]") {
  const std::vector<std::string> calls = {"exp(f32[8])", "mm(f32[4, 4], f32[4, 4])", "relu(f32[8])"};
  const auto clean = measurements_for(calls_request(calls));
  CellRequest request = calls_request(calls);
  const std::string kind = GENERATE("result_bit", "result_wrong", "operand_bit");
  request.inject = Injection{kind, 2, "", 3};
  const auto faulty = measurements_for(request);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const CallRecord& ours = *faulty[i].call;
    const CallRecord& theirs = *clean[i].call;
    CHECK((ours == theirs) == (i != 1));
    CHECK((ours.inputs == theirs.inputs) == (i != 1 || kind != "operand_bit"));
  }
  CHECK((*faulty[1].call->outputs[0].error_rel > 1) == (kind == "result_wrong"));
}

TEST_CASE("two runs have one chain if every call made the same bits", "[probe]") {
  CellRequest request = calls_request({"exp(f32[8])", "relu(f32[8])"});
  const CellResult first = result_for(request);
  CHECK(result_for(request).chain == first.chain);
  request.inject = Injection{"result_bit", 2, "", 3};
  CHECK_FALSE(result_for(request).chain == first.chain);
  CHECK(result_for(request).workload_digest == first.workload_digest);
}

TEST_CASE("a probe of calls without any, or with one that cannot be read, is refused", "[probe]") {
  CHECK_THROWS_AS(measurements_for(calls_request({})), RunFailure);
  CHECK_THROWS_AS(measurements_for(calls_request({"relu(f32[2]"})), ContractError);
}

}  // namespace
}  // namespace reprobench
