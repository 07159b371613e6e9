#include "matrix/inquiry/non_finite.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "matrix/record/operator_reader.hpp"
#include "matrix/record/safetensors.hpp"
#include "matrix/verdict/non_finite_origin.hpp"
#include "matrix/verdict/snapshot_comparison.hpp"

namespace reprobench {
namespace {

CellRequest replay_until(const ComparedSide& side, std::int64_t step, std::optional<OperatorSite> capture) {
  CellRequest request = side.request;
  Replay replay;
  replay.last_step = step;
  if (capture) {
    replay.capture = capture;
  } else {
    replay.operators_from = std::max<std::int64_t>(1, step - 1);
    replay.operators_to = step;
  }
  request.replay = replay;
  return request;
}

OperatorCalls operators_of(const ComparedSide& side, std::int64_t step, Replays& replays) {
  const auto outcome = replays.run_to_any_end({{"operators", replay_until(side, step, std::nullopt)}}).front();
  return read_operator_calls(outcome.folder / kOperatorsFile);
}

// "[-0.1, 0.2]" of the finite elements.
std::string range_text(const TensorView& tensor) {
  const ElementType type = element_type_of(tensor.dtype);
  if (!is_floating(type)) return "integers";
  const std::size_t size = element_bytes(type);
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (std::size_t at = 0; at + size <= tensor.bytes.size(); at += size) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, tensor.bytes.data() + at, size);
    const double value = element_value(type, bits);
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return low > high ? "nothing finite" : fmt::format("[{:.3g}, {:.3g}]", low, high);
}

std::string input_ranges(const std::filesystem::path& tensors) {
  const auto file = SafetensorsFile::open(tensors);
  std::vector<std::string> ranges;
  for (std::size_t i = 0;; ++i) {
    const TensorView* input = find_tensor(file.tensors(), fmt::format("input.{}", i));
    if (input == nullptr) break;
    ranges.push_back(fmt::format("input {} in {}", i, range_text(*input)));
  }
  return fmt::format("{}", fmt::join(ranges, ", "));
}

std::string site_text(const OperatorRecord& call) {
  return fmt::format("{} in the {} of `{}`, call {} of step {}", call.name, call.pass,
                     call.module.empty() ? "-" : call.module, call.index, call.step);
}

}  // namespace

std::optional<std::int64_t> non_finite_step(const AttemptRecord& attempt) {
  if (!attempt.lead().result || !attempt.lead().result->failure) return std::nullopt;
  if (attempt.lead().result->failure->cause != "non_finite_loss") return std::nullopt;
  return attempt.lead().result->failure->step;
}

std::string non_finite_sentence(const ComparedSide& side, const ComparedSide& other, std::int64_t step,
                                Replays& replays) {
  const OperatorCalls calls = operators_of(side, step, replays);
  std::vector<OperatorRecord> healthy = calls.of_step(step - 1);
  if (step == 1) {
    if (non_finite_step(other.attempt) == 1)
      return "both sides fail in their first step: there is no healthy one to hold it against";
    healthy = operators_of(other, step, replays).of_step(step);
  }
  const auto origin = non_finite_origin(calls.of_step(step), healthy);
  if (!origin) return fmt::format("no operator call of step {} has a result that is less finite than usual", step);
  const OperatorRecord& call = origin->call;
  if (!origin->made_here) {
    return fmt::format("no operator made it: {} already meets {} values that are not finite in its input {}",
                       site_text(call), call.inputs[origin->output].not_finite, origin->output);
  }
  const OperatorSite site{call.step, call.index};
  const auto captured = replays.run_to_any_end({{"tensors", replay_until(side, step, site)}}).front();
  return fmt::format("{} made {} values that are not finite out of finite inputs: {}", site_text(call),
                     call.outputs[origin->output].not_finite, input_ranges(captured.folder / kOperatorTensorsFile));
}

}  // namespace reprobench
