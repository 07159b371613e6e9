// Which of many selection rules can match a cell, without asking each of them. 20,000 rules over 20,000 cells take two
// look-ups for each cell, not 400 million comparisons.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "matrix/spec/matrix_spec.hpp"

namespace reprobench {

class SelectionIndex {
 public:
  explicit SelectionIndex(const std::vector<SelectionRule>& rules);

  // Calls `visit` once with the index of each rule that may match, and perhaps of some that do not.
  template <class Visit>
  void for_each_candidate(const CoordinateLookup& cell, Visit visit) const {
    for (const std::size_t rule : unindexed_) visit(rule);
    for (const auto& [name, rules_of_value] : rules_of_) {
      const auto value = cell(name);
      if (!value) continue;
      const auto found = rules_of_value.find(std::string(*value));
      if (found == rules_of_value.end()) continue;
      for (const std::size_t rule : found->second) visit(rule);
    }
  }

 private:
  std::vector<std::size_t> unindexed_;  // rules that demand no single value of any coordinate
  std::map<std::string, std::unordered_map<std::string, std::vector<std::size_t>>> rules_of_;  // by name, then value
};

}  // namespace reprobench
