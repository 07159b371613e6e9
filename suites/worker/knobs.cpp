#include "suites/worker/knobs.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>

#include "suites/worker/float32_precision.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/stack_probe.hpp"

namespace reprobench {
namespace {

using Values = std::vector<std::string>;

// ATen's name for the vector instructions it dispatches to, as the value of `cpu_isa` that asks for them.
std::string dispatched_isa() {
  const std::string capability = cpu_capability();
  if (capability == "AVX512") return "avx512";
  return capability == "AVX2" ? "avx2" : "default";
}

// True if the variables that `value` of knob `name` needs were set before the process began.
bool environment_is_set(const std::string& name, const std::string& value) {
  const auto variables = knob_environment({{name, value}});
  return std::all_of(variables.begin(), variables.end(), [](const auto& variable) {
    const char* set = std::getenv(variable.first.c_str());
    return set != nullptr && variable.second == set;
  });
}

std::string apply_allocator(const std::string&) {
  return environment_is_set("allocator", "retain") ? "retain" : "system";
}

std::string apply_cpu_isa(const std::string& value) { return value == "native" ? value : dispatched_isa(); }

// Setters that came with later releases are looked for by name: a member that is not there is no error in a requires-
// expression over a dependent type.
template <class Context>
void set_newer_determinism(Context& context, bool strict) {
  if constexpr (requires { context.setDeterministicFillUninitializedMemory(strict); }) {
    context.setDeterministicFillUninitializedMemory(strict);
  }
  if constexpr (requires { context.setDeterministicMkldnn(strict); }) context.setDeterministicMkldnn(strict);
}

std::string apply_determinism(const std::string& value) {
  const bool strict = value == "strict";
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(strict, /*warn_only=*/false);
  context.setDeterministicCuDNN(strict);
  context.setBenchmarkCuDNN(false);
  set_newer_determinism(context, strict);
  return value;
}

// Models act on it (model_settings_of).
std::string apply_gelu(const std::string& value) { return value; }

std::string apply_onednn(const std::string& value) {
  const bool on = value == "on" && at::hasMKLDNN();
  at::globalContext().setUserEnabledMkldnn(on);
  return on ? "on" : "off";
}

// AutocastScope and TrainState act on it.
std::string apply_precision(const std::string& value) { return value; }

// TrainState and BatchSource act on it.
std::string apply_seed(const std::string& value) { return value; }

std::string apply_tf32(const std::string& value) {
  set_tf32(value == "on");
  return value;
}

std::string apply_threads(const std::string& value) {
  at::set_num_threads(std::stoi(value));
  if (at::get_num_interop_threads() != 1) at::set_num_interop_threads(1);
  return std::to_string(at::get_num_threads());
}

Values all_values(const Knob& knob) { return {knob.values.begin(), knob.values.end()}; }

KnobSupport support_everything(const Knob& knob) { return {std::string(knob.name), all_values(knob), ""}; }

KnobSupport support_cpu_isa(const Knob& knob) {
  KnobSupport support{std::string(knob.name), {"native", "default"}, ""};
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) support.values.push_back("avx2");
  if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
    support.values.push_back("avx512");
  }
#endif
  if (support.values.size() < knob.values.size()) support.reason = "this CPU lacks the instructions of the others";
  return support;
}

KnobSupport support_onednn(const Knob& knob) {
  if (at::hasMKLDNN()) return support_everything(knob);
  return {std::string(knob.name), {"off"}, "this LibTorch was built without oneDNN"};
}

struct WorkerKnob {
  std::string_view name;
  std::string (*apply)(const std::string& value);  // returns what it came to
  KnobSupport (*support)(const Knob& knob);
};

// One row for every knob of contract/knob.cpp, in its order; row_of() holds the two tables against each other.
constexpr WorkerKnob kWorkerKnobs[] = {
    {"allocator", &apply_allocator, &support_everything},
    {"cpu_isa", &apply_cpu_isa, &support_cpu_isa},
    {"determinism", &apply_determinism, &support_everything},
    {"gelu", &apply_gelu, &support_everything},
    {"onednn", &apply_onednn, &support_onednn},
    {"precision", &apply_precision, &support_everything},
    {"seed", &apply_seed, &support_everything},
    {"tf32", &apply_tf32, &support_everything},
    {"threads", &apply_threads, &support_everything},
};

const WorkerKnob& row_of(std::string_view name) {
  const auto found = std::find_if(std::begin(kWorkerKnobs), std::end(kWorkerKnobs),
                                  [&](const WorkerKnob& row) { return row.name == name; });
  if (found == std::end(kWorkerKnobs)) {
    throw std::logic_error("knob `" + std::string(name) + "` has no row in suites/worker/knobs.cpp");
  }
  return *found;
}

// Both spellings of the autocast switch: with a device since 2.4, one function a device before. The calls depend on the
// template's arguments, so a name that a release lacks matters only in the branch that is used.
template <class Device, class Type, class Flag>
void switch_autocast(Device device, Type type, Flag on) {
  using namespace at::autocast;
  if constexpr (requires { set_autocast_enabled(device, on); }) {
    set_autocast_dtype(device, type);
    set_autocast_enabled(device, on);
  } else {
    set_autocast_cpu_dtype(type);
    set_cpu_enabled(on);
  }
}

}  // namespace

KnobValues apply_knobs(const KnobValues& requested) {
  KnobValues resolved;
  for (const auto& [name, value] : requested) {
    const Knob* knob = find_knob(name);
    if (knob == nullptr) throw RunFailure("bad_request", "there is no knob `" + name + "`");
    if (!accepts(*knob, value)) throw RunFailure("bad_request", "knob `" + name + "` does not take `" + value + "`");
  }
  for (const auto& [name, value] : with_defaults(requested)) resolved[name] = row_of(name).apply(value);
  return resolved;
}

std::vector<KnobSupport> knob_support() {
  std::vector<KnobSupport> result;
  for (const Knob& knob : knobs()) result.push_back(row_of(knob.name).support(knob));
  return result;
}

Precision precision_of(const KnobValues& values) {
  const std::string& value = values.at("precision");
  if (value == "bf16") return Precision::bf16;
  return value == "fp64" ? Precision::fp64 : Precision::fp32;
}

ModelSettings model_settings_of(const KnobValues& values) {
  return {.gelu = values.at("gelu") == "erf" ? Gelu::erf : Gelu::tanh};
}

AutocastScope::AutocastScope(Precision precision) : active_(precision == Precision::bf16) {
  if (active_) switch_autocast(at::kCPU, at::kBFloat16, true);
}

AutocastScope::~AutocastScope() {
  if (!active_) return;
  switch_autocast(at::kCPU, at::kBFloat16, false);
  at::autocast::clear_cache();  // its bfloat16 copies of the weights are those of this step
}

}  // namespace reprobench
