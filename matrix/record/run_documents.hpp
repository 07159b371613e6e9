// The two documents about a run that only the coordinator writes: run.json and the lines of journal.jsonl.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/outcome.hpp"
#include "matrix/record/run_info.hpp"

namespace reprobench {

nlohmann::json run_document(const RunInfo& info);

// Throws ContractError naming the field.
RunInfo run_info_from_document(const nlohmann::json& json);

// What the journal knows of one attempt.
struct JournaledAttempt {
  std::string cell_id;
  int repeat = 0;
  int attempt = 0;
  std::string nonce;
  std::string folder;             // relative to the run directory
  std::optional<AttemptEnd> end;  // nothing: the runner died first
  std::string detail;
  std::optional<int> rank;  // which of several ranks ended it
};

// Attempts in the order they began. A last line that was cut (the runner was killed while writing it) is left out;
// damage anywhere else throws StoreError.
std::vector<JournaledAttempt> read_journal(const std::filesystem::path& path);

}  // namespace reprobench
