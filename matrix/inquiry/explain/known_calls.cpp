#include "matrix/inquiry/explain/known_calls.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/inquiry/explain/replay_files.hpp"
#include "matrix/inquiry/explain/side_captures.hpp"
#include "matrix/inquiry/explain/source_judgement.hpp"
#include "matrix/numerics/calls/operator_alignment.hpp"

namespace reprobench {
namespace {

// Up to the optimizer a step has the calls of any other; there it may clip, or leave out the update.
bool is_in_every_step(const OperatorRecord& call) { return call.pass != "optimizer"; }

// What a place is called in any step. A source that asks for something else has no name: it is new wherever it is.
template <class Source>
std::string name_of_place(const Source& source) {
  if (source.call) {
    const OperatorRecord& call = source.call->measured;
    if (source.call->constants_differ) return "";
    const std::string place = is_in_every_step(call) ? fmt::format(" {}", call.index) : "";
    return fmt::format("{} {} {}{}", call.name, call.pass, call.module, place);
  }
  if (!source.region) return "";
  const OperatorSubgraph& ours = source.region->measured;
  const OperatorSubgraph& theirs = source.region->expected;
  const OperatorRecord& at = ours.calls.empty() ? theirs.at : ours.at;
  return fmt::format("{} / {} {} {}", names_of(ours), names_of(theirs), at.pass, at.module);
}

const OperatorRecord* call_at(const std::vector<OperatorRecord>& calls, const OperatorRecord& known) {
  const auto found = std::ranges::find(calls, known.index, &OperatorRecord::index);
  return found == calls.end() || found->name != known.name || found->module != known.module ? nullptr : &*found;
}

bool is_beyond(const LocalError& error) { return error.of_bound && *error.of_bound > 1; }

}  // namespace

KnownCalls::KnownCalls(const Explanation& first) {
  std::int64_t bytes = 0;
  const auto add = [&](const DifferenceSource& source) {
    names_.insert(name_of_place(source));
    if (!source.call || source.call->constants_differ || !source.budget) return;
    if (!is_in_every_step(source.call->measured) || captured_.size() == kMostCaptures) return;
    const std::int64_t own = capture_bytes(source);
    if (bytes + own > kMostCaptureBytes) return;
    bytes += own;
    captured_.push_back(*source.call);
  };
  add(first);
  for (const FurtherSource& source : first.further_sources) add(source);
  names_.erase("");
}

bool KnownCalls::knows(const DivergencePoint& source) const { return names_.contains(name_of_place(source)); }

void KnownCalls::ask(std::int64_t step, Replay& measured, Replay& expected) const {
  for (const OperatorDivergence& call : captured_) {
    const auto add = [&](Replay& replay, const OperatorRecord& record) {
      const OperatorSite site{step, record.index};
      if (!replay.capture) {
        replay.capture = site;
      } else {
        replay.further_captures.push_back(site);
      }
    };
    add(measured, call.measured);
    add(expected, call.expected);
  }
}

std::vector<FurtherSource> KnownCalls::beyond_bound(const Left& measured, const Left& expected) const {
  std::vector<FurtherSource> beyond;
  for (std::size_t i = 0; i < captured_.size(); ++i) {
    const OperatorRecord* ours = call_at(measured.calls, captured_[i].measured);
    const OperatorRecord* theirs = call_at(expected.calls, captured_[i].expected);
    if (ours == nullptr || theirs == nullptr) continue;
    const SafetensorsFile our_file = tensors_left_in(measured.folder, operator_tensors_file(i));
    const SafetensorsFile their_file = tensors_left_in(expected.folder, operator_tensors_file(i));
    for (std::size_t output = 0; output < std::min(ours->outputs.size(), theirs->outputs.size()); ++output) {
      const auto of_ours = local_error(*ours, output, our_file.tensors(), local_settings(measured.request));
      const auto of_theirs = local_error(*theirs, output, their_file.tensors(), local_settings(expected.request));
      const auto broken =
          judge_kept_orders({*ours, our_file, measured.request}, {*theirs, their_file, expected.request}, output);
      const bool is_off = of_ours && of_theirs && (is_beyond(*of_ours) || is_beyond(*of_theirs));
      if (!broken && !is_off) continue;
      FurtherSource& source = beyond.emplace_back();
      source.call = captured_[i];
      source.call->measured = *ours;
      source.call->expected = *theirs;
      source.call->output = output;
      source.inputs_agree = inputs_agree(*ours, *theirs);
      source.budget.emplace();
      source.budget->order = broken;
      source.budget->measured = of_ours;
      source.budget->expected = of_theirs;
      if (of_ours) source.budget->measured_error_rel = of_ours->error_rel;
      if (of_theirs) source.budget->expected_error_rel = of_theirs->error_rel;
      break;
    }
  }
  return beyond;
}

}  // namespace reprobench
