// Is the device there, does it compute, and at the precision that was asked for?
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/knobs/float32_precision.hpp"
#include "suites/worker/probes/error_bound.hpp"
#include "suites/worker/probes/exact_product.hpp"
#include "suites/worker/probes/framework_random.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/probes/rounding.hpp"
#include "suites/worker/probes/unsupported_operation.hpp"
#include "suites/worker/process_facts.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kSide = 1000;  // of the product everyone knows
constexpr std::int64_t kTensorCoreSide = 4096;
constexpr std::int64_t kSmallSide = 64;
constexpr std::int64_t kOnes = 4096;  // more than 16-bit accumulators can count: bf16 stops at 256, fp16 at 2048
constexpr int kIeeeBits = 24;
constexpr int kTf32Bits = 11;

void see_device(ProbeRun& run) {
  const DeviceFacts facts = run.compute().facts();
  const std::string name = run.on_cpu() ? cpu_model() : facts.name;
  run.observe("device", {}, 1, {!name.empty(), name.empty() ? "the device has no name" : name});
}

void multiply(ProbeRun& run) {
  const at::Tensor a = run.random_normal("smoke.a", {kSide, kSide});
  const at::Tensor b = run.random_normal("smoke.b", {kSide, kSide});
  const at::Tensor exact = exact_product(a, b);
  at::Tensor product = at::zeros({kSide, kSide}, a.options());
  set_tf32(false);
  run.measure(
      {"matmul",
       {{"dtype", "fp32"}, {"shape", "1000x1000x1000"}},
       1,
       [&] { return at::mm_out(product, a, b); },
       [&](const at::Tensor& result) { return close_to(result, exact, product_error_bound_rel("fp32", kSide)); }});
}

void launch(ProbeRun& run) {
  at::Tensor sum = at::zeros({1}, at::TensorOptions(run.device()));
  const at::Tensor one = at::ones({1}, sum.options());
  const auto add = [&] { return at::add_out(sum, one, one); };
  const auto check = [&](const at::Tensor& result) { return equal_to(result, one.add(one)); };
  run.measure({"launch_interval", {}, 1, add, check});
  Operation alone{"launch_latency", {}, 1, add, check};
  alone.until_seen = true;
  run.measure(alone);
}

// With TF32 off a product is IEEE; with it on a device that has it rounds the operands, which shows its tensor cores.
void round_operands(ProbeRun& run, const std::string& dtype, int expected_bits) {
  const Labels labels = {{"dtype", dtype}};
  if (run.on_cpu() && dtype == "tf32") return run.cannot("fp32_rounding", labels, "a CPU has no TF32");
  if (const std::string why = lacks_type(run.compute().facts(), dtype); !why.empty()) {
    return run.cannot("fp32_rounding", labels, why);
  }
  set_tf32(dtype == "tf32");
  // As large as the product that is timed for its tensor cores: for a small one a library may take other kernels.
  const std::int64_t side = run.on_cpu() ? kSmallSide : kTensorCoreSide;
  const int bits = kept_significand_bits(rounding_product(rounding_probe_operand().to(run.device()), side));
  set_tf32(false);
  run.observe("fp32_rounding", labels, bits,
              {bits == expected_bits, std::to_string(bits) + " significand bits of an operand are kept, " +
                                          std::to_string(expected_bits) + " expected"});
}

void accumulate(ProbeRun& run, at::ScalarType type, const std::string& dtype) {
  const Labels labels = {{"dtype", dtype}};
  if (const std::string why = lacks_type(run.compute().facts(), dtype); !why.empty()) {
    return run.cannot("accumulation", labels, why);
  }
  const at::Tensor ones = at::ones({64, kOnes}, at::TensorOptions(run.device()).dtype(type));
  const at::Tensor expected = at::ones({64, 64}, at::TensorOptions(run.device())).mul(kOnes);
  try {
    const at::Tensor counted = at::mm(ones, ones.t()).to(at::kFloat);
    run.observe("accumulation", labels, counted.min().item<double>(), equal_to(counted, expected));
  } catch (const std::exception& error) {
    if (!is_not_implemented(first_line(error))) throw;
    run.cannot("accumulation", labels, "LibTorch multiplies no " + dtype + " on this device");
  }
}

// How far a seed carries from this card to others. A LibTorch that draws otherwise than predicted is no fault of it,
// but then nothing is known.
void draw_random(ProbeRun& run) {
  if (run.on_cpu()) return run.cannot("random_grid", {}, "on a CPU LibTorch draws from another generator");
  const std::int64_t grid = gpu_random_grid_threads();
  const std::int64_t count = 5 * grid;  // every one of the four numbers of a counter, and the next counter
  const at::Tensor drawn = first_random_draw(run.seed(), count);
  std::vector<float> values = predicted_uniform(run.seed(), grid, count);
  const at::Tensor predicted = at::from_blob(values.data(), {count}, at::kFloat);
  const Correctness as_predicted = equal_to(drawn, predicted);
  if (!as_predicted.right) {
    return run.cannot("random_grid", {}, "LibTorch's random numbers are not as predicted: " + as_predicted.finding);
  }
  run.observe("random_grid", {}, static_cast<double>(grid),
              {true, "LibTorch draws element " + std::to_string(grid) +
                         " and later ones of a tensor otherwise than on a card with another grid"});
}

void ask_collective(ProbeRun& run) {
  if (run.on_cpu()) return run.cannot("collective", {}, "NCCL is for GPUs");
  const at::Tensor values = run.random_whole("smoke.collective", 1 << 20);
  try {
    run.observe("collective", {}, 1, equal_to(doubled_by_collective(values), values.mul(2)));
  } catch (const RunFailure& failure) {
    if (failure.cause() == "unsupported") return run.cannot("collective", {}, failure.what());
    if (failure.cause() != "collective_error") throw;
    run.observe("collective", {}, 0, {false, failure.what()});
  }
}

void time_tensor_cores(ProbeRun& run, at::ScalarType type, const std::string& dtype) {
  const Labels labels = {{"dtype", dtype}, {"shape", "4096x4096x4096"}};
  if (run.on_cpu()) return run.cannot("tensor_core_matmul", labels, "a CPU has no tensor cores");
  set_tf32(dtype == "tf32");
  const at::Tensor a = run.random_normal("smoke.tensor_core.a", {kTensorCoreSide, kTensorCoreSide});
  const at::Tensor b = run.random_normal("smoke.tensor_core.b", {kTensorCoreSide, kTensorCoreSide});
  const at::Tensor exact = exact_product(a, b);
  const at::Tensor x = a.to(type);
  const at::Tensor y = b.to(type);
  at::Tensor product = at::zeros({kTensorCoreSide, kTensorCoreSide}, x.options());
  const auto side = static_cast<double>(kTensorCoreSide);
  run.measure({"tensor_core_matmul", labels, 2 * side * side * side, [&] { return at::mm_out(product, x, y); },
               [&](const at::Tensor& result) {
                 return close_to(result, exact, product_error_bound_rel(dtype, kTensorCoreSide));
               }});
  set_tf32(false);
}

}  // namespace

void probe_device_smoke(ProbeRun& run) {
  see_device(run);
  multiply(run);
  launch(run);
  round_operands(run, "fp32", kIeeeBits);
  round_operands(run, "tf32", kTf32Bits);
  accumulate(run, at::kBFloat16, "bf16");
  accumulate(run, at::kHalf, "fp16");
  draw_random(run);
  ask_collective(run);
  time_tensor_cores(run, at::kFloat, "tf32");
  time_tensor_cores(run, at::kBFloat16, "bf16");
}

}  // namespace reprobench
