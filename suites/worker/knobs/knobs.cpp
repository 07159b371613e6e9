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

const KnobRow* find_row(const Knob& knob) {
  const std::span<const KnobRow> kinds[] = {attention_knob_rows(), cpu_knob_rows(), cuda_knob_rows(),
                                            determinism_knob_rows()};
  for (const auto& rows : kinds) {
    const auto found = std::ranges::find_if(rows, [&](const KnobRow& row) { return &row.knob() == &knob; });
    if (found != rows.end()) return &*found;
  }
  return nullptr;
}

bool some_model_reads(const Knob& knob) {
  return std::ranges::any_of(models(), [&](const Model* model) {
    const auto read = model->knobs();
    return std::ranges::find(read, &knob) != read.end();
  });
}

[[noreturn]] void does_nothing(const Knob& knob, const char* why) {
  throw std::logic_error("knob `" + std::string(knob.name) + "` does nothing: " + why);
}

// All that it does is in its environment variables, which must be there by now.
void check_environment(const Knob& knob, const std::string& value, const KnobValues& all) {
  if (knob.environment == nullptr) does_nothing(knob, "no variable, and no row in suites/worker/knobs");
  std::map<std::string, std::string> variables;
  knob.environment(value, variables);
  for (const std::string_view any : knob.values) knob.environment(any, variables);
  for (const auto& [name, wanted] : knob_environment(all)) {
    const char* found = std::getenv(name.c_str());
    if (variables.count(name) != 0 && (found == nullptr || found != wanted)) {
      throw RunFailure("bad_request", "knob `" + std::string(knob.name) + "` wants " + name + "=" + wanted);
    }
  }
}

std::string take(const Knob& knob, const std::string& value, const KnobValues& all, const Settings& settings) {
  if (knob.acts_by == ActsBy::model && !some_model_reads(knob)) does_nothing(knob, "no model reads it");
  if (knob.acts_by != ActsBy::library) return value;
  if (const KnobRow* row = find_row(knob)) return row->apply(value, settings);
  check_environment(knob, value, all);
  return value;
}

KnobSupport support_of(const Knob& knob) {
  const KnobRow* row = find_row(knob);
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
  const Settings settings = settings_of(all);
  KnobValues resolved;
  for (const auto& [name, value] : all) resolved[name] = take(*find_knob(name), value, all, settings);
  return resolved;
}

std::vector<KnobSupport> knob_support() {
  std::vector<KnobSupport> result;
  for (const Knob& knob : knobs()) result.push_back(support_of(knob));
  return result;
}

ModelPreset with_schedule(ModelPreset preset, const Settings& settings) {
  constexpr double kFinalShare = 0.1;
  if (settings.lr_schedule == LrSchedule::constant) preset.schedule = ConstantRate{};
  if (settings.lr_schedule == LrSchedule::warmup_cosine) {
    preset.schedule = WarmupCosine{settings.warmup_steps, kFinalShare};
  }
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
