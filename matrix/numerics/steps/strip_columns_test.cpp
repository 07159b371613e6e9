// Which steps and tensors a strip has where the sides do not record the same.
#include "ci/catch.hpp"
#include "matrix/numerics/steps/divergence_strip.hpp"

namespace reprobench {
namespace {

TensorRecord made(const std::string& name, TensorRole role, const std::string& digest) {
  return {name, role, "float32", {1}, digest, std::nullopt};
}

Trace of_steps(const std::vector<std::int64_t>& steps, const std::string& digest) {
  Trace trace;
  for (const std::int64_t step : steps) {
    trace.tensors.push_back(
        {step,
         false,
         {made("fc.weight", TensorRole::parameter, digest), made("fc", TensorRole::forward_output, digest),
          made("fc.weight.exp_avg", TensorRole::optimizer_state, digest)}});
  }
  return trace;
}

TEST_CASE("a step that one side alone has is no column", "[strip]") {
  const DivergenceStrip strip = divergence_strip(of_steps({1, 2, 3, 5}, "x"), of_steps({2, 3, 4, 5}, "x"), 1);
  CHECK(strip.steps == std::vector<std::int64_t>{2, 3, 5});
  REQUIRE(strip.rows.size() == 1);
  CHECK(strip.rows[0].module == "fc");
  CHECK(strip.rows[0].marks == "...");
  CHECK(divergence_strip(of_steps({1}, "x"), of_steps({2}, "x"), 1).rows.empty());
  CHECK(divergence_strip({}, {}, 1).steps.empty());
}

TEST_CASE("a strip reaches eight steps back and no further, and the last state is no step", "[strip]") {
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 1; step <= 12; ++step) steps.push_back(step);
  Trace ours = of_steps(steps, "x");
  ours.tensors.push_back(ours.tensors.back());
  ours.tensors.back().is_final = true;
  const Trace theirs = ours;
  CHECK(divergence_strip(ours, theirs, 9).steps.front() == 1);
  CHECK(divergence_strip(ours, theirs, 10).steps.front() == 2);
  CHECK(divergence_strip(ours, theirs, 12).steps == std::vector<std::int64_t>{4, 5, 6, 7, 8, 9, 10, 11, 12});
}

TEST_CASE("tensors are compared as far as both sides have them, and one that comes later has a row too", "[strip]") {
  Trace ours = of_steps({1, 2}, "x");
  const Trace theirs = ours;
  ours.tensors[1].tensors.push_back(made("late", TensorRole::forward_output, "y"));
  CHECK(divergence_strip(ours, theirs, 1).rows.size() == 1);
  CHECK(divergence_strip(theirs, ours, 1).rows.size() == 1);
  Trace both = theirs;
  both.tensors[1].tensors.push_back(made("late", TensorRole::forward_output, "z"));
  const DivergenceStrip strip = divergence_strip(ours, both, 1);
  REQUIRE(strip.rows.size() == 2);
  CHECK(strip.rows[1].module == "late");
  CHECK(strip.rows[1].marks == ".f");
}

TEST_CASE("rows and marks are those of the measured side, where the other names and places things otherwise",
          "[strip]") {
  Trace ours = of_steps({1}, "x");
  Trace theirs = ours;
  ours.tensors[0].tensors.push_back(made("ours", TensorRole::forward_output, "y"));
  CHECK(divergence_strip(ours, theirs, 1).rows.size() == 2);
  CHECK(divergence_strip(theirs, ours, 1).rows.size() == 1);
  theirs.tensors[0].tensors.push_back(made("theirs", TensorRole::grad_output, "z"));
  const DivergenceStrip strip = divergence_strip(ours, theirs, 1);
  REQUIRE(strip.rows.size() == 2);
  CHECK(strip.rows[1].module == "ours");
  CHECK(strip.rows[1].marks == "f");
  CHECK(divergence_strip(theirs, ours, 1).rows[1].module == "theirs");
  CHECK(divergence_strip(theirs, ours, 1).rows[1].marks == "g");
}

TEST_CASE("the first role that differs in a step marks it, each step by itself", "[strip]") {
  Trace ours = of_steps({1, 2, 3}, "x");
  const Trace theirs = ours;
  for (const std::size_t tensor : {0, 1, 2}) ours.tensors[0].tensors[tensor].digest = "y";
  for (const std::size_t tensor : {1, 2}) ours.tensors[1].tensors[tensor].digest = "y";
  ours.tensors[2].tensors[2].digest = "y";
  CHECK(divergence_strip(ours, theirs, 1).rows.at(0).marks == "pfs");
}

}  // namespace
}  // namespace reprobench
