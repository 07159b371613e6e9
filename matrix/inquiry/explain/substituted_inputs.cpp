#include "matrix/inquiry/explain/substituted_inputs.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "matrix/base/safetensors.hpp"
#include "matrix/numerics/calls/joint_subgraph.hpp"
#include "matrix/numerics/calls/operator_alignment.hpp"
#include "matrix/numerics/calls/operator_flow.hpp"

namespace reprobench {
namespace {

// Those that a worker reads back from a file of tensors.
constexpr std::string_view kReadTypes[] = {"float32", "float64", "float16", "bfloat16", "int64", "bool"};

bool can_be_given(const OperatorTensor& measured, const OperatorTensor& expected) {
  return has_content(expected) && measured.dtype == expected.dtype && measured.shape == expected.shape &&
         std::ranges::find(kReadTypes, expected.dtype) != std::end(kReadTypes);
}

std::int64_t bytes_of(const OperatorTensor& tensor) {
  const auto* dtype = safetensors_dtype_of_torch(tensor.dtype);
  std::int64_t bytes = static_cast<std::int64_t>(dtype->bytes);
  for (const std::int64_t size : tensor.shape) {
    if (size > 0 && bytes > kMostSubstitutedBytes / size) return kMostSubstitutedBytes + 1;
    bytes *= size;
  }
  return bytes;
}

// Whether the call takes, as it is or through views, what an operator of this side alone made.
bool takes_of_one_side(const OperatorFlow& flow, std::size_t reader) {
  return std::ranges::any_of(flow.calls[reader].inputs, [&](const OperatorTensor& input) {
    const std::size_t maker = flow.maker(reader, input);
    if (maker >= reader) return false;
    const bool is_view = std::ranges::none_of(flow.calls[maker].outputs, has_content);
    if (is_view) return takes_of_one_side(flow, maker);
    // How an operator of both sides comes to its result is its library's.
    const std::size_t outermost = flow.outermost_without_partner(maker);
    const std::size_t caller = flow.parent[outermost];
    const bool is_of_pair = caller != kNoCall && flow.calls[caller].name.starts_with("aten::");
    return flow.partner[outermost] == kNoCall && !is_of_pair;
  });
}

// Whether it is a call, and the calls at which it stands on the two sides.
using Place = std::tuple<bool, std::int64_t, std::int64_t>;

template <class Source>
Place place_of(const Source& source) {
  if (source.call) return {true, source.call->measured.index, source.call->expected.index};
  return {false, source.region->measured.at.index, source.region->expected.at.index};
}

}  // namespace

SubstitutedCalls calls_to_substitute(std::span<const OperatorRecord> measured, std::span<const OperatorRecord> expected,
                                     const std::set<std::int64_t>& left_alone) {
  SubstitutedCalls given;
  std::set<std::string> needed;
  for (const auto& [i, j] : aligned_calls(measured, expected)) {
    const OperatorRecord& ours = measured[i];
    const OperatorRecord& theirs = expected[j];
    if (left_alone.contains(ours.index)) continue;
    if (ours.outputs == theirs.outputs && inputs_agree(ours, theirs)) continue;
    SubstitutedOutputs outputs{ours.index, {}};
    for (std::size_t k = 0; k < std::min(ours.outputs.size(), theirs.outputs.size()); ++k) {
      const OperatorTensor& output = theirs.outputs[k];
      const bool is_given = can_be_given(ours.outputs[k], output);
      outputs.digests.push_back(is_given ? output.digest : "");
      if (!is_given || !needed.insert(output.digest).second) continue;
      given.digests.push_back(output.digest);
      given.bytes = std::min(given.bytes + bytes_of(output), kMostSubstitutedBytes + 1);
    }
    const bool gives = std::ranges::any_of(outputs.digests, [](const std::string& digest) { return !digest.empty(); });
    if (gives) given.calls.push_back(std::move(outputs));
  }
  return given;
}

std::set<std::int64_t> calls_behind_one_side(std::span<const OperatorRecord> measured,
                                             std::span<const OperatorRecord> expected) {
  OperatorFlow ours(measured);
  OperatorFlow theirs(expected);
  const CallPairs pairs = aligned_calls(measured, expected);
  for (const auto& [i, j] : pairs) {
    ours.partner[i] = j;
    theirs.partner[j] = i;
  }
  std::vector<bool> is_behind(measured.size(), false);
  for (const auto& [i, j] : pairs) is_behind[i] = takes_of_one_side(ours, i) || takes_of_one_side(theirs, j);
  std::set<std::int64_t> indices;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    std::size_t call = i;
    while (call != kNoCall && !(is_behind[call] && measured[call].name.starts_with("aten::"))) call = ours.parent[call];
    if (call != kNoCall) indices.insert(measured[i].index);
  }
  return indices;
}

std::vector<DivergencePoint> not_known_yet(std::vector<DivergencePoint> found, const Explanation& explanation) {
  std::set<Place> known;
  if (explanation.call || explanation.region) known.insert(place_of(explanation));
  for (const FurtherSource& source : explanation.further_sources) known.insert(place_of(source));
  const auto is_within = [&](const DivergencePoint& point, const DifferenceSource& source) {
    return !source.call && source.region && is_part_of(point, *source.region);
  };
  std::erase_if(found, [&](const DivergencePoint& point) {
    const auto holds_it = [&](const DifferenceSource& source) { return is_within(point, source); };
    return known.contains(place_of(point)) || holds_it(explanation) ||
           std::ranges::any_of(explanation.further_sources, holds_it);
  });
  return found;
}

}  // namespace reprobench
