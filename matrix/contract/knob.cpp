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

void set_onednn_isa(const std::string& isa, Variables& variables) {
  variables["ONEDNN_MAX_CPU_ISA"] = isa;
  variables["DNNL_MAX_CPU_ISA"] = isa;  // the name before oneDNN 2.5
}

void cpu_isa_environment(std::string_view value, Variables& variables) {
  if (value == "native") return;
  variables["ATEN_CPU_CAPABILITY"] = value;
  set_onednn_isa(value == "default" ? "SSE41" : value == "avx2" ? "AVX2" : "AVX512_CORE", variables);
}

// Debian's BLAS packages each hold a libblas.so.3 of the same interface; the one loaded first serves the process. The
// worker says which one that was.
void blas_environment(std::string_view value, Variables& variables) {
  if (value == "default") return;
  const std::string folder = value == "reference" ? "blas" : std::string(value) + "-pthread";
  variables["LD_PRELOAD"] = "/usr/lib/x86_64-linux-gnu/" + folder + "/libblas.so.3";
}

// MKL's conditional numerical reproducibility: the code path every CPU of that class takes.
void mkl_cbwr_environment(std::string_view value, Variables& variables) {
  if (value == "native") return;
  variables["MKL_CBWR"] = value == "compatible" ? "COMPATIBLE" : value == "avx2" ? "AVX2" : "AVX512";
}

// Comes after cpu_isa in the alphabet, so it has the last word on oneDNN.
void onednn_isa_environment(std::string_view value, Variables& variables) {
  if (value == "cpu_isa") return;
  set_onednn_isa(value == "sse41" ? "SSE41" : value == "avx2" ? "AVX2" : "AVX512_CORE", variables);
}

constexpr const char* kCublasWorkspace = "CUBLAS_WORKSPACE_CONFIG";

// "4096_8" is ":4096:8", eight buffers of 4096 KiB.
void cublas_workspace_environment(std::string_view value, Variables& variables) {
  if (value == "4096_8") variables[kCublasWorkspace] = ":4096:8";
  if (value == "16_8") variables[kCublasWorkspace] = ":16:8";
}

// Comes after cublas_workspace in the alphabet and leaves alone what that one chose.
void determinism_environment(std::string_view value, Variables& variables) {
  if (value == "strict") variables.emplace(kCublasWorkspace, ":4096:8");
}

