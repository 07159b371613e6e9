#include "matrix/contract/knob.hpp"

#include <algorithm>

namespace reprobench {
namespace {

using Variables = std::map<std::string, std::string>;

void no_environment(std::string_view, Variables&) {}

// Spinning OpenMP threads on a shared runner collapse to scheduler ticks, so waiting is passive
// (reference measurements: a language-model step of 755 ms with spinning against 54 ms without).
void threads_environment(std::string_view value, Variables& variables) {
  variables["OMP_NUM_THREADS"] = value;
  variables["MKL_NUM_THREADS"] = value;
  variables["OPENBLAS_NUM_THREADS"] = value;
  variables["OMP_DYNAMIC"] = "false";
  variables["MKL_DYNAMIC"] = "FALSE";
  variables["OMP_WAIT_POLICY"] = "PASSIVE";
}

void cpu_isa_environment(std::string_view value, Variables& variables) {
  if (value == "native") return;
  variables["ATEN_CPU_CAPABILITY"] = value;
  const std::string one_dnn = value == "default" ? "SSE41" : value == "avx2" ? "AVX2" : "AVX512_CORE";
  variables["ONEDNN_MAX_CPU_ISA"] = one_dnn;
  variables["DNNL_MAX_CPU_ISA"] = one_dnn;  // the name before oneDNN 2.5
}

void determinism_environment(std::string_view value, Variables& variables) {
  if (value == "strict") variables["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8";
}

// glibc hands large gradient buffers back to the kernel every step unless told to keep them; that
// alone costs a small model a third of its speed.
void allocator_environment(std::string_view value, Variables& variables) {
  if (value == "system") return;
  variables["MALLOC_MMAP_THRESHOLD_"] = "1073741824";
  variables["MALLOC_TRIM_THRESHOLD_"] = "2147483648";
  variables["MALLOC_TOP_PAD_"] = "67108864";
}

const std::vector<Knob>& table() {
  // clang-format off
  static const std::vector<Knob> kKnobs = {
      // name         default   values                                   what it sets                                           environment
      {"allocator",   "retain", {"retain", "system"},                    "glibc malloc: keep freed buffers, or system defaults", &allocator_environment},
      {"cpu_isa",     "native", {"native", "default", "avx2", "avx512"}, "highest vector instructions of ATen and oneDNN",       &cpu_isa_environment},
      {"determinism", "strict", {"strict", "off"},                       "deterministic algorithms, throwing where none exists", &determinism_environment},
      {"gelu",        "tanh",   {"tanh", "erf"},                         "form of GELU, in models that have one",                &no_environment},
      {"onednn",      "on",     {"on", "off"},                           "oneDNN kernels on the CPU",                            &no_environment},
      {"precision",   "fp32",   {"fp32", "bf16", "fp64"},                "arithmetic; bf16 is autocast over fp32 weights",       &no_environment},
      {"seed",        "1",      {},                                      "key of every random number",                           &no_environment},
      {"tf32",        "off",    {"off", "on"},                           "TF32 in CUDA matrix products and convolutions",        &no_environment},
      {"threads",     "1",      {},                                      "intra-operator threads",                               &threads_environment},
  };
  // clang-format on
  return kKnobs;
}

bool is_positive_integer(std::string_view text) {
  return !text.empty() && text.size() <= 9 && text.front() != '0' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::span<const Knob> knobs() { return table(); }

const Knob* find_knob(std::string_view name) {
  const auto found = std::find_if(table().begin(), table().end(), [&](const Knob& knob) { return knob.name == name; });
  return found == table().end() ? nullptr : &*found;
}

bool accepts(const Knob& knob, std::string_view value) {
  if (knob.values.empty()) return is_positive_integer(value);
  return std::find(knob.values.begin(), knob.values.end(), value) != knob.values.end();
}

KnobValues with_defaults(const KnobValues& chosen) {
  KnobValues values = chosen;
  for (const Knob& knob : table()) {
    values.emplace(std::string(knob.name), std::string(knob.default_value));
  }
  return values;
}

std::map<std::string, std::string> knob_environment(const KnobValues& values) {
  Variables variables;
  for (const auto& [name, value] : values) {
    if (const Knob* knob = find_knob(name)) knob->environment(value, variables);
  }
  return variables;
}

}  // namespace reprobench
