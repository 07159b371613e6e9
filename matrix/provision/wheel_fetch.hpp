// Wheels by lock, through pip.
//
// pip knows indexes, mirrors, proxies and credentials of the site it runs on; it is only ever told which file to bring.
// The tags it is asked for are those in the file name of the lock, so the Python that runs pip may be of any version.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "matrix/provision/lock_file.hpp"
#include "matrix/provision/progress.hpp"

namespace reprobench {

// First Python that has pip: $REPROBENCH_PYTHON, python3 on PATH, /usr/bin/python3. Throws ProvisionError if none has.
std::string find_python_with_pip();

// Brings every wheel into `downloads` unless a file with its hash is there, one after the other; `staging` is a folder
// only the caller uses, on the same file system. `shepherd` ends a download with this process. `python` is the Python
// version the wheels are for, "3.12". Throws ProvisionError for a wrong hash (the file is removed), no network, no pip
// or no space; wheels fetched before that stay.
void fetch_wheels(const std::vector<LockedWheel>& wheels, const std::string& python,
                  const std::filesystem::path& downloads, const std::filesystem::path& staging,
                  const std::filesystem::path& shepherd, const PhaseSink& progress);

// Throws ProvisionError and removes the file unless its content has the hash of the lock.
void require_locked_hash(const LockedWheel& wheel, const std::filesystem::path& file);

}  // namespace reprobench
