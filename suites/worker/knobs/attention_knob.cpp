// The knob `attention`: the model calls LibTorch's fused operator, and of its backends exactly one stays allowed, so
// that a stack cannot silently take another.
#include <ATen/Context.h>

#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/knobs/knob_row.hpp"

namespace reprobench {
namespace {

template <class Context>
void allow_only(Context& context, const std::string& backend) {
  context.setSDPUseMath(backend == "math");
  context.setSDPUseFlash(backend == "flash");
  if constexpr (requires { context.setSDPUseMemEfficient(true); }) {
    context.setSDPUseMemEfficient(backend == "mem_efficient");
  }
  if constexpr (requires { context.setSDPUseCuDNN(true); }) context.setSDPUseCuDNN(backend == "cudnn");
  if constexpr (requires { context.setSDPUseFA3(true); }) context.setSDPUseFA3(false);
}

template <class Context>
constexpr bool has_cudnn_attention = requires(Context& context) {
  context.setSDPUseCuDNN(true);
};

std::string apply_attention(const std::string& value, const Settings&) {
  if (value != "written_out") allow_only(at::globalContext(), value);
  return value;
}

KnobSupport support_attention(const Knob& knob) {
#if __has_include(<ATen/ops/scaled_dot_product_attention.h>)
  KnobSupport support{std::string(knob.name), {"written_out", "math", "flash"}, ""};
  if (!built_with_cuda()) {
    support.reason = "the others act on a GPU, and this worker was built without CUDA";
    return support;
  }
  support.values.emplace_back("mem_efficient");
  if (has_cudnn_attention<at::Context>) support.values.emplace_back("cudnn");
  if (support.values.size() < knob.values.size()) support.reason = "this LibTorch has no cuDNN attention";
  return support;
#else
  return support_default_only(knob, "this LibTorch has no fused attention");
#endif
}

constexpr KnobRow kAttentionRows[] = {{&knob_for<&Settings::attention>, &apply_attention, &support_attention}};

}  // namespace

std::span<const KnobRow> attention_knob_rows() { return kAttentionRows; }

}  // namespace reprobench
