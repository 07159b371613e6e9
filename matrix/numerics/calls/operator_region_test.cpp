#include <algorithm>
#include <random>

#include "ci/catch.hpp"
#include "matrix/numerics/calls/step_divergence.hpp"
#include "matrix/numerics/calls/written_step.hpp"

namespace reprobench {
namespace {

using Calls = std::vector<OperatorRecord>;
using Names = std::vector<std::string>;

Names calls_of(const OperatorSubgraph& subgraph) {
  Names names;
  for (const OperatorRecord& call : subgraph.calls) names.push_back(call.name);
  return names;
}

OperatorRegion region_between(const WrittenStep& measured, const WrittenStep& expected) {
  const auto point = first_divergence(measured.calls, expected.calls);
  CHECK_FALSE(point.call);
  REQUIRE(point.region);
  return *point.region;
}

TEST_CASE("equal traces diverge nowhere", "[region]") {
  const WrittenStep step = WrittenStep().call("aten::mm", {"x", "w"}, {"a"}).call("aten::relu", {"a"}, {"b"});
  const auto point = first_divergence(step.calls, step.calls);
  CHECK_FALSE(point.call);
  CHECK_FALSE(point.region);
}

TEST_CASE("of backward nodes that one side alone has, the operators are named that they call", "[region]") {
  // As LibTorch records them: a node has no outputs.
  const auto node = [](WrittenStep& of, const std::string& name, const char* gradient, const char* call,
                       const char* made) {
    of.caller("autograd::engine::evaluate_function: " + name, {gradient}, {}, [&](WrittenStep& engine) {
      engine.caller(name, {gradient}, {}, [&](WrittenStep& inner) { inner.call(call, {gradient}, {made}); });
    });
  };
  const auto step = [&](bool is_fused) {
    WrittenStep of;
    of.call("aten::mm", {"x"}, {"y"}).in("backward", "act").call("aten::mm", {"y"}, {"g"});
    if (is_fused) {
      node(of, "GeluBackward0", "g", "aten::gelu_backward", "d'");
      return of.call("aten::sum", {"d'"}, {"w'"});
    }
    node(of, "MulBackward0", "g", "aten::mul", "m");
    node(of, "TanhBackward0", "m", "aten::tanh_backward", "d");
    return of.call("aten::sum", {"d"}, {"w"});
  };
  const auto region = region_between(step(true), step(false));
  CHECK(calls_of(region.measured) == Names{"aten::gelu_backward"});
  CHECK(calls_of(region.expected) == Names{"aten::mul", "aten::tanh_backward"});
}

TEST_CASE("fused attention against attention written out: one call against the four that make the same", "[region]") {
  const WrittenStep fused = WrittenStep()
                                .call("aten::addmm", {"x", "w"}, {"qkv"})
                                .call("aten::scaled_dot_product_attention", {"q", "k", "v"}, {"y'"})
                                .call("aten::addmm", {"y'", "p"}, {"z'"});
  const WrittenStep written_out = WrittenStep()
                                      .call("aten::addmm", {"x", "w"}, {"qkv"})
                                      .call("aten::matmul", {"q", "kt"}, {"s"})
                                      .call("aten::mul", {"s"}, {"s1"}, "0.125")
                                      .call("aten::softmax", {"s1"}, {"a"})
                                      .call("aten::matmul", {"a", "v"}, {"y"})
                                      .call("aten::addmm", {"y", "p"}, {"z"});
  const auto region = region_between(fused, written_out);
  CHECK(calls_of(region.measured) == Names{"aten::scaled_dot_product_attention"});
  CHECK(calls_of(region.expected) == Names{"aten::matmul", "aten::mul", "aten::softmax", "aten::matmul"});
  CHECK(region.measured.outflow.digest == "y'");
  CHECK(region.expected.outflow.digest == "y");
  CHECK(region.measured.is_taken);
  CHECK(region.measured.at.name == "aten::addmm");
  CHECK(region.measured.at.index == 2);
  CHECK(region.expected.at.index == 5);
  CHECK(region.expected.place == 0);
  CHECK(names_of(region.expected, 2) == "aten::matmul, aten::mul and 2 more");
  CHECK(difference_in_kind(region).empty());

  const auto reverse = region_between(written_out, fused);
  CHECK(calls_of(reverse.expected) == Names{"aten::scaled_dot_product_attention"});
}

TEST_CASE("values are followed through views, which have no digest of their own", "[region]") {
  const auto step = [](bool is_fused) {
    WrittenStep of;
    of.call("aten::addmm", {"x", "w"}, {"qkv"}).view("aten::view", 0);
    if (is_fused) {
      of.call("aten::gelu", {"h"}, {"g'"}).from(0, 1).view("aten::transpose", 2);
      return of.call("aten::sum", {"gt'"}, {"s'"}).from(0, 3);
    }
    of.call("aten::erf", {"h"}, {"e"}).from(0, 1).view("aten::transpose", 2);
    of.call("aten::mul", {"et"}, {"m"}).from(0, 3).view("aten::transpose", 4);
    return of.call("aten::sum", {"mt"}, {"s"}).from(0, 5);
  };
  const auto region = region_between(step(true), step(false));
  CHECK(calls_of(region.measured) == Names{"aten::gelu"});
  CHECK(calls_of(region.expected) == Names{"aten::erf", "aten::transpose", "aten::mul"});
}

TEST_CASE("of two inputs that differ, the one that both sides made for themselves comes first", "[region]") {
  const WrittenStep fused = WrittenStep()
                                .call("aten::mm", {"x", "w"}, {"a"})
                                .call("aten::to", {"a"}, {"a'"})
                                .call("aten::gelu", {"x"}, {"g'"})
                                .call("aten::add", {"a'", "g'"}, {"s'"});
  const WrittenStep written_out = WrittenStep()
                                      .call("aten::mm", {"x", "w"}, {"a"})
                                      .call("aten::erf", {"x"}, {"e"})
                                      .call("aten::mul", {"e"}, {"g"})
                                      .call("aten::add", {"a", "g"}, {"s"});
  const auto region = region_between(fused, written_out);
  CHECK(calls_of(region.measured) == Names{"aten::gelu"});
  CHECK(calls_of(region.expected) == Names{"aten::erf", "aten::mul"});
}

TEST_CASE("another view of one tensor is a subgraph by itself", "[region]") {
  const auto step = [](const std::string& dims, const std::string& made) {
    return WrittenStep()
        .call("aten::mm", {"x"}, {"a"})
        .view("aten::transpose", 0, dims)
        .call("aten::sum", {made}, {"s" + made})
        .from(0, 1);
  };
  const auto region = region_between(step("0, 1", "b'"), step("1, 2", "b"));
  CHECK(calls_of(region.measured) == Names{"aten::transpose"});
  CHECK(difference_in_kind(region) == "the constants of a view differ");
}

TEST_CASE("GELU in single operators against the fused one", "[region]") {
  const WrittenStep fused =
      WrittenStep().call("aten::addmm", {"x"}, {"h"}).call("aten::gelu", {"h"}, {"g"}).call("aten::mm", {"g"}, {"z"});
  const WrittenStep single = WrittenStep()
                                 .call("aten::addmm", {"x"}, {"h"})
                                 .call("aten::mul", {"h"}, {"t"}, "0.70710678")
                                 .call("aten::erf", {"t"}, {"e"})
                                 .call("aten::add", {"e"}, {"f"}, "1")
                                 .call("aten::mul", {"h", "f"}, {"g'"})
                                 .call("aten::mm", {"g'"}, {"z'"});
  const auto region = region_between(single, fused);
  CHECK(calls_of(region.measured) == Names{"aten::mul", "aten::erf", "aten::add", "aten::mul"});
  CHECK(calls_of(region.expected) == Names{"aten::gelu"});
}

TEST_CASE("a cast on one side only stands against nothing, and its type is named", "[region]") {
  const WrittenStep plain =
      WrittenStep().call("aten::add", {"a", "b"}, {"x"}).call("aten::layer_norm", {"x", "w"}, {"y"});
  const WrittenStep cast = WrittenStep()
                               .call("aten::add", {"a", "b"}, {"x"})
                               .view("aten::to", 0)
                               .of("bfloat16")
                               .view("aten::to", 1)
                               .call("aten::layer_norm", {"x'", "w"}, {"y'"})
                               .from(0, 2);
  const auto region = region_between(cast, plain);
  CHECK(calls_of(region.measured) == Names{"aten::to", "aten::to"});
  CHECK(region.expected.calls.empty());
  CHECK(names_of(region.expected) == "nothing");
  CHECK(region.expected.outflow.digest == "x");
  CHECK(difference_in_kind(region) == "bfloat16 on the measured side only");
  CHECK(difference_in_kind(region_between(plain, cast)) == "bfloat16 on the expected side only");
  // Indices and masks are of other types without any number being cast.
  OperatorRegion with_indices = region;
  with_indices.measured.calls[0].outputs[0].dtype = "int64";
  CHECK(difference_in_kind(with_indices) == "");
}

TEST_CASE("a call on one side only that changes a tensor in place", "[region]") {
  const WrittenStep plain = WrittenStep().call("aten::add", {"a", "b"}, {"x"}).call("aten::mm", {"x"}, {"y"});
  const WrittenStep scaled = WrittenStep()
                                 .call("aten::add", {"a", "b"}, {"x"})
                                 .call("aten::mul_", {"x"}, {"x'"})
                                 .call("aten::mm", {"x'"}, {"y'"});
  const auto region = region_between(scaled, plain);
  CHECK(calls_of(region.measured) == Names{"aten::mul_"});
  CHECK(region.expected.calls.empty());
}

TEST_CASE("of nested calls without a partner the outermost is named", "[region]") {
  const WrittenStep step =
      WrittenStep()
          .call("aten::add", {"a"}, {"x"})
          .caller("aten::softmax", {"x"}, {"s"}, [](WrittenStep& of) { of.call("aten::_softmax", {"x"}, {"s"}); })
          .call("aten::mm", {"s"}, {"y"});
  const WrittenStep other = WrittenStep()
                                .call("aten::add", {"a"}, {"x"})
                                .call("aten::exp", {"x"}, {"e"})
                                .call("aten::div", {"e"}, {"s'"})
                                .call("aten::mm", {"s'"}, {"y'"});
  const auto region = region_between(step, other);
  CHECK(calls_of(region.measured) == Names{"aten::softmax"});
  CHECK(calls_of(region.expected) == Names{"aten::exp", "aten::div"});
}

// The first of two callees is read last: it must be known to stand inside the same caller.
TEST_CASE("of a nested call with several callees the outermost is named, whichever of them made the value",
          "[region]") {
  for (const bool first_made_it : {true, false}) {
    const std::string value = first_made_it ? "m" : "s";
    const WrittenStep step =
        WrittenStep()
            .call("aten::add", {"a"}, {"x"})
            .caller("aten::softmax", {"x"}, {value},
                    [](WrittenStep& of) { of.call("aten::max", {"x"}, {"m"}).call("aten::_softmax", {"x"}, {"s"}); })
            .call("aten::mm", {"m", "s"}, {"y"});
    const WrittenStep other = WrittenStep()
                                  .call("aten::add", {"a"}, {"x"})
                                  .call("aten::exp", {"x"}, {"m'"})
                                  .call("aten::div", {"m'"}, {"s'"})
                                  .call("aten::mm", {"m'", "s'"}, {"y'"});
    const auto region = region_between(step, other);
    INFO(value);
    CHECK(calls_of(region.measured) == Names{"aten::softmax"});
  }
}

TEST_CASE("a call that both sides make, and that calls other operators on each, is named with these", "[region]") {
  const auto step = [](bool is_flash) {
    const std::string y = is_flash ? "y'" : "y";
    return WrittenStep()
        .call("aten::addmm", {"x"}, {"q"})
        .caller("aten::scaled_dot_product_attention", {"q"}, {y},
                [&](WrittenStep& of) {
                  if (is_flash) {
                    of.call("aten::_flash_attention", {"q"}, {y});
                  } else {
                    of.call("aten::softmax", {"q"}, {"a"}).call("aten::bmm", {"a", "q"}, {y});
                  }
                })
        .call("aten::mm", {y}, {"z" + y});
  };
  const auto point = first_divergence(step(true).calls, step(false).calls);
  REQUIRE(point.call);
  CHECK(point.call->measured.name == "aten::scaled_dot_product_attention");
  REQUIRE(point.region);
  CHECK(calls_of(point.region->measured) == Names{"aten::_flash_attention"});
  CHECK(calls_of(point.region->expected) == Names{"aten::softmax", "aten::bmm"});
}

TEST_CASE("backward nodes of another decomposition are a subgraph as forward calls are", "[region]") {
  const auto step = [](bool is_fused) {
    WrittenStep of;
    of.call("aten::mm", {"x"}, {"y"}).in("backward", "act").call("MmBackward0", {"y"}, {"g"});
    if (is_fused) {
      of.caller("GeluBackward0", {"g"}, {"d'"},
                [](WrittenStep& node) { node.call("aten::gelu_backward", {"g"}, {"d'"}); });
      return of.call("AddmmBackward0", {"d'"}, {"w'"});
    }
    of.call("MulBackward0", {"g"}, {"m"}).call("TanhBackward0", {"m"}, {"d"});
    return of.call("AddmmBackward0", {"d"}, {"w"});
  };
  const auto region = region_between(step(true), step(false));
  CHECK(calls_of(region.measured) == Names{"GeluBackward0"});
  CHECK(calls_of(region.expected) == Names{"MulBackward0", "TanhBackward0"});
  CHECK(region.measured.calls[0].pass == "backward");
}

TEST_CASE("independent calls that run in another order diverge nowhere", "[region]") {
  Calls expected;
  for (int i = 0; i < 40; ++i) {
    const std::string x = std::to_string(i);
    WrittenStep of;
    of.call("aten::relu", {"x" + x}, {"y" + x});
    of.calls[0].index = i;
    expected.push_back(of.calls[0]);
  }
  Calls measured = expected;
  std::shuffle(measured.begin(), measured.end(), std::mt19937(7));
  auto point = first_divergence(measured, expected);
  CHECK_FALSE(point.call);
  CHECK_FALSE(point.region);

  // Nor do they hide the one that differs.
  const auto spoilt = std::find_if(measured.begin(), measured.end(),
                                   [](const OperatorRecord& call) { return call.inputs[0].digest == "x17"; });
  spoilt->outputs[0].digest = "z";
  point = first_divergence(measured, expected);
  REQUIRE(point.call);
  CHECK(point.call->measured.inputs[0].digest == "x17");
  CHECK(point.call->expected.inputs[0].digest == "x17");
}

TEST_CASE("calls of one name that take values the other side has elsewhere are no pair", "[region]") {
  // One call more of the same name before: by position alone mul(b) would stand against mul(c).
  const WrittenStep expected = WrittenStep()
                                   .call("aten::mul", {"b"}, {"p"})
                                   .call("aten::mul", {"c"}, {"q"})
                                   .call("aten::add", {"p", "q"}, {"s"});
  const WrittenStep measured = WrittenStep()
                                   .call("aten::mul", {"c"}, {"q"})
                                   .call("aten::mul", {"b"}, {"p"})
                                   .call("aten::mul", {"q"}, {"q'"})
                                   .call("aten::add", {"p", "q'"}, {"s'"});
  const auto region = region_between(measured, expected);
  CHECK(calls_of(region.measured) == Names{"aten::mul"});
  CHECK(region.measured.calls[0].inputs[0].digest == "q");
  CHECK(region.expected.calls.empty());
}

TEST_CASE("calls with other constants that make what the other side makes elsewhere are no pair", "[region]") {
  const WrittenStep measured =
      WrittenStep().call("aten::mul", {"x"}, {"a"}, "2").call("aten::mul", {"y"}, {"b"}, "0.5");
  const WrittenStep expected =
      WrittenStep().call("aten::mul", {"x"}, {"b"}, "0.5").call("aten::mul", {"y"}, {"a"}, "2");
  CHECK_FALSE(first_divergence(measured.calls, expected.calls).call);
  const WrittenStep other = WrittenStep().call("aten::mul", {"x"}, {"c"}, "0.5").call("aten::mul", {"y"}, {"a"}, "2");
  REQUIRE(first_divergence(measured.calls, other.calls).call);
  CHECK(first_divergence(measured.calls, other.calls).call->constants_differ);
}

TEST_CASE("no operator made it is said only where none stands between equal and different values", "[region]") {
  const WrittenStep expected = WrittenStep().call("aten::mm", {"x", "w"}, {"y"}).call("aten::relu", {"y"}, {"z"});
  SECTION("the parameter was another one before the step") {
    const WrittenStep measured = WrittenStep().call("aten::mm", {"x", "w'"}, {"y'"}).call("aten::relu", {"y'"}, {"z'"});
    const auto point = first_divergence(measured.calls, expected.calls);
    CHECK_FALSE(point.call);
    CHECK_FALSE(point.region);
  }
  SECTION("memory changed between two calls") {
    const WrittenStep measured =
        WrittenStep().call("aten::mm", {"x", "w"}, {"y"}).call("aten::relu", {"y'"}, {"z'"}).from(0, 0);
    const auto point = first_divergence(measured.calls, expected.calls);
    CHECK_FALSE(point.call);
    CHECK_FALSE(point.region);
  }
  SECTION("calls without a partner end the step: they are the subgraph") {
    const WrittenStep measured = WrittenStep().call("aten::mm", {"x", "w"}, {"y"}).call("aten::clamp", {"y"}, {"z'"});
    const auto region = region_between(measured, expected);
    CHECK(calls_of(region.measured) == Names{"aten::clamp"});
    CHECK(calls_of(region.expected) == Names{"aten::relu"});
    CHECK_FALSE(region.measured.is_taken);
    CHECK(region.measured.at.name == "aten::clamp");
  }
  SECTION("another decomposition that ends in equal values made no difference") {
    const WrittenStep measured = WrittenStep()
                                     .call("aten::mm", {"x", "w"}, {"y"})
                                     .call("aten::neg", {"y"}, {"n"})
                                     .call("aten::min", {"n"}, {"z"});
    const auto point = first_divergence(measured.calls, expected.calls);
    CHECK_FALSE(point.call);
    CHECK_FALSE(point.region);
  }
}

TEST_CASE("of two subgraphs the first one is found, and nothing of what inherits it", "[region]") {
  const auto step = [](bool is_fused) {
    WrittenStep of;
    for (int layer = 0; layer < 3; ++layer) {
      const std::string x = std::to_string(layer);
      const std::string mark = is_fused ? "'" : "";
      const std::string in = layer == 0 ? "x" : "z" + std::to_string(layer - 1) + mark;
      of.in("forward", "h." + x);
      of.call("aten::mm", {in}, {"h" + x + (layer == 0 ? "" : mark)});
      const std::string h = "h" + x + (layer == 0 ? "" : mark);
      if (is_fused) {
        of.call("aten::gelu", {h}, {"g" + x + mark});
      } else {
        of.call("aten::erf", {h}, {"e" + x}).call("aten::mul", {"e" + x, h}, {"g" + x});
      }
      of.call("aten::mm", {"g" + x + mark}, {"z" + x + mark});
    }
    return of;
  };
  const auto region = region_between(step(true), step(false));
  CHECK(calls_of(region.measured) == Names{"aten::gelu"});
  CHECK(calls_of(region.expected) == Names{"aten::erf", "aten::mul"});
  CHECK(region.expected.calls[0].module == "h.0");
}

// A replay on substituted inputs records what its calls make, and those behind them take what the other side made.
TEST_CASE("what a call hands on behind a subgraph does not flow into the subgraph", "[region]") {
  WrittenStep fused =
      WrittenStep().call("aten::attention", {"q", "k", "v"}, {"y'"}).call("aten::clone", {"y'"}, {"y'"}).from(0, 0);
  fused.call("aten::mm", {"y", "p"}, {"z"}).from(0, 1).call("aten::relu", {"y"}, {"r"}).from(0, 1);
  WrittenStep written_out = WrittenStep()
                                .call("aten::matmul", {"q", "k"}, {"s"})
                                .call("aten::softmax", {"s"}, {"a"})
                                .from(0, 0)
                                .call("aten::matmul", {"a", "v"}, {"y"})
                                .from(0, 1)
                                .call("aten::clone", {"y"}, {"y"})
                                .from(0, 2);
  written_out.call("aten::mm", {"y", "p"}, {"z"}).from(0, 3).call("aten::relu", {"y"}, {"r"}).from(0, 3);
  const Names calls{"aten::matmul", "aten::softmax", "aten::matmul"};
  const auto region = region_between(fused, written_out);
  CHECK(calls_of(region.measured) == Names{"aten::attention"});
  CHECK(calls_of(region.expected) == calls);
  const auto reverse = region_between(written_out, fused);
  CHECK(calls_of(reverse.measured) == calls);
  CHECK(calls_of(reverse.expected) == Names{"aten::attention"});
}

// The backward pass keeps what softmax made, and a call that both sides make hands it on.
TEST_CASE("what is handed on behind a subgraph cuts it nowhere", "[region]") {
  WrittenStep fused =
      WrittenStep().call("aten::attention", {"q", "k", "v"}, {"y'"}).call("aten::clone", {"y'"}, {"y'"}).from(0, 0);
  fused.call("aten::to", {"kept"}, {"kept"}).call("aten::neg", {"a"}, {"n"}).from(0, 2);
  WrittenStep written_out = WrittenStep()
                                .call("aten::matmul", {"q", "k"}, {"s"})
                                .call("aten::softmax", {"s"}, {"a"})
                                .from(0, 0)
                                .call("aten::matmul", {"a", "v"}, {"y"})
                                .from(0, 1)
                                .call("aten::clone", {"y"}, {"y"})
                                .from(0, 2);
  written_out.call("aten::to", {"a"}, {"a"}).from(0, 1).call("aten::neg", {"a"}, {"n"}).from(0, 4);
  const auto region = region_between(fused, written_out);
  CHECK(calls_of(region.measured) == Names{"aten::attention"});
  CHECK(calls_of(region.expected) == Names{"aten::matmul", "aten::softmax", "aten::matmul"});
}

TEST_CASE("a value of two calls that correspond ends a subgraph in whatever order they ran", "[region]") {
  const WrittenStep fused = WrittenStep()
                                .call("aten::fused", {"q"}, {"r'"})
                                .call("aten::relu", {"r'"}, {"z'"})
                                .call("aten::abs", {"c"}, {"d"})
                                .call("aten::sum", {"c"}, {"f"})
                                .call("aten::exp", {"b"}, {"e"})
                                .call("aten::neg", {"e"}, {"n"});
  const WrittenStep single = WrittenStep()
                                 .call("aten::exp", {"b"}, {"e"})
                                 .call("aten::mul", {"q", "e"}, {"r"})
                                 .call("aten::relu", {"r"}, {"z"})
                                 .call("aten::abs", {"c"}, {"d"})
                                 .call("aten::sum", {"c"}, {"f"})
                                 .call("aten::neg", {"e"}, {"n"});
  const auto region = region_between(fused, single);
  CHECK(calls_of(region.measured) == Names{"aten::fused"});
  CHECK(calls_of(region.expected) == Names{"aten::mul"});
}

TEST_CASE("what two calls that correspond hand on flows into the subgraph behind them", "[region]") {
  const auto begin = [](const std::string& made) {
    return WrittenStep().call("aten::mm", {"x" + made, "w"}, {"a" + made});
  };
  const WrittenStep plain = begin("'").call("aten::relu", {"a"}, {"r"}).from(0, 0);
  const WrittenStep scaled =
      begin("").call("aten::mul", {"a"}, {"m"}).from(0, 0).call("aten::relu", {"m"}, {"s"}).from(0, 1);
  for (const bool swapped : {false, true}) {
    const auto point =
        swapped ? divergence_of_step(scaled.calls, plain.calls) : divergence_of_step(plain.calls, scaled.calls);
    REQUIRE(point.sources.size() == 1);
    const OperatorRegion& region = *point.sources[0].region;
    CHECK(names_of(swapped ? region.expected : region.measured) == "nothing");
    CHECK(names_of(swapped ? region.measured : region.expected) == "aten::mul");
  }
}

TEST_CASE("a value that no call made and that was not there before is not on record, and is asked for no types",
          "[region]") {
  const auto step = [](const std::string& value, bool is_made, const std::string& dtype) {
    WrittenStep of;
    of.call("aten::mm", {"x", "w"}, {"a"});
    if (is_made) of.call("aten::mul", {"p"}, {value}).from(0, -1).of(dtype);
    of.call("aten::add", {"a", value}, {"s" + value}).from(0, 0);
    return of.from(1, is_made ? 1 : -1);
  };
  const auto region = region_between(step("p'", false, ""), step("p\"", true, "bfloat16"));
  CHECK(region.measured.not_on_record);
  CHECK_FALSE(region.expected.not_on_record);
  CHECK(names_of(region.measured) == "no call on record");
  CHECK(difference_in_kind(region).empty());
  CHECK(region_between(step("p\"", true, "float32"), step("p'", false, "")).expected.not_on_record);
}

TEST_CASE("a value of a call elsewhere that does not flow into the other side's subgraph is judged with that call",
          "[region]") {
  const auto step = [](bool is_made_again) {
    WrittenStep of;
    of.call("aten::rope", {"b"}, {"a"});
    if (is_made_again) of.call("aten::exp", {"b"}, {"e"});
    const std::string value = is_made_again ? "e" : "a";
    return of.call("aten::add", {"x", value}, {"s" + value}).call("aten::neg", {"a"}, {"n"});
  };
  const auto region = region_between(step(false), step(true));
  CHECK(calls_of(region.measured) == Names{"aten::rope"});
  CHECK(calls_of(region.expected) == Names{"aten::exp"});
  CHECK_FALSE(region.measured.not_on_record);
}

TEST_CASE("an update that no call on record makes is not on record and is asked for no types", "[region]") {
  const WrittenStep flat = WrittenStep().call("aten::mm", {"x", "w"}, {"g"});
  const WrittenStep written = WrittenStep(flat).in("optimizer", "w").call("aten::addcdiv_", {"w", "g"}, {"w next"});
  const auto region = region_between(flat, written);
  CHECK(region.measured.not_on_record);
  CHECK_FALSE(region.expected.not_on_record);
  CHECK(difference_in_kind(region).empty());
  CHECK(region_between(written, flat).expected.not_on_record);
}

}  // namespace
}  // namespace reprobench
