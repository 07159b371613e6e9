// Operations of a training that different library code computed on the two sides. A change is no failure: it shows
// where other bits and other speed may come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/result.hpp"
#include "matrix/numerics/steps/fingerprint_differences.hpp"

namespace reprobench {

struct ImplementationChanges {
  // "aten::addmm (512), (32,784), (784,512) float32", with its implementation on each side; empty if that side has no
  // such operation. Operations in which a library took part come first, then the others, both by name.
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

// Nothing if neither side reports any, as for probes and for older workers.
std::optional<ImplementationChanges> implementation_changes(const CellResult& measured, const CellResult& expected);

// "aten::addmm (512), (32,784), (784,512) float32: `mkl SGEMM for AVX2` against `aten AVX2`"
std::string change_text(const SideDifference& change);

}  // namespace reprobench
