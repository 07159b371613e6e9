// Problems of a PyTorch that somebody else installed, as far as its packages and its Python show them.
#pragma once

#include <string>
#include <vector>

#include "matrix/provision/package_metadata.hpp"
#include "matrix/provision/torch_release.hpp"

namespace reprobench {

struct EnvironmentProblem {
  bool is_fatal = false;  // no stack can be made of it
  std::string text;       // what is wrong, and what would help
};

// `what; remedy`.
EnvironmentProblem fatal_problem(const std::string& what, const std::string& remedy);

// Reports one PyTorch over another, packages that overwrite each other, and versions other than torch asks for.
std::vector<EnvironmentProblem> find_package_problems(const std::vector<InstalledPackage>& packages,
                                                      const TorchPlace& place, const TorchRelease& release);

// Reports a PyTorch that belongs to another Python than the one that found it, or that is outside its environment.
// Nothing if no Python was asked.
std::vector<EnvironmentProblem> find_python_problems(const TorchPlace& place);

// The command that installs the PyTorch of a place again.
std::string reinstallation(const TorchPlace& place, const std::string& version);

}  // namespace reprobench
