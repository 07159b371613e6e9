// Which tensor of one side is which of the other: by role and name, the second of a name with the second. Two sides may
// record different modules, as attention in one operator has no module for its softmax, and everything behind it then
// stands at other places.
#pragma once

#include <vector>

#include "matrix/evidence/run_record.hpp"

namespace reprobench {

struct TensorPair {
  const TensorRecord* measured = nullptr;  // null: the expected side alone has it
  const TensorRecord* expected = nullptr;  // null: the measured side alone has it

  bool is_whole() const { return measured != nullptr && expected != nullptr; }
  const TensorRecord& named() const { return measured != nullptr ? *measured : *expected; }
};

// In the measured side's order; what the expected side alone has comes last. They point into the two records.
std::vector<TensorPair> tensor_pairs(const TensorsRecord& measured, const TensorsRecord& expected);

}  // namespace reprobench
