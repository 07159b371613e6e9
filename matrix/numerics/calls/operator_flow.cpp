#include "matrix/numerics/calls/operator_flow.hpp"

#include <algorithm>

#include "matrix/numerics/calls/operator_alignment.hpp"
#include "matrix/numerics/calls/operator_divergence.hpp"

namespace reprobench {
namespace {

bool makes_values(const OperatorRecord& call) {
  return std::any_of(call.outputs.begin(), call.outputs.end(), has_content);
}

bool makes(const OperatorRecord& call, const OperatorTensor& tensor) {
  return std::ranges::any_of(call.outputs, [&](const OperatorTensor& made) { return made.digest == tensor.digest; });
}

// A backward node cannot be called by itself, the operators that it calls can.
bool is_operator(const OperatorRecord& call) { return call.name.starts_with("aten::"); }

}  // namespace

OperatorFlow::OperatorFlow(std::span<const OperatorRecord> of_side)
    : calls(of_side),
      partner(calls.size(), kNoCall),
      parent(calls.size(), kNoCall),
      is_read_(calls.size(), false),
      calls_(calls.size(), false),
      is_apart_(calls.size(), false) {
  std::vector<std::size_t> open;  // by depth: calls that wait for their caller to end
  for (std::size_t i = 0; i < calls.size(); ++i) {
    position_[calls[i].index] = i;
    for (const OperatorTensor& output : calls[i].outputs) {
      if (has_content(output)) makers_[output.digest].push_back(i);
    }
    while (!open.empty() && calls[open.back()].depth > calls[i].depth) {
      parent[open.back()] = i;
      calls_[i] = true;
      open.pop_back();
    }
    open.push_back(i);
  }
}

bool OperatorFlow::is_in_sight(std::size_t call) const {
  for (call = parent[call]; call != kNoCall; call = parent[call]) {
    if (partner[call] == kNoCall) return false;
  }
  return true;
}

std::size_t OperatorFlow::outermost_without_partner(std::size_t call) const {
  const auto belongs_to_caller = [&](std::size_t caller) {
    return caller != kNoCall && partner[caller] == kNoCall && is_operator(calls[caller]);
  };
  while (belongs_to_caller(parent[call])) call = parent[call];
  return call;
}

bool OperatorFlow::encloses(std::size_t caller, std::size_t call) const {
  while (call != kNoCall && call != caller) call = parent[call];
  return call == caller;
}

std::size_t OperatorFlow::sibling_before(std::size_t call) const {
  for (std::size_t other = call; other-- > 0 && calls[other].depth >= calls[call].depth;) {
    if (calls[other].depth == calls[call].depth) return other;
  }
  return kNoCall;
}

std::size_t OperatorFlow::sibling_behind(std::size_t call) const {
  for (std::size_t other = call + 1; other < calls.size() && calls[other].depth >= calls[call].depth; ++other) {
    if (calls[other].depth == calls[call].depth) return other;
  }
  return kNoCall;
}

std::size_t OperatorFlow::maker(std::size_t reader, const OperatorTensor& tensor) const {
  if (tensor.made_by) {
    const auto found = position_.find(*tensor.made_by);
    return found == position_.end() ? kNoCall : found->second;
  }
  const auto found = makers_.find(tensor.digest);
  if (found == makers_.end()) return kNoCall;
  const auto next = std::lower_bound(found->second.begin(), found->second.end(), first_callee(reader));
  return next == found->second.begin() ? kNoCall : *(next - 1);
}

void OperatorFlow::note_values() {
  const auto note = [&](const OperatorTensor& tensor, std::size_t from) {
    if (!has_content(tensor)) return;
    const auto [value, is_new] = values_.try_emplace(tensor.digest, from);
    if (!is_new) value->second = std::min(value->second, from);
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const bool counts = is_in_sight(i);
    for (const OperatorTensor& input : calls[i].inputs) {
      const std::size_t made_by = maker(i, input);
      for (std::size_t call = made_by; call != kNoCall && !is_read_[call]; call = parent[call]) is_read_[call] = true;
      if (made_by != kNoCall && has_content(input) && !makes(calls[made_by], input)) {
        handed_on_[made_by].insert(input.digest);
      }
      if (counts) note(input, made_by == kNoCall ? 0 : made_by);
    }
    if (!counts) continue;
    for (const OperatorTensor& output : calls[i].outputs) note(output, i);
  }
}

bool OperatorFlow::has_value(const OperatorTensor& tensor, std::size_t before) const {
  const auto found = values_.find(tensor.digest);
  if (found == values_.end()) return false;
  return before == kNoCall || found->second == 0 || found->second < first_callee(before);
}

bool OperatorFlow::gave(std::size_t call, const OperatorTensor& tensor) const {
  if (makes(calls[call], tensor)) return true;
  const auto handed_on = handed_on_.find(call);
  return handed_on != handed_on_.end() && handed_on->second.contains(tensor.digest);
}

void OperatorFlow::note_apart(std::size_t call) {
  for (; call != kNoCall && !is_apart_[call]; call = parent[call]) is_apart_[call] = true;
}

std::size_t OperatorFlow::first_callee(std::size_t call) const {
  std::size_t first = call;
  while (first > 0 && calls[first - 1].depth > calls[call].depth) --first;
  return first;
}

OperatorSubgraph OperatorSlice::behind(std::size_t reader, std::size_t input) {
  const OperatorRecord& call = own_.calls[reader];
  follow(reader, call.inputs[input]);
  return {calls_met(), call.inputs[input], call, true, input};
}

OperatorSubgraph OperatorSlice::widened(std::size_t reader, std::size_t input) {
  const OperatorRecord& call = own_.calls[reader];
  const Origin origin = origin_of(own_, reader, call.inputs[input]);
  if (origin.maker != kNoCall) take(origin.maker);
  return {calls_met(), call.inputs[input], call, true, input};
}

OperatorSubgraph OperatorSlice::made_by(std::size_t call, std::size_t output) {
  take(call);
  return {calls_met(), own_.calls[call].outputs[output], own_.calls[call], false, output};
}

// Both sides have it before the subgraph ends, or of two calls that correspond.
bool OperatorSlice::is_shared(std::size_t maker, const OperatorTensor& tensor) const {
  const std::size_t partner = maker == kNoCall ? kNoCall : own_.partner[maker];
  return other_.has_value(tensor, end_) || (partner != kNoCall && other_.gave(partner, tensor));
}

// Stops at what both sides have, and at what no call of this step made. A view takes a value that has no digest on
// record. Then the one output of the call that made it says what it is.
void OperatorSlice::follow(std::size_t reader, const OperatorTensor& read) {
  const std::size_t maker = own_.maker(reader, read);
  const bool is_said_by_maker = !has_content(read) && maker != kNoCall && own_.calls[maker].outputs.size() == 1;
  const OperatorTensor& tensor = is_said_by_maker ? own_.calls[maker].outputs.front() : read;
  if (has_content(tensor) && is_shared(maker, tensor)) {
    inflows_.push_back(origin_of(own_, reader, tensor));
    return;
  }
  if (maker == kNoCall) {
    leaves_step_ = leaves_step_ || has_content(tensor);
    return;
  }
  const std::size_t partner = own_.partner[maker];
  if (partner == kNoCall) return take(own_.outermost_without_partner(maker));
  const OperatorRecord& call = own_.calls[maker];
  if (!makes_values(call)) {
    if (same_constants(call.constants, other_.calls[partner].constants)) return follow_inputs(maker);
    constants_differ_ = true;
    return take(maker);
  }
  const auto known = [&](const OperatorTensor& output) { return !has_content(output) || is_shared(maker, output); };
  if (!std::all_of(call.outputs.begin(), call.outputs.end(), known)) return take(maker);
  inflows_.push_back(origin_of(own_, reader, tensor));
}

OperatorSlice::Origin OperatorSlice::origin_of(const OperatorFlow& flow, std::size_t reader, OperatorTensor tensor) {
  std::size_t maker = flow.maker(reader, tensor);
  while (maker != kNoCall && !makes_values(flow.calls[maker]) && !flow.calls[maker].inputs.empty()) {
    reader = maker;
    tensor = flow.calls[reader].inputs.front();
    maker = flow.maker(reader, tensor);
  }
  return {maker, tensor.digest};
}

bool OperatorSlice::takes(std::size_t reader, const OperatorTensor& of_other) const {
  const Origin value = origin_of(other_, reader, of_other);
  return std::ranges::any_of(inflows_, [&](const Origin& inflow) {
    const bool is_same = !value.digest.empty() && value.digest == inflow.digest;
    const bool is_of_pair =
        value.maker != kNoCall && inflow.maker != kNoCall && other_.partner[value.maker] == inflow.maker;
    return is_same || is_of_pair;
  });
}

void OperatorSlice::take(std::size_t call) {
  if (own_.is_apart(call)) {
    meets_apart_ = true;
  } else if (met_.insert(call).second) {
    follow_inputs(call);
  }
}

void OperatorSlice::follow_inputs(std::size_t call) {
  for (const OperatorTensor& input : own_.calls[call].inputs) follow(call, input);
}

std::vector<OperatorRecord> OperatorSlice::calls_met() const {
  std::vector<OperatorRecord> calls;
  for (const std::size_t call : met_) calls.push_back(own_.calls[call]);
  return calls;
}

}  // namespace reprobench
