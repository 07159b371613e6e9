// Who ran what and when: the content of run.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace reprobench {

// A run that a merged run was made of.
struct RunSource {
  std::string run_id;
  std::string host;  // label, as in plan.json
  std::string started_utc;
  std::string ended_utc;
  std::int64_t duration_ns = 0;
  bool interrupted = false;
};

struct RunInfo {
  std::string run_id;         // "r-20261121-101502-7f3a"
  std::string matrix_digest;  // SHA-256 of the matrix text
  std::vector<std::string> command_line;
  std::string started_utc;  // ISO 8601; for people, never for durations
  std::string ended_utc;    // empty while running
  std::int64_t duration_ns = 0;
  bool interrupted = false;
  std::string reprobench_version;
  std::vector<RunSource> sources;  // of a merged run; empty: this run was run
};

// The fields alone, as run.json and verdict.json carry them; run.json adds the document head.
nlohmann::json to_json(const RunInfo& info);

// Throws ContractError naming the field.
RunInfo run_info_from_json(const nlohmann::json& json);

}  // namespace reprobench
