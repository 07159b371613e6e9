#include "matrix/evidence/trace_chain.hpp"

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"

using namespace reprobench;

namespace {

// Steps 1 to `steps`, with roots and chains by their numbers.
Trace trace_of(std::int64_t steps) {
  Trace trace;
  for (std::int64_t number = 1; number <= steps; ++number) {
    StepRecord step;
    step.step = number;
    step.loss = exact_float(1.0F);
    step.root = "root " + std::to_string(number);
    step.chain = "chain " + std::to_string(number);
    trace.steps.push_back(step);
  }
  return trace;
}

}  // namespace

TEST_CASE("a root is over every tensor, in the order of the step", "[trace-chain]") {
  const auto tensor = [](const char* name, char digit) {
    return TensorRecord{name, TensorRole::parameter, "float32", {2}, std::string(32, digit), std::nullopt};
  };
  const TensorsRecord both{1, false, {tensor("w", 'c'), tensor("v", 'd')}};
  DigestBuilder expected;
  append_tensor(expected, "w", "parameter", std::string(32, 'c'));
  append_tensor(expected, "v", "parameter", std::string(32, 'd'));
  CHECK(to_hex(root_of_tensors(both)) == to_hex(expected.finish()));
  for (const TensorsRecord& other :
       {TensorsRecord{1, false, {tensor("w", 'c')}}, TensorsRecord{1, false, {tensor("v", 'd'), tensor("w", 'c')}},
        TensorsRecord{1, false, {tensor("w", 'c'), tensor("v", 'e')}}, TensorsRecord{1, false, {}}}) {
    CHECK(to_hex(root_of_tensors(other)) != to_hex(root_of_tensors(both)));
  }
}

TEST_CASE("traces take the same course where their chains say so", "[trace-chain]") {
  const Trace trace = trace_of(4);
  Trace other = trace_of(4);
  other.steps[3].chain = "another";
  CHECK(same_course(trace, other, 3));
  CHECK_FALSE(same_course(trace, other, 4));
}

TEST_CASE("a trace that ends before the step shows nothing about it", "[trace-chain]") {
  CHECK_FALSE(same_course(trace_of(4), trace_of(3), 4));
  CHECK_FALSE(same_course(trace_of(3), trace_of(4), 4));
  CHECK(same_course(trace_of(4), trace_of(3), 3));
}

TEST_CASE("tensors that belong to no step, or to one step twice, leave a gap", "[trace-chain]") {
  CellRequest request;
  Trace trace;
  trace.header.workload_digest = std::string(32, 'a');
  trace.header.level = TraceLevel::tensor;
  std::string chain = trace.header.workload_digest;
  for (std::int64_t number = 1; number <= 3; ++number) {
    const TensorsRecord tensors{
        number, false, {{"w", TensorRole::parameter, "float32", {2}, std::string(32, 'c'), {}}}};
    StepRecord step;
    step.step = number;
    step.loss = exact_float(1.0F);
    step.root = to_hex(root_of_tensors(tensors));
    const auto& bits = step.loss.at("bits").get_ref<const std::string&>();
    chain = to_hex(step_chain_digest(*digest_from_hex(chain), *digest_from_hex(step.root), bits));
    step.chain = chain;
    trace.steps.push_back(step);
    trace.tensors.push_back(tensors);
  }
  CHECK(chain_gap(trace, request).empty());
  Trace more = trace;
  more.tensors.push_back({4, false, {}});
  CHECK(chain_gap(more, request) == "trace.jsonl: tensors of step 4 belong to no step");
  more = trace;
  more.tensors = {trace.tensors[0], trace.tensors[1], trace.tensors[1], trace.tensors[2]};
  CHECK(chain_gap(more, request) == "trace.jsonl: the tensors of step 3 are missing");
}
