#include "matrix/verdict/metrics/resumed_segments.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/evidence/trace_chain.hpp"
#include "matrix/verdict/metrics/rank_tensors.hpp"

namespace reprobench {
namespace {

// One place in a training as its ranks recorded it: a step, or the state after one.
struct Place {
  RecordedTensors tensors;
  const Ranks* ranks;
  std::string name;  // "step 3"
  std::string segment;
};

Place place_in(const char* segment, const Ranks& ranks, std::size_t number) {
  std::vector<const TensorsRecord*> records;
  for (const RankRecord& rank : ranks) records.push_back(&rank.trace->tensors[number]);
  return {recorded_by(records), &ranks, place_of(*records.front()), segment};
}

bool is_state(TensorRole role) {
  return role == TensorRole::parameter || role == TensorRole::optimizer_state || role == TensorRole::buffer ||
         role == TensorRole::scaler_state;
}

// The state of the whole training after a step before its last, as a process that stopped there would leave it: what
// the next step began with, and what the optimizer and the buffers were at the end of that one.
Place state_after(const Ranks& whole, std::int64_t step) {
  Place state = place_in("whole", whole, static_cast<std::size_t>(step - 1));
  std::erase_if(state.tensors, [](const auto& entry) {
    return entry.first.first == TensorRole::parameter || !is_state(entry.first.first);
  });
  for (auto& [key, recorded] : place_in("whole", whole, static_cast<std::size_t>(step)).tensors) {
    if (key.first == TensorRole::parameter) state.tensors.emplace(key, std::move(recorded));
  }
  state.name = fmt::format("the state after step {}", step);
  return state;
}

bool agree(const Recorded& recorded) {
  return std::ranges::all_of(
      recorded.tensors, [&](const TensorRecord* tensor) { return tensor->digest == recorded.tensors.front()->digest; });
}

// What every rank has to have recorded of a place and some rank has not, or nothing. `trained`: the parameters that
// have a gradient.
std::string unrecorded(const Place& place, const std::set<std::string>& trained, bool is_state) {
  const int zero_stage = zero_stage_of(place.ranks->front());
  std::set<TensorKey> held;
  for (const auto& [key, recorded] : place.tensors) {
    const TensorRecord& tensor = *recorded.tensors.front();
    if (place.ranks->size() == 1 || !is_shared(tensor)) continue;
    if (is_shared_out(tensor, zero_stage)) {
      held.insert(key);
    } else if (recorded.ranks.size() != place.ranks->size()) {
      return fmt::format("`{}` of {} was not recorded by every rank of the {} process", key.second, place.name,
                         place.segment);
    }
  }
  if (place.ranks->size() == 1) return "";
  const std::string missing = without_holder(held, trained, zero_stage, is_state);
  return missing.empty() ? "" : fmt::format("{} of {} in the {} process", missing, place.name, place.segment);
}

// What keeps a place from being held against the same one of the whole training, or nothing.
std::string cannot_compare(const Place& part, const Place& whole, const std::set<std::string>& trained, bool is_state) {
  for (const Place* place : {&whole, &part}) {
    if (const std::string gap = unrecorded(*place, trained, is_state); !gap.empty()) return gap;
  }
  for (const auto& [key, recorded] : whole.tensors) {
    if (!agree(recorded)) {
      return fmt::format("the ranks of the process that was never stopped recorded different `{}` of {}", key.second,
                         whole.name);
    }
    if (part.tensors.contains(key)) continue;
    return fmt::format("no rank of the {} process recorded `{}` of {}", part.segment, key.second, part.name);
  }
  for (const auto& [key, recorded] : part.tensors) {
    if (whole.tensors.contains(key)) continue;
    return fmt::format("the whole process recorded no `{}` of {}", key.second, part.name);
  }
  return "";
}

// What a rank had of its own is named before what it got from others, and tensors in the order of the whole training:
// role, whether it is shared, place in that record, rank.
using PlaceInStep = std::tuple<TensorRole, bool, std::size_t, std::size_t>;

std::string holders_text(const Place& part, const Recorded& recorded, std::size_t rank) {
  if (part.ranks->size() == 1) return "";
  const bool has_several =
      recorded.ranks.size() > 1 && is_shared_out(*recorded.tensors.front(), zero_stage_of(part.ranks->front()));
  if (!has_several) return fmt::format("on rank {} of the {} process", rank, part.segment);
  return fmt::format("in what ranks {} of the {} process hold of it together", fmt::join(recorded.ranks, ", "),
                     part.segment);
}

// Whether any rank's record differs; the first that does becomes the first of all, unless there is one.
bool differs(const Place& part, const Place& whole, std::int64_t step, Differing& differing) {
  std::optional<PlaceInStep> earliest;
  std::optional<Divergence> first;
  std::string where;
  for (const auto& [key, expected] : whole.tensors) {
    const Recorded& recorded = part.tensors.at(key);
    const std::string& digest = expected.tensors.front()->digest;
    for (std::size_t i = 0; i < recorded.tensors.size(); ++i) {
      const TensorRecord& tensor = *recorded.tensors[i];
      const PlaceInStep order{tensor.role, !is_of_one_micro_batch(tensor), expected.place, recorded.ranks[i]};
      if (tensor.digest == digest || (earliest && *earliest <= order)) continue;
      earliest = order;
      first = Divergence{step, tensor.name, std::string(to_string(tensor.role)), tensor.digest, digest};
      where = holders_text(part, recorded, recorded.ranks[i]);
    }
  }
  if (first && !differing.first) differing.first = first, differing.where = where;
  return first.has_value();
}

// The losses as the steps themselves say them, beside the tensor.
bool losses_differ(const Ranks& part, std::size_t index, const StepRecord& whole, Differing& differing) {
  for (const RankRecord& rank : part) {
    const StepRecord& step = rank.trace->steps[index];
    if (step.loss == whole.loss) continue;
    if (!differing.first) differing.first = Divergence{step.step, "", "loss", step.root, whole.root};
    return true;
  }
  return false;
}

// The steps that a process did, each against the whole training's.
void compare_steps(const char* segment, const Ranks& part, const Ranks& whole, Differing& differing) {
  for (std::size_t i = 0; i < part.front().trace->steps.size() && differing.missing.empty(); ++i) {
    const std::int64_t step = part.front().trace->steps[i].step;
    const auto of_whole = static_cast<std::size_t>(step - 1);
    const Place ours = place_in(segment, part, i);
    const Place theirs = place_in("whole", whole, of_whole);
    std::set<std::string> trained;
    for (const RankRecord& rank : whole) add_trained_parameters(rank.trace->tensors[of_whole], trained);
    differing.missing = cannot_compare(ours, theirs, trained, false);
    if (!differing.missing.empty()) return;
    ++differing.steps;
    const bool has_other_tensors = differs(ours, theirs, step, differing);
    if (losses_differ(part, i, whole.front().trace->steps[of_whole], differing) || has_other_tensors) {
      ++differing.steps_differing;
    }
  }
}

// The state that a process ended in, against the whole training's after that step.
bool final_state_differs(const char* segment, const Ranks& part, const Ranks& whole, Differing& differing) {
  if (!differing.missing.empty()) return false;
  const Trace& trace = *part.front().trace;
  const std::int64_t step = trace.steps.back().step;
  const Place ours = place_in(segment, part, trace.tensors.size() - 1);
  const bool is_last = step == whole.front().trace->steps.back().step;
  const Place theirs = is_last ? place_in("whole", whole, static_cast<std::size_t>(step)) : state_after(whole, step);
  std::set<std::string> trained;
  for (const RankRecord& rank : whole)
    add_trained_parameters(rank.trace->tensors[static_cast<std::size_t>(step - 1)], trained);
  differing.missing = cannot_compare(ours, theirs, trained, true);
  return differing.missing.empty() && differs(ours, theirs, step, differing);
}

// As ResumedFrom::state has it. Nothing: the ranks that were stopped do not agree on what they hold together.
std::optional<std::string> state_stopped_in(const ResumedSegments& of) {
  const TensorsRecord& lead = of.stopped.front().trace->tensors.back();
  if (of.stopped.size() == 1 && of.resumed.size() == 1) return to_hex(root_of_tensors(lead));
  const Place state = place_in("stopped", of.stopped, of.stopped.front().trace->tensors.size() - 1);
  TensorsRecord together{lead.step, true, {}};
  for (const auto& [key, recorded] : state.tensors) {
    if (!agree(recorded)) return std::nullopt;
    together.tensors.push_back(*recorded.tensors.front());
  }
  return to_hex(root_of_tensors(together));
}

void compare_loaded_state(const ResumedSegments& of, Differing& differing) {
  const std::optional<std::string> stopped_in = state_stopped_in(of);
  for (std::size_t rank = 0; rank < of.resumed.size(); ++rank) {
    const std::string& loaded = of.resumed[rank].trace->header.resumed->state;
    if (loaded == stopped_in) continue;
    differing.loaded_otherwise.push_back(rank);
    if (differing.first) continue;
    differing.first = Divergence{of.stopped_after(), "", "loaded state", loaded, stopped_in.value_or("")};
    if (of.resumed.size() > 1) differing.where = fmt::format("on rank {} of the resumed process", rank);
  }
}

}  // namespace

Differing compare_segments(const ResumedSegments& of) {
  Differing differing;
  compare_steps("stopped", of.stopped, of.whole, differing);
  differing.stopped_state_differs = final_state_differs("stopped", of.stopped, of.whole, differing);
  compare_steps("resumed", of.resumed, of.whole, differing);
  differing.final_state_differs = final_state_differs("resumed", of.resumed, of.whole, differing);
  compare_loaded_state(of, differing);
  return differing;
}

}  // namespace reprobench
