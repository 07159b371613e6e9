#include "suites/worker/knobs/knobs.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include <ATen/autocast_mode.h>
#include <torch/version.h>

#include "models/model_spec.hpp"
#include "suites/worker/knobs/knob_row.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

// Layout, TrainState, BatchSource, AutocastScope, RankGroup and the train loop act on it.
std::string take_as_is(const std::string& value, const KnobValues&) { return value; }

constexpr KnobRow kWorkloadRows[] = {
    {"accumulate", &take_as_is, &support_everything},
    {"gathered_weights", &take_as_is, &support_everything},
    {"gradient_checkpointing", &take_as_is, &support_everything},
    {"loader_prefetch", &take_as_is, &support_everything},
    {"loader_threads", &take_as_is, &support_everything},
    {"loss_scale", &take_as_is, &support_everything},
    {"loss_scale_growth_interval", &take_as_is, &support_everything},
    {"lr_schedule", &take_as_is, &support_everything},
    {"max_grad_norm", &take_as_is, &support_everything},
    {"offload", &take_as_is, &support_everything},
    {"optimizer_layout", &take_as_is, &support_everything},
    {"overlap", &take_as_is, &support_everything},
    {"precision", &take_as_is, &support_everything},
    {"rendezvous", &take_as_is, &support_everything},
    {"replicas", &take_as_is, &support_everything},
    {"seed", &take_as_is, &support_everything},
    {"sequence_lengths", &take_as_is, &support_everything},
    {"warmup_steps", &take_as_is, &support_everything},
    {"zero_stage", &take_as_is, &support_everything},
};

const KnobRow* find_row(std::string_view name) {
  const std::span<const KnobRow> kinds[] = {kWorkloadRows, attention_knob_rows(), cpu_knob_rows(), cuda_knob_rows(),
                                            determinism_knob_rows()};
  for (const auto& rows : kinds) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const KnobRow& row) { return row.name == name; });
    if (found != rows.end()) return &*found;
  }
  return nullptr;
}

bool some_model_reads(std::string_view knob) {
  return std::ranges::any_of(
      models(), [&](const Model* model) { return std::ranges::find(model->knobs(), knob) != model->knobs().end(); });
}

// A knob without a row is all in what models make of it, or in its environment variables, which must then be there.
std::string take_without_row(const Knob& knob, const std::string& value, const KnobValues& all) {
  std::map<std::string, std::string> variables;
  knob.environment(value, variables);
  for (const std::string_view any : knob.values) knob.environment(any, variables);
  if (variables.empty() && !some_model_reads(knob.name)) {
    throw std::logic_error("knob `" + std::string(knob.name) +
                           "` does nothing: no variable, no model that reads it, no row in suites/worker");
  }
  for (const auto& [name, wanted] : knob_environment(all)) {
    const char* found = std::getenv(name.c_str());
    if (variables.count(name) != 0 && (found == nullptr || found != wanted)) {
      throw RunFailure("bad_request", "knob `" + std::string(knob.name) + "` wants " + name + "=" + wanted);
    }
  }
  return value;
}

std::string take(const Knob& knob, const std::string& value, const KnobValues& all) {
  const KnobRow* row = find_row(knob.name);
  return row == nullptr ? take_without_row(knob, value, all) : row->apply(value, all);
}

KnobSupport support_of(const Knob& knob) {
  const KnobRow* row = find_row(knob.name);
  return row == nullptr ? support_everything(knob) : row->support(knob);
}

// A default is what the stack does when nobody asks, so only a choice can be refused.
void check_choice(const Knob& knob, const std::string& value) {
  if (value == knob.default_value || knob.values.empty()) return;
  const KnobSupport support = support_of(knob);
  if (std::find(support.values.begin(), support.values.end(), value) != support.values.end()) return;
  throw RunFailure("unsupported", "knob `" + support.name + "` cannot be `" + value + "` here: " + support.reason);
}

