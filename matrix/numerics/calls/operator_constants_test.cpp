// Calls that ask for something else while they take equal values and give equal ones.
#include "ci/catch.hpp"
#include "matrix/numerics/calls/step_divergence.hpp"
#include "matrix/numerics/calls/written_step.hpp"

namespace reprobench {
namespace {

using AskedStep = WrittenStep;
using CallNames = std::vector<std::string>;

// "aten::mm 3" by name and index.
CallNames calls_asked(const AskedStep& measured, const AskedStep& expected) {
  CallNames names;
  for (const DivergencePoint& source : divergence_of_step(measured.calls, expected.calls).sources) {
    REQUIRE(source.call);
    names.push_back(source.call->measured.name + " " + std::to_string(source.call->measured.index));
  }
  return names;
}

// The first step of SGD: what it keeps is zero, so any momentum leaves zero.
AskedStep first_update(const std::string& momentum, const std::string& mark = "") {
  return AskedStep()
      .call("aten::mm", {"x", "w"}, {"g" + mark})
      .in("optimizer", "w")
      .call("aten::mul_", {"zeros"}, {"zeros"}, momentum)
      .call("aten::add_", {"zeros", "g" + mark}, {"v" + mark})
      .call("aten::add_", {"w", "v" + mark}, {"u" + mark}, "-0.1");
}

TEST_CASE("another momentum is a source although the first step gives equal values", "[divergence]") {
  const auto divergence = divergence_of_step(first_update("0.5").calls, first_update("0.9").calls);
  REQUIRE(divergence.sources.size() == 1);
  CHECK(divergence.sources[0].call->constants_differ);
  CHECK(divergence.sources[0].call->measured.constants == "0.5");
  CHECK(divergence.sources[0].inputs_agree);
  CHECK(divergence.calls_apart == 0);  // nothing behind it is held for known
  CHECK_FALSE(divergence_of_step(first_update("0.9").calls, first_update("0.9").calls).diverges());
  CHECK(calls_asked(first_update("0.5", "'"), first_update("0.9")) == CallNames{"aten::mm 0", "aten::mul_ 1"});
}

TEST_CASE("what a later release appends, and a call that makes no value, ask for nothing else", "[divergence]") {
  CHECK(calls_asked(first_update("0.9"), first_update("0.9, none")).empty());
  const auto viewed = [](const std::string& shape) { return AskedStep().view("aten::view", -1, shape); };
  CHECK(calls_asked(viewed("[2, 3]"), viewed("[3, 2]")).empty());
}

TEST_CASE("other constants inside a call that asks the same and gets the same are its library's", "[divergence]") {
  const auto step = [](const std::string& inner, const std::string& made, const std::string& caller) {
    return AskedStep().caller(caller, {"x"}, {made}, [&](AskedStep& of) { of.call("aten::_f", {"x"}, {"y"}, inner); });
  };
  CHECK(calls_asked(step("1", "y", "aten::f"), step("2", "y", "aten::f")).empty());
  CHECK(calls_asked(step("1", "z'", "aten::f"), step("2", "z", "aten::f")) == CallNames{"aten::_f 1", "aten::f 0"});
  // What a backward node takes is not on record.
  CHECK(calls_asked(step("1", "y", "FBackward0"), step("2", "y", "FBackward0")) == CallNames{"aten::_f 1"});
  // Of two that hand the constant on, the innermost.
  const auto handed_on = [](const std::string& constant) {
    AskedStep of = AskedStep().caller("aten::f", {"x"}, {"y"},
                                      [&](AskedStep& in) { in.call("aten::_f", {"x"}, {"y"}, constant); });
    of.calls.back().constants = constant;
    return of;
  };
  CHECK(calls_asked(handed_on("1"), handed_on("2")) == CallNames{"aten::_f 1"});
}

// Two gradients, the second one equal on both sides, multiplied by what the norm of both gives.
AskedStep clipped(const std::string& mark, const std::string& factor) {
  AskedStep of =
      AskedStep().call("aten::mm", {"x", "w"}, {"g" + mark}).call("aten::sum", {"x"}, {"zeros"}).in("optimizer", "w");
  of.call("aten::mul", {"g" + mark}, {"c" + mark}, factor);
  return of.call("aten::mul", {"zeros"}, {"zeros"}, factor);
}

TEST_CASE("the norm of all gradients gives the factor of those that are equal, too", "[divergence]") {
  CHECK(calls_asked(clipped("'", "0.49999"), clipped("", "0.5")) == CallNames{"aten::mm 0"});
  CHECK(calls_asked(clipped("", "0.49999"), clipped("", "0.5")) == CallNames{"aten::mul 2", "aten::mul 3"});
  const auto not_zero = [](const std::string& mark, const std::string& factor) {
    AskedStep of =
        AskedStep().call("aten::mm", {"x", "w"}, {"g" + mark}).call("aten::sum", {"x"}, {"h"}).in("optimizer", "w");
    return of.call("aten::mul", {"g" + mark}, {"c" + mark}, factor).call("aten::mul", {"h"}, {"d" + factor}, factor);
  };
  CHECK(calls_asked(not_zero("'", "0.49999"), not_zero("", "0.5")) == CallNames{"aten::mm 0"});
  CHECK(calls_asked(not_zero("", "0.49999"), not_zero("", "0.5")) == CallNames{"aten::mul 2", "aten::mul 3"});
}

TEST_CASE("a momentum beside gradients that differ, and one behind a norm read off them, is no factor that clips",
          "[divergence]") {
  const auto step = [](const std::string& mark, const std::string& momentum) {
    return AskedStep()
        .call("aten::mm", {"x", "w"}, {"g" + mark})
        .call("aten::item", {"g" + mark}, {})
        .in("optimizer", "w")
        .call("aten::mul", {"g" + mark}, {"c" + mark}, "0.5" + mark)
        .call("aten::mul_", {"kept" + mark}, {"m" + mark}, momentum)
        .call("aten::add_", {"m" + mark, "c" + mark}, {"v" + mark});
  };
  CHECK(calls_asked(step("'", "0.9"), step("", "0.9")) == CallNames{"aten::mm 0"});
  CHECK(calls_asked(step("'", "0.5"), step("", "0.9")) == CallNames{"aten::mm 0", "aten::mul_ 3"});
}

TEST_CASE("a value that differs and that no call of the step made is told behind a source, too", "[divergence]") {
  const auto step = [](const std::string& mark, const std::string& weight) {
    return AskedStep()
        .call("aten::mm", {"x", "w1"}, {"h" + mark})
        .call("aten::relu", {"h" + mark}, {"r" + mark})
        .call("aten::mm", {"r" + mark, weight}, {"y" + mark});
  };
  const auto readers = [&](const std::string& mark, const std::string& weight) {
    CallNames names;
    for (const OperatorRecord& call : divergence_of_step(step(mark, weight).calls, step("", "w2").calls).from_outside) {
      names.push_back(call.name + " " + std::to_string(call.index));
    }
    return names;
  };
  CHECK(readers("", "w2").empty());
  CHECK(readers("'", "w2").empty());
  CHECK(readers("'", "w2'") == CallNames{"aten::mm 2"});
  CHECK(readers("", "w2'") == CallNames{"aten::mm 2"});
  // What a call of the step made has a maker, although nothing of it is on record.
  const auto bare = [](const std::string& mark) {
    return AskedStep()
        .call("aten::mm", {"x", "w1"}, {"h" + mark})
        .call("aten::empty", {}, {""})
        .call("aten::as_strided_", {"memory" + mark}, {"memory" + mark})
        .from(0, 1);
  };
  CHECK(divergence_of_step(bare("'").calls, bare("").calls).from_outside.empty());
}

}  // namespace
}  // namespace reprobench
