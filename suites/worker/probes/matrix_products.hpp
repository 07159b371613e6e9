// Matrix products of random numbers, checked against fp64 and then timed: the probe device_compute consists of them,
// and a training's speed is compared with them (gemm_peak.hpp).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace c10 {
enum class ScalarType : std::int8_t;
}

namespace reprobench {

class ProbeRun;

struct ProductDtype {
  const char* name;      // "fp32"
  c10::ScalarType type;  // of the operands
  bool tf32;             // the operands are fp32 and the product may round them
};
std::span<const ProductDtype> product_dtypes();

// Turns TF32 on for the one dtype that means it; afterwards products are IEEE again.
class Tf32Scope {
 public:
  explicit Tf32Scope(bool on);
  ~Tf32Scope();
  Tf32Scope(const Tf32Scope&) = delete;
  Tf32Scope& operator=(const Tf32Scope&) = delete;
};

// A product of (rows, depth) by (depth, columns), which takes 2 rows columns depth operations.
struct ProductShape {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;

  double flop() const { return 2.0 * static_cast<double>(rows) * static_cast<double>(columns * depth); }
};

// {64, 32} -> "64x32".
std::string shape_text(std::initializer_list<std::int64_t> extents);

// Measures `gemm` of one shape in each of `dtypes`. With `through_libraries`, a GPU also does it by cuBLASLt itself,
// without LibTorch between.
void measure_products(ProbeRun& run, const ProductShape& shape, std::span<const ProductDtype> dtypes,
                      bool through_libraries);

}  // namespace reprobench
