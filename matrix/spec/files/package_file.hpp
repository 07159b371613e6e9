// A user's AOTInductor package: a zip archive that PyTorch's `aoti_compile_and_package` wrote, with the compiled
// forward pass of a model. What is in it is read by a stack's own loader alone
// (suites/worker/probes/package_loader.hpp); here it is named by what it holds.
#pragma once

#include <string>

#include "matrix/spec/spec_error.hpp"

namespace reprobench {

struct PackageFile {
  std::string file;  // absolute
  std::string sha256;
};

// Reads all of it. Throws SpecError: RB027 nothing that can be read, RB045 no whole zip archive.
PackageFile read_package_file(const std::string& path);

}  // namespace reprobench
