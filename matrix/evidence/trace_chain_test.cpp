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
