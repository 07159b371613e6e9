// The knobs of a training with types: one member for each knob, read once from the texts in requests and results.
// knob_table.cpp says which member belongs to which knob, so no other code has to name a knob by its text:
//
//   const Settings settings = settings_of(request.knobs);
//   if (settings.precision == Precision::bf16) ...
//
// Enumerators are in the order of the knob's values.
#pragma once

#include <cstdint>

namespace reprobench {

enum class Allocator { retain, system, mapped };
enum class AttentionBackend { written_out, math, flash, mem_efficient, cudnn };
enum class BlasLibrary { of_stack, reference, openblas, blis };
enum class CpuIsa { native, baseline, avx2, avx512 };
enum class CublasWorkspace { of_preset, buffers_4096_8, buffers_16_8 };
enum class CudaAllocator { released, expandable_segments, malloc_async, unified };
enum class CudaBlas { released, cublas, cublaslt };
enum class CudaModuleLoading { lazy, eager };
enum class CudnnHeuristic { released, mode_b };
enum class Determinism { strict, released, fast };
enum class GatheredWeights { none, bf16, fp16 };
enum class Gelu { tanh, erf };
enum class LossScale { constant, dynamic };
enum class LrSchedule { of_preset, constant, warmup_cosine };
enum class MklCbwr { native, compatible, avx2, avx512 };
enum class Offload { none, optimizer, optimizer_and_param };
enum class OnednnIsa { as_cpu_isa, sse41, avx2, avx512 };
enum class OptimizerLayout { per_tensor, flat };
enum class Precision { fp32, bf16, fp16, fp64 };
enum class Rendezvous { file, tcp };
enum class SampleLengths { fixed, bucketed };

// On, off, or the value that the knob `determinism` implies.
enum class PresetSwitch { of_preset, off, on };

// Each member begins with its knob's default.
struct Settings {
  std::int64_t accumulate = 1;
  Allocator allocator = Allocator::retain;
  AttentionBackend attention = AttentionBackend::written_out;
  BlasLibrary blas = BlasLibrary::of_stack;
  CpuIsa cpu_isa = CpuIsa::native;
  CublasWorkspace cublas_workspace = CublasWorkspace::of_preset;
  CudaAllocator cuda_allocator = CudaAllocator::released;
  CudaBlas cuda_blas = CudaBlas::released;
  bool cuda_graph = false;
  CudaModuleLoading cuda_module_loading = CudaModuleLoading::lazy;
  PresetSwitch cudnn_benchmark = PresetSwitch::of_preset;
  CudnnHeuristic cudnn_heuristic = CudnnHeuristic::released;
  Determinism determinism = Determinism::strict;
  PresetSwitch deterministic_fill = PresetSwitch::of_preset;
  PresetSwitch flush_denormals = PresetSwitch::of_preset;
  bool fp16_accumulation = false;
  GatheredWeights gathered_weights = GatheredWeights::none;
  Gelu gelu = Gelu::tanh;
  bool gradient_checkpointing = false;
  std::int64_t loader_prefetch = 2;
  std::int64_t loader_threads = 0;
  LossScale loss_scale = LossScale::constant;
  std::int64_t loss_scale_growth_interval = 2000;
  LrSchedule lr_schedule = LrSchedule::of_preset;
  double max_grad_norm = 0;
  MklCbwr mkl_cbwr = MklCbwr::native;
  Offload offload = Offload::none;
  bool onednn = true;
  OnednnIsa onednn_isa = OnednnIsa::as_cpu_isa;
  OptimizerLayout optimizer_layout = OptimizerLayout::per_tensor;
  bool overlap = false;
  Precision precision = Precision::fp32;
  PresetSwitch reduced_reduction = PresetSwitch::of_preset;
  Rendezvous rendezvous = Rendezvous::file;
  std::int64_t replicas = 1;
  std::uint64_t seed = 1;
  SampleLengths sequence_lengths = SampleLengths::fixed;
  bool tf32 = false;
  std::int64_t threads = 1;
  std::int64_t warmup_steps = 5;
  int zero_stage = 0;

  bool operator==(const Settings&) const = default;
};

}  // namespace reprobench
