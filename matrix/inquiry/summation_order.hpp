// How far apart two correct sides' rounding errors may lie because they add up in another order.
//
// Example: a sum of n terms by one thread is one chain of n additions, by two threads it is two chains of n / 2. Where
// all terms have one sign an error grows with the length of its chain, so one side may be twice as far from fp64 as
// the other, and both are right. Limits here follow from what each side may do, and from no host's measurement:
//
//   threads       t against one: t chains for one, up to t times
//   vector lanes  16 fp32 lanes (AVX-512) against 4 (SSE): 4 chains for one, up to 4 times
//   fused         a product that is rounded before it is added brings one rounding more a term: twice the variance at
//                 most, up to the square root of two (n independent terms: 1.15)
//   library       another one's blocks: four chains for one of mixed signs, up to twice (kLegitimateRatioOfLibraries)
//
// A sum is made by one of three: ATen's kernels, oneDNN's, or the library of matrix products. The widest of their
// limits is the limit of a whole gradient; the part that both sides inherit alike only makes the true ratio smaller.
#pragma once

#include <string>

#include "matrix/contract/result.hpp"

namespace reprobench {

// The kernels of one library.
struct SummingKernels {
  std::string library;   // "aten", "onednn", "mkl", "openblas"
  int lanes = 16;        // fp32 numbers in a vector register
  bool is_fused = true;  // multiply-add with one rounding

  bool operator==(const SummingKernels& other) const = default;
};

struct SummationOrder {
  int threads = 1;
  SummingKernels aten;
  SummingKernels onednn;
  SummingKernels products;

  bool operator==(const SummationOrder& other) const = default;
};

// What a process with this fingerprint does: by what ATen dispatches to, and by the variables that cap the others.
SummationOrder summation_order_of(const Fingerprint& fingerprint);

// The fingerprint of the same process with one knob at another value, of those that change how it adds up.
Fingerprint with_knob(Fingerprint fingerprint, const std::string& knob, const std::string& value);

// "1 thread; aten: 16 lanes, fused; ...".
std::string to_text(const SummationOrder& order);

// Largest ratio, of at least 1, that the two orders explain; 1 where they are the same.
double largest_ratio_between(const SummationOrder& a, const SummationOrder& b);

// "1 against 2 threads; mkl with 16 against 4 lanes, fused against unfused": what makes that ratio. Empty where they
// are the same.
std::string difference_between(const SummationOrder& a, const SummationOrder& b);

}  // namespace reprobench
