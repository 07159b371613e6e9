// The mixes of two stacks of wheels: hybrids of both (declared_hybrids.hpp).
#pragma once

#include <string>
#include <vector>

#include "matrix/cli/bisected_stacks.hpp"
#include "matrix/cli/component_mixes.hpp"
#include "matrix/cli/project.hpp"

namespace reprobench {

// Whether these two have mixes: both are of wheels and installed, and every file belongs to a package.
bool have_hybrids(const Project& project, const std::string& good, const std::string& bad);

// Throws UsageError unless this component of both, stacks of wheels, can be exchanged and is not the same in both.
void require_exchangeable(const Project& project, const std::string& a, const std::string& b,
                          const std::string& component);

class HybridMixes : public ComponentMixes {
 public:
  // Throws UsageError if an end is not of wheels, and ProvisionError if it is not installed.
  HybridMixes(const Project& project, BisectedStacks& stacks, std::string good, std::string bad);

  std::vector<std::string> names() const override { return names_; }
  std::vector<DifferingComponent> components() const override;
  MixedStack made_with(const std::vector<std::string>& from_bad) override;
  std::string making(const std::vector<std::string>& from_bad) const override;
  void keep_only(const std::vector<std::string>& stacks) override;

 private:
  const Project& project_;
  BisectedStacks& stacks_;
  std::string good_;
  std::string bad_;
  std::vector<std::string> names_;
  std::vector<std::string> made_;  // hybrids that were not there before
};

}  // namespace reprobench
