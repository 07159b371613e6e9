// One attempt of the fake worker: writes trace.jsonl and result.json beside the request, or does not, by its behaviour.
#pragma once

#include <filesystem>
#include <vector>

#include "matrix/contract/result.hpp"
#include "suites/fake_worker/behaviour.hpp"

namespace reprobench {

Fingerprint fake_fingerprint(const std::string& stack);

// Returns the exit code of the process; some behaviours do not return. `loaded` are the libraries that the worker
// reports as mapped.
int run_attempt(const CellRequest& request, const Behaviour& behaviour, const std::filesystem::path& folder,
                const std::vector<MappedLibrary>& loaded);

}  // namespace reprobench
