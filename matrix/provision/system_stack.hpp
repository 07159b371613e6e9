// Whether the LibTorch that a `system` stack declares is the one of this host.
#pragma once

#include <functional>
#include <string>

#include "matrix/spec/stack_spec.hpp"

namespace reprobench {

// Version of an installed distribution package ("1.13.1+dfsg-4"); empty if it is not installed or cannot be asked.
using PackageVersion = std::function<std::string(const std::string& package)>;

// Asks dpkg-query; empty if there is none.
std::string installed_package_version(const std::string& package);

// The first folder in a system stack's file that is outside of /usr, /lib and /lib64, which only the administrator
// fills; empty if there is none.
std::string folder_not_of_system(const StackSpec& spec);

// One sentence on why it is not; empty if it is. The headers decide. If only their patch number disagrees, the package
// decides: Debian's libtorch-dev 1.13.1+dfsg ships headers that say 1.13.0.
std::string find_system_problem(const StackSpec& spec, const PackageVersion& package_version);

}  // namespace reprobench
