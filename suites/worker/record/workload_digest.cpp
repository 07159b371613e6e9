#include "suites/worker/record/workload_digest.hpp"

#include <bit>
#include <initializer_list>

#include <ATen/core/Tensor.h>

#include "suites/worker/record/tensor_record.hpp"

namespace reprobench {
namespace {

// Changes whenever train_loop.cpp or optimizer.cpp does other work for the same request.
constexpr std::string_view kLoopShape = "loop 1: data, forward, loss in fp32 or wider, backward, adam folded";

void append(DigestBuilder& builder, std::initializer_list<double> settings) {
  for (const double setting : settings) builder.append(std::bit_cast<std::uint64_t>(setting));
}

// Adam at a constant rate is what kLoopShape says. Everything else adds its name and its numbers, so the digests of
// workloads that were there before it stay what they were.
struct AppendSettings {
  DigestBuilder& builder;

  void operator()(const AdamSettings& adam) const {
    append(builder, {adam.learning_rate, adam.beta1, adam.beta2, adam.epsilon});
  }
  void operator()(const AdamWSettings& adamw) const {
    builder.append("adamw");
    (*this)(adamw.adam);
    append(builder, {adamw.weight_decay});
  }
  void operator()(const SgdSettings& sgd) const {
    builder.append("sgd");
    append(builder, {sgd.learning_rate, sgd.momentum, sgd.weight_decay});
  }

  void operator()(const ConstantRate&) const {}
  void operator()(const WarmupCosine& schedule) const {
    builder.append("warmup_cosine").append(static_cast<std::uint64_t>(schedule.warmup_steps));
    append(builder, {schedule.final_share});
  }
};

// What the fields hold is the data set's digest. The first data sets all had these two, and say nothing of them.
void append_fields(DigestBuilder& builder, std::span<const FieldSpec> fields) {
  if (fields.size() == 2 && fields[0].name == "input" && fields[1].name == "target") return;
  for (const FieldSpec& field : fields) {
    builder.append("field").append(field.name).append(field.type == ElementType::int64 ? "int64" : "float32");
    for (const std::int64_t extent : field.shape) builder.append(static_cast<std::uint64_t>(extent));
  }
}

void append_state(DigestBuilder& builder, const TrainState& state) {
  for (std::size_t i = 0; i < state.size(); ++i) {
    builder.append(state.name(i)).append(state.initial(i));
    if (state.is_frozen(i)) builder.append("frozen");
    if (state.decays(i)) builder.append("decays");
  }
  for (const StateTensor& tensor : state.tensors()) {
    if (tensor.role == TensorRole::buffer)
      builder.append("buffer").append(tensor.name).append(digest_of(*tensor.value));
  }
}

}  // namespace

Digest workload_digest(const Model& model, const ModelPreset& preset, const WorkloadRequest& request,
                       const Settings& settings, const TrainState& state, BatchSource& batches) {
  DigestBuilder builder;
  builder.append(kLoopShape).append(model.name()).append(preset.name).append(model.dataset());
  builder.append(static_cast<std::uint64_t>(request.steps)).append(static_cast<std::uint64_t>(request.batch_size));
  builder.append(static_cast<std::uint64_t>(preset.context_length))
      .append(text_of<&Settings::precision>(settings.precision));
  for (const Knob* knob : model.knobs()) builder.append(knob->name).append(knob->setting.text(*knob, settings));
  std::visit(AppendSettings{builder}, preset.optimizer);
  std::visit(AppendSettings{builder}, preset.schedule);
  if (settings.max_grad_norm > 0) {
    builder.append("max_grad_norm");
    append(builder, {settings.max_grad_norm});
  }
  if (settings.loss_scale == LossScale::dynamic) {
    builder.append("loss_scale dynamic").append(std::to_string(settings.loss_scale_growth_interval));
  }
  append_state(builder, state);
  append_fields(builder, batches.fields());
  if (!batches.layout().is_whole()) {
    builder.append("micro-batches").append(static_cast<std::uint64_t>(batches.layout().micro_batches()));
  }
  if (batches.length(1) > 0) {
    builder.append("sequence_lengths bucketed");
    for (std::int64_t step = 1; step <= request.steps; ++step) {
      builder.append(static_cast<std::uint64_t>(batches.length(step)));
    }
  }
  builder.append(batches.data_digest()).append(batches.order_digest(request.steps));
  return builder.finish();
}

}  // namespace reprobench
