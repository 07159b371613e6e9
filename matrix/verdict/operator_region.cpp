#include "matrix/verdict/operator_region.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

namespace reprobench {
namespace {

using Calls = std::span<const OperatorRecord>;

constexpr std::size_t kNoCall = static_cast<std::size_t>(-1);

bool makes_values(const OperatorRecord& call) {
  return std::any_of(call.outputs.begin(), call.outputs.end(), has_content);
}

// One side's calls as a graph of what flows from one to the next.
class Flow {
 public:
  explicit Flow(Calls of_side)
      : calls(of_side), partner(calls.size(), kNoCall), parent(calls.size(), kNoCall), is_read_(calls.size(), false) {
    std::vector<std::size_t> open;  // by depth: calls that wait for their caller to end
    for (std::size_t i = 0; i < calls.size(); ++i) {
      position_[calls[i].index] = i;
      for (const OperatorTensor& output : calls[i].outputs) {
        if (has_content(output)) makers_[output.digest].push_back(i);
      }
      while (!open.empty() && calls[open.back()].depth > calls[i].depth) {
        parent[open.back()] = i;
        open.pop_back();
      }
      open.push_back(i);
    }
  }

  // Its place among its caller's calls can be told: every call above it has a partner.
  bool is_in_sight(std::size_t call) const {
    for (call = parent[call]; call != kNoCall; call = parent[call]) {
      if (partner[call] == kNoCall) return false;
    }
    return true;
  }

  std::size_t outermost_without_partner(std::size_t call) const {
    while (parent[call] != kNoCall && partner[parent[call]] == kNoCall) call = parent[call];
    return call;
  }

  // The call that made what `reader` takes; kNoCall: none of this step. Where the record does not say, the last one
  // before the reader that returned the same bytes.
  std::size_t maker(std::size_t reader, const OperatorTensor& tensor) const {
    if (tensor.made_by) {
      const auto found = position_.find(*tensor.made_by);
      return found == position_.end() ? kNoCall : found->second;
    }
    const auto found = makers_.find(tensor.digest);
    if (found == makers_.end()) return kNoCall;
    const auto next = std::lower_bound(found->second.begin(), found->second.end(), first_callee(reader));
    return next == found->second.begin() ? kNoCall : *(next - 1);
  }

  // Once every partner is known.
  void note_values() {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      for (const OperatorTensor& input : calls[i].inputs) {
        for (std::size_t call = maker(i, input); call != kNoCall && !is_read_[call]; call = parent[call]) {
          is_read_[call] = true;
        }
      }
      if (!is_in_sight(i)) continue;
      for (const auto* tensors : {&calls[i].inputs, &calls[i].outputs}) {
        for (const OperatorTensor& tensor : *tensors) {
          if (has_content(tensor)) values_.insert(tensor.digest);
        }
      }
    }
  }

  // A call in sight took or made it: one that is only part of an unmatched call does not count.
  bool has_value(const OperatorTensor& tensor) const { return values_.count(tensor.digest) > 0; }

  // A later call takes what it made.
  bool is_read(std::size_t call) const { return is_read_[call]; }

  Calls calls;
  std::vector<std::size_t> partner;
  std::vector<std::size_t> parent;

 private:
  std::size_t first_callee(std::size_t call) const {
    std::size_t first = call;
    while (first > 0 && calls[first - 1].depth > calls[call].depth) --first;
    return first;
  }

  std::vector<bool> is_read_;
  std::unordered_map<std::int64_t, std::size_t> position_;
  std::unordered_map<std::string, std::vector<std::size_t>> makers_;
  std::unordered_set<std::string> values_;
};

// The stretch behind one value, followed back.
class Slice {
 public:
  Slice(const Flow& own, const Flow& other) : own_(own), other_(other) {}

  // Of what `reader` takes.
  OperatorStretch behind(std::size_t reader, std::size_t input) {
    const OperatorRecord& call = own_.calls[reader];
    follow(reader, call.inputs[input]);
    return {calls_met(), call.inputs[input], call, true, input};
  }

  // Of what `call` made, with itself.
  OperatorStretch made_by(std::size_t call, std::size_t output) {
    take(call);
    return {calls_met(), own_.calls[call].outputs[output], own_.calls[call], false, output};
  }

  bool constants_differ() const { return constants_differ_; }

