// For tests of explanations: two sides trained by the synthetic network, compared and explained.
#pragma once

#include <fstream>
#include <functional>
#include <limits>
#include <string>

#include "matrix/inquiry/explain/explanation.hpp"
#include "matrix/inquiry/scripted_replays.hpp"

namespace reprobench {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline ExplainSettings explained(int batches = 0) {
  ExplainSettings settings;
  settings.explain = true;
  settings.lockstep_batches = batches;
  return settings;
}

// Compares "stack-b" with "stack-a", which is the unchanged network.
inline CellComparison compare_stacks(ScriptedReplays& replays, const ExplainSettings& settings,
                                     const CellRequest& request = synthetic_request()) {
  return compare_cells(replays.side("stack-b", request), replays.side("stack-a", request), settings, replays);
}

// Changes the records of that replay's calls.
inline void change_calls(const ReplayOutcome& outcome, const std::function<void(OperatorRecord&)>& change) {
  std::ifstream in(outcome.folder / kOperatorsFile);
  std::string text;
  std::int64_t seq = 0;
  for (std::string line; std::getline(in, line);) {
    auto fields = nlohmann::json::parse(line);
    fields.erase("seq");
    fields.erase("crc32c");
    auto record = operator_record_from_json(fields);
    change(record);
    text += trace_line(to_json(record), seq++);
  }
  in.close();
  std::ofstream(outcome.folder / kOperatorsFile) << text;
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace reprobench
