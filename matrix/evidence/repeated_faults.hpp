// A device that fails once is a fault of the infrastructure. The same failure on a second device under the same stack
// is caused by the stack or its driver, which are tested here (reliability rule R8).
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "matrix/evidence/run_record.hpp"

namespace reprobench {

class RepeatedFaults {
 public:
  // Adds an attempt of `stack`. One without a device fault changes nothing.
  void add(const std::string& stack, const AttemptRecord& attempt);

  // Whether this attempt's device fault was met on two devices or more.
  bool is_of_stack(const std::string& stack, const AttemptRecord& attempt) const;

 private:
  std::map<std::pair<std::string, std::string>, std::set<std::string>> devices_;  // by stack and fault
};

}  // namespace reprobench
