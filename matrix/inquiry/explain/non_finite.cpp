#include "matrix/inquiry/explain/non_finite.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "matrix/inquiry/explain/replay_files.hpp"
#include "matrix/numerics/calls/non_finite_origin.hpp"
#include "matrix/numerics/steps/snapshot_comparison.hpp"

namespace reprobench {
namespace {

// A run whose loss is not finite ends as it did before, so any end will do.
std::filesystem::path replayed(const ComparedSide& side, const std::string& purpose, const Replay& replay,
                               Replays& replays) {
  CellRequest request = side.request;
  request.replay = replay;
  return replays.run_to_any_end({{purpose, request}}).front().folder;
}

OperatorCalls operators_of(const ComparedSide& side, std::int64_t first, std::int64_t last, Replays& replays) {
  Replay replay;
  replay.last_step = last;
  replay.operators_from = first;
  replay.operators_to = last;
  return operators_left_in(replayed(side, "operators", replay, replays), first, last);
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

std::string input_ranges(const std::filesystem::path& folder) {
  const auto file = tensors_left_in(folder, kOperatorTensorsFile);
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
  if (step == 1 && non_finite_step(other.attempt) == 1) {
    return "both sides fail in their first step: there is no healthy one to hold it against";
  }
  // What spoils a loss may have come out of the backward pass or the update of the step before.
  const std::int64_t first = std::max<std::int64_t>(1, step - 1);
  const OperatorCalls calls = operators_of(side, std::max<std::int64_t>(1, step - 2), step, replays);
  std::optional<NonFiniteOrigin> origin;
  for (std::int64_t suspect = first; suspect <= step && !origin; ++suspect) {
    const auto healthy =
        suspect > 1 ? calls.of_step(suspect - 1) : operators_of(other, suspect, suspect, replays).of_step(suspect);
    origin = non_finite_origin(calls.of_step(suspect), healthy);
  }
  if (!origin) {
    return fmt::format("no operator call of the steps {} to {} has a result that is less finite than usual", first,
                       step);
  }
  const OperatorRecord& call = origin->call;
  if (!origin->made_here) {
    return fmt::format("no operator made it: {} already meets {} values that are not finite in its input {}",
                       site_text(call), call.inputs[origin->output].not_finite, origin->output);
  }
  Replay replay;
  replay.last_step = call.step;
  replay.capture = OperatorSite{call.step, call.index};
  return fmt::format("{} made {} values that are not finite out of finite inputs: {}", site_text(call),
                     call.outputs[origin->output].not_finite, input_ranges(replayed(side, "tensors", replay, replays)));
}

}  // namespace reprobench
