// Runs of a store, for verbs that read one.
#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

namespace reprobench {

// `run`: a run id or a run directory; empty: the newest run of the store that has a verdict. Throws UsageError if there
// is none.
std::filesystem::path find_run(const std::filesystem::path& store, const std::string& run);

// verdict.json of a run directory, its schema and version checked. Throws StoreError, ContractError.
nlohmann::json load_verdict(const std::filesystem::path& run_folder);

}  // namespace reprobench
