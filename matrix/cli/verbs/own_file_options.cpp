#include "matrix/cli/verbs/own_file_options.hpp"

#include <algorithm>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/usage_error.hpp"

namespace reprobench {
namespace {

void give_to_all(const OwnFileKind& kind, const MatrixSpec& matrix, const Vocabulary& vocabulary,
                 std::map<std::string, SuiteSpec>& suites) {
  const Mark& mark = matrix.*kind.mark;
  const GiveOwnFile give = kind.read(matrix.*kind.path);
  Diagnostics diagnostics;
  std::string refusal =
      kind.is_of_probe() ? fmt::format("the probe `{}` does, and no suite of it is here", kind.probe)
                         : fmt::format("no installed worker says which model {}; `reprobench stack install` builds one",
                                       kind.taker_does);
  bool is_taken = false;
  for (auto& [name, suite] : suites) {
    if (std::find(matrix.suites.begin(), matrix.suites.end(), name) == matrix.suites.end()) continue;
    for (WorkloadRequest& workload : suite.workloads) {
      if (workload.probe != kind.probe) continue;
      if (!kind.is_of_probe() && !(vocabulary.*kind.takers).contains(workload.model)) continue;
      if (std::string words = refusal_of_own_file(kind, workload.model, vocabulary); !words.empty()) {
        refusal = std::move(words);
        continue;
      }
      give_own_file(kind, give, workload, mark, vocabulary, diagnostics);
      is_taken = true;
    }
  }
  if (!is_taken) diagnostics.error(mark, "RB040", "no workload of this matrix takes the file: " + refusal);
  diagnostics.throw_if_any();
}

}  // namespace

void add_own_file_options(CLI::App& verb, OwnFilePaths& paths, OwnFilesOf whose) {
  for (const OwnFileKind& kind : own_file_kinds()) {
    if (whose == OwnFilesOf::trainings && kind.is_of_probe()) continue;
    const auto take = [&paths, &kind](const std::string& path) {
      if (!path.empty()) paths[&kind] = path;
    };
    verb.add_option_function<std::string>(kind.option(), take, kind.help)->type_name(kind.value_name);
  }
}

void give_own_files(const MatrixSpec& matrix, const Vocabulary& vocabulary, std::map<std::string, SuiteSpec>& suites) {
  for (const OwnFileKind& kind : own_file_kinds()) {
    if (!(matrix.*kind.path).empty()) give_to_all(kind, matrix, vocabulary, suites);
  }
}

void check_own_file_is_used(const OwnFileKind& kind, const std::vector<PlannedCell>& cells) {
  std::set<std::string> takers;
  for (const PlannedCell& planned : cells) {
    if ((planned.cell.request.workload.*kind.field.file).empty()) continue;
    if (!planned.skip || planned.skip->rule != kDeselected) return;
    takers.insert(fmt::format("`{}`", planned.cell.request.workload.name()));
  }
  throw UsageError(fmt::format("{}: no selected cell {}; of this matrix those of {} do", kind.option(), kind.taker_does,
                               fmt::join(takers, ", ")));
}

}  // namespace reprobench
