// Fetches wheels by lock, through pip.
//
// pip knows indexes, mirrors, proxies and credentials of the site it runs on; it is only told which file to fetch. It
// is asked for the tags in the file name of the lock, so the Python that runs pip may be of any version.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "matrix/provision/lock_file.hpp"
#include "matrix/provision/progress.hpp"

namespace reprobench {

// First Python that has pip: $REPROBENCH_PYTHON, python3 on PATH, /usr/bin/python3. Throws ProvisionError if none has.
std::string find_python_with_pip();

// Fetches every wheel into `downloads`, one after the other, unless a file with its hash is there. `staging` is a
// folder that only the caller uses, on the same file system. `shepherd` ends a download with this process. `python` is
// the Python version of the wheels, "3.12". Throws ProvisionError for a wrong hash (the file is removed), no network,
// no pip or no space. Wheels fetched before that stay.
void fetch_wheels(const std::vector<LockedWheel>& wheels, const std::string& python,
                  const std::filesystem::path& downloads, const std::filesystem::path& staging,
                  const std::filesystem::path& shepherd, const PhaseSink& progress);

// Throws ProvisionError and removes the file if its content has another hash than the lock's.
void require_locked_hash(const LockedWheel& wheel, const std::filesystem::path& file);

}  // namespace reprobench
