// Every knob, and the environment variables of those that need some.
#include <array>

#include "matrix/contract/knob.hpp"

namespace reprobench {
namespace {

using Variables = std::map<std::string, std::string>;

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

template <auto Member>
constexpr KnobSetting kSetting = {&detail::read_setting<Member>, &detail::setting_text<Member>};

}  // namespace

std::span<const Knob> knobs() {
  static const std::vector<Knob> kKnobs = {
      {.name = "accumulate",
       .default_value = "1",
       .setting = kSetting<&Settings::accumulate>,
       .acts_by = ActsBy::loop,
       .keeps_bits = true,
       .shares_out = SharesOut::batch,
       .memory = MemoryEffect::counted,
       .summary = "micro-batches that a rank does in a step, their gradients averaged"},
      {.name = "allocator",
       .default_value = "retain",
       .values = {"retain", "system", "mapped"},
       .setting = kSetting<&Settings::allocator>,
       .environment = &allocator_environment,
       .keeps_bits = true,
       .memory = MemoryEffect::counted,
       .summary = "glibc malloc: keep freed buffers, system defaults, or a mapping for every buffer of 64 KiB"},
      {.name = "attention",
       .default_value = "written_out",
       .values = {"written_out", "math", "flash", "mem_efficient", "cudnn"},
       .setting = kSetting<&Settings::attention>,
       .summary = "attention in single operators, or one backend of LibTorch's fused one"},
      {.name = "blas",
       .default_value = "default",
       .values = {"default", "reference", "openblas", "blis"},
       .setting = kSetting<&Settings::blas>,
       .environment = &blas_environment,
       .summary = "BLAS library behind a LibTorch of the distribution"},
      {.name = "cpu_isa",
       .default_value = "native",
       .values = {"native", "default", "avx2", "avx512"},
       .setting = kSetting<&Settings::cpu_isa>,
       .environment = &cpu_isa_environment,
       .memory = MemoryEffect::none,
       .other_orders = {"avx2", "default"},
       .summary = "highest vector instructions of ATen and oneDNN"},
      {.name = "cublas_workspace",
       .default_value = "preset",
       .values = {"preset", "4096_8", "16_8"},
       .setting = kSetting<&Settings::cublas_workspace>,
       .acts_on = ActsOn::gpu,
       .environment = &cublas_workspace_environment,
       .summary = "cuBLAS workspaces: sizes in KiB and how many"},
      {.name = "cuda_allocator",
       .default_value = "released",
       .values = {"released", "expandable_segments", "malloc_async", "unified"},
       .setting = kSetting<&Settings::cuda_allocator>,
       .acts_on = ActsOn::gpu,
       .environment = &cuda_allocator_environment,
       .keeps_bits = true,
       .summary =
           "LibTorch's device memory: its own blocks, growing ones, CUDA's pool, or memory shared with the host"},
      {.name = "cuda_blas",
       .default_value = "released",
       .values = {"released", "cublas", "cublaslt"},
       .setting = kSetting<&Settings::cuda_blas>,
       .acts_on = ActsOn::gpu,
       .environment = &cuda_blas_environment,
       .summary = "library of matrix products"},
      {.name = "cuda_graph",
       .default_value = "off",
       .values = {"off", "on"},
       .setting = kSetting<&Settings::cuda_graph>,
       .acts_on = ActsOn::gpu,
       .summary = "a step is captured once and launched whole"},
      {.name = "cuda_module_loading",
       .default_value = "lazy",
       .values = {"lazy", "eager"},
       .setting = kSetting<&Settings::cuda_module_loading>,
       .acts_on = ActsOn::gpu,
       .environment = &cuda_module_loading_environment,
       .keeps_bits = true,
       .summary = "CUDA loads a kernel when it is first used, or all at the start"},
      {.name = "cudnn_benchmark",
       .default_value = "preset",
       .values = {"preset", "off", "on"},
       .setting = kSetting<&Settings::cudnn_benchmark>,
       .acts_on = ActsOn::gpu,
       .summary = "cuDNN times algorithms and keeps the fastest"},
      {.name = "cudnn_heuristic",
       .default_value = "released",
       .values = {"released", "mode_b"},
       .setting = kSetting<&Settings::cudnn_heuristic>,
       .acts_on = ActsOn::gpu,
       .environment = &cudnn_heuristic_environment,
       .summary = "cuDNN's choice of an algorithm: as released, or its slower and better mode"},
      {.name = "determinism",
       .default_value = "strict",
       .values = {"strict", "default", "fast"},
       .setting = kSetting<&Settings::determinism>,
       .environment = &determinism_environment,
       .summary = "preset: deterministic or throwing, as released, fastest"},
      {.name = "deterministic_fill",
       .default_value = "preset",
       .values = {"preset", "off", "on"},
       .setting = kSetting<&Settings::deterministic_fill>,
       .summary = "deterministic mode fills new memory"},
      {.name = "flush_denormals",
       .default_value = "preset",
       .values = {"preset", "off", "on"},
       .setting = kSetting<&Settings::flush_denormals>,
       .memory = MemoryEffect::none,
       .summary = "CPU rounds denormal numbers to zero"},
      {.name = "fp16_accumulation",
       .default_value = "off",
       .values = {"off", "on"},
       .setting = kSetting<&Settings::fp16_accumulation>,
       .acts_on = ActsOn::gpu,
       .summary = "fp16 matrix products add up in fp16"},
      {.name = "gathered_weights",
       .default_value = "none",
       .values = {"none", "bf16", "fp16"},
       .setting = kSetting<&Settings::gathered_weights>,
       .acts_by = ActsBy::loop,
       .keeps_bits = true,
       .summary = "weights that are written beside each checkpoint, gathered from all ranks and rounded to this type"},
      {.name = "gelu",
       .default_value = "tanh",
       .values = {"tanh", "erf"},
       .setting = kSetting<&Settings::gelu>,
       .acts_by = ActsBy::model,
       .memory = MemoryEffect::none,
       .summary = "form of GELU, in models that have one"},
      {.name = "gradient_checkpointing",
       .default_value = "off",
       .values = {"off", "on"},
       .setting = kSetting<&Settings::gradient_checkpointing>,
       .acts_by = ActsBy::loop,
       .memory = MemoryEffect::counted,
       .summary = "of each block only what goes into it is kept, and the backward pass computes the rest again"},
      {.name = "loader_prefetch",
       .default_value = "2",
       .setting = kSetting<&Settings::loader_prefetch>,
       .acts_by = ActsBy::loop,
       .keeps_bits = true,
       .summary = "of loader_threads: batches that each of them makes ahead"},
      {.name = "loader_threads",
       .default_value = "0",
       .numbers = KnobNumbers::from_zero,
       .setting = kSetting<&Settings::loader_threads>,
       .acts_by = ActsBy::loop,
       .keeps_bits = true,
       .summary = "threads that make the next batches while a step runs; 0: the step makes its own"},
      {.name = "loss_scale",
       .default_value = "constant",
       .values = {"constant", "dynamic"},
       .setting = kSetting<&Settings::loss_scale>,
       .acts_by = ActsBy::loop,
       .summary = "of precision=fp16, what the loss is multiplied by: 1024, or as GradScaler finds it, steps skipped"},
      {.name = "loss_scale_growth_interval",
       .default_value = "2000",
       .setting = kSetting<&Settings::loss_scale_growth_interval>,
       .acts_by = ActsBy::loop,
       .summary = "of loss_scale=dynamic: steps without one skipped after which the scale doubles"},
      {.name = "lr_schedule",
       .default_value = "preset",
       .values = {"preset", "constant", "warmup_cosine"},
       .setting = kSetting<&Settings::lr_schedule>,
       .acts_by = ActsBy::loop,
       .summary = "the learning rate over the steps: as the preset has it, or one of these"},
      {.name = "max_grad_norm",
       .default_value = "0",
       .numbers = KnobNumbers::amounts,
       .setting = kSetting<&Settings::max_grad_norm>,
       .acts_by = ActsBy::loop,
       .summary = "largest L2 norm of all gradients together, which larger ones are scaled down to; 0: none"},
      {.name = "mkl_cbwr",
       .default_value = "native",
       .values = {"native", "compatible", "avx2", "avx512"},
       .setting = kSetting<&Settings::mkl_cbwr>,
       .environment = &mkl_cbwr_environment,
       .memory = MemoryEffect::none,
       .other_orders = {"compatible"},
       .summary = "MKL's reproducible code path"},
      {.name = "offload",
       .default_value = "none",
       .values = {"none", "optimizer", "optimizer_and_param"},
       .setting = kSetting<&Settings::offload>,
       .acts_by = ActsBy::loop,
       .shares_out = SharesOut::state,
       .summary =
           "on the host instead of the device: DeepSpeed's offload_optimizer; with zero_stage=3 offload_param too"},
      {.name = "onednn",
       .default_value = "on",
       .values = {"on", "off"},
       .setting = kSetting<&Settings::onednn>,
       .other_orders = {"off"},
       .summary = "oneDNN kernels on the CPU"},
      {.name = "onednn_isa",
       .default_value = "cpu_isa",
       .values = {"cpu_isa", "sse41", "avx2", "avx512"},
       .setting = kSetting<&Settings::onednn_isa>,
       .environment = &onednn_isa_environment,
       .memory = MemoryEffect::none,
       .summary = "highest vector instructions of oneDNN alone"},
      {.name = "optimizer_layout",
       .default_value = "per_tensor",
       .values = {"per_tensor", "flat"},
       .setting = kSetting<&Settings::optimizer_layout>,
       .acts_by = ActsBy::loop,
       .memory = MemoryEffect::none,
       .summary =
           "trained parameters and what the optimizer keeps: memory each, or a buffer of all, updated in one pass"},
      {.name = "overlap",
       .default_value = "off",
       .values = {"off", "on"},
       .setting = kSetting<&Settings::overlap>,
       .acts_by = ActsBy::loop,
       .keeps_bits = true,
       .shares_out = SharesOut::state,
       .summary = "of data-parallel ranks: gradients are exchanged while the backward pass goes on"},
      {.name = "precision",
       .default_value = "fp32",
       .values = {"fp32", "bf16", "fp16", "fp64"},
       .setting = kSetting<&Settings::precision>,
       .acts_by = ActsBy::loop,
       .must_agree = true,
       .memory = MemoryEffect::none,
       .summary = "arithmetic; bf16 and fp16 are autocast over fp32 weights, fp16 with a scaled loss (loss_scale)"},
      {.name = "reduced_reduction",
       .default_value = "preset",
       .values = {"preset", "off", "on"},
       .setting = kSetting<&Settings::reduced_reduction>,
       .acts_on = ActsOn::gpu,
       .summary = "16-bit partial sums in 16-bit matrix products"},
      {.name = "rendezvous",
       .default_value = "file",
       .values = {"file", "tcp"},
       .setting = kSetting<&Settings::rendezvous>,
       .acts_by = ActsBy::loop,
       .keeps_bits = true,
       .summary =
           "where the ranks of an attempt meet: a file in its folder, or a TCP store at MASTER_ADDR:MASTER_PORT"},
      {.name = "replicas",
       .default_value = "1",
       .setting = kSetting<&Settings::replicas>,
       .acts_by = ActsBy::loop,
       .keeps_bits = true,
       .shares_out = SharesOut::batch,
       .summary =
           "models in one process, each with its part of the batch and its thread; running statistics are the first's"},
      {.name = "seed",
       .default_value = "1",
       .setting = kSetting<&Settings::seed>,
       .acts_by = ActsBy::loop,
       .must_agree = true,
       .memory = MemoryEffect::none,
       .summary = "key of every random number"},
      {.name = "sequence_lengths",
       .default_value = "fixed",
       .values = {"fixed", "bucketed"},
       .setting = kSetting<&Settings::sequence_lengths>,
       .acts_by = ActsBy::loop,
       .memory = MemoryEffect::none,
       .summary = "tokens of a sample: the preset's context, or of every four steps one each of its four quarters"},
      {.name = "tf32",
       .default_value = "off",
       .values = {"off", "on"},
       .setting = kSetting<&Settings::tf32>,
       .acts_on = ActsOn::gpu,
       .summary = "TF32 in matrix products and convolutions"},
      {.name = "threads",
       .default_value = "1",
       .setting = kSetting<&Settings::threads>,
       .environment = &threads_environment,
       .memory = MemoryEffect::none,
       .other_orders = {"2", "4"},
       .summary = "intra-operator threads"},
      {.name = "warmup_steps",
       .default_value = "5",
       .setting = kSetting<&Settings::warmup_steps>,
       .acts_by = ActsBy::loop,
       .summary = "of lr_schedule=warmup_cosine: steps to the full rate, from where it falls to a tenth"},
      {.name = "zero_stage",
       .default_value = "0",
       .values = {"0", "1", "2", "3"},
       .setting = kSetting<&Settings::zero_stage>,
       .acts_by = ActsBy::loop,
       .keeps_bits = true,
       .shares_out = SharesOut::state,
       .summary = "ZeRO: ranks share out the optimizer's states (1), the gradients (2), the parameters (3)"},
  };
  return kKnobs;
}

}  // namespace reprobench
