// A matrix product through cuBLASLt itself. cuBLASLt is column-major, so the row-major C = A B is asked for as its
// transpose: C' = B' A', whose memory is the same.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAStream.h>

#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/run_failure.hpp"

#ifdef REPROBENCH_HAS_CUBLASLT

#include <array>
#include <memory>

#include <cublasLt.h>

namespace reprobench {
namespace {

constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20;  // what cuBLAS itself takes on Hopper

void check_cublaslt(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw RunFailure("cuda_error", std::string("cuBLASLt: ") + what + " failed with status " + std::to_string(status));
}

struct Destroy {
  void operator()(cublasLtHandle_t handle) const { cublasLtDestroy(handle); }
  void operator()(cublasLtMatmulDesc_t description) const { cublasLtMatmulDescDestroy(description); }
  void operator()(cublasLtMatrixLayout_t layout) const { cublasLtMatrixLayoutDestroy(layout); }
  void operator()(cublasLtMatmulPreference_t preference) const { cublasLtMatmulPreferenceDestroy(preference); }
};
template <class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy>;

struct ProductTypes {
  cudaDataType_t operands;
  cublasComputeType_t arithmetic;
  cudaDataType_t scale;
};

ProductTypes types_of(at::ScalarType type, bool tf32) {
  switch (type) {
    case at::kDouble:
      return {CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F};
    case at::kBFloat16:
      return {CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};
    case at::kHalf:
      return {CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
    default:
      return {CUDA_R_32F, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F};
  }
}

class Product {
 public:
  Product(const at::Tensor& a, const at::Tensor& b, bool tf32)
      : a_(a), b_(b), c_(at::empty({a.size(0), b.size(1)}, a.options())), types_(types_of(a.scalar_type(), tf32)) {
    workspace_ = at::empty({kWorkspaceBytes}, a.options().dtype(at::kByte));
    cublasLtHandle_t handle = nullptr;
    check_cublaslt(cublasLtCreate(&handle), "starting it");
    handle_.reset(handle);
    cublasLtMatmulDesc_t description = nullptr;
    check_cublaslt(cublasLtMatmulDescCreate(&description, types_.arithmetic, types_.scale), "describing a product");
    description_.reset(description);
    left_ = layout_of(b_);
    right_ = layout_of(a_);
    result_ = layout_of(c_);
  }

  // False where cuBLASLt offers no way to do it.
  bool choose() {
    cublasLtMatmulPreference_t created = nullptr;
    check_cublaslt(cublasLtMatmulPreferenceCreate(&created), "stating a preference");
    const Owned<cublasLtMatmulPreference_t> preference(created);
    const std::size_t workspace_bytes = kWorkspaceBytes;
    check_cublaslt(cublasLtMatmulPreferenceSetAttribute(preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                        &workspace_bytes, sizeof workspace_bytes),
                   "limiting its workspace");
    int offered = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle_.get(), description_.get(), left_.get(), right_.get(), result_.get(),
                                       result_.get(), preference.get(), 1, &chosen_, &offered);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && offered == 0)) return false;
    check_cublaslt(status, "asking its heuristic");
    return true;
  }

  at::Tensor multiply() {
    // Both scalars are read as the scale's type: 1 and 0 are written in either.
    const double wide[2] = {1, 0};
    const float narrow[2] = {1, 0};
    const bool is_wide = types_.scale == CUDA_R_64F;
    const void* one = is_wide ? static_cast<const void*>(&wide[0]) : &narrow[0];
    const void* zero = is_wide ? static_cast<const void*>(&wide[1]) : &narrow[1];
    check_cublaslt(
        cublasLtMatmul(handle_.get(), description_.get(), one, b_.data_ptr(), left_.get(), a_.data_ptr(), right_.get(),
                       zero, c_.data_ptr(), result_.get(), c_.data_ptr(), result_.get(), &chosen_.algo,
                       workspace_.data_ptr(), kWorkspaceBytes, c10::cuda::getCurrentCUDAStream().stream()),
        "a product");
    return c_;
  }

  // The numbers are cuBLASLt's: two stacks that show the same ones run the same kernel if their cuBLAS is one release.
  // Not every algorithm has every setting, and a probe is not to fail for the description of a product that it can do.
  std::string algorithm() const {
    struct Setting {
      const char* name;
      cublasLtMatmulAlgoConfigAttributes_t attribute;
    };
    constexpr std::array kSettings = {
        Setting{"algorithm", CUBLASLT_ALGO_CONFIG_ID}, Setting{"tile", CUBLASLT_ALGO_CONFIG_TILE_ID},
        Setting{"stages", CUBLASLT_ALGO_CONFIG_STAGES_ID}, Setting{"split-K", CUBLASLT_ALGO_CONFIG_SPLITK_NUM},
        Setting{"reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME}};
    std::string text;
    for (const Setting& setting : kSettings) {
      std::uint32_t value = 0;
      std::size_t bytes = 0;
      const cublasStatus_t status =
          cublasLtMatmulAlgoConfigGetAttribute(&chosen_.algo, setting.attribute, &value, sizeof value, &bytes);
      text += (text.empty() ? "" : ", ") + std::string(setting.name) + " " +
              (status == CUBLAS_STATUS_SUCCESS ? std::to_string(value) : "cannot be read");
    }
    return text;
  }

 private:
  // Of a row-major (rows, columns) matrix, seen as the column-major one of its transpose.
  Owned<cublasLtMatrixLayout_t> layout_of(const at::Tensor& matrix) const {
    const auto rows = static_cast<std::uint64_t>(matrix.size(0));
    const auto columns = static_cast<std::uint64_t>(matrix.size(1));
    cublasLtMatrixLayout_t layout = nullptr;
    check_cublaslt(cublasLtMatrixLayoutCreate(&layout, types_.operands, columns, rows, matrix.size(1)),
                   "describing a matrix");
    return Owned<cublasLtMatrixLayout_t>(layout);
  }

  at::Tensor a_;
  at::Tensor b_;
  at::Tensor c_;
  at::Tensor workspace_;
  ProductTypes types_;
  Owned<cublasLtHandle_t> handle_;
  Owned<cublasLtMatmulDesc_t> description_;
  Owned<cublasLtMatrixLayout_t> left_;
  Owned<cublasLtMatrixLayout_t> right_;
  Owned<cublasLtMatrixLayout_t> result_;
  cublasLtMatmulHeuristicResult_t chosen_{};
};

}  // namespace

CublasLtProduct cublaslt_product(const at::Tensor& a, const at::Tensor& b, bool tf32) {
  const auto product = std::make_shared<Product>(a, b, tf32);
  if (!product->choose()) return {nullptr, "cuBLASLt offers no algorithm for it"};
  return {[product] { return product->multiply(); }, product->algorithm()};
}

}  // namespace reprobench

#else

namespace reprobench {

CublasLtProduct cublaslt_product(const at::Tensor&, const at::Tensor&, bool) {
  return {nullptr, "the stack had no header of cuBLASLt when this worker was built"};
}

}  // namespace reprobench

#endif
