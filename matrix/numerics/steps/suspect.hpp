// Which component of the stack stands behind an operator, and in what the two sides of a comparison differ.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/numerics/steps/fingerprint_differences.hpp"

namespace reprobench {

// Planted faults, knobs as they were set, component versions, BLAS provider, vector instructions and device; knobs that
// were set alike and came to otherwise. What follows from these, such as the build of each library, is not named beside
// them.
std::vector<SideDifference> side_differences(const CellRequest& measured_request, const CellResult& measured,
                                             const CellRequest& expected_request, const CellResult& expected);

struct Suspect {
  std::string component;  // "blas", "torch", "knob threads", "planted fault"
  std::string sentence;
};

template <>
struct Description<Suspect> {
  static constexpr About about = About::part("suspect");
  static void fields(auto& field, Suspect& suspect) {
    field("component", suspect.component);
    field("sentence", suspect.sentence);
  }
};

// The likeliest of `differences` for an operator (empty: no operator): a planted fault if there is one, then a
// knob that was set otherwise, then the only difference, then the library that implements the operator if it differs,
// then the release of torch, whose kernels are all the rest.
Suspect suspect_of(const std::string& operator_name, const std::vector<SideDifference>& differences);

}  // namespace reprobench