 private:
  // Stops at what both sides have, and at what no call of this step made.
  void follow(std::size_t reader, const OperatorTensor& tensor) {
    if (has_content(tensor) && other_.has_value(tensor)) return;
    const std::size_t maker = own_.maker(reader, tensor);
    if (maker == kNoCall) return;
    const std::size_t partner = own_.partner[maker];
    if (partner == kNoCall) return take(own_.outermost_without_partner(maker));
    const OperatorRecord& call = own_.calls[maker];
    if (!makes_values(call)) {
      if (call.constants == other_.calls[partner].constants) return follow_inputs(maker);
      constants_differ_ = true;
      return take(maker);
    }
    const auto known = [&](const OperatorTensor& output) { return !has_content(output) || other_.has_value(output); };
    if (!std::all_of(call.outputs.begin(), call.outputs.end(), known)) take(maker);
  }

  void take(std::size_t call) {
    if (met_.insert(call).second) follow_inputs(call);
  }

  void follow_inputs(std::size_t call) {
    for (const OperatorTensor& input : own_.calls[call].inputs) follow(call, input);
  }

  std::vector<OperatorRecord> calls_met() const {
    std::vector<OperatorRecord> calls;
    for (const std::size_t call : met_) calls.push_back(own_.calls[call]);
    return calls;
  }

  const Flow& own_;
  const Flow& other_;
  std::set<std::size_t> met_;
  bool constants_differ_ = false;
};

class Parting {
 public:
  Parting(Calls measured, Calls expected)
      : pairs_(aligned_calls(measured, expected)), measured_(measured), expected_(expected) {
    for (const auto& [i, j] : pairs_) {
      measured_.partner[i] = j;
      expected_.partner[j] = i;
    }
    measured_.note_values();
    expected_.note_values();
  }

  OperatorParting find() {
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const auto [i, j] = pairs_[k];
      if (inputs_agree(measured_.calls[i], expected_.calls[j])) {
        if (const auto output = output_made_different(i, j)) return at_pair(k, *output);
      } else if (part_before(i, j)) {
        return std::move(found_);
      }
    }
    part_at_the_end();
    return std::move(found_);
  }

 private:
  const OperatorRecord& ours(std::size_t i) const { return measured_.calls[i]; }
  const OperatorRecord& theirs(std::size_t j) const { return expected_.calls[j]; }

  // The first output that differs; not of two calls that only their names and shapes made a pair, each of which makes
  // what the other side has elsewhere.
  std::optional<std::size_t> output_made_different(std::size_t i, std::size_t j) const {
    const auto output = differing_output(ours(i), theirs(j));
    if (!output) return std::nullopt;
    const bool is_sure = ours(i).constants == theirs(j).constants &&
                         std::any_of(ours(i).inputs.begin(), ours(i).inputs.end(), has_content);
    const bool is_elsewhere =
        expected_.has_value(ours(i).outputs[*output]) && measured_.has_value(theirs(j).outputs[*output]);
    return is_elsewhere && !is_sure ? std::nullopt : output;
  }

  OperatorParting at_pair(std::size_t pair, std::size_t output) {
    const auto [i, j] = pairs_[pair];
    found_.call = OperatorDivergence{ours(i), theirs(j),
                                     output,  ours(i).constants != theirs(j).constants,
                                     pair,    measured_.calls.size() + expected_.calls.size() - 2 * pairs_.size()};
    // What the two call otherwise, if they do.
    const auto inside = [output](const Flow& flow, const Flow& other, std::size_t call) {
      const OperatorTensor& made = flow.calls[call].outputs[output];
      for (std::size_t callee = call; callee-- > 0 && flow.calls[callee].depth > flow.calls[call].depth;) {
        const auto& outputs = flow.calls[callee].outputs;
        const auto found = std::find(outputs.begin(), outputs.end(), made);
        if (flow.parent[callee] == call && flow.partner[callee] == kNoCall && found != outputs.end()) {
          return Slice(flow, other).made_by(callee, static_cast<std::size_t>(found - outputs.begin()));
        }
      }
      return OperatorStretch{};
    };
    OperatorRegion region{inside(measured_, expected_, i), inside(expected_, measured_, j)};
    if (!region.measured.calls.empty() && !region.expected.calls.empty()) found_.region = std::move(region);
    return std::move(found_);
  }

  using Places = std::pair<std::size_t, std::size_t>;

