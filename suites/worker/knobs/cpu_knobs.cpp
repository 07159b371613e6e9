// Knobs of the CPU: threads, allocator, vector instructions and the libraries beneath LibTorch. Most are environment
// variables that the coordinator set before the process began (contract/knob_table.cpp); what is returned here is what
// the library itself says they came to, where it can be asked.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>

#include "suites/worker/knobs/knob_row.hpp"
#include "suites/worker/stack_probe.hpp"

namespace reprobench {
namespace {

// True if the variables that this value needs were set before the process began.
template <auto Member>
bool environment_is_set(const SettingType<Member>& value) {
  KnobValues chosen;
  set<Member>(chosen, value);
  const auto variables = knob_environment(chosen);
  return std::all_of(variables.begin(), variables.end(), [](const auto& variable) {
    const char* set = std::getenv(variable.first.c_str());
    return set != nullptr && variable.second == set;
  });
}

// A function of a library in this process; null if none exports it.
template <class Function>
Function* exported(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

std::string apply_allocator(const std::string&, const Settings&) {
  if (environment_is_set<&Settings::allocator>(Allocator::retain)) return "retain";
  return environment_is_set<&Settings::allocator>(Allocator::mapped) ? "mapped" : "system";
}

// The knob's word for what is mapped; "mkl" where LibTorch holds it.
std::string apply_blas(const std::string&, const Settings&) {
  const std::string provider = loaded_blas();
  return provider == "netlib" ? "reference" : provider;
}

KnobSupport support_blas(const Knob& knob) {
  if (at::hasMKL()) return support_default_only(knob, "this LibTorch holds its BLAS inside");
  KnobSupport support{std::string(knob.name), {}, ""};
  std::string missing;
  for (const std::string_view value : knob.values) {
    const auto variables = knob_environment({{support.name, std::string(value)}});
    const auto library = variables.find("LD_PRELOAD");
    if (library == variables.end() || std::filesystem::exists(library->second)) {
      support.values.emplace_back(value);
    } else {
      missing += (missing.empty() ? "" : ", ") + library->second;
    }
  }
  if (!missing.empty()) support.reason = "not installed: " + missing;
  return support;
}

// ATen's name for the vector instructions it dispatches to, as the value of `cpu_isa` that asks for them.
std::string apply_cpu_isa(const std::string& value, const Settings&) {
  if (value == "native") return value;
  const std::string capability = cpu_capability();
  if (capability == "AVX512") return "avx512";
  return capability == "AVX2" ? "avx2" : "default";
}

bool cpu_has(std::string_view isa) {
#ifdef __x86_64__
  if (isa == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == "avx512") {
    return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq");
  }
  return true;
#else
  return isa != "avx2" && isa != "avx512" && isa != "sse41";
#endif
}

// The values this CPU has the instructions for.
KnobSupport support_of_cpu(const Knob& knob) {
  KnobSupport support{std::string(knob.name), {}, ""};
  for (const std::string_view value : knob.values) {
    if (cpu_has(value)) support.values.emplace_back(value);
  }
  if (support.values.size() < knob.values.size()) support.reason = "this CPU lacks the instructions of the others";
  return support;
}

// MKL's own answer. Asked for the branch alone it gives one of the MKL_CBWR_ constants of mkl_types.h.
std::string apply_mkl_cbwr(const std::string& value, const Settings&) {
  const auto cbwr_get = exported<int(int)>("mkl_serv_cbwr_get");
  if (value == "native" || cbwr_get == nullptr) return "native";
  constexpr int kAskBranch = 1;
  switch (cbwr_get(kAskBranch)) {
    case 3:
      return "compatible";
    case 10:
      return "avx2";
    case 12:
      return "avx512";
    default:
      return "native";
  }
}

bool cpu_is_intel() {
#ifdef __x86_64__
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

// On other makers' CPUs MKL answers a wish for AVX2 or AVX-512 with its ordinary choice.
KnobSupport support_mkl_cbwr(const Knob& knob) {
  if (!at::hasMKL()) return support_default_only(knob, "this LibTorch was built without MKL");
  if (cpu_is_intel()) return support_of_cpu(knob);
  return {std::string(knob.name), {"native", "compatible"}, "MKL has the other paths on Intel CPUs only"};
}

std::string apply_onednn(const std::string& value, const Settings&) {
  const bool on = value == "on" && at::hasMKLDNN();
  at::globalContext().setUserEnabledMkldnn(on);
  return on ? "on" : "off";
}

KnobSupport support_onednn(const Knob& knob) {
  if (at::hasMKLDNN()) return support_everything(knob);
  return {std::string(knob.name), {"off"}, "this LibTorch was built without oneDNN"};
}

// A oneDNN in a library of its own says which instructions it uses (dnnl_cpu_isa_t); one inside LibTorch exports
// nothing, and the variable it reads at its first call is all there is.
std::string apply_onednn_isa(const std::string& value, const Settings& all) {
  if (value == "cpu_isa") return text_of<&Settings::cpu_isa>(all.cpu_isa);
  if (const auto effective = exported<int()>("dnnl_get_effective_cpu_isa")) {
    constexpr int kAvx2 = 0x7;
    constexpr int kAvx512Core = 0x27;
    const int isa = effective();
    return (isa & kAvx512Core) == kAvx512Core ? "avx512" : (isa & kAvx2) == kAvx2 ? "avx2" : "sse41";
  }
  return environment_is_set<&Settings::onednn_isa>(all.onednn_isa) ? value : text_of<&Settings::cpu_isa>(all.cpu_isa);
}

KnobSupport support_onednn_isa(const Knob& knob) {
  return at::hasMKLDNN() ? support_of_cpu(knob) : support_default_only(knob, "this LibTorch was built without oneDNN");
}

std::string apply_threads(const std::string& value, const Settings&) {
  at::set_num_threads(std::stoi(value));
  if (at::get_num_interop_threads() != 1) at::set_num_interop_threads(1);
  return std::to_string(at::get_num_threads());
}

constexpr KnobRow kCpuRows[] = {
    {&knob_for<&Settings::allocator>, &apply_allocator, &support_everything},
    {&knob_for<&Settings::blas>, &apply_blas, &support_blas},
    {&knob_for<&Settings::cpu_isa>, &apply_cpu_isa, &support_of_cpu},
    {&knob_for<&Settings::mkl_cbwr>, &apply_mkl_cbwr, &support_mkl_cbwr},
    {&knob_for<&Settings::onednn>, &apply_onednn, &support_onednn},
    {&knob_for<&Settings::onednn_isa>, &apply_onednn_isa, &support_onednn_isa},
    {&knob_for<&Settings::threads>, &apply_threads, &support_everything},
};

}  // namespace

std::span<const KnobRow> cpu_knob_rows() { return kCpuRows; }

}  // namespace reprobench
