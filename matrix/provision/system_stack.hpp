// Is the LibTorch that a `system` stack declares the one this host has?
#pragma once

#include <functional>
#include <string>

#include "matrix/spec/stack_spec.hpp"

namespace reprobench {

// Version of an installed distribution package ("1.13.1+dfsg-4"); empty if it is not installed or cannot be asked.
using PackageVersion = std::function<std::string(const std::string& package)>;

// Asks dpkg-query; empty where there is none.
std::string installed_package_version(const std::string& package);

// The first folder that a system stack's file names outside of /usr, /lib and /lib64, which only the administrator
// fills; empty: none.
std::string folder_not_of_system(const StackSpec& spec);

// One sentence on why not; empty if it is. The headers decide, and where only their patch number disagrees the package
// does: Debian's libtorch-dev 1.13.1+dfsg ships headers that say 1.13.0.
std::string find_system_problem(const StackSpec& spec, const PackageVersion& package_version);

}  // namespace reprobench