// Both spellings of the autocast switch: with a device since 2.4, one function a device before. The calls depend on the
// template's arguments, so a name that a release lacks matters only in the branch that is used.
template <class Device, class Type, class Flag>
void switch_autocast(Device device, Type type, Flag on) {
  using namespace at::autocast;
  if constexpr (requires { set_autocast_enabled(device, on); }) {
    set_autocast_dtype(device, type);
    set_autocast_enabled(device, on);
  } else if (device == at::kCPU) {
    set_autocast_cpu_dtype(type);
    set_cpu_enabled(on);
  } else {
    set_autocast_gpu_dtype(type);
    set_enabled(on);
  }
}

at::ScalarType narrow_type(Precision precision) { return precision == Precision::fp16 ? at::kHalf : at::kBFloat16; }

// Its CPU kernels for fp16 came one by one; from 2.4 on autocast accepts the type there.
void check_autocast([[maybe_unused]] Precision precision, [[maybe_unused]] bool on_cpu) {
#if TORCH_VERSION_MAJOR < 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 4)
  if (precision == Precision::fp16 && on_cpu) {
    throw RunFailure("unsupported", "fp16 on a CPU needs LibTorch 2.4");
  }
#endif
}

}  // namespace

KnobSupport support_everything(const Knob& knob) {
  return {std::string(knob.name), {knob.values.begin(), knob.values.end()}, ""};
}

KnobSupport support_default_only(const Knob& knob, const std::string& reason) {
  return {std::string(knob.name), {std::string(knob.default_value)}, reason};
}

KnobValues apply_knobs(const KnobValues& requested) {
  for (const auto& [name, value] : requested) {
    const Knob* knob = find_knob(name);
    if (knob == nullptr) throw RunFailure("bad_request", "there is no knob `" + name + "`");
    if (!accepts(*knob, value)) throw RunFailure("bad_request", "knob `" + name + "` does not take `" + value + "`");
    check_choice(*knob, value);
  }
  const KnobValues all = with_defaults(requested);
  KnobValues resolved;
  for (const auto& [name, value] : all) resolved[name] = take(*find_knob(name), value, all);
  return resolved;
}

std::vector<KnobSupport> knob_support() {
  std::vector<KnobSupport> result;
  for (const Knob& knob : knobs()) result.push_back(support_of(knob));
  return result;
}

Precision precision_of(const KnobValues& values) {
  const std::string& value = values.at("precision");
  if (value == "bf16") return Precision::bf16;
  if (value == "fp16") return Precision::fp16;
  return value == "fp64" ? Precision::fp64 : Precision::fp32;
}

ModelPreset with_schedule(ModelPreset preset, const KnobValues& values) {
  constexpr double kFinalShare = 0.1;
  const std::string& schedule = values.at("lr_schedule");
  const std::string& warmup = values.at("warmup_steps");
  if (schedule == "warmup_cosine") {
    preset.schedule = WarmupCosine{std::stoll(warmup), kFinalShare};
    return preset;
  }
  if (warmup != find_knob("warmup_steps")->default_value) {
    throw RunFailure("bad_request",
                     "`warmup_steps: " + warmup + "` is of `lr_schedule: warmup_cosine`, and that is " + schedule);
  }
  if (schedule == "constant") preset.schedule = ConstantRate{};
  return preset;
}

AutocastScope::AutocastScope(Precision precision, const c10::Device& device, Casts casts)
    : precision_(precision), on_cpu_(device.is_cpu()), casts_(casts) {
  if (!active()) return;
  check_autocast(precision_, on_cpu_);
  switch_autocast(on_cpu_ ? at::kCPU : at::kCUDA, narrow_type(precision_), true);
}

AutocastScope::~AutocastScope() {
  if (!active()) return;
  switch_autocast(on_cpu_ ? at::kCPU : at::kCUDA, narrow_type(precision_), false);
  if (casts_ == Casts::dropped) drop_casts();
}

void AutocastScope::drop_casts() { at::autocast::clear_cache(); }

bool AutocastScope::active() const { return precision_ == Precision::bf16 || precision_ == Precision::fp16; }

}  // namespace reprobench
