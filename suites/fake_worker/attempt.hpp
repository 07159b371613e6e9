// One attempt of the fake worker: writes trace.jsonl and result.json beside the request, or does not, as it is told.
#pragma once

#include <filesystem>
#include <vector>

#include "matrix/contract/result.hpp"
#include "suites/fake_worker/behaviour.hpp"

namespace reprobench {

Fingerprint fake_fingerprint(const std::string& stack);

// The exit code of the process. Some behaviours do not return. `loaded`: the libraries that it says it has mapped.
int run_attempt(const CellRequest& request, const Behaviour& behaviour, const std::filesystem::path& folder,
                const std::vector<MappedLibrary>& loaded);

}  // namespace reprobench
