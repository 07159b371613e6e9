#include "matrix/numerics/calls/non_finite_origin.hpp"

#include <algorithm>

namespace reprobench {
namespace {

// The first tensor with more elements that are not finite than its counterpart has.
std::optional<std::size_t> first_spoilt(const std::vector<OperatorTensor>& tensors,
                                        const std::vector<OperatorTensor>* healthy) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t meant = healthy != nullptr && i < healthy->size() ? (*healthy)[i].not_finite : 0;
    if (tensors[i].not_finite > meant) return i;
  }
  return std::nullopt;
}

const OperatorRecord* counterpart(const OperatorRecord& call, std::span<const OperatorRecord> healthy) {
  const auto found = std::find_if(healthy.begin(), healthy.end(), [&](const OperatorRecord& other) {
    return other.index == call.index && other.name == call.name;
  });
  return found == healthy.end() ? nullptr : &*found;
}

}  // namespace

std::optional<NonFiniteOrigin> non_finite_origin(std::span<const OperatorRecord> calls,
                                                 std::span<const OperatorRecord> healthy) {
  for (const OperatorRecord& call : calls) {
    const OperatorRecord* other = counterpart(call, healthy);
    const auto input = first_spoilt(call.inputs, other != nullptr ? &other->inputs : nullptr);
    const auto output = first_spoilt(call.outputs, other != nullptr ? &other->outputs : nullptr);
    if (input) return NonFiniteOrigin{call, *input, false};
    if (output) return NonFiniteOrigin{call, *output, true};
  }
  return std::nullopt;
}

}  // namespace reprobench
