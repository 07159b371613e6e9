#include "matrix/cli/lockstep_bounds_text.hpp"

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
  bounds.pairs = {{"threads=4", 48, 0, 1, "", ""}, {"mkl_cbwr=compatible", 48, 24, 1.1494, "gradient/fc2.weight", ""}};
  bounds.legitimate_ratio = 1.0996;
  return bounds;
}

TEST_CASE("a calibration of lockstep is printed pair by pair, and what it allows from then on", "[cli]") {
  LockstepBounds bounds = two_pairs();
  const std::string table =
      "torch-2.9.0-cu128: mlp/base in fp32, 32 batches from the states after steps 0, 10, 20\n"
      "  against              tensors  differ  furthest pooled error\n"
      "  threads=4                 48       0\n"
      "  mkl_cbwr=compatible       48      24  x1.149 gradient/fc2.weight\n";
  CHECK(to_text(bounds) == table + "  correct runs are allowed x1.1; the smallest defect of rounding size is x1.24\n");
  bounds.legitimate_ratio = kLegitimateRatio;
  CHECK(to_text(bounds) == table +
                               "  correct runs are allowed x1.05, as without this measurement; the smallest defect of "
                               "rounding size is x1.24\n");
  bounds.refused = "threads=4 lies too far apart to learn from: ...";
  CHECK(to_text(bounds) == table + "  not to be used: threads=4 lies too far apart to learn from: ...\n");
}

}  // namespace
}  // namespace reprobench
