#include "matrix/numerics/calls/step_divergence.hpp"

#include "ci/catch.hpp"
#include "matrix/numerics/calls/written_step.hpp"

namespace reprobench {
namespace {

using Names = std::vector<std::string>;

// "aten::mm 3" by name and index; of a subgraph its calls.
Names sources_of(const StepDivergence& divergence) {
  Names names;
  for (const DivergencePoint& source : divergence.sources) {
    names.push_back(source.call ? source.call->measured.name + " " + std::to_string(source.call->measured.index)
                                : names_of(source.region->measured) + " / " + names_of(source.region->expected));
  }
  return names;
}

StepDivergence compared(const WrittenStep& measured, const WrittenStep& expected) {
  return divergence_of_step(measured.calls, expected.calls);
}

// A forward and a backward pass and the decay of two weights; `mark` stands at what a product of another order makes
// and at all that comes of it.
WrittenStep trained(const std::string& mark, const std::string& decayed = "d2") {
  return WrittenStep()
      .call("aten::mm", {"x", "w1"}, {"h" + mark})
      .call("aten::relu", {"h" + mark}, {"r" + mark})
      .call("aten::mm", {"r" + mark, "w2"}, {"y" + mark})
      .in("backward", "h.0")
      .call("aten::mm", {"y" + mark, "x"}, {"g" + mark})
      .in("optimizer", "w1")
      .call("aten::mul_", {"w1"}, {"d1"}, "0.99")
      .call("aten::addcdiv_", {"d1", "g" + mark}, {"v1" + mark})
      .in("optimizer", "w2")
      .call("aten::mul_", {"w2"}, {decayed}, "0.99")
      .call("aten::addcdiv_", {decayed, "g" + mark}, {"v2" + mark + decayed});
}

TEST_CASE("what takes a value that differs already is no source, and is counted", "[divergence]") {
  const auto divergence = compared(trained("'"), trained(""));
  CHECK(sources_of(divergence) == Names{"aten::mm 0"});
  CHECK(divergence.calls_apart == 5);
  CHECK_FALSE(divergence.begins_apart);
  CHECK(compared(trained(""), trained("")).calls_apart == 0);
  CHECK_FALSE(compared(trained(""), trained("")).diverges());
}

TEST_CASE("a call with equal inputs behind the first difference is a source of its own", "[divergence]") {
  const auto divergence = compared(trained("'", "d2'"), trained(""));
  CHECK(sources_of(divergence) == Names{"aten::mm 0", "aten::mul_ 6"});
  CHECK(divergence.sources[1].inputs_agree);
  CHECK(divergence.sources[1].call->measured.module == "w2");
  CHECK(divergence.calls_apart == 5);
}

// As oneDNN's convolution is recorded: it fills what `empty` made before it shows it as `as_strided_`.
WrittenStep convolved(const std::string& mark, const std::string& before = "", const std::string& image = "x") {
  WrittenStep step;
  if (!before.empty()) step.call("aten::mm", {"a", "b"}, {before});
  return step
      .caller("aten::conv2d", {image, "w"}, {"y" + mark},
              [&](WrittenStep& inside) {
                inside.caller("aten::mkldnn_convolution", {image, "w"}, {"y" + mark}, [&](WrittenStep& library) {
                  library.call("aten::empty", {}, {""}, "[2, 3]");
                  const std::int64_t buffer = library.calls.back().index;
                  library.call("aten::as_strided_", {"y" + mark}, {"y" + mark}, "[3, 1]").from(0, buffer);
                });
              })
      .call("aten::relu", {"y" + mark}, {"r" + mark});
}

TEST_CASE("a call that fills a buffer by itself is the source of what its callees then take", "[divergence]") {
  const auto divergence = compared(convolved("'"), convolved(""));
  CHECK(sources_of(divergence) == Names{"aten::mkldnn_convolution 1"});
  CHECK_FALSE(divergence.begins_apart);
  CHECK(divergence.calls_apart == 1);  // relu alone
  CHECK(first_divergence(convolved("'").calls, convolved("").calls).call);
}

TEST_CASE("such a call is found behind another source too", "[divergence]") {
  const auto divergence = compared(convolved("'", "m'"), convolved("", "m"));
  CHECK(sources_of(divergence) == Names{"aten::mm 0", "aten::mkldnn_convolution 2"});
}

TEST_CASE("a call that fills a buffer out of values that differ already is no source", "[divergence]") {
  const auto divergence = compared(convolved("'", "", "x'"), convolved(""));
  CHECK(divergence.sources.empty());
  CHECK(divergence.begins_apart);
}

TEST_CASE("a subgraph that takes equal values behind the first difference is a source of its own", "[divergence]") {
  const auto step = [](bool is_other) {
    const std::string mark = is_other ? "'" : "";
    WrittenStep of;
    of.call("aten::mm", {"x", "w"}, {"h" + mark}).call("aten::embedding", {"i"}, {"e"});
    if (is_other) {
      of.call("aten::gelu", {"e"}, {"g'"});
    } else {
      of.call("aten::erf", {"e"}, {"f"}).call("aten::mul", {"f"}, {"g"});
    }
    return of.call("aten::add", {"h" + mark, "g" + mark}, {"s" + mark});
  };
  CHECK(sources_of(compared(step(true), step(false))) == Names{"aten::mm 0", "aten::gelu / aten::erf, aten::mul"});
}

TEST_CASE("a value that one side makes twice flows into its subgraph from outside, through a view too",
          "[divergence]") {
  const auto by_halves = [](const std::string& again) {
    WrittenStep step;
    step.call("aten::mul", {"x", "x"}, {"s"})
        .view("aten::narrow", 0, "-1, 1, 1")
        .call("aten::mean", {"upper"}, {"m1"})
        .from(0, 1)
        .call("aten::mul", {"x", "x"}, {again})
        .view("aten::narrow", 3, "-1, 0, 1")
        .call("aten::mean", {"lower"}, {"m2"})
        .from(0, 4)
        .call("aten::add", {"m1", "m2"}, {"m'"})
        .call("aten::rsqrt", {"m'"}, {"y'"});
    for (const std::size_t mean : {2, 5}) step.calls[mean].inputs[0].shape = {2, 1};  // pairs with no whole one
    return step;
  };
  const WrittenStep whole = WrittenStep()
                                .call("aten::mul", {"x", "x"}, {"s"})
                                .call("aten::mean", {"s"}, {"m"})
                                .call("aten::rsqrt", {"m"}, {"y"});
  CHECK(sources_of(compared(by_halves("s"), whole)) ==
        Names{"aten::narrow, aten::mean, aten::narrow, aten::mean, aten::add / aten::mean"});
  CHECK(sources_of(compared(by_halves("s'"), whole)) ==
        Names{"aten::narrow, aten::mean, aten::mul, aten::narrow, aten::mean, aten::add / aten::mean"});
}

TEST_CASE("a subgraph that takes what a source made is none", "[divergence]") {
  const auto step = [](bool is_other) {
    const std::string mark = is_other ? "'" : "";
    WrittenStep of;
    of.call("aten::mm", {"x", "w"}, {"h" + mark});
    if (is_other) {
      of.call("aten::gelu", {"h'"}, {"g'"});
    } else {
      of.call("aten::erf", {"h"}, {"f"}).call("aten::mul", {"f"}, {"g"});
    }
    return of.call("aten::add", {"g" + mark, "x"}, {"s" + mark}).call("aten::sum", {"s" + mark}, {"t" + mark});
  };
  const auto divergence = compared(step(true), step(false));
  CHECK(sources_of(divergence) == Names{"aten::mm 0"});
  CHECK(divergence.calls_apart == 2);
}

TEST_CASE("a state that differed before the step hides no call that makes a difference of its own", "[divergence]") {
  const auto step = [](const std::string& weight, const std::string& other) {
    return WrittenStep()
        .call("aten::mm", {"x", weight}, {"h" + weight})
        .call("aten::relu", {"h" + weight}, {"r" + weight})
        .in("optimizer", "w2")
        .call("aten::mul_", {"w2"}, {other}, "0.99");
  };
  const auto divergence = compared(step("w'", "d'"), step("w", "d"));
  CHECK(divergence.begins_apart);
  CHECK(sources_of(divergence) == Names{"aten::mul_ 2"});
  CHECK_FALSE(first_divergence(step("w'", "d'").calls, step("w", "d").calls).call);
  CHECK_FALSE(compared(step("w", "d'"), step("w", "d")).begins_apart);
}

TEST_CASE("of nested calls the innermost source is named, and its callers are none", "[divergence]") {
  const auto step = [](const std::string& mark) {
    return WrittenStep()
        .call("aten::mm", {"x", "w"}, {"h" + mark})
        .caller("aten::linear", {"e", "w2"}, {"y" + mark},
                [&](WrittenStep& of) {
                  of.call("aten::t", {""}, {""}).call("aten::addmm", {"e", "w2"}, {"y" + mark});
                })
        .call("aten::relu", {"y" + mark}, {"r" + mark});
  };
  CHECK(sources_of(compared(step("'"), step(""))) == Names{"aten::mm 0", "aten::addmm 3"});
}

TEST_CASE("a backward node behind the first difference may have kept what differs: it is no source", "[divergence]") {
  const auto step = [](const std::string& mark) {
    return WrittenStep()
        .call("aten::mm", {"x", "w"}, {"h" + mark})
        .in("backward", "h.0")
        .call("MulBackward0", {"one"}, {"g" + mark})
        .caller("PowBackward0", {"one"}, {"p" + mark}, [&](WrittenStep& of) {
          of.call("aten::mul", {"one", "h" + mark}, {"p" + mark});
        });
  };
  CHECK(sources_of(compared(step("'"), step(""))) == Names{"aten::mm 0"});
  // Ahead of any difference it is one.
  const WrittenStep ours = WrittenStep().in("backward", "h.0").call("MulBackward0", {"one"}, {"g'"});
  const WrittenStep theirs = WrittenStep().in("backward", "h.0").call("MulBackward0", {"one"}, {"g"});
  CHECK(sources_of(compared(ours, theirs)) == Names{"MulBackward0 0"});
}

// A product, then a normalisation of what it made with the constants under test, and what comes of it.
WrittenStep normalised(const std::string& mark, const std::string& constants, const std::string& between = "") {
  WrittenStep of;
  of.call("aten::mm", {"x", "w"}, {"h" + mark});
  if (!between.empty()) of.call(between, {"h" + mark}, {"b" + mark});
  return of.call("aten::native_layer_norm", {"h" + mark}, {"n" + mark}, constants)
      .call("aten::mm", {"n" + mark, "w"}, {"y" + mark});
}

TEST_CASE("another constant behind the first difference is a source although the inputs differ", "[divergence]") {
  const auto divergence = compared(normalised("'", "[128], 1.1e-05"), normalised("", "[128], 1e-05"));
  CHECK(sources_of(divergence) == Names{"aten::mm 0", "aten::native_layer_norm 1"});
  CHECK_FALSE(divergence.sources[1].inputs_agree);
  CHECK(divergence.sources[1].call->constants_differ);
  CHECK(sources_of(compared(normalised("'", "[128], 1e-05"), normalised("", "[128], 1e-05"))) == Names{"aten::mm 0"});
}

TEST_CASE("what a later release appends to the constants of an operator is no other question", "[divergence]") {
  const auto one = [](const std::string& ours, const std::string& theirs) {
    return sources_of(compared(normalised("'", ours), normalised("", theirs))).size();
  };
  CHECK(one("[128, 2], 1e-05", "[128, 2], 1e-05, false") == 1);
  CHECK(one("[128, 2], 1e-05, false", "[128, 2], 1e-05") == 1);
  CHECK(one("[128, 2], 1e-05, false", "[128, 2], 2e-05") == 2);
  CHECK(one("[128, 2], 1e-05", "[128, 3], 1e-05") == 2);
  // A list is one constant: that one side's is longer appends nothing to the call.
  CHECK(one("[128], 1e-05", "[128, 2], 1e-05") == 2);
  CHECK(one("1e-05, [128]", "1e-05, [128, 2]") == 2);
  CHECK(one("[[1, 2], [3]], 1", "[[1, 2], [3]], 1, 2") == 1);
  CHECK(one("[[1, 2], [3]], 1", "[[1, 2], [3, 4]], 1") == 2);
  CHECK(one("", "1") == 1);
}

TEST_CASE("a constant that may come of a number read off values that differ is no other question", "[divergence]") {
  for (const char* reader : {"aten::item", "aten::_local_scalar_dense"}) {
    CHECK(sources_of(compared(normalised("'", "0.2", reader), normalised("", "0.1", reader))) == Names{"aten::mm 0"});
  }
  CHECK(sources_of(compared(normalised("'", "0.2", "aten::relu"), normalised("", "0.1", "aten::relu"))).size() == 2);
}

TEST_CASE("the factor that gradients are clipped by comes of their norm", "[divergence]") {
  const auto step = [](const std::string& mark, const std::string& pass, const std::string& constant) {
    return WrittenStep()
        .call("aten::mm", {"x", "w"}, {"h" + mark})
        .in(pass, "w")
        .call("aten::mul_", {"h" + mark}, {"c" + mark}, constant)
        .call("aten::add_", {"c" + mark}, {"a" + mark}, constant);
  };
  const auto sources = [&](const std::string& pass) {
    return sources_of(compared(step("'", pass, "0.5"), step("", pass, "0.25")));
  };
  CHECK(sources("optimizer") == Names{"aten::mm 0", "aten::add_ 2"});
  CHECK(sources("backward") == Names{"aten::mm 0", "aten::mul_ 1", "aten::add_ 2"});
}

TEST_CASE("calls that only stand at one place are asked nothing beside values that differ", "[divergence]") {
  // The measured side has a call more: its neighbours do not pair up.
  const WrittenStep measured = WrittenStep()
                                   .call("aten::mm", {"x", "w"}, {"h'"})
                                   .call("aten::abs", {"h'"}, {"a'"})
                                   .call("aten::add", {"a'"}, {"s'"}, "2")
                                   .call("aten::sum", {"s'"}, {"t'"});
  const WrittenStep expected = WrittenStep()
                                   .call("aten::mm", {"x", "w"}, {"h"})
                                   .call("aten::add", {"h"}, {"s"}, "1")
                                   .call("aten::sum", {"s"}, {"t"});
  CHECK(sources_of(compared(measured, expected)) == Names{"aten::mm 0"});
  // Likewise behind it.
  const auto followed = [](const std::string& mark, const std::string& constant, const std::string& by) {
    return WrittenStep()
        .call("aten::mm", {"x", "w"}, {"h" + mark})
        .call("aten::add", {"h" + mark}, {"s" + mark}, constant)
        .call(by, {"s" + mark}, {"t" + mark});
  };
  CHECK(sources_of(compared(followed("'", "2", "aten::sum"), followed("", "1", "aten::sum"))) ==
        Names{"aten::mm 0", "aten::add 1"});
  CHECK(sources_of(compared(followed("'", "2", "aten::mean"), followed("", "1", "aten::sum"))) == Names{"aten::mm 0"});
}

TEST_CASE("calls without a partner that end the step are a source behind the first one", "[divergence]") {
  const auto step = [](const std::string& mark, const std::string& decay) {
    return WrittenStep()
        .call("aten::mm", {"x", "w"}, {"h" + mark})
        .in("optimizer", "w2")
        .call(decay, {"w2"}, {"d" + decay});
  };
  CHECK(sources_of(compared(step("'", "aten::mul_"), step("", "aten::sub_"))) ==
        Names{"aten::mm 0", "aten::mul_ / aten::sub_"});
  // Not if they take what differs already.
  const auto late = [](const std::string& mark, const std::string& decay) {
    return WrittenStep().call("aten::mm", {"x", "w"}, {"h" + mark}).call(decay, {"h" + mark}, {"d" + decay});
  };
  CHECK(sources_of(compared(late("'", "aten::mul_"), late("", "aten::sub_"))) == Names{"aten::mm 0"});
}

TEST_CASE("zeros that a call makes for its own use, one row a thread, are no source", "[divergence]") {
  const auto step = [](const std::string& mark, std::int64_t rows) {
    return WrittenStep().caller("aten::layer_norm_backward", {"g", "x"}, {"d" + mark}, [&](WrittenStep& of) {
      of.call("aten::zero_", {""}, {"zeros of " + std::to_string(rows)});
      of.calls.back().inputs[0].shape = of.calls.back().outputs[0].shape = {rows, 128};
    });
  };
  CHECK(sources_of(compared(step("'", 2), step("", 1))) == Names{"aten::layer_norm_backward 0"});
}

TEST_CASE("calls that take what differs already are counted, and those that make gradients by themselves",
          "[divergence]") {
  const auto step = [](const std::string& mark) {
    return WrittenStep()
        .call("aten::mm", {"x", "w"}, {"h" + mark})
        .call("aten::relu", {"h" + mark}, {"r" + mark})
        .call("aten::clone", {"h" + mark}, {"h" + mark})  // hands it on
        .call("AccumulateGrad", {"h" + mark}, {})
        .in("optimizer", "w")
        .call("aten::mul", {"h" + mark}, {"m" + mark})
        .call("aten::add", {"h" + mark}, {"a" + mark});
  };
  const StepDivergence divergence = compared(step("'"), step(""));
  CHECK(divergence.calls_apart == 5);
  CHECK(divergence.gradient_calls_apart == 1);
  // Of nested calls the innermost alone.
  const auto nested = [](const std::string& mark) {
    return WrittenStep()
        .call("aten::mm", {"x", "w"}, {"h" + mark})
        .caller("aten::softmax", {"h" + mark}, {"s" + mark},
                [&](WrittenStep& of) { of.call("aten::_softmax", {"h" + mark}, {"s" + mark}); });
  };
  CHECK(compared(nested("'"), nested("")).calls_apart == 1);
  CHECK(compared(nested("'"), nested("")).gradient_calls_apart == 1);
}

TEST_CASE("calls without a partner that work on what differs already are counted, in a subgraph and at the end",
          "[divergence]") {
  const auto step = [](const std::string& mark, const std::string& by, bool is_handed_on) {
    WrittenStep of;
    of.call("aten::mm", {"x", "w"}, {"h" + mark}).in("backward", "w").call(by, {"h" + mark}, {"g" + mark});
    if (is_handed_on) of.call("AccumulateGrad", {"g" + mark}, {});
    return of;
  };
  for (const bool is_handed_on : {true, false}) {
    CAPTURE(is_handed_on);
    CHECK(compared(step("'", "aten::sum", is_handed_on), step("", "aten::mean", is_handed_on)).gradient_calls_apart >=
          1);
    CHECK(sources_of(compared(step("'", "aten::sum", is_handed_on), step("", "aten::mean", is_handed_on))) ==
          Names{"aten::mm 0"});
  }
}

}  // namespace
}  // namespace reprobench
