// A user's AOTInductor package: a zip archive that PyTorch's `aoti_compile_and_package` wrote, with the compiled
// forward pass of a model. Only a stack's own loader reads its content (suites/worker/probes/package_loader.hpp); here
// it is named by its SHA-256.
#pragma once

#include <string>

#include "matrix/spec/spec_error.hpp"

namespace reprobench {

struct PackageFile {
  std::string file;  // absolute
  std::string sha256;
};

// Reads all of it. Throws SpecError: RB027 if it cannot be read, RB045 if it is no complete zip archive.
PackageFile read_package_file(const std::string& path);

}  // namespace reprobench