  // The first inputs of two calls that are not the same, of which both sides have only their own; else one side.
  std::optional<Places> differing_inputs(const OperatorRecord& a, const OperatorRecord& b) const {
    for (const bool is_both : {true, false}) {
      for (std::size_t place = 0; place < std::max(a.inputs.size(), b.inputs.size()); ++place) {
        const Places places{std::min(place, a.inputs.size() - 1), std::min(place, b.inputs.size() - 1)};
        const OperatorTensor& x = a.inputs[places.first];
        const OperatorTensor& y = b.inputs[places.second];
        const bool is_ours = has_content(x) && !expected_.has_value(x);
        const bool is_theirs = has_content(y) && !measured_.has_value(y);
        if (x != y && (is_both ? is_ours && is_theirs : is_ours || is_theirs)) return places;
      }
    }
    return std::nullopt;
  }

  // Two calls that take different values. True: this is where the sides part, be it at a stretch of calls or before
  // any.
  bool part_before(std::size_t i, std::size_t j) {
    if (ours(i).inputs.empty() || theirs(j).inputs.empty()) return false;
    const auto inputs = differing_inputs(ours(i), theirs(j));
    if (!inputs) return false;  // no pair after all
    Slice our_slice(measured_, expected_);
    Slice their_slice(expected_, measured_);
    set_region({our_slice.behind(i, inputs->first), their_slice.behind(j, inputs->second)}, our_slice, their_slice);
    return true;
  }

  void set_region(OperatorRegion region, const Slice& ours, const Slice& theirs) {
    if (region.measured.calls.empty() && region.expected.calls.empty()) return;
    region.constants_differ = ours.constants_differ() || theirs.constants_differ();
    found_.region = std::move(region);
  }

  // Calls without a partner make the last values of the step.
  void part_at_the_end() {
    const auto last = [](const Flow& flow, const Flow& other) {
      for (std::size_t i = flow.calls.size(); i-- > 0;) {
        if (flow.partner[i] != kNoCall || !flow.is_in_sight(i) || flow.is_read(i)) continue;
        const auto& outputs = flow.calls[i].outputs;
        const auto own = std::find_if(outputs.begin(), outputs.end(), [&](const OperatorTensor& output) {
          return has_content(output) && !other.has_value(output);
        });
        if (own == outputs.end()) continue;
        return Slice(flow, other).made_by(i, static_cast<std::size_t>(own - outputs.begin()));
      }
      return OperatorStretch{};
    };
    OperatorRegion region{last(measured_, expected_), last(expected_, measured_)};
    if (!region.measured.calls.empty() || !region.expected.calls.empty()) found_.region = std::move(region);
  }

  CallPairs pairs_;
  Flow measured_;
  Flow expected_;
  OperatorParting found_;
};

std::set<std::string> dtypes_of(const OperatorStretch& stretch) {
  std::set<std::string> dtypes{stretch.outflow.dtype};
  for (const OperatorRecord& call : stretch.calls) {
    for (const OperatorTensor& output : call.outputs) dtypes.insert(output.dtype);
  }
  std::erase_if(dtypes, [](const std::string& dtype) { return dtype.find("float") == std::string::npos; });
  return dtypes;
}

}  // namespace

OperatorParting where_values_part(Calls measured, Calls expected) { return Parting(measured, expected).find(); }

std::string names_of(const OperatorStretch& stretch, std::size_t most) {
  if (stretch.calls.empty()) return "nothing";
  std::string names;
  for (std::size_t i = 0; i < std::min(most, stretch.calls.size()); ++i) {
    names += (i > 0 ? ", " : "") + stretch.calls[i].name;
  }
  if (stretch.calls.size() > most) names += fmt::format(" and {} more", stretch.calls.size() - most);
  return names;
}

std::string difference_in_kind(const OperatorRegion& region) {
  const auto ours = dtypes_of(region.measured);
  const auto theirs = dtypes_of(region.expected);
  std::vector<std::string> sentences;
  const auto only_in = [&](const std::set<std::string>& of, const std::set<std::string>& other, const char* side) {
    for (const std::string& dtype : of) {
      if (other.count(dtype) == 0) sentences.push_back(fmt::format("{} on the {} side only", dtype, side));
    }
  };
  only_in(ours, theirs, "measured");
  only_in(theirs, ours, "expected");
  if (region.constants_differ) sentences.emplace_back("the constants of a view differ");
  return fmt::format("{}", fmt::join(sentences, ", "));
}

}  // namespace reprobench
