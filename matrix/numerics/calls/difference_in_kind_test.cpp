// What is said of two subgraphs of calls beside the names of their operators.
#include "ci/catch.hpp"
#include "matrix/numerics/calls/operator_region.hpp"

namespace reprobench {
namespace {

OperatorRecord making(const std::string& name, const std::vector<std::string>& dtypes) {
  OperatorRecord call;
  call.name = name;
  for (const std::string& dtype : dtypes) call.outputs.push_back({dtype, {1}, "d"});
  return call;
}

OperatorSubgraph subgraph_of(const std::vector<OperatorRecord>& calls, const std::string& outflow = "float32") {
  OperatorSubgraph subgraph;
  subgraph.calls = calls;
  subgraph.outflow = {outflow, {1}, "d"};
  return subgraph;
}

TEST_CASE("a subgraph is named by as many calls as are asked for, and by how many more there are", "[region]") {
  const OperatorSubgraph subgraph = subgraph_of({making("a", {}), making("b", {}), making("c", {})});
  CHECK(names_of(subgraph, 4) == "a, b, c");
  CHECK(names_of(subgraph, 3) == "a, b, c");
  CHECK(names_of(subgraph, 2) == "a, b and 1 more");
  CHECK(names_of(subgraph, 1) == "a and 2 more");
  CHECK(names_of(subgraph_of({making("a", {})}), 1) == "a");
  CHECK(names_of(subgraph_of({})) == "nothing");
  const std::vector<OperatorRecord> nine(9, making("x", {}));
  CHECK(names_of(subgraph_of(nine)) == "x, x, x, x, x, x, x, x and 1 more");
}

TEST_CASE("every type of float that one side alone makes is told, in any output of any call or in the value itself",
          "[region]") {
  const auto told = [](const OperatorSubgraph& measured, const OperatorSubgraph& expected) {
    return difference_in_kind({measured, expected, false});
  };
  const OperatorSubgraph plain = subgraph_of({making("a", {"float32"})});
  CHECK(told(plain, plain).empty());
  CHECK(told(subgraph_of({}, "bfloat16"), subgraph_of({})) ==
        "bfloat16 on the measured side only, float32 on the expected side only");
  CHECK(told(subgraph_of({making("a", {"float32", "bfloat16"})}), plain) == "bfloat16 on the measured side only");
  CHECK(told(plain, subgraph_of({making("a", {}), making("b", {"float16"})})) == "float16 on the expected side only");
  CHECK(told(subgraph_of({making("a", {"float64"}), making("b", {"bfloat16"})}), plain) ==
        "bfloat16 on the measured side only, float64 on the measured side only");
  CHECK(told(subgraph_of({making("a", {"int64", "bool"})}), plain).empty());
  CHECK(difference_in_kind({plain, subgraph_of({making("a", {"float16"})}), true}) ==
        "float16 on the expected side only, the constants of a view differ");
}

TEST_CASE("state that one side alone changes is told, of the side that leaves it as it is", "[region]") {
  OperatorRegion region{{}, subgraph_of({making("aten::addcdiv_", {"float32"})}), false};
  region.measured.kept = {"fc1.weight", "fc1.bias"};
  CHECK(difference_in_kind(region) == "the measured side leaves fc1.weight, fc1.bias as it is");
  std::swap(region.measured, region.expected);
  CHECK(difference_in_kind(region) == "the expected side leaves fc1.weight, fc1.bias as it is");
}

TEST_CASE("where one side's calls are not on record the types of the value are compared, and no others", "[region]") {
  OperatorRegion region{subgraph_of({}), subgraph_of({making("aten::to", {"bfloat16"})}), false};
  CHECK(difference_in_kind(region) == "bfloat16 on the expected side only");
  region.measured.not_on_record = true;
  CHECK(difference_in_kind(region).empty());
  region.measured.outflow.dtype = "float16";
  CHECK(difference_in_kind(region) == "float16 on the measured side only, float32 on the expected side only");
}

}  // namespace
}  // namespace reprobench
