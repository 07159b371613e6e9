// Compares the nccl-tests files of two sides: time and bus bandwidth of each size and placement, and a startup time and
// a bandwidth fitted to all sizes of one kind of call.
//
// A file holds one mean for each size, so it does not show how far that mean would move on a second run. The n-th file
// of one side and the n-th of the other are a pair; fewer pairs than an interval needs judge nothing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "matrix/contract/outcome.hpp"
#include "matrix/inquiry/nccl_tests/nccl_tests.hpp"
#include "matrix/stats/paired_ratio.hpp"
#include "matrix/stats/transfer_fit.hpp"

namespace reprobench {

struct NcclTestsRatio {
  std::string name;                   // as NcclTestsTiming::name()
  double measured_us = 0;             // median over the files of a side
  double reference_us = 0;            // the same
  double measured_gb_per_s = 0;       // bus bandwidth
  double reference_gb_per_s = 0;      // the same
  std::optional<RatioInterval> time;  // measured / reference, of several pairs
  CheckStatus status = CheckStatus::inconclusive;
};

// Recorded, not judged: which part of a difference every call has, and which part only large ones have.
struct NcclTestsFits {
  std::string name;  // "float sum root -1 in place"
  std::optional<TransferFit> measured;
  std::optional<TransferFit> reference;
};

struct NcclTestsComparison {
  std::vector<NcclTestsRatio> ratios;
  std::vector<NcclTestsFits> fits;
  std::vector<std::string> undecided;  // why the sides cannot be compared, in whole or part

  CheckStatus status() const;
};

// `margin` is 0.05 for 5 %. Whether the files themselves pass is not looked at.
NcclTestsComparison compare_nccl_tests(std::span<const NcclTestsFile> measured,
                                       std::span<const NcclTestsFile> reference, double margin);

}  // namespace reprobench