// `unified` is an allocator of the worker's own.
void cuda_allocator_environment(std::string_view value, Variables& variables) {
  if (value == "expandable_segments") variables["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True";
  if (value == "malloc_async") variables["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync";
}

// addmm with a bias has a route to cuBLASLt of its own, which no setting of at::Context closes.
void cuda_blas_environment(std::string_view value, Variables& variables) {
  if (value == "cublas") variables["DISABLE_ADDMM_CUDA_LT"] = "1";
  if (value != "released") variables["TORCH_BLAS_PREFER_CUBLASLT"] = value == "cublaslt" ? "1" : "0";
}

// Said in any case: the default has changed with drivers.
void cuda_module_loading_environment(std::string_view value, Variables& variables) {
  variables["CUDA_MODULE_LOADING"] = value == "lazy" ? "LAZY" : "EAGER";
}

void cudnn_heuristic_environment(std::string_view value, Variables& variables) {
  if (value == "mode_b") variables["TORCH_CUDNN_USE_HEURISTIC_MODE_B"] = "1";
}

// glibc hands large gradient buffers back to the kernel every step unless told to keep them; that
// alone costs a small model a third of its speed. `mapped` does the opposite, so that a process is as large as what it
// holds: a heap that keeps and splits freed buffers was seen at three times that.
void allocator_environment(std::string_view value, Variables& variables) {
  if (value == "system") return;
  if (value == "mapped") {
    variables["MALLOC_MMAP_THRESHOLD_"] = "65536";
    return;
  }
  variables["MALLOC_MMAP_THRESHOLD_"] = "1073741824";
  variables["MALLOC_TRIM_THRESHOLD_"] = "2147483648";
  variables["MALLOC_TOP_PAD_"] = "67108864";
}

const std::vector<Knob>& table() {
  constexpr ActsOn kHost = ActsOn::host;
  constexpr ActsOn kGpu = ActsOn::gpu;
  // clang-format off
  static const std::vector<Knob> kKnobs = {
      // name                    default        values                                                          where  what it sets                                                                                           environment
      {"accumulate",             "1",           {},                                                             kHost, "micro-batches that a rank does in a step, their gradients averaged",                                  &no_environment},
      {"allocator",              "retain",      {"retain", "system", "mapped"},                                 kHost, "glibc malloc: keep freed buffers, system defaults, or a mapping for every buffer of 64 KiB",          &allocator_environment},
      {"attention",              "written_out", {"written_out", "math", "flash", "mem_efficient", "cudnn"},     kHost, "attention in single operators, or one backend of LibTorch's fused one",                               &no_environment},
      {"blas",                   "default",     {"default", "reference", "openblas", "blis"},                   kHost, "BLAS library behind a LibTorch of the distribution",                                                  &blas_environment},
      {"cpu_isa",                "native",      {"native", "default", "avx2", "avx512"},                        kHost, "highest vector instructions of ATen and oneDNN",                                                      &cpu_isa_environment},
      {"cublas_workspace",       "preset",      {"preset", "4096_8", "16_8"},                                   kGpu,  "cuBLAS workspaces: sizes in KiB and how many",                                                        &cublas_workspace_environment},
      {"cuda_allocator",         "released",    {"released", "expandable_segments", "malloc_async", "unified"}, kGpu,  "LibTorch's device memory: its own blocks, growing ones, CUDA's pool, or memory shared with the host", &cuda_allocator_environment},
      {"cuda_blas",              "released",    {"released", "cublas", "cublaslt"},                             kGpu,  "library of matrix products",                                                                          &cuda_blas_environment},
      {"cuda_graph",             "off",         {"off", "on"},                                                  kGpu,  "a step is captured once and launched whole",                                                          &no_environment},
      {"cuda_module_loading",    "lazy",        {"lazy", "eager"},                                              kGpu,  "CUDA loads a kernel when it is first used, or all at the start",                                      &cuda_module_loading_environment},
      {"cudnn_benchmark",        "preset",      {"preset", "off", "on"},                                        kGpu,  "cuDNN times algorithms and keeps the fastest",                                                        &no_environment},
      {"cudnn_heuristic",        "released",    {"released", "mode_b"},                                         kGpu,  "cuDNN's choice of an algorithm: as released, or its slower and better mode",                          &cudnn_heuristic_environment},
      {"determinism",            "strict",      {"strict", "default", "fast"},                                  kHost, "preset: deterministic or throwing, as released, fastest",                                             &determinism_environment},
      {"deterministic_fill",     "preset",      {"preset", "off", "on"},                                        kHost, "deterministic mode fills new memory",                                                                 &no_environment},
      {"flush_denormals",        "preset",      {"preset", "off", "on"},                                        kHost, "CPU rounds denormal numbers to zero",                                                                 &no_environment},
      {"fp16_accumulation",      "off",         {"off", "on"},                                                  kGpu,  "fp16 matrix products add up in fp16",                                                                 &no_environment},
      {"gathered_weights",       "none",        {"none", "bf16", "fp16"},                                       kHost, "weights that are written beside each checkpoint, gathered from all ranks and rounded to this type",   &no_environment},
      {"gelu",                   "tanh",        {"tanh", "erf"},                                                kHost, "form of GELU, in models that have one",                                                               &no_environment},
      {"gradient_checkpointing", "off",         {"off", "on"},                                                  kHost, "of each block only what goes into it is kept, and the backward pass computes the rest again",         &no_environment},
      {"loader_prefetch",        "2",           {},                                                             kHost, "of loader_threads: batches that each of them makes ahead",                                            &no_environment},
      {"loader_threads",         "0",           {},                                                             kHost, "threads that make the next batches while a step runs; 0: the step makes its own",                     &no_environment, KnobNumbers::from_zero},
      {"loss_scale",             "constant",    {"constant", "dynamic"},                                        kHost, "of precision=fp16, what the loss is multiplied by: 1024, or as GradScaler finds it, steps skipped",    &no_environment},
      {"loss_scale_growth_interval", "2000",    {},                                                             kHost, "of loss_scale=dynamic: steps without one skipped after which the scale doubles",                      &no_environment},
      {"lr_schedule",            "preset",      {"preset", "constant", "warmup_cosine"},                        kHost, "the learning rate over the steps: as the preset has it, or one of these",                             &no_environment},
      {"max_grad_norm",          "0",           {},                                                             kHost, "largest L2 norm of all gradients together, which larger ones are scaled down to; 0: none",            &no_environment, KnobNumbers::amounts},
      {"mkl_cbwr",               "native",      {"native", "compatible", "avx2", "avx512"},                     kHost, "MKL's reproducible code path",                                                                        &mkl_cbwr_environment},
      {"offload",                "none",        {"none", "optimizer", "optimizer_and_param"},                   kHost, "on the host instead of the device: DeepSpeed's offload_optimizer; with zero_stage=3 offload_param too", &no_environment},
      {"onednn",                 "on",          {"on", "off"},                                                  kHost, "oneDNN kernels on the CPU",                                                                           &no_environment},
      {"onednn_isa",             "cpu_isa",     {"cpu_isa", "sse41", "avx2", "avx512"},                         kHost, "highest vector instructions of oneDNN alone",                                                         &onednn_isa_environment},
      {"optimizer_layout",       "per_tensor",  {"per_tensor", "flat"},                                         kHost, "trained parameters and what the optimizer keeps: memory each, or a buffer of all, updated in one pass", &no_environment},
      {"overlap",                "off",         {"off", "on"},                                                  kHost, "of data-parallel ranks: gradients are exchanged while the backward pass goes on",                     &no_environment},
      {"precision",              "fp32",        {"fp32", "bf16", "fp16", "fp64"},                               kHost, "arithmetic; bf16 and fp16 are autocast over fp32 weights, fp16 with a scaled loss (loss_scale)",      &no_environment},
      {"reduced_reduction",      "preset",      {"preset", "off", "on"},                                        kGpu,  "16-bit partial sums in 16-bit matrix products",                                                       &no_environment},
      {"rendezvous",             "file",        {"file", "tcp"},                                                kHost, "where the ranks of an attempt meet: a file in its folder, or a TCP store at MASTER_ADDR:MASTER_PORT",  &no_environment},
      {"replicas",               "1",           {},                                                             kHost, "models in one process, each with its part of the batch and its thread; running statistics are the first's", &no_environment},
      {"seed",                   "1",           {},                                                             kHost, "key of every random number",                                                                          &no_environment},
      {"sequence_lengths",       "fixed",       {"fixed", "bucketed"},                                          kHost, "tokens of a sample: the preset's context, or of every four steps one each of its four quarters",      &no_environment},
      {"tf32",                   "off",         {"off", "on"},                                                  kGpu,  "TF32 in matrix products and convolutions",                                                            &no_environment},
      {"threads",                "1",           {},                                                             kHost, "intra-operator threads",                                                                              &threads_environment},
      {"warmup_steps",           "5",           {},                                                             kHost, "of lr_schedule=warmup_cosine: steps to the full rate, from where it falls to a tenth",                &no_environment},
      {"zero_stage",             "0",           {"0", "1", "2", "3"},                                           kHost, "ZeRO: ranks share out the optimizer's states (1), the gradients (2), the parameters (3)",             &no_environment},
  };
  // clang-format on
  return kKnobs;
}

bool is_positive_integer(std::string_view text) {
  return !text.empty() && text.size() <= 9 && text.front() != '0' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "0", "0.5", "1.0": digits with at most one point between them.
bool is_amount(std::string_view text) {
  const auto is_digits = [](std::string_view part) {
    return !part.empty() && part.size() <= 9 &&
           std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  if (!is_digits(whole) || (whole.size() > 1 && whole.front() == '0')) return false;
  return point == std::string_view::npos || is_digits(text.substr(point + 1));
}

}  // namespace

std::span<const Knob> knobs() { return table(); }

const Knob* find_knob(std::string_view name) {
  const auto found = std::find_if(table().begin(), table().end(), [&](const Knob& knob) { return knob.name == name; });
  return found == table().end() ? nullptr : &*found;
}

bool accepts(const Knob& knob, std::string_view value) {
  if (knob.values.empty()) {
    if (knob.numbers == KnobNumbers::amounts) return is_amount(value);
    return is_positive_integer(value) || (value == "0" && knob.numbers == KnobNumbers::from_zero);
  }
  return std::find(knob.values.begin(), knob.values.end(), value) != knob.values.end();
}

KnobValues with_defaults(const KnobValues& chosen) {
  KnobValues values = chosen;
  for (const Knob& knob : table()) {
    values.emplace(std::string(knob.name), std::string(knob.default_value));
  }
  return values;
}

KnobValues without_defaults(const KnobValues& values) {
  KnobValues chosen;
  for (const auto& [name, value] : values) {
    const Knob* knob = find_knob(name);
    if (knob == nullptr || knob->default_value != value) chosen.emplace(name, value);
  }
  return chosen;
}

std::map<std::string, std::string> knob_environment(const KnobValues& values) {
  Variables variables;
  for (const auto& [name, value] : values) {
    if (const Knob* knob = find_knob(name)) knob->environment(value, variables);
  }
  return variables;
}

}  // namespace reprobench
