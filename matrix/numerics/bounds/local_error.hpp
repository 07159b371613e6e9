// Class B1: compares the output of one operator call with fp64 from the same recorded inputs, by a bound that follows
// from how it computes. Correctly rounded operators and functions have their documented error in units in the last
// place. Sums of products have gamma_K with the sum of their sizes, and normalisations combine these. No bound is
// fitted.
//
// A bound holds for every order of summation, so it is wide if many terms are added. An error beyond it is a defect; an
// error within it may still be one. Outputs are of fp32, or of 16 bits if the operator is known to compute in fp32 and
// to round what it stores. An output without a bound is reported as such.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "matrix/contract/operator_record.hpp"
#include "matrix/record/safetensors.hpp"

namespace reprobench {

struct LocalError {
  double error_rel = 0;            // relative L2 against fp64
  std::optional<double> of_bound;  // the largest share of its bound that an element's error takes; above 1: a defect
  std::int64_t worst = 0;          // the element with that share
  std::string source;              // source of the bound
  std::string no_bound;            // why there is none
};

template <>
struct Description<LocalError> {
  static constexpr About about = About::part("local_error", "An output against fp64 from the same recorded inputs.");
  static void fields(auto& field, LocalError& error) {
    field("error_rel", error.error_rel, "Relative L2.");
    field("of_bound", error.of_bound, "The largest share of its bound that an element's error takes; above 1: beyond.");
    field("worst", error.worst, rule::at_least(0).says("That element, logical, row-major."));
    field("source", error.source, "Of the bound.");
    field("no_bound", error.no_bound, "Why there is none.");
  }
};

struct LocalSettings {
  bool rounds_inputs_to_tf32 = false;       // for matrix products
  bool may_transform_convolutions = false;  // to Winograd's algorithm or FFT, which round more than sums do
  bool may_sum_in_16_bits = false;          // products of 16-bit matrices, or parts of their sums
  std::int64_t threads = 1;                 // of a CPU; they share out rows; 0: a GPU
};

// `tensors` are as a worker captured them (contract/replay.hpp): input.I, output.I, fp64.I, magnitude.I. Nothing if the
// output has no fp64 form.
std::optional<LocalError> local_error(const OperatorRecord& call, std::size_t output,
                                      std::span<const TensorView> tensors, const LocalSettings& settings = {});

}  // namespace reprobench
