#include "matrix/numerics/calls/joint_subgraph.hpp"

#include <algorithm>
#include <optional>
#include <set>
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
    const bool is_taken_backward = !readers_outside({}, /*of_pass=*/false).empty();
    const auto end_in = [&](const Pair& end) {
      auto region = ending_in(end);
      if (!region || !is_part_of(source_, *region)) return;
      const std::size_t places = places_apart(*region);
      auto readers = readers_outside(*region);
      found.push_back({std::move(*region), places, std::move(readers), is_taken_backward});
    };
    const auto follow = [&](std::optional<Pair> end) {
      for (std::size_t level = 0; level < kMostJointEnds && end; ++level, end = reader_of(*end)) {
        end_in(*end);
        const Pair last{last_alone(measured_, end->first), last_alone(expected_, end->second)};
        if (last != *end) end_in(last);
      }
    };
    follow(first_end());
    for (const SourceReader& reader : readers_outside({})) {
      const bool is_covered = std::ranges::any_of(found, [&](const JointSubgraph& joint) {
        return std::ranges::find(joint.not_covered, reader) == joint.not_covered.end();
      });
      if (!is_covered) follow(pair_behind(reader));
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
    // In this replay it may take what one side alone made, though in the one that found it, it took equal values.
    const bool takes_the_same =
        source_.call && source_.inputs_agree && inputs_agree(measured_.calls[own->first], expected_.calls[own->second]);
    return takes_the_same ? reader_of(outermost(*own)) : outermost(*own);
  }

  // Whether the reader takes what that call made: as it is, through views, or through calls that this side alone makes.
  static bool takes(const OperatorFlow& flow, std::size_t reader, std::size_t made_by) {
    std::vector<std::size_t> open{reader};
    std::set<std::size_t> met;
    while (!open.empty() && met.size() <= kMostJointCalls) {
      const std::size_t call = open.back();
      open.pop_back();
      for (const OperatorTensor& input : flow.calls[call].inputs) {
        const std::size_t maker = flow.maker(call, input);
        if (maker == kNoCall || maker < made_by) continue;
        if (flow.encloses(made_by, maker)) return true;
        const std::size_t between = flow.outermost_without_partner(maker);
        const bool is_passed = flow.partner[between] == kNoCall || is_view(flow.calls[between]);
        if (is_passed && met.insert(between).second) open.push_back(between);
      }
    }
    return false;
  }

  static bool is_view(const OperatorRecord& call) { return std::ranges::none_of(call.outputs, has_content); }

  // From a call on, the last of those that this side alone makes, each of what the one before made.
  static std::size_t last_alone(const OperatorFlow& flow, std::size_t call) {
    for (std::size_t later = call + 1; later < flow.calls.size(); ++later) {
      const bool is_alone = flow.partner[later] == kNoCall && flow.outermost_without_partner(later) == later;
      if (is_alone && !is_view(flow.calls[later]) && takes(flow, later, call)) call = later;
    }
    return call;
  }

  // Behind a call of both sides the first one that takes what it made, on both.
  std::optional<Pair> reader_of(const Pair& pair) const {
    for (const Pair& later : pairs_) {
      if (later.first <= pair.first || later.second <= pair.second || is_view(measured_.calls[later.first])) continue;
      if (takes(measured_, later.first, pair.first) && takes(expected_, later.second, pair.second)) {
        return outermost(later);
      }
    }
    return std::nullopt;
  }

  // The first call that both sides make and that is the reader, or takes what it made.
  std::optional<Pair> pair_behind(const SourceReader& reader) const {
    const OperatorFlow& flow = reader.is_measured ? measured_ : expected_;
    const auto call = std::ranges::find(flow.calls, reader.index, &OperatorRecord::index);
    const auto place = static_cast<std::size_t>(call - flow.calls.begin());
    for (const Pair& pair : pairs_) {
      const std::size_t own = reader.is_measured ? pair.first : pair.second;
      if (own < place || is_view(flow.calls[own])) continue;
      if (own == place || takes(flow, own, place)) return outermost(pair);
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

  // Pairs of its calls with other constants, and calls that one side alone makes.
  std::size_t places_apart(const OperatorRegion& region) const {
    const auto pairs = std::ranges::count_if(pairs_, [&](const Pair& pair) {
      const OperatorRecord& ours = measured_.calls[pair.first];
      const OperatorRecord& theirs = expected_.calls[pair.second];
      return !same_constants(ours.constants, theirs.constants) && holds_all(region.measured.calls, {ours}) &&
             holds_all(region.expected.calls, {theirs});
    });
    const auto alone = [](const OperatorFlow& flow, const OperatorSubgraph& subgraph) {
      std::int64_t count = 0;
      for (std::size_t i = 0; i < flow.calls.size(); ++i) {
        count += flow.partner[i] == kNoCall && holds_all(subgraph.calls, {flow.calls[i]}) ? 1 : 0;
      }
      return count;
    };
    return static_cast<std::size_t>(pairs + alone(measured_, region.measured) + alone(expected_, region.expected));
  }

  std::vector<SourceReader> readers_outside(const OperatorRegion& region, bool of_pass = true) const {
    std::vector<SourceReader> readers;
    const auto add = [&](const OperatorFlow& flow, const OperatorSubgraph& subgraph, bool is_measured) {
      const auto makers = calls_of(source_.call, source_.region, is_measured);
      for (const std::int64_t index : readers_outside(flow, makers, subgraph, of_pass)) {
        readers.push_back({is_measured, index});
      }
    };
    add(measured_, region.measured, true);
    add(expected_, region.expected, false);
    return readers;
  }

  // Calls of the same pass, or of the others, that take what these made, and are none of the subgraph and part of none.
  // A backward pass takes values of the forward one to make gradients, and these are judged as such.
  static std::vector<std::int64_t> readers_outside(const OperatorFlow& flow, const std::vector<OperatorRecord>& makers,
                                                   const OperatorSubgraph& subgraph, bool of_pass) {
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < flow.calls.size(); ++i) {
      if (holds_all(subgraph.calls, {flow.calls[i]}) || holds_all(makers, {flow.calls[i]})) own.push_back(i);
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
    std::vector<std::int64_t> readers;
    for (std::size_t i = 0; i < flow.calls.size(); ++i) {
      const bool ends_it = !subgraph.calls.empty() && flow.calls[i].index == subgraph.at.index;
      const bool is_asked = makers.empty() || (flow.calls[i].pass == makers.front().pass) == of_pass;
      if (is_asked && !ends_it && !is_inside(i) && takes(i)) readers.push_back(flow.calls[i].index);
    }
    return readers;
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
