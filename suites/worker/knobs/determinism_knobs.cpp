// The switches of at::Context that decide between speed and the same bits every time. Setters that came with later
// releases are looked for by name: a member that is not there is no error in a requires-expression over a dependent
// type.
#include <ATen/Context.h>

#include "suites/worker/knobs/float32_precision.hpp"
#include "suites/worker/knobs/knob_row.hpp"

namespace reprobench {
namespace {

std::string word(bool on) { return on ? "on" : "off"; }

// The value of a knob that follows `determinism` unless it is set itself.
bool is_on(const std::string& value, bool in_preset) { return value == "preset" ? in_preset : value == "on"; }

template <class Context>
void set_deterministic_onednn(Context& context, bool on) {
  if constexpr (requires { context.setDeterministicMkldnn(on); }) context.setDeterministicMkldnn(on);
}

// `fast` and `default` differ in the knobs that follow this one.
std::string apply_determinism(const std::string& value, const Settings&) {
  const bool strict = value == "strict";
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(strict, /*warn_only=*/false);
  context.setDeterministicCuDNN(strict);
  set_deterministic_onednn(context, strict);
  return value;
}

template <class Context>
constexpr bool has_deterministic_fill = requires(Context& context) {
  context.setDeterministicFillUninitializedMemory(true);
};

template <class Context>
void set_deterministic_fill(Context& context, bool on) {
  if constexpr (has_deterministic_fill<Context>) context.setDeterministicFillUninitializedMemory(on);
}

// LibTorch fills in deterministic mode only, so elsewhere the knob comes to `off` whatever was asked.
std::string apply_deterministic_fill(const std::string& value, const Settings& all) {
  const bool strict = all.determinism == Determinism::strict;
  const bool on = has_deterministic_fill<at::Context> && is_on(value, strict);
  set_deterministic_fill(at::globalContext(), on);
  return word(on && strict);
}

KnobSupport support_deterministic_fill(const Knob& knob) {
  if (has_deterministic_fill<at::Context>) return support_everything(knob);
  return {std::string(knob.name), {"preset", "off"}, "this LibTorch has no such setting"};
}

// The mode belongs to the thread. Threads that start later inherit it, and this runs before LibTorch starts any.
std::string apply_flush_denormals(const std::string& value, const Settings& all) {
  const bool on = is_on(value, all.determinism == Determinism::fast);
  return word(at::globalContext().setFlushDenormal(on) && on);
}

std::string apply_cudnn_benchmark(const std::string& value, const Settings& all) {
  at::globalContext().setBenchmarkCuDNN(is_on(value, all.determinism == Determinism::fast));
  return word(at::globalContext().benchmarkCuDNN());
}

// The setter for bfloat16 came with 2.0. Since 2.10 both also take whether a product may be split along its depth,
// which stays allowed: parts of a split product are added in one order, and with splitting forbidden every 16-bit
// product throws ("allow_splitk=False requires the cuBLASLt backend") on the plain cuBLAS that is LibTorch's default.
template <class Context>
void set_reduced_reduction(Context& context, bool on) {
  context.setAllowFP16ReductionCuBLAS(on);
  if constexpr (requires { context.setAllowBF16ReductionCuBLAS(on); }) context.setAllowBF16ReductionCuBLAS(on);
}

std::string apply_reduced_reduction(const std::string& value, const Settings& all) {
  const bool on = is_on(value, all.determinism != Determinism::strict);
  set_reduced_reduction(at::globalContext(), on);
  return word(on);
}

std::string apply_tf32(const std::string& value, const Settings&) {
  set_tf32(value == "on");
  return value;
}

constexpr KnobRow kDeterminismRows[] = {
    {&knob_for<&Settings::cudnn_benchmark>, &apply_cudnn_benchmark, &support_gpu_only},
    {&knob_for<&Settings::determinism>, &apply_determinism, &support_everything},
    {&knob_for<&Settings::deterministic_fill>, &apply_deterministic_fill, &support_deterministic_fill},
    {&knob_for<&Settings::flush_denormals>, &apply_flush_denormals, &support_everything},
    {&knob_for<&Settings::reduced_reduction>, &apply_reduced_reduction, &support_gpu_only},
    {&knob_for<&Settings::tf32>, &apply_tf32, &support_gpu_only},
};

}  // namespace

std::span<const KnobRow> determinism_knob_rows() { return kDeterminismRows; }

}  // namespace reprobench
