#include "matrix/plan/selection_index.hpp"

#include <set>

namespace reprobench {

// A rule stands under one of the coordinates it demands: the one that the fewest rules share the values of.
SelectionIndex::SelectionIndex(const std::vector<SelectionRule>& rules) {
  std::unordered_map<std::string, std::size_t> demands;  // how many rules demand this value, by "name=value"
  const auto key = [](const std::string& name, const std::string& value) { return name + "=" + value; };
  for (const SelectionRule& rule : rules) {
    for (const auto& [name, values] : rule.where.necessary()) {
      for (const std::string& value : values) ++demands[key(name, value)];
    }
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto necessary = rules[i].where.necessary();
    const std::pair<std::string, std::vector<std::string>>* rarest = nullptr;
    std::size_t fewest = 0;
    for (const auto& candidate : necessary) {
      std::size_t sharing = 0;
      for (const std::string& value : candidate.second) sharing += demands[key(candidate.first, value)];
      if (rarest == nullptr || sharing < fewest) rarest = &candidate;
      if (rarest == &candidate) fewest = sharing;
    }
    if (rarest == nullptr) {
      unindexed_.push_back(i);
      continue;
    }
    // A value may be listed twice, and a rule is visited once.
    for (const std::string& value : std::set<std::string>(rarest->second.begin(), rarest->second.end())) {
      rules_of_[rarest->first][value].push_back(i);
    }
  }
}

}  // namespace reprobench
