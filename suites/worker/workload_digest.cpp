#include "suites/worker/workload_digest.hpp"

#include <bit>

#include <ATen/core/Tensor.h>

#include "suites/worker/tensor_record.hpp"

namespace reprobench {
namespace {

// Changes whenever train_loop.cpp or TrainState::update does other work for the same request.
constexpr std::string_view kLoopShape = "loop 1: data, forward, loss in fp32 or wider, backward, adam folded";

}  // namespace

Digest workload_digest(const Model& model, const ModelPreset& preset, const WorkloadRequest& request,
                       const KnobValues& knobs, const TrainState& state, BatchSource& batches) {
  DigestBuilder builder;
  builder.append(kLoopShape).append(model.name()).append(preset.name).append(model.dataset());
  builder.append(static_cast<std::uint64_t>(request.steps)).append(static_cast<std::uint64_t>(request.batch_size));
  builder.append(static_cast<std::uint64_t>(preset.context_length)).append(knobs.at("precision"));
  for (const std::string_view knob : model.knobs()) builder.append(knob).append(knobs.at(std::string(knob)));
  const AdamSettings& adam = preset.optimizer;
  for (const double setting : {adam.learning_rate, adam.beta1, adam.beta2, adam.epsilon}) {
    builder.append(std::bit_cast<std::uint64_t>(setting));
  }
  for (std::size_t i = 0; i < state.size(); ++i) builder.append(state.name(i)).append(digest_of(state.parameter(i)));
  builder.append(batches.data_digest()).append(batches.order_digest(request.steps));
  return builder.finish();
}

}  // namespace reprobench
