#include "matrix/contract/number.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/inquiry/selftest.hpp"

namespace reprobench {

nlohmann::json to_json(const std::vector<SelftestRow>& rows, const SelftestSettings& settings) {
  nlohmann::json result = document("selftest");
  result["stack"] = settings.stack;
  result["steps"] = settings.steps;
  result["batches"] = settings.batches;
  result["state"] = settings.state;
  result["seed"] = settings.seed;
  result["rows"] = nlohmann::json::array();
  for (const SelftestRow& row : rows) {
    result["rows"].push_back({{"fault", row.fault},
                              {"workload", row.workload},
                              {"planted", row.planted},
                              {"without_effect", row.without_effect},
                              {"found", row.found},
                              {"located", row.located},
                              {"false_alarms", row.false_alarms},
                              {"expected_word", row.expected_word},
                              {"word", row.word},
                              {"error_ratio", json_number(row.error_ratio)},
                              {"pooled_ratio", json_number(row.pooled_ratio)},
                              {"worst_tensor", row.worst_tensor},
                              {"passed", row.passed},
                              {"problem", row.problem}});
  }
  return result;
}

}  // namespace reprobench
