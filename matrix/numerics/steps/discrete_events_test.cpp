#include "matrix/numerics/steps/discrete_events.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "ci/catch.hpp"
#include "matrix/numerics/steps/drifting_runs.hpp"

namespace reprobench {
namespace {

TEST_CASE("flips are counted from the first step that has one", "[events]") {
  const auto flips = event_flips(drifting::run(0, 6), drifting::run(0));
  REQUIRE(flips.size() == 1);
  CHECK(flips.front().event == "relu_active");
  CHECK(flips.front().first_step == 6);
  CHECK(flips.front().flips == 1);
  CHECK(flips.front().steps_with_flips == 5);
  CHECK(event_flips(drifting::run(1e-3), drifting::run(0)).empty());
}

TEST_CASE("a flip that the sketches do not show is one all the same, since the digests do", "[events]") {
  Trace ours = drifting::run(0);
  const Trace theirs = drifting::run(0);
  ours.tensors[3].tensors[2].digest = "other";
  const auto flips = event_flips(ours, theirs);
  REQUIRE(flips.size() == 1);
  CHECK(flips[0].first_step == 4);
  CHECK(flips[0].flips == 1);
  CHECK(flips[0].steps_with_flips == 1);
}

TEST_CASE("a loss that splits names the mask that flipped there", "[events]") {
  const auto split = loss_split(drifting::run(1e-7, 6, 0.01), drifting::run(0));
  REQUIRE(split);
  CHECK(split->step == 6);
  CHECK(split->event == "relu_active");
  CHECK_FALSE(loss_split(drifting::run(1e-7), drifting::run(0)));
  // A flip in the step before shows in the weights, and so in this loss; one before that does not.
  for (const std::size_t flipped : {5, 4}) {
    Trace later = drifting::run(1e-7);
    later.tensors[flipped].tensors[2] = drifting::mask(3);
    for (std::size_t i = 6; i < later.steps.size(); ++i) later.steps[i].loss = exact_float(1.01);
    REQUIRE(loss_split(later, drifting::run(0)));
    CHECK(loss_split(later, drifting::run(0))->step == 7);
    CHECK(loss_split(later, drifting::run(0))->event == (flipped == 5 ? "relu_active" : ""));
  }
}

TEST_CASE("a choice flips without steering, and the first mask decides", "[events]") {
  Trace ours = drifting::run(0, 6);
  Trace theirs = drifting::run(0);
  for (Trace* trace : {&ours, &theirs}) {
    for (TensorsRecord& record : trace->tensors) {
      TensorRecord choice = drifting::mask(trace == &ours && record.step >= 2 ? 5 : 2);
      choice.name = "argmax";
      choice.role = TensorRole::choice;
      record.tensors.push_back(choice);
    }
  }
  const auto flips = event_flips(ours, theirs);
  REQUIRE(flips.size() == 2);
  CHECK(flips[0].event == "argmax");
  CHECK_FALSE(flips[0].steers);
  CHECK(flips[0].first_step == 2);
  CHECK(flips[0].flips == 3);
  CHECK(flips[1].steers);
  CHECK(first_mask_flip(flips) == 6);
  CHECK_FALSE(first_mask_flip({flips[0]}));
}

TEST_CASE("a loss splits where it jumps tenfold over everything before, and the largest jump is meant", "[events]") {
  const auto split_of = [](const std::vector<double>& distances) {
    const Trace expected = drifting::constant(distances.size());
    Trace measured = expected;
    for (std::size_t i = 0; i < distances.size(); ++i) measured.steps[i].loss = exact_float(1.0 + distances[i]);
    return loss_split(measured, expected);
  };
  const auto split = split_of({0, 0x1p-20, 0x1p-16, 0x1p-20, 0x1p-8});
  REQUIRE(split);
  CHECK(split->step == 5);
  CHECK(split->distance_rel == 0x1p-8);
  CHECK(split->before_rel == 0x1p-16);
  CHECK(split->event.empty());
  CHECK(split_of({0x1p-20, 0x1p-16, 0x1p-14})->step == 2);
  CHECK(split_of({0x1p-20, 0x1p-12, 0x1p-8})->step == 2);   // of 256 and 16
  CHECK(split_of({0x1p-20, 0x1p-16, 0x1p-12})->step == 3);  // as large: the later one
  CHECK_FALSE(split_of({0, 1, 1, 1}));                      // from nothing to something is no jump
  CHECK_FALSE(split_of({0x1p-20, 0x1p-17}));                // eightfold
  CHECK(split_of({0x1p-20, 10 * 0x1p-20}).has_value());     // tenfold
}

TEST_CASE("a loss that is not finite on either side ends the search for a split", "[events]") {
  const double infinite = std::numeric_limits<double>::infinity();
  const Trace flat_loss = drifting::constant(5);
  Trace split_late = flat_loss;
  split_late.steps[1].loss = exact_float(1 + 0x1p-20);
  split_late.steps[4].loss = exact_float(1 + 0x1p-8);
  CHECK(loss_split(split_late, flat_loss)->step == 5);
  for (const double value : {infinite, std::nan("")}) {
    Trace broken = split_late;
    broken.steps[2].loss = exact_float(value);
    CHECK_FALSE(loss_split(broken, flat_loss));
    Trace broken_reference = flat_loss;
    broken_reference.steps[2].loss = exact_float(value);
    CHECK_FALSE(loss_split(split_late, broken_reference));
  }
}

}  // namespace
}  // namespace reprobench
