// What people read of a form: lanes, threads, what is fused, and in which numbers images add.
#include <algorithm>

#include "ci/catch.hpp"
#include "matrix/orders/formed_output.hpp"

namespace reprobench {
namespace formed_shapes_test {
namespace {

const std::string kSoftmax = "_softmax(f32[6, 37], -1, false)";
const std::string kLogSoftmax = "_log_softmax(f32[6, 37], -1, false)";
const std::string kNorm = "native_batch_norm(f32[3, 4, 5, 5], f32[4], f32[4], f32[4], f32[4], true, 0.1, 1e-5)";
const std::string kRowNorm = "native_batch_norm(f32[20, 4], f32[4], f32[4], f32[4], f32[4], true, 0.1, 1e-5)";

struct Case {
  std::string call, output, text, shape;
};

std::string shape_of(const Case& one) {
  std::string why_not;
  const auto forms = formed_output(parse_call(one.call), one.output, why_not);
  REQUIRE(forms);
  for (std::size_t form = 0; form < forms->forms(); ++form) {
    if (forms->text(form) == one.text) return forms->shape(form);
  }
  return "no form has this text";
}

TEST_CASE("the shape of a softmax's form says its exponential, lanes and what follows the sum", "[formed]") {
  const Case one = GENERATE(values<Case>({
      {kSoftmax, "output.0", "softmax exp=sleef lanes=16 times", "Sleef's exponentials in 16 lanes, times 1 / sum"},
      {kSoftmax, "output.0", "softmax exp=short lanes=8 divided", "short exponentials in 8 lanes, divided"},
      {kSoftmax, "output.0", "softmax exp=sleef lanes=8 in turn times",
       "Sleef's exponentials in 8 lanes in turn, times 1 / sum"},
      {kLogSoftmax, "output.0", "log_softmax exp=sleef lanes=16 apart", "Sleef's exponentials in 16 lanes"},
      {kLogSoftmax, "output.0", "log_softmax exp=sleef lanes=16 together",
       "Sleef's exponentials in 16 lanes, largest and logarithm taken away together"},
      {kSoftmax, "gradient.0", "softmax exp=sleef lanes=16 times; dsoftmax lanes=8 sums=rf",
       "Sleef's exponentials in 16 lanes, times 1 / sum; dy y in 8 lanes, not fused but in the rest"},
      {kLogSoftmax, "gradient.0", "log_softmax exp=sleef lanes=16 apart; dlog_softmax exp=sleef lanes=8 element=f",
       "Sleef's exponentials in 16 lanes; dy in 8 lanes, Sleef's exponentials, fused"},
      {kLogSoftmax, "gradient.0", "log_softmax exp=sleef lanes=16 apart; dlog_softmax exp=sleef lanes=8 element=r",
       "Sleef's exponentials in 16 lanes; dy in 8 lanes, Sleef's exponentials, not fused"},
  }));
  CAPTURE(one.text);
  CHECK(shape_of(one) == one.shape);
}

TEST_CASE("the shape of a batch norm's form says how threads or lanes add, and what is fused", "[formed]") {
  const Case one = GENERATE(values<Case>({
      {kNorm, "output.0", "batch_norm y shift=f element=f", "x alpha + beta, fused"},
      {kNorm, "output.0", "batch_norm y shift=r element=r", "x alpha + beta, not fused"},
      {kNorm, "output.0", "batch_norm y shift=r element=f", "x alpha + beta, fused but in beta"},
      {kNorm, "output.0", "batch_norm y shift=f element=r", "x alpha + beta, not fused but in beta"},
      {kNorm, "output.1", "batch_norm mean", "elements one after the other in fp64"},
      {kNorm, "output.2", "batch_norm root", "mean and squares one after the other in fp64"},
      {kNorm, "gradient.0", "batch_norm root; dbatch_norm x lanes=8 sums=rr wide element=f",
       "images in 8 lanes, not fused, then in fp64; each element fused"},
      {kNorm, "gradient.0", "batch_norm root; dbatch_norm x lanes=16 sums=fr narrow element=r",
       "images in 16 lanes, fused but in the rest, then in fp32; no element fused"},
      {kNorm, "gradient.1", "batch_norm root; dbatch_norm weight lanes=8 sums=ff wide",
       "images in 8 lanes, fused, then in fp64"},
      {kNorm, "gradient.2", "dbatch_norm bias lanes=8 wide", "images in 8 lanes, then in fp64"},
      {kRowNorm, "output.0", "batch_norm y threads=2 squares=f shift=f element=f",
       "pixels one after the other by 2 threads, fused; x alpha + beta, fused"},
      {kRowNorm, "output.0", "batch_norm y threads=32 squares=r shift=f element=f",
       "pixels one after the other by 32 threads, not fused; x alpha + beta, fused"},
      {kRowNorm, "output.1", "batch_norm mean threads=1", "pixels one after the other"},
      {kRowNorm, "output.2", "batch_norm root threads=3 squares=r",
       "pixels one after the other by 3 threads, not fused"},
      {kRowNorm, "gradient.0", "batch_norm root threads=2 squares=f; dbatch_norm x threads=2 sums=r element=f",
       "pixels one after the other by 2 threads, not fused; each element fused"},
      {kRowNorm, "gradient.1", "batch_norm root threads=1 squares=f; dbatch_norm weight threads=1 sums=f",
       "pixels one after the other, fused"},
      {kRowNorm, "gradient.2", "dbatch_norm bias threads=2", "pixels one after the other by 2 threads"},
  }));
  CAPTURE(one.text);
  CHECK(shape_of(one) == one.shape);
}

}  // namespace
}  // namespace formed_shapes_test
}  // namespace reprobench
