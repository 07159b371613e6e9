#include "matrix/cli/run_diagnoses.hpp"

#include <chrono>

#include <fmt/format.h>

#include "matrix/cli/replay_host.hpp"
#include "matrix/cli/text/progress.hpp"
#include "matrix/cli/text/text_table.hpp"
#include "matrix/contract/device/device_class.hpp"
#include "matrix/host/detect_host.hpp"
#include "matrix/inquiry/run_diagnosis.hpp"

namespace reprobench {
namespace {

RunDiagnosisSettings settings_of(const Project& project, double budget_s) {
  RunDiagnosisSettings settings;
  settings.questions.explain.facts = std::make_shared<const CompatFacts>(project.facts());
  settings.questions.store = project.store();
  settings.questions.devices = {"cpu"};
  for (const GpuFacts& gpu : detect_host().gpus) {
    settings.questions.devices.insert(device_class(gpu.compute_capability));
  }
  settings.budget = std::chrono::nanoseconds(static_cast<std::int64_t>(budget_s * 1e9));
  const auto began = std::chrono::steady_clock::now();
  settings.spent = [began] { return std::chrono::steady_clock::now() - began; };
  return settings;
}

std::string told_text(const DiagnosedCell& told, const Terminal& terminal) {
  const CellDiagnosis& diagnosis = told.diagnosis;
  const bool is_harmless = diagnosis.word == ExplainedWord::rounding;
  constexpr std::size_t kLabelColumns = 14;
  const std::string text = fmt::format("{}: {}", to_string(diagnosis.word), diagnosis.sentence);
  return fmt::format("{} {}\n", terminal.paint_log("diagnosis    ", is_harmless ? Style::dim : Style::red),
                     wrapped(text, kLabelColumns, kLabelColumns));
}

}  // namespace

void diagnose_run(const Project& project, const std::map<std::string, WorkerCommand>& workers, double budget_s,
                  const Terminal& terminal, RunDirectory& run, RunRecord& record) {
  if (!has_difference_to_diagnose(record)) return;
  std::vector<SidePair> pairs = pairs_to_diagnose(sides_within_run({run.folder(), ""}, NoPair::is_allowed));
  if (pairs.empty()) return;
  ReplayHost replay_host(project, workers);
  std::vector<CellComparison> comparisons;
  const auto announce = [&](const std::string& line) { terminal.log(line + "\n"); };
  const auto told = [&](const DiagnosedCell& cell) {
    run.note_diagnosis(cell.diagnosis);
    record.diagnoses.emplace(cell.diagnosis.cell_id, cell.diagnosis);
    terminal.log(told_text(cell, terminal));
    if (cell.comparison) comparisons.push_back(*cell.comparison);
  };
  try {
    diagnose(std::move(pairs), settings_of(project, budget_s), replay_host.replays(), announce, told);
  } catch (const ReplayInterrupted& interrupted) {
    record.info.interrupted = true;
    record.info.terminated = interrupted.was_terminated();
  }
  if (comparisons.empty()) return;
  write_file_atomically(run.folder() / "comparisons.json", to_json(comparisons, {}).dump(1) + "\n");
}

}  // namespace reprobench
