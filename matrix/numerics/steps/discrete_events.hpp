// Masks and choices that differ between two runs, such as a ReLU unit that is active in only one of them, or another
// predicted class. A flip of a mask is the usual cause of a sudden split of two losses: everything before it is
// rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/document/description.hpp"
#include "matrix/evidence/run_record.hpp"

namespace reprobench {

struct EventFlips {
  std::string event;   // "relu_active"
  bool steers = true;  // a mask, which the gradient follows; false: a choice, which nothing follows
  std::int64_t first_step = 0;
  // Elements of that step that differ, from the sketches: exact for a few, within about 18 % for many. A changed choice
  // counts twice: at its old and at its new place.
  std::int64_t flips = 0;
  std::int64_t steps_with_flips = 0;
};

template <>
struct Description<EventFlips> {
  static constexpr About about = About::part("event_flips");
  static void fields(auto& field, EventFlips& flips) {
    field("event", flips.event);
    field("steers", flips.steers, "A mask, which the gradient follows; else a choice, which nothing follows.");
    field("first_step", flips.first_step, rule::at_least(1));
    field("flips", flips.flips, rule::at_least(1).says("Elements of that step, about."));
    field("steps_with_flips", flips.steps_with_flips, rule::at_least(1));
  }
};

// Whether masks may have flipped in steps that are no longer on record; then no first flip can be determined.
bool forgets_steps(const Trace& trace);

// Events with a flip in one step. Where a record has no tensor of an event, that event is not among them.
std::vector<EventFlips> flips_in_step(const TensorsRecord& measured, const TensorsRecord& expected);

// Events with a flip, by first step. Empty also for traces of level `step`, which hold no events to compare, and if one
// of the traces forgets steps.
std::vector<EventFlips> event_flips(const Trace& measured, const Trace& expected);

// The first step in which a mask flips.
std::optional<std::int64_t> first_mask_flip(const std::vector<EventFlips>& flips);

// Where two losses split: the step whose loss distance is furthest above the largest before it, if it is at least ten
// times that. It has the mask that flipped in or right before that step, if one did.
struct LossSplit {
  std::int64_t step = 0;
  double distance_rel = 0;
  double before_rel = 0;  // the largest distance of all earlier steps
  std::string event;      // empty: no mask flipped there that is on record
};

template <>
struct Description<LossSplit> {
  static constexpr About about = About::part("loss_split", "Where two losses split.");
  static void fields(auto& field, LossSplit& split) {
    field("step", split.step, rule::at_least(1));
    field("distance_rel", split.distance_rel);
    field("before_rel", split.before_rel, "The largest distance of all earlier steps.");
    field("event", split.event, "The mask that flipped there; empty: none on record.");
  }
};

std::optional<LossSplit> loss_split(const Trace& measured, const Trace& expected);

}  // namespace reprobench
