// The component of the stack that implements an operator, and the differences of the two sides of a comparison.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/numerics/steps/fingerprint_differences.hpp"

namespace reprobench {

// Differences in planted faults, knobs as they were set, component versions, BLAS provider, vector instructions and
// device; also knobs that were set alike and had different values. Consequences of these, such as the build of each
// library, are not named beside them.
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

// The likeliest of `differences` for an operator (empty: no operator). The order is: a planted fault if there is one; a
// knob that was set differently; the only difference; the library that implements the operator, if it differs; the
// release of torch, which has all other kernels.
Suspect suspect_of(const std::string& operator_name, const std::vector<SideDifference>& differences);

// Whether LibTorch's own loops do an operator's work, and no library that LibTorch calls.
bool is_of_torch_alone(const std::string& operator_name);

}  // namespace reprobench
