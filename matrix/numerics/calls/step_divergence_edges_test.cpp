// Which calls a divergence asks, counts and names: each word of the rules by itself.
#include "ci/catch.hpp"
#include "matrix/numerics/calls/step_divergence.hpp"
#include "matrix/numerics/calls/written_step.hpp"

namespace reprobench {
namespace {

using Written = WrittenStep;

StepDivergence divergence_of(const Written& measured, const Written& expected) {
  return divergence_of_step(measured.calls, expected.calls);
}

// A source, a reader of what differs, and a call with another constant behind it.
std::size_t sources_behind(const std::string& reader, const std::string& pass, const std::string& name) {
  const auto step = [&](const std::string& mark, const std::string& constant) {
    return Written()
        .call("aten::mm", {"x", "w"}, {"h" + mark})
        .call(reader, {"h" + mark}, {"r" + mark})
        .in(pass, "w")
        .call("aten::abs", {"h" + mark}, {"a" + mark})
        .call(name, {"a" + mark}, {"b" + mark}, constant)
        .call("aten::sum", {"b" + mark}, {"c" + mark});
  };
  return divergence_of(step("'", "2"), step("", "1")).sources.size();
}

TEST_CASE("any call that reads a number off values that differ excuses the constants behind it", "[divergence]") {
  CHECK(sources_behind("aten::relu", "forward", "aten::add") == 2);
  for (const char* reader : {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal"}) {
    CHECK(sources_behind(reader, "forward", "aten::add") == 1);
  }
  for (const char* other : {"aten::items", "aten::equals", "item"}) {
    CHECK(sources_behind(other, "forward", "aten::add") == 2);
  }
}

TEST_CASE("a factor in the optimizer may clip, written in place or not, and nothing else there", "[divergence]") {
  for (const char* factor : {"aten::mul", "aten::mul_"}) {
    CHECK(sources_behind("aten::relu", "optimizer", factor) == 1);
    CHECK(sources_behind("aten::relu", "forward", factor) == 2);
  }
  for (const char* other : {"aten::add", "aten::div", "aten::mul__"}) {
    CHECK(sources_behind("aten::relu", "optimizer", other) == 2);
  }
}

TEST_CASE("what two calls of one name call otherwise is told where both sides do, with the output it made",
          "[divergence]") {
  const auto step = [](const std::string& mark, const std::vector<std::string>& inside) {
    return Written().caller("aten::f", {"x"}, {"same", "y" + mark}, [&](Written& of) {
      for (const std::string& name : inside) of.call(name, {"x"}, {"other of " + name, "y" + mark});
    });
  };
  const auto divergence = [&](const std::vector<std::string>& ours, const std::vector<std::string>& theirs) {
    return first_divergence(step("'", ours).calls, step("", theirs).calls);
  };
  const DivergencePoint both = divergence({"aten::a"}, {"aten::b"});
  REQUIRE(both.call);
  CHECK(both.call->measured.name == "aten::f");
  CHECK(both.call->output == 1);
  REQUIRE(both.region);
  CHECK(names_of(both.region->measured) == "aten::a");
  CHECK(names_of(both.region->expected) == "aten::b");
  CHECK(both.region->measured.place == 1);
  CHECK_FALSE(both.region->measured.is_taken);
  CHECK(both.region->measured.outflow.digest == "y'");
  for (const auto& [ours, theirs] :
       {std::pair<std::vector<std::string>, std::vector<std::string>>{{"aten::a"}, {}}, {{}, {"aten::b"}}, {{}, {}}}) {
    const DivergencePoint one = divergence(ours, theirs);
    REQUIRE(one.call);
    CHECK(one.call->measured.name == "aten::f");
    CHECK_FALSE(one.region);
  }
  // What stands before the caller is no call of its own.
  Written before = Written().call("aten::a", {"x"}, {"z", "y'"});
  Written other = Written().call("aten::b", {"x"}, {"z", "y"});
  for (Written* one : {&before, &other}) {
    const std::string mark = one == &before ? "'" : "";
    one->caller("aten::f", {"x"}, {"same", "y" + mark}, [](Written&) {});
  }
  CHECK_FALSE(first_divergence(before.calls, other.calls).region);
}

TEST_CASE("calls that work on what differs are counted on both sides, before the optimizer", "[divergence]") {
  const auto step = [](const std::string& mark, const std::string& by, bool is_handed_on, const char* pass) {
    Written of;
    of.call("aten::mm", {"x", "w"}, {"h" + mark}).in(pass, "w").call(by, {"h" + mark}, {"g" + mark});
    if (is_handed_on) of.call("AccumulateGrad", {"g" + mark}, {});
    return of;
  };
  for (const bool is_handed_on : {true, false}) {
    const auto counted = [&](const char* pass) {
      return divergence_of(step("'", "aten::sum", is_handed_on, pass), step("", "aten::mean", is_handed_on, pass))
          .gradient_calls_apart;
    };
    CAPTURE(is_handed_on);
    CHECK(counted("backward") == 2);  // sum here, mean there
    CHECK(counted("optimizer") == 0);
  }
}

TEST_CASE("at the end of a step a call without inputs is a source by itself, and one that is read is none",
          "[divergence]") {
  const auto step = [](const std::string& filled, bool is_read) {
    Written of;
    of.call("aten::mm", {"x", "w"}, {"y"});
    if (!filled.empty()) of.call(filled, {}, {"made by " + filled});
    if (is_read) of.call("aten::neg", {"made by " + filled}, {"y"});
    return of;
  };
  const auto divergence = divergence_of(step("aten::zeros", false), step("aten::ones", false));
  REQUIRE(divergence.sources.size() == 1);
  REQUIRE(divergence.sources[0].region);
  CHECK(names_of(divergence.sources[0].region->measured) == "aten::zeros");
  CHECK(names_of(divergence.sources[0].region->expected) == "aten::ones");
  const auto alone = divergence_of(step("aten::zeros", false), step("", false));
  REQUIRE(alone.sources.size() == 1);
  CHECK(names_of(alone.sources[0].region->expected) == "no call on record");
  const auto reverse = divergence_of(step("", false), step("aten::zeros", false));
  REQUIRE(reverse.sources.size() == 1);
  CHECK(names_of(reverse.sources[0].region->measured) == "no call on record");
  CHECK_FALSE(divergence_of(step("aten::zeros", true), step("", false)).diverges());  // ends in a value of both
}

TEST_CASE("memory that one side's library takes for its own use is no source at the end of a step", "[divergence]") {
  const auto step = [](const std::string& given, const std::string& then) {
    Written of;
    of.call("aten::mm", {"x", "w"}, {"y"}).call(given, {}, {""});
    return of.call(then, {"what lay there"}, {"what lay there then"}).from(0, 1);
  };
  const Written nothing = Written().call("aten::mm", {"x", "w"}, {"y"});
  for (const char* then : {"aten::as_strided_", "aten::resize_"}) {
    CAPTURE(then);
    CHECK_FALSE(divergence_of(step("aten::empty", then), nothing).diverges());
    CHECK_FALSE(divergence_of(nothing, step("aten::empty_strided", then)).diverges());
    CHECK(divergence_of(step("aten::zeros", then), nothing).diverges());
  }
  CHECK(divergence_of(step("aten::empty", "aten::fill_"), nothing).diverges());  // that is a value
  const auto laid_out = Written(nothing).call("aten::as_strided_", {"x"}, {"x otherwise"});
  CHECK(divergence_of(laid_out, nothing).diverges());  // so is what the step began with
}

TEST_CASE("a call that makes its caller's result is no source at the end of a step where the caller is one",
          "[divergence]") {
  const auto step = [](const std::string& inner, const std::string& made, const std::string& result) {
    return Written().caller("aten::_convolution", {"x", "w"}, {result}, [&](Written& of) {
      of.call(inner, {"x", "w"}, {made});
    });
  };
  // oneDNN's own convolution against another library's.
  const auto covered = divergence_of(step("aten::nnpack", "y'", "y'"), step("aten::mkldnn", "", "y"));
  REQUIRE(covered.sources.size() == 1);
  CHECK(covered.sources[0].call->measured.name == "aten::_convolution");
  CHECK(divergence_of(step("aten::nnpack", "other", "y'"), step("aten::mkldnn", "", "y")).sources.size() == 2);
  CHECK(divergence_of(step("aten::nnpack", "other", "y"), step("aten::mkldnn", "", "y")).sources.size() == 1);
}

TEST_CASE("a value of several that a last call makes is told by its place", "[divergence]") {
  const auto step = [](const std::string& name, const std::string& second) {
    return Written().call("aten::mm", {"x", "w"}, {"y"}).call(name, {"y"}, {"y", second});
  };
  const auto divergence = divergence_of(step("aten::a", "p"), step("aten::b", "q"));
  REQUIRE(divergence.sources.size() == 1);
  CHECK(divergence.sources[0].region->measured.place == 1);
  CHECK(divergence.sources[0].region->measured.outflow.digest == "p");
  CHECK(divergence.sources[0].region->expected.outflow.digest == "q");
}

TEST_CASE("the first input that differs by one side alone is followed where no input does by both", "[divergence]") {
  // The measured side takes x twice, the other x and what a call of its own made of it.
  const Written measured = Written().call("aten::mm", {"x", "w"}, {"a"}).call("aten::add", {"a", "a"}, {"s'"});
  const Written expected = Written()
                               .call("aten::mm", {"x", "w"}, {"a"})
                               .call("aten::exp", {"a"}, {"e"})
                               .call("aten::add", {"a", "e"}, {"s"});
  for (const bool swapped : {false, true}) {
    const auto divergence = swapped ? divergence_of(expected, measured) : divergence_of(measured, expected);
    REQUIRE(divergence.sources.size() == 1);
    const OperatorRegion& region = *divergence.sources[0].region;
    CHECK(names_of(swapped ? region.measured : region.expected) == "aten::exp");
    CHECK(names_of(swapped ? region.expected : region.measured) == "nothing");
    CHECK(region.measured.place == 1);
    CHECK(region.expected.place == 1);
  }
}

}  // namespace
}  // namespace reprobench
