// The order in which a side adds up, as far as its fingerprint tells: threads, vector lanes, fused products, libraries.
//
// Example: a sum of n terms by one thread is one chain of n additions, by two threads it is two chains of n / 2. One
// side is then closer to fp64 than the other, and both are right. Where two sides add up alike their pooled errors lie
// close together (kLegitimateRatio); where they do not, any order of that many terms is right (order_error_rel()), and
// a calibration may have measured these two.
#pragma once

#include <string>

#include "matrix/contract/knob.hpp"
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
  std::string attention;  // in single operators or by which of LibTorch's fused ones; empty: the model's own default

  bool operator==(const SummationOrder& other) const = default;
};

// The order of a process with this fingerprint and these resolved knobs. The instructions that ATen dispatches to are
// those of the host, unless a variable caps them.
SummationOrder summation_order_of(const Fingerprint& fingerprint, const KnobValues& knobs);

// The order of the same process with one knob at another value; the knob must be one that changes how it adds up.
SummationOrder summation_order_with(const std::string& knob, const std::string& value, Fingerprint fingerprint,
                                    const KnobValues& knobs);

// "threads: 1; aten: 16 lanes, fused; ...".
std::string to_text(const SummationOrder& order);

// "1 against 2 threads; mkl with 16 against 4 lanes, fused against unfused". Empty if they are the same.
std::string difference_between(const SummationOrder& a, const SummationOrder& b);

}  // namespace reprobench
