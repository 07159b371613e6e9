// A device that fails is infrastructure; the same failure on a second device under the same stack is the stack's doing,
// or its driver's, and both are what is tested here (reliability rule R8).
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "matrix/evidence/run_record.hpp"

namespace reprobench {

class RepeatedFaults {
 public:
  // An attempt of `stack`; one without a device fault changes nothing.
  void add(const std::string& stack, const AttemptRecord& attempt);

  // Whether this attempt's device fault was met on two devices or more.
  bool is_of_stack(const std::string& stack, const AttemptRecord& attempt) const;

 private:
  std::map<std::pair<std::string, std::string>, std::set<std::string>> devices_;  // by stack and fault
};

}  // namespace reprobench
