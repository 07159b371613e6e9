#include "matrix/numerics/calls/joint_subgraph.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "matrix/numerics/calls/operator_alignment.hpp"
#include "matrix/numerics/calls/operator_divergence.hpp"
#include "matrix/numerics/calls/operator_flow.hpp"

namespace reprobench {
namespace {

using Calls = std::span<const OperatorRecord>;
using Pair = std::pair<std::size_t, std::size_t>;

std::vector<OperatorRecord> calls_of(const std::optional<OperatorDivergence>& call,
                                     const std::optional<OperatorRegion>& region, bool is_measured) {
  if (call) return {is_measured ? call->measured : call->expected};
  return (is_measured ? region->measured : region->expected).calls;
}

bool holds_all(const std::vector<OperatorRecord>& whole, const std::vector<OperatorRecord>& part) {
  return std::ranges::all_of(part, [&](const OperatorRecord& call) {
    return std::ranges::any_of(whole, [&](const OperatorRecord& own) { return own.index == call.index; });
  });
}

class JointSearch {
 public:
  JointSearch(Calls measured, Calls expected, const DivergencePoint& source)
      : source_(source), measured_(measured), expected_(expected), pairs_(aligned_calls(measured, expected)) {
    for (const auto& [i, j] : pairs_) {
      measured_.partner[i] = j;
      expected_.partner[j] = i;
    }
    measured_.note_values();
    expected_.note_values();
  }

  std::vector<JointSubgraph> find() const {
    std::vector<JointSubgraph> found;
    auto end = first_end();
    for (std::size_t level = 0; level < kMostJointEnds && end; ++level, end = reader_of(*end)) {
      auto region = ending_in(*end);
      if (!region || !is_part_of(source_, *region) || is_taken_outside(*region)) continue;
      const std::size_t constants = other_constants(*region);
      found.push_back({std::move(*region), constants});
    }
    return found;
  }

 private:
  std::optional<Pair> pair_at(const OperatorRecord& ours, const OperatorRecord& theirs) const {
    const auto found = std::ranges::find_if(pairs_, [&](const Pair& pair) {
      return measured_.calls[pair.first].index == ours.index && expected_.calls[pair.second].index == theirs.index;
    });
    return found == pairs_.end() ? std::nullopt : std::optional<Pair>(*found);
  }

  // The outermost operators of both sides that this pair is part of: what they hand on is their result.
  Pair outermost(Pair pair) const {
    for (;;) {
      const Pair callers{measured_.parent[pair.first], expected_.parent[pair.second]};
      const bool is_pair = callers.first != kNoCall && measured_.partner[callers.first] == callers.second;
      if (!is_pair || !measured_.calls[callers.first].name.starts_with("aten::")) return pair;
      pair = callers;
    }
  }

  // The first call that both sides make behind what differs.
  std::optional<Pair> first_end() const {
    const auto own = source_.call ? pair_at(source_.call->measured, source_.call->expected)
                                  : pair_at(source_.region->measured.at, source_.region->expected.at);
    if (!own) return std::nullopt;
    return source_.call && source_.inputs_agree ? reader_of(outermost(*own)) : outermost(*own);
  }

  // Behind a call of both sides the first one that takes what it made, on both.
  std::optional<Pair> reader_of(const Pair& pair) const {
    const auto takes = [](const OperatorFlow& flow, std::size_t reader, std::size_t made_by) {
      return std::ranges::any_of(flow.calls[reader].inputs,
                                 [&](const OperatorTensor& input) { return flow.maker(reader, input) == made_by; });
    };
    for (const Pair& later : pairs_) {
      if (later.first <= pair.first || later.second <= pair.second) continue;
      if (takes(measured_, later.first, pair.first) && takes(expected_, later.second, pair.second)) {
        return outermost(later);
      }
    }
    return std::nullopt;
  }

  std::optional<OperatorRegion> ending_in(const Pair& end) const {
    const OperatorRecord& our_end = measured_.calls[end.first];
    const OperatorRecord& their_end = expected_.calls[end.second];
    if (our_end.outputs.empty() || our_end.outputs.size() != their_end.outputs.size()) return std::nullopt;
    // If few elements are rounded in the same way on both sides, they end in equal bits; then the first output is used.
    const std::size_t output = differing_output(our_end, their_end).value_or(0);
    OperatorSlice ours(measured_, expected_);
    OperatorSlice theirs(expected_, measured_);
    OperatorRegion region{ours.made_by(end.first, output), theirs.made_by(end.second, output)};
    region.constants_differ = ours.constants_differ() || theirs.constants_differ();
    const bool is_small = std::max(region.measured.calls.size(), region.expected.calls.size()) <= kMostJointCalls;
    if (!is_small || ours.leaves_step() || theirs.leaves_step()) return std::nullopt;
    return region;
  }

  std::size_t other_constants(const OperatorRegion& region) const {
    return static_cast<std::size_t>(std::ranges::count_if(pairs_, [&](const Pair& pair) {
      const OperatorRecord& ours = measured_.calls[pair.first];
      const OperatorRecord& theirs = expected_.calls[pair.second];
      return !same_constants(ours.constants, theirs.constants) && holds_all(region.measured.calls, {ours}) &&
             holds_all(region.expected.calls, {theirs});
    }));
  }

  bool is_taken_outside(const OperatorRegion& region) const {
    return is_taken_outside(measured_, calls_of(source_.call, source_.region, true), region.measured) ||
           is_taken_outside(expected_, calls_of(source_.call, source_.region, false), region.expected);
  }

  // By a call that is none of the subgraph and part of none.
  static bool is_taken_outside(const OperatorFlow& flow, const std::vector<OperatorRecord>& makers,
                               const OperatorSubgraph& subgraph) {
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < flow.calls.size(); ++i) {
      if (holds_all(subgraph.calls, {flow.calls[i]})) own.push_back(i);
    }
    const auto is_inside = [&](std::size_t call) {
      return std::ranges::any_of(own, [&](std::size_t caller) { return flow.encloses(caller, call); });
    };
    const auto takes = [&](std::size_t reader) {
      return std::ranges::any_of(flow.calls[reader].inputs, [&](const OperatorTensor& input) {
        const std::size_t maker = flow.maker(reader, input);
        return maker != kNoCall && has_content(input) && holds_all(makers, {flow.calls[maker]});
      });
    };
    for (std::size_t i = 0; i < flow.calls.size(); ++i) {
      const bool ends_it = flow.calls[i].index == subgraph.at.index;
      if (!ends_it && !is_inside(i) && takes(i)) return true;
    }
    return false;
  }

  const DivergencePoint& source_;
  OperatorFlow measured_;
  OperatorFlow expected_;
  CallPairs pairs_;
};

}  // namespace

std::vector<JointSubgraph> joint_subgraphs(Calls measured, Calls expected, const DivergencePoint& source) {
  return JointSearch(measured, expected, source).find();
}

bool is_part_of(const DivergencePoint& source, const OperatorRegion& joint) {
  const auto ours = calls_of(source.call, source.region, true);
  const auto theirs = calls_of(source.call, source.region, false);
  const bool has_calls = !ours.empty() || !theirs.empty();
  return has_calls && holds_all(joint.measured.calls, ours) && holds_all(joint.expected.calls, theirs);
}

}  // namespace reprobench
