#include "matrix/cli/text/lockstep_bounds_text.hpp"

#include <fmt/format.h>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

LockstepBounds two_pairs() {
  LockstepBounds bounds;
  bounds.basis.stack = "torch-2.9.0-cu128";
  bounds.model = "mlp";
  bounds.preset = "base";
  bounds.precision = "fp32";
  bounds.batches = 32;
  bounds.states = {0, 10, 20};
  bounds.pairs = {{"threads=4", 48, 0, 1, "", {}, ""},
                  {"mkl_cbwr=compatible", 48, 24, 1.1494, "gradient/fc2.weight", {}, ""}};
  return bounds;
}

TEST_CASE("a calibration of lockstep is printed pair by pair, and what it allows from then on", "[cli]") {
  LockstepBounds bounds = two_pairs();
  const std::string table =
      "torch-2.9.0-cu128: mlp/base in fp32, 32 batches from the states after steps 0, 10, 20\n"
      "  against              tensors  differ  furthest pooled error\n"
      "  threads=4                 48       0\n"
      "  mkl_cbwr=compatible       48      24  x1.149 gradient/fc2.weight\n";
  CHECK(to_text(bounds) == table + "  correct runs are allowed x1.05, as without this measurement\n");
  bounds.pairs[1].legitimate_ratios = {{"gradient/fc2.weight", 1.162}};
  CHECK(to_text(bounds) ==
        table + "  correct runs are allowed more than x1.05 in 1 tensor, up to x1.16 in gradient/fc2.weight\n");
  bounds.pairs[0].legitimate_ratios = {{"gradient/fc2.weight", 1.1}, {"gradient/fc1.weight", 1.2}};
  CHECK(to_text(bounds) ==
        table + "  correct runs are allowed more than x1.05 in 2 tensors, up to x1.2 in gradient/fc1.weight\n");
  bounds.pairs[0].legitimate_ratios.clear();
  bounds.pairs[0].problem = "after step 10: 1 of 8 tensors show a defect";
  CHECK(to_text(bounds) == table +
                               "  nothing learned from threads=4: after step 10: 1 of 8 tensors show a defect\n"
                               "  correct runs are allowed more than x1.05 in 1 tensor, up to x1.16 in "
                               "gradient/fc2.weight\n");
  bounds.pairs[0].problem.clear();
  for (const auto& [times, words] : {std::pair(1, "once"), std::pair(2, "2 times")}) {
    bounds.pairs[0].unrepeated = times;
    CHECK_THAT(to_text(bounds),
               Catch::Contains(
                   fmt::format("\n  threads=4 does not repeat itself: steps taken again {} gave other bits\n", words)));
  }
  bounds.refused = "threads=4 lies further apart than an order of summation explains: ...";
  CHECK(to_text(bounds) ==
        table + "  not to be used: threads=4 lies further apart than an order of summation explains: ...\n");
}

}  // namespace
}  // namespace reprobench
