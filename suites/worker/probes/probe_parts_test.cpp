// What probes are made of: bounds, references, signatures, patterns.
#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>

#include "ci/catch.hpp"
#include "suites/worker/probes/capacity.hpp"
#include "suites/worker/probes/error_bound.hpp"
#include "suites/worker/probes/exact_product.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/probes/rounding.hpp"

namespace reprobench {
namespace {

TEST_CASE("error bounds follow their formulas", "[probe]") {
  CHECK(product_error_bound_rel("fp32", 4096) == Approx(64 * 0x1p-24));
  CHECK(product_error_bound_rel("fp64", 4096) == Approx(64 * 0x1p-53));
  CHECK(product_error_bound_rel("bf16", 4096) == 6e-3);
  CHECK(product_error_bound_rel("bf16", 64) == 6e-3);
  CHECK(attention_error_bound_rel("fp32", 64, 256) == Approx((8 + 16) * 0x1p-24));
  CHECK_THROWS_AS(product_error_bound_rel("int8", 4), std::invalid_argument);
}

TEST_CASE("rates come in the unit of their operation", "[probe]") {
  CHECK(in_unit("GB/s", 3e9, 1e9) == 3);
  CHECK(in_unit("TFLOP/s", 2e12, 1e9) == 2);
  CHECK(in_unit("ns", 100, 500) == 5);
  CHECK_THROWS_AS(in_unit("bytes", 1, 1), std::invalid_argument);
}

TEST_CASE("the rounding signature tells IEEE, TF32 and bf16 operands apart", "[probe]") {
  const at::Tensor operand = rounding_probe_operand();
  CHECK(kept_significand_bits(operand) == 24);
  CHECK(kept_significand_bits(at::mm(at::eye(23), operand.view({-1, 1}))) == 24);
  CHECK(kept_significand_bits(operand.to(at::kBFloat16).to(at::kFloat)) == 8);
  // fp16 keeps 11 significand bits, as TF32 does.
  CHECK(kept_significand_bits(operand.to(at::kHalf).to(at::kFloat)) == 11);
}

TEST_CASE("the fp64 reference product is itself held against long double", "[probe]") {
  const at::Tensor a = at::randn({40, 64});
  const at::Tensor b = at::randn({64, 50});
  at::Tensor product = exact_product(a, b);
  CHECK(worst_element_error_rel(product, a, b, 64) < 1e-15);
  product[0][0] += 1e-9;
  CHECK(worst_element_error_rel(product, a, b, 64) > 1e-12);
  product[0][0] = std::nan("");
  CHECK(std::isnan(worst_element_error_rel(product, a, b, 64)));
}

TEST_CASE("a NaN is never close to anything", "[probe]") {
  const at::Tensor exact = at::randn({4}).to(at::kDouble);
  CHECK(close_to(exact, exact, 1e-9).right);
  CHECK_FALSE(close_to(exact.mul(1 + 1e-6), exact, 1e-9).right);
  at::Tensor result = exact.clone();
  result[1] = std::nan("");
  CHECK_FALSE(close_to(result, exact, 1e9).right);
}

TEST_CASE("an address pattern finds the one word that is not its own address", "[probe]") {
  std::vector<at::Tensor> blocks = allocate_blocks(at::Device(at::kCPU), std::int64_t{128} << 20);
  REQUIRE(blocks.size() == 2);
  for (const bool complemented : {false, true}) {
    write_addresses(blocks, complemented);
    CHECK(verify_addresses(blocks, complemented).wrong_words == 0);
    CHECK(verify_addresses(blocks, complemented).verified_bytes == std::int64_t{128} << 20);
    CHECK(verify_addresses(blocks, !complemented).verified_bytes == 0);
  }
  // An address line stuck at 0 would make a block answer for its neighbour.
  write_addresses(blocks, false);
  blocks[1].copy_(blocks[0]);
  CHECK(verify_addresses(blocks, false).wrong_words == blocks[1].numel());
}

}  // namespace
}  // namespace reprobench
