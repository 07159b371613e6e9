#include "matrix/cli/data_option.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/contract/usage_error.hpp"
#include "matrix/spec/own_data.hpp"

namespace reprobench {

void replace_data(const MatrixSpec& matrix, const Vocabulary& vocabulary, std::map<std::string, SuiteSpec>& suites) {
  if (matrix.data.empty()) return;
  const InstructionFile data = read_instruction_file(matrix.data);
  Diagnostics diagnostics;
  std::string refusal =
      "no installed worker says which models read instructions; `reprobench stack install` builds one";
  bool is_taken = false;
  for (auto& [name, suite] : suites) {
    if (std::find(matrix.suites.begin(), matrix.suites.end(), name) == matrix.suites.end()) continue;
    for (WorkloadRequest& workload : suite.workloads) {
      if (workload.is_probe() || !vocabulary.takes_data.contains(workload.model)) continue;
      if (std::string words = refusal_of_own_data(workload.model, vocabulary); !words.empty()) {
        refusal = std::move(words);
        continue;
      }
      give_own_data(workload, data, matrix.data_mark, vocabulary, diagnostics);
      is_taken = true;
    }
  }
  if (!is_taken) diagnostics.error(matrix.data_mark, "RB040", "no workload of this matrix takes the file: " + refusal);
  diagnostics.throw_if_any();
}

void check_data_is_used(const std::vector<PlannedCell>& cells) {
  std::set<std::string> takers;
  for (const PlannedCell& planned : cells) {
    if (planned.cell.request.workload.data_file.empty()) continue;
    if (!planned.skip || planned.skip->rule != kDeselected) return;
    takers.insert(fmt::format("`{}`", planned.cell.request.workload.model));
  }
  throw UsageError(fmt::format("--data: no selected cell trains on instructions; of this matrix those of {} do",
                               fmt::join(takers, ", ")));
}

}  // namespace reprobench
