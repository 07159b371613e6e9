#include "matrix/numerics/calls/step_divergence.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "matrix/numerics/calls/operator_alignment.hpp"
#include "matrix/numerics/calls/operator_divergence.hpp"
#include "matrix/numerics/calls/operator_flow.hpp"

namespace reprobench {
namespace {

using Calls = std::span<const OperatorRecord>;

// Values of the forward pass that a backward node kept are not among its inputs.
bool takes_only_what_is_on_record(const OperatorRecord& call) { return call.name.find("::") != std::string::npos; }

// A later release appends arguments to an operator, "[8, 64], 1e-05" to "[8, 64]": what both have counts.
bool asks_for_another(const OperatorRecord& measured, const OperatorRecord& expected) {
  if (same_constants(measured.constants, expected.constants)) return false;
  const bool is_shorter = measured.constants.size() < expected.constants.size();
  const std::string& fewer = is_shorter ? measured.constants : expected.constants;
  const std::string& more = is_shorter ? expected.constants : measured.constants;
  return !fewer.empty() && more != fewer && !more.starts_with(fewer + ", ");
}

bool reads_a_number(const OperatorRecord& call) {
  for (const char* reader : {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal"}) {
    if (call.name == reader) return true;
  }
  return false;
}

// Memory as an allocation returns it, laid out otherwise or not: what is in it was made by nobody. A library that takes
// some for its own use has it on record like a value.
bool is_bare_memory(const OperatorFlow& flow, std::size_t call) {
  const OperatorRecord& record = flow.calls[call];
  if (record.name.starts_with("aten::empty")) return true;
  if (record.name != "aten::as_strided_" && record.name != "aten::resize_") return false;
  return std::ranges::any_of(record.inputs, [&](const OperatorTensor& input) {
    const std::size_t maker = flow.maker(call, input);
    return maker < call && is_bare_memory(flow, maker);
  });
}

// Not what hands on the value it takes, as what keeps a gradient does.
bool makes_other_values(const OperatorRecord& call) {
  return std::ranges::any_of(call.outputs, [&](const OperatorTensor& output) {
    return has_content(output) && std::ranges::find(call.inputs, output) == call.inputs.end();
  });
}

// Its caller gives what it made.
bool gives_result_of(const OperatorFlow& flow, std::size_t call) {
  const auto& given = flow.calls[flow.parent[call]].outputs;
  return std::ranges::any_of(flow.calls[call].outputs, [&](const OperatorTensor& made) {
    return has_content(made) && std::ranges::find(given, made) != given.end();
  });
}

// Gradients are clipped by a factor that their own norm gives. A weight that decays and a moment are multiplied too,
// but no call of this step made them before.
bool may_clip(const OperatorFlow& flow, std::size_t call) {
  const OperatorRecord& record = flow.calls[call];
  if (record.pass != "optimizer" || (record.name != "aten::mul" && record.name != "aten::mul_")) return false;
  return !record.inputs.empty() && flow.maker(call, record.inputs.front()) != kNoCall;
}

class DivergenceSearch {
 public:
  DivergenceSearch(Calls measured, Calls expected)
      : pairs_(aligned_calls(measured, expected)), measured_(measured), expected_(expected) {
    for (const auto& [i, j] : pairs_) {
      measured_.partner[i] = j;
      expected_.partner[j] = i;
    }
    measured_.note_values();
    expected_.note_values();
    is_asked_.assign(measured_.calls.size(), false);
    norms_differ_ = std::ranges::any_of(pairs_, [&](const auto& pair) {
      return may_clip(measured_, pair.first) && !inputs_agree(ours(pair.first), theirs(pair.second));
    });
  }

  StepDivergence find() {
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const auto [i, j] = pairs_[k];
      if (!inputs_agree(ours(i), theirs(j))) {
        take_other_values(k);
      } else if (const auto output = output_made_different(i, j)) {
        if (is_accounted_for(i, j)) continue;
        if (!follows_norms(i, j)) found_.sources.push_back(at_pair(k, *output));
        note_apart(i, j);
      } else if (asks_otherwise_with_equal_result(i, j)) {
        found_.sources.push_back({divergence_at(k, 0), std::nullopt});
        for (std::size_t call = i; call != kNoCall; call = measured_.parent[call]) is_asked_[call] = true;
      }
    }
    diverge_at_the_end();
    return std::move(found_);
  }

 private:
  const OperatorRecord& ours(std::size_t i) const { return measured_.calls[i]; }
  const OperatorRecord& theirs(std::size_t j) const { return expected_.calls[j]; }

  void note_apart(std::size_t i, std::size_t j) {
    measured_.note_apart(i);
    expected_.note_apart(j);
  }

  // By something it calls, or by what it took that is not on record.
  bool is_accounted_for(std::size_t i, std::size_t j) const {
    if (measured_.is_apart(i) || expected_.is_apart(j)) return true;
    return found_.diverges() && !takes_only_what_is_on_record(ours(i));
  }

  // Whether calls with equal gradients still follow gradients that differ, because one norm is over all of them.
  bool follows_norms(std::size_t i, std::size_t j) const {
    return norms_differ_ && may_clip(measured_, i) && !same_constants(ours(i).constants, theirs(j).constants);
  }

  // Constants that are told from a number which may differ by right.
  bool may_follow_values(std::size_t i) const {
    if (may_clip(measured_, i)) return norms_differ_;
    return reads_numbers_ && ours(i).pass != "optimizer";
  }

  // 0 x 0.5 is 0 x 0.9: the first step of a momentum hides which one it is, and the next one does not.
  bool asks_otherwise_with_equal_result(std::size_t i, std::size_t j) const {
    if (is_asked_[i] || may_follow_values(i) || differing_output(ours(i), theirs(j))) return false;
    return std::ranges::any_of(ours(i).outputs, has_content) && asks_for_another(ours(i), theirs(j)) &&
           has_paired_neighbours(i, j) && !is_answered_by_caller(i, j);
  }

  // The two are part of calls that ask the same and get the same: how they come to it is the library's.
  bool is_answered_by_caller(std::size_t i, std::size_t j) const {
    for (std::size_t a = measured_.parent[i]; a != kNoCall; a = measured_.parent[a]) {
      const std::size_t b = measured_.partner[a];
      if (b == kNoCall || !expected_.encloses(b, j) || !takes_only_what_is_on_record(ours(a))) continue;
      if (!asks_for_another(ours(a), theirs(b)) && inputs_agree(ours(a), theirs(b)) &&
          !differing_output(ours(a), theirs(b))) {
        return true;
      }
    }
    return false;
  }

  // The first output that differs; not of two calls that only their names and shapes made a pair, each of which makes
  // what the other side has elsewhere.
  std::optional<std::size_t> output_made_different(std::size_t i, std::size_t j) const {
    const auto output = differing_output(ours(i), theirs(j));
    if (!output) return std::nullopt;
    const bool is_sure = same_constants(ours(i).constants, theirs(j).constants) &&
                         std::any_of(ours(i).inputs.begin(), ours(i).inputs.end(), has_content);
    const bool is_elsewhere =
        expected_.has_value(ours(i).outputs[*output]) && measured_.has_value(theirs(j).outputs[*output]);
    return is_elsewhere && !is_sure ? std::nullopt : output;
  }

  OperatorDivergence divergence_at(std::size_t pair, std::size_t output) const {
    const auto [i, j] = pairs_[pair];
    return {ours(i), theirs(j),
            output,  !same_constants(ours(i).constants, theirs(j).constants),
            pair,    measured_.calls.size() + expected_.calls.size() - 2 * pairs_.size()};
  }

  DivergencePoint at_pair(std::size_t pair, std::size_t output) const {
    const auto [i, j] = pairs_[pair];
    DivergencePoint point{divergence_at(pair, output), std::nullopt};
    // The calls without a partner inside the two, if there are any.
    const auto inside = [output](const OperatorFlow& flow, const OperatorFlow& other, std::size_t call) {
      const OperatorTensor& made = flow.calls[call].outputs[output];
      for (std::size_t callee = call; callee-- > 0 && flow.calls[callee].depth > flow.calls[call].depth;) {
        const auto& outputs = flow.calls[callee].outputs;
        const auto found = std::find(outputs.begin(), outputs.end(), made);
        if (flow.parent[callee] == call && flow.partner[callee] == kNoCall && found != outputs.end()) {
          return OperatorSlice(flow, other).made_by(callee, static_cast<std::size_t>(found - outputs.begin()));
        }
      }
      return OperatorSubgraph{};
    };
    OperatorRegion region{inside(measured_, expected_, i), inside(expected_, measured_, j)};
    if (!region.measured.calls.empty() && !region.expected.calls.empty()) point.region = std::move(region);
    return point;
  }

  using Places = std::pair<std::size_t, std::size_t>;

  // The inputs of two calls that are not the same, of which both sides have only their own; if there are none, the
  // first of which one side has.
  std::vector<Places> differing_inputs(std::size_t i, std::size_t j) const {
    const OperatorRecord& a = ours(i);
    const OperatorRecord& b = theirs(j);
    std::vector<Places> of_both;
    std::vector<Places> of_one;
    if (a.inputs.empty() || b.inputs.empty()) return {};
    for (std::size_t place = 0; place < std::max(a.inputs.size(), b.inputs.size()); ++place) {
      const Places places{std::min(place, a.inputs.size() - 1), std::min(place, b.inputs.size() - 1)};
      const OperatorTensor& x = a.inputs[places.first];
      const OperatorTensor& y = b.inputs[places.second];
      const bool is_ours = has_content(x) && !expected_.has_value(x, j);
      const bool is_theirs = has_content(y) && !measured_.has_value(y, i);
      if (x == y || !(is_ours || is_theirs)) continue;
      (is_ours && is_theirs ? of_both : of_one).push_back(places);
    }
    if (of_both.empty() && !of_one.empty()) return {of_one.front()};
    return of_both;
  }

  // Two calls that take different values: a subgraph of calls made them, or a source that is known, or nothing of this
  // step did.
  void take_other_values(std::size_t pair) {
    const std::size_t i = pairs_[pair].first;
    const std::size_t j = pairs_[pair].second;
    auto places = differing_inputs(i, j);
    std::erase_if(places, [&](const Places& place) { return is_number_of_caller(i, j, place); });
    if (places.empty()) return;  // no pair after all
    const bool is_known = measured_.is_apart(i) || expected_.is_apart(j);
    if (!is_known && nothing_made(i, j, places) && caller_made_it(i, j)) return;
    for (const Places& place : places) take_other_value(i, j, place);
    if (measured_.is_innermost(i)) {
      ++found_.calls_apart;
      found_.gradient_calls_apart += ours(i).pass != "optimizer" && makes_other_values(ours(i)) ? 1 : 0;
    }
    if (!is_known) note_other_question(pair);
    note_apart(i, j);
  }

  // A constant of the call that makes this one: LibTorch hands a number on to what it calls as a tensor without
  // dimensions, which nothing made. That constant is asked about where it stands.
  bool is_number_of_caller(std::size_t i, std::size_t j, const Places& place) const {
    const OperatorTensor& x = ours(i).inputs[place.first];
    const OperatorTensor& y = theirs(j).inputs[place.second];
    if (!x.shape.empty() || !y.shape.empty()) return false;
    if (measured_.maker(i, x) != kNoCall || expected_.maker(j, y) != kNoCall) return false;
    for (std::size_t a = measured_.parent[i]; a != kNoCall; a = measured_.parent[a]) {
      const std::size_t b = measured_.partner[a];
      if (b != kNoCall && expected_.encloses(b, j) && !same_constants(ours(a).constants, theirs(b).constants)) {
        return true;
      }
    }
    return false;
  }

  // No call on record stands behind any of these inputs.
  bool nothing_made(std::size_t i, std::size_t j, const std::vector<Places>& all) const {
    return std::ranges::all_of(all, [&](const Places& places) {
      return OperatorSlice(measured_, expected_, j).behind(i, places.first).calls.empty() &&
             OperatorSlice(expected_, measured_, i).behind(j, places.second).calls.empty();
    });
  }

  // A call may write into a buffer by itself and then call others with it, as oneDNN's convolutions do: its callees
  // stand first in the record and take values that differ. A caller that takes equal values and gives others made them.
  bool caller_made_it(std::size_t i, std::size_t j) const {
    for (std::size_t a = measured_.parent[i]; a != kNoCall; a = measured_.parent[a]) {
      const std::size_t b = measured_.partner[a];
      if (b == kNoCall || !expected_.encloses(b, j)) continue;
      if (takes_only_what_is_on_record(ours(a)) && inputs_agree(ours(a), theirs(b)) && output_made_different(a, b)) {
        return true;
      }
    }
    return false;
  }

  void take_other_value(std::size_t i, std::size_t j, const Places& place) {
    OperatorSlice our_slice(measured_, expected_, j);
    OperatorSlice their_slice(expected_, measured_, i);
    OperatorRegion region{our_slice.behind(i, place.first), their_slice.behind(j, place.second)};
    if (region.measured.calls.empty() != region.expected.calls.empty()) {
      const bool is_ours = region.measured.calls.empty();
      account_for_empty(is_ours ? region.measured : region.expected, is_ours ? our_slice : their_slice,
                        is_ours ? their_slice : our_slice, is_ours ? i : j);
    }
    const bool is_known = our_slice.meets_apart() || their_slice.meets_apart();
    const bool is_first = !found_.diverges();
    if (is_known) count_apart(region);
    if (region.measured.calls.empty() && region.expected.calls.empty()) {
      const bool is_made = measured_.maker(i, ours(i).inputs[place.first]) != kNoCall ||
                           expected_.maker(j, theirs(j).inputs[place.second]) != kNoCall;
      if (!is_known && !is_made) found_.from_outside.push_back(ours(i));
      if (!is_known && found_.sources.empty()) found_.begins_apart = true;
    } else if (!is_known && (is_first || !(our_slice.leaves_step() || their_slice.leaves_step()))) {
      add_region(std::move(region), our_slice, their_slice);
    }
    note_met(our_slice, their_slice);
  }

  // A side without calls passes on a value that flows into the other side's subgraph. Another value of it was made by a
  // call elsewhere, which then belongs to the subgraph; or by none, and what made it is not on record.
  static void account_for_empty(OperatorSubgraph& empty, OperatorSlice& own, const OperatorSlice& of_other,
                                std::size_t reader) {
    if (of_other.takes(reader, empty.outflow)) return;
    empty = own.widened(reader, empty.place);
    empty.not_on_record = empty.calls.empty() && !own.meets_apart();
  }

  // Calls without a partner that work on values which differ already are judged by nobody, as pairs that do are.
  void count_apart(const OperatorRegion& region) {
    for (const auto* subgraph : {&region.measured, &region.expected}) {
      found_.gradient_calls_apart += std::ranges::count_if(subgraph->calls, [](const OperatorRecord& call) {
        return call.pass != "optimizer" && makes_other_values(call);
      });
    }
  }

  void note_met(const OperatorSlice& ours, const OperatorSlice& theirs) {
    for (const std::size_t call : ours.met()) measured_.note_apart(call);
    for (const std::size_t call : theirs.met()) expected_.note_apart(call);
  }

  void add_region(OperatorRegion region, const OperatorSlice& ours, const OperatorSlice& theirs) {
    region.constants_differ = ours.constants_differ() || theirs.constants_differ();
    found_.sources.push_back({std::nullopt, std::move(region)});
  }

  // Values that differ do not hide that the call has another constant: 1.1e-05 against 1e-05. Only where the calls are
  // sure to correspond, because those before and behind do, and where no number has been read off values that differ: a
  // constant may then come from it.
  void note_other_question(std::size_t pair) {
    const auto [i, j] = pairs_[pair];
    if (reads_a_number(ours(i))) reads_numbers_ = true;
    if (may_follow_values(i) || !asks_for_another(ours(i), theirs(j)) || !has_paired_neighbours(i, j)) return;
    const auto output = differing_output(ours(i), theirs(j));
    if (!output) return;
    DivergencePoint point{divergence_at(pair, *output), std::nullopt, false};
    found_.sources.push_back(std::move(point));
  }

  // The calls before and behind that the same caller makes.
  bool has_paired_neighbours(std::size_t i, std::size_t j) const {
    const auto pairs_up = [&](std::size_t a, std::size_t b) {
      return a == kNoCall || b == kNoCall ? a == b : measured_.partner[a] == b;
    };
    return pairs_up(measured_.sibling_before(i), expected_.sibling_before(j)) &&
           pairs_up(measured_.sibling_behind(i), expected_.sibling_behind(j));
  }

  // Calls without a partner make the last values of the step.
  void diverge_at_the_end() {
    OperatorSlice our_slice(measured_, expected_);
    OperatorSlice their_slice(expected_, measured_);
    const auto last = [](const OperatorFlow& flow, const OperatorFlow& other, OperatorSlice& slice) {
      for (std::size_t i = flow.calls.size(); i-- > 0;) {
        if (flow.partner[i] != kNoCall || !flow.is_in_sight(i) || flow.is_read(i)) continue;
        if (is_bare_memory(flow, i)) continue;
        // Its caller stands for a call that returns the caller's result, if the caller is a source or takes a source's
        // output.
        if (flow.parent[i] != kNoCall && flow.is_apart(flow.parent[i]) && gives_result_of(flow, i)) continue;
        // Zeros for a caller's own use, one row a thread: what the caller makes of them is held against its partner's.
        if (flow.parent[i] != kNoCall && std::ranges::none_of(flow.calls[i].inputs, has_content)) continue;
        const auto& outputs = flow.calls[i].outputs;
        const auto own = std::find_if(outputs.begin(), outputs.end(), [&](const OperatorTensor& output) {
          return has_content(output) && !other.has_value(output);
        });
        if (own == outputs.end()) continue;
        return slice.made_by(i, static_cast<std::size_t>(own - outputs.begin()));
      }
      return OperatorSubgraph{};
    };
    OperatorRegion region{last(measured_, expected_, our_slice), last(expected_, measured_, their_slice)};
    if (region.measured.calls.empty() && region.expected.calls.empty()) return;
    region.measured.not_on_record = region.measured.calls.empty();
    region.expected.not_on_record = region.expected.calls.empty();
    const bool is_known = our_slice.meets_apart() || their_slice.meets_apart();
    const bool leaves = our_slice.leaves_step() || their_slice.leaves_step();
    if (is_known) count_apart(region);
    if (found_.diverges() && (is_known || leaves)) return;
    found_.sources.push_back({std::nullopt, std::move(region)});
  }

  CallPairs pairs_;
  OperatorFlow measured_;
  OperatorFlow expected_;
  StepDivergence found_;
  std::vector<bool> is_asked_;  // of our calls: it, or one it makes, has another constant and an equal result
  bool norms_differ_ = false;   // of the gradients, which clip them
  bool reads_numbers_ = false;
};

}  // namespace

StepDivergence divergence_of_step(Calls measured, Calls expected) {
  return DivergenceSearch(measured, expected).find();
}

DivergencePoint first_divergence(Calls measured, Calls expected) {
  StepDivergence found = divergence_of_step(measured, expected);
  if (found.begins_apart || found.sources.empty()) return {};
  return std::move(found.sources.front());
}

}  // namespace reprobench
