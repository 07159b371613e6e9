// stack.json: the record of a stack's installation. It is written last, so its presence means that the installation is
// complete.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "matrix/provision/wheel_unpack.hpp"

namespace reprobench {

struct StackManifest {
  std::string name;
  std::string digest;
  bool with_gpu = false;            // all wheels of the lock, not only the CPU part
  std::vector<std::string> wheels;  // file names
  std::vector<UnpackedFile> files;  // the shared libraries below site/; `verify` hashes them again
  std::int64_t size_bytes = 0;      // size of everything below site/
};

// Writes a temporary file, fsync, rename, fsync of the folder. Everything below the folder reaches the disk before it.
// Throws ProvisionError.
void write_manifest(const std::filesystem::path& folder, const StackManifest& manifest);

// Throws ContractError if the document is damaged.
StackManifest read_manifest(const std::filesystem::path& folder);

bool has_manifest(const std::filesystem::path& folder);

}  // namespace reprobench
