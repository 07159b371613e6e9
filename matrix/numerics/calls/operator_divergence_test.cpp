#include "matrix/numerics/calls/operator_divergence.hpp"

#include "ci/catch.hpp"
#include "matrix/numerics/calls/step_divergence.hpp"

namespace reprobench {
namespace {

OperatorTensor tensor(const std::string& digest) { return {"float32", {2, 3}, digest}; }

OperatorRecord operator_call(std::int64_t index, const std::string& name, const std::vector<std::string>& inputs,
                             const std::string& output, const std::string& constants = "") {
  OperatorRecord record;
  record.step = 1;
  record.index = index;
  record.name = name;
  record.pass = "forward";
  for (const std::string& digest : inputs) record.inputs.push_back(tensor(digest));
  record.outputs.push_back(tensor(output));
  record.constants = constants;
  return record;
}

using Calls = std::vector<OperatorRecord>;

TEST_CASE("an optional argument that one release alone records as absent is no other constant", "[operators]") {
  CHECK(same_constants("1, -100", "none, 1, -100"));
  CHECK(same_constants("none, [2, 2], none, 1", "[2, 2], 1"));
  CHECK(same_constants("", ""));
  CHECK_FALSE(same_constants("1, -100", "none, 2, -100"));
  CHECK_FALSE(same_constants("none, 5", "5, none"));  // as many, in other places
  CHECK_FALSE(same_constants("none", "tanh"));
  CHECK_FALSE(same_constants("[2, none]", "[2]"));
  CHECK_FALSE(same_constants("", "none"));
  CHECK_FALSE(same_constants("none", "none, none"));
  CHECK_FALSE(same_constants("", "1e-05"));
  CHECK_FALSE(same_constants("1, 2", "1"));
}

TEST_CASE("the operator whose inputs agree and whose output differs is found, not those that inherit it", "[verdict]") {
  const Calls expected = {operator_call(1, "aten::mm", {"a", "b"}, "c"),
                          operator_call(0, "aten::linear", {"a", "b"}, "c"), operator_call(2, "aten::relu", {"c"}, "d"),
                          operator_call(3, "aten::mm", {"d", "e"}, "f")};
  Calls measured = expected;
  CHECK_FALSE(first_divergence(measured, expected).call);
  measured[2].outputs[0].digest = "x";
  measured[3].inputs[0].digest = "x";
  measured[3].outputs[0].digest = "y";
  const auto found = first_divergence(measured, expected).call;
  REQUIRE(found);
  CHECK(found->measured.index == 2);
  CHECK(found->calls_compared == 2);
  CHECK(diverging_operator_names(measured, expected) == std::vector<std::string>{"aten::relu"});
}

TEST_CASE("of nested operators the innermost is named", "[verdict]") {
  Calls expected = {operator_call(1, "aten::mm", {"a", "b"}, "c"), operator_call(0, "aten::linear", {"a", "b"}, "c")};
  expected[0].depth = 1;
  Calls measured = expected;
  measured[0].outputs[0].digest = measured[1].outputs[0].digest = "x";
  CHECK(first_divergence(measured, expected).call->measured.name == "aten::mm");
  CHECK(diverging_operator_names(measured, expected) == std::vector<std::string>{"aten::mm"});
}

TEST_CASE("every operator that diverges by itself is named, once, in the order of the first call", "[verdict]") {
  const char* names[] = {"aten::mm", "aten::relu", "aten::mm", "aten::sum", "aten::relu", "aten::mm"};
  Calls expected;
  for (int i = 0; i < 6; ++i) {
    expected.push_back(operator_call(i, names[i], {"in" + std::to_string(i)}, "out" + std::to_string(i)));
  }
  Calls measured = expected;
  CHECK(diverging_operator_names(measured, expected).empty());
  measured[3].outputs[0].digest = "x";
  CHECK(diverging_operator_names(measured, expected) == std::vector<std::string>{"aten::sum"});
  for (OperatorRecord& call : measured) call.outputs[0].digest = "x";
  CHECK(diverging_operator_names(measured, expected) ==
        std::vector<std::string>{"aten::mm", "aten::relu", "aten::sum"});
  // Another input explains another output.
  measured[0].inputs[0].digest = measured[2].inputs[0].digest = measured[5].inputs[0].digest = "x";
  CHECK(diverging_operator_names(measured, expected) == std::vector<std::string>{"aten::relu", "aten::sum"});
}

TEST_CASE("a caller is named beside its callees only where none of them diverged in that call", "[verdict]") {
  const auto inner = [](std::int64_t index, int depth, const char* name, const char* output) {
    OperatorRecord call = operator_call(index, name, {name}, output);
    call.depth = depth;
    return call;
  };
  // linear (t, mm) twice: the second time mm holds and linear alone is wrong.
  const Calls expected = {inner(2, 2, "mul", "m"), inner(1, 1, "mm", "c"), inner(0, 0, "linear", "d"),
                          inner(5, 2, "mul", "m"), inner(4, 1, "mm", "c"), inner(3, 0, "linear", "d")};
  const auto named = [&](const std::vector<std::size_t>& wrong) {
    Calls measured = expected;
    for (const std::size_t call : wrong) measured[call].outputs[0].digest = "x";
    return diverging_operator_names(measured, expected);
  };
  using Names = std::vector<std::string>;
  CHECK(named({0, 1, 2}) == Names{"mul"});
  CHECK(named({1, 2}) == Names{"mm"});
  CHECK(named({2}) == Names{"linear"});
  CHECK(named({0, 1, 2, 5}) == Names{"mul", "linear"});
  CHECK(named({0, 1, 2, 4, 5}) == Names{"mul", "mm"});
  CHECK(named({3, 4, 5}) == Names{"mul"});
  CHECK(named({0, 2}) == Names{"mul", "linear"});  // what lies between them agrees
}

TEST_CASE("the first output that differs is found, among those that both sides have on record", "[verdict]") {
  OperatorRecord expected = operator_call(0, "aten::f", {"a"}, "one");
  for (const char* digest : {"two", "three"}) expected.outputs.push_back(tensor(digest));
  const auto differing = [&](const std::vector<std::string>& digests) {
    OperatorRecord measured = expected;
    measured.outputs.clear();
    for (const std::string& digest : digests) measured.outputs.push_back(tensor(digest));
    CHECK(differing_output(measured, expected) == differing_output(expected, measured));
    return differing_output(measured, expected);
  };
  CHECK_FALSE(differing({"one", "two", "three"}));
  CHECK(differing({"x", "x", "x"}) == 0);
  CHECK(differing({"one", "x", "x"}) == 1);
  CHECK(differing({"one", "two", "x"}) == 2);
  CHECK(differing({"", "two", "x"}) == 2);
  CHECK_FALSE(differing({"one", "", "three"}));
  CHECK_FALSE(differing({"one", "two"}));
  CHECK_FALSE(differing({"one", "two", "three", "four"}));
  CHECK_FALSE(differing({}));
}

TEST_CASE("of two releases with other inner calls the outer ones are still held against each other", "[verdict]") {
  Calls expected;
  Calls measured;
  for (std::int64_t i = 0; i < 6'000; ++i) {  // too many for one table
    expected.push_back(operator_call(2 * i + 1, "aten::as_strided", {"a"}, "b"));
    expected.push_back(operator_call(2 * i, "aten::t", {"a"}, "b"));
    measured.push_back(operator_call(2 * i + 1, "aten::permute", {"a"}, "b"));
    measured.push_back(operator_call(2 * i, "aten::t", {"a"}, "b"));
    expected[expected.size() - 2].depth = measured[measured.size() - 2].depth = 1;
  }
  measured.back().outputs[0].digest = "x";
  const auto found = first_divergence(measured, expected).call;
  REQUIRE(found);
  CHECK(found->measured.index == 2 * 5'999);
}

TEST_CASE("memory that nobody has written is neither an input nor an output", "[verdict]") {
  const Calls expected = {operator_call(0, "aten::empty", {}, ""), operator_call(1, "aten::mm", {"", "b"}, "c")};
  Calls measured = expected;
  measured[1].inputs.erase(measured[1].inputs.begin());
  CHECK_FALSE(first_divergence(measured, expected).call);
  measured[1].outputs[0].digest = "x";
  CHECK(first_divergence(measured, expected).call->measured.name == "aten::mm");
}

TEST_CASE("releases that take different operators are compared where they take the same", "[verdict]") {
  const Calls expected = {operator_call(0, "aten::mm", {"a"}, "b"), operator_call(1, "aten::contiguous", {"b"}, "b"),
                          operator_call(2, "aten::gelu", {"b"}, "c"), operator_call(3, "aten::sum", {"c"}, "d")};
  const Calls measured = {operator_call(0, "aten::mm", {"a"}, "b"), operator_call(1, "aten::gelu", {"b"}, "x"),
                          operator_call(2, "aten::detach", {"x"}, "x"), operator_call(3, "aten::sum", {"x"}, "y")};
  const auto found = first_divergence(measured, expected).call;
  REQUIRE(found);
  CHECK(found->measured.name == "aten::gelu");
  CHECK(found->expected.index == 2);
  CHECK(found->calls_unmatched == 2);
}

TEST_CASE("another constant is told from another implementation", "[verdict]") {
  const Calls expected = {operator_call(0, "aten::native_layer_norm", {"a"}, "b", "1e-05")};
  const Calls measured = {operator_call(0, "aten::native_layer_norm", {"a"}, "c", "1.1e-05")};
  CHECK(first_divergence(measured, expected).call->constants_differ);
}

}  // namespace
}  // namespace reprobench
