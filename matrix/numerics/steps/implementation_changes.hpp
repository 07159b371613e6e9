// Which operations of a training other library code computed on the one side than on the other. A change is no failure:
// it tells where other bits and other speed may come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/result.hpp"
#include "matrix/numerics/steps/fingerprint_differences.hpp"

namespace reprobench {

struct ImplementationChanges {
  // "aten::addmm (512), (32,784), (784,512) float32", with what computed it on each side; empty: that side has no such
  // operation. Those that a library had a part in come first, each part by its name.
  std::vector<SideDifference> changed;
  std::int64_t compared = 0;            // operations whose implementation is known on both sides
  std::vector<std::string> incomplete;  // sentences: what is not known, and of which side
};

template <>
struct Description<ImplementationChanges> {
  static constexpr About about =
      About::part("implementation_changes", "Operations that other library code computed on the two sides.");
  static void fields(auto& field, ImplementationChanges& changes) {
    field("changed", changes.changed, "By operation, shapes and type; empty: that side has no such operation.");
    field("compared", changes.compared, rule::at_least(0).says("Operations that are known on both sides."));
    field("incomplete", changes.incomplete, "Sentences: what is not known, and of which side.");
  }
};

// Nothing where neither side tells anything, as of probes and of workers of before.
std::optional<ImplementationChanges> implementation_changes(const CellResult& measured, const CellResult& expected);

// "aten::addmm (512), (32,784), (784,512) float32: `mkl SGEMM for AVX2` against `aten AVX2`"
std::string change_text(const SideDifference& change);

}  // namespace reprobench
