#include "matrix/verdict/next_step.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace reprobench {
namespace {

const CheckResult* deciding_check(const CellVerdict& cell) {
  for (const CheckStatus status : {CheckStatus::failed, CheckStatus::inconclusive}) {
    const auto found = std::find_if(cell.checks.begin(), cell.checks.end(), [&](const CheckResult& check) {
      return check.gate == Gate::armed && check.status == status;
    });
    if (found != cell.checks.end()) return &*found;
  }
  return nullptr;
}

std::string more_repeats(const CellVerdict& cell) {
  int repeats = 0;
  for (const AttemptSummary& attempt : cell.attempts) repeats = std::max(repeats, attempt.repeat + 1);
  return fmt::format("measure more, on a quieter machine: {} --repeat {}", cell.reproduce, std::max(7, 2 * repeats));
}

std::string explained(const CellVerdict& cell, const std::string& metric, const std::string& run_id) {
  return fmt::format("reprobench explain {}{} --run {}", cell.cell_id, metric.empty() ? "" : " " + metric, run_id);
}

struct Advice {
  Reason reason;
  const char* text;
};
// Reasons after which no command of reprobench says more than the sentence does.
constexpr Advice kAdvice[] = {
    {kBadInjection, "name a tensor, element and step that the workload has; the sentence above says which it lacks"},
    {"input_changed", "put the file back that was planned, or plan and run anew with the one that is there"},
    {"input_refused", "the sentence above says what the file holds; mend it, then plan and run anew"},
    {"interrupted", "run it again"},
    {"not_started", "run it again"},
    {"unsupported", "exclude what this stack cannot do, or name another stack"},
    {"wrong_libraries", "see `reprobench stack verify` and what is preloaded, then run it again"},
    {"same_libraries", "name a reference that has another torch"},
    {"launch", "see `reprobench doctor` and `reprobench stack verify`"},
    {"store", "see that the store has space and can be written, then run it again"},
    {"gpu_hw", "see `reprobench doctor`; another GPU tells the device from the stack"},
    {"throttled", "let the GPU cool or lift its power cap, then run it again"},
    {"contended", "end what else computes on this GPU, then run it again"},
    {"busy_while_waiting",
     "see which of its threads computes (`top -H`), or time one after the other: take `turns` out of the suite"},
    {"unarmed", "mend the rule that the sentence above names, so that a check of this dimension is armed here"},
    {"own_reference", "name another reference: `reference` of the matrix, or --reference STACK"},
    {"reference_blas", "install an optimised BLAS; netlib's reference code judges no stack"},
    {"reference_failed", "mend the reference first: nothing can be compared with it"},
};

}  // namespace

std::string next_step(const CellVerdict& cell, const std::string& run_id) {
  if (cell.outcome == Outcome::passed || cell.outcome == Outcome::recorded) return "";
  if (cell.outcome == Outcome::skipped) {
    return cell.required ? "required: run it where it can run, then `reprobench merge` the runs" : "";
  }
  for (const Advice& advice : kAdvice) {
    if (cell.reason == advice.reason) return advice.text;
  }
  if (cell.reason == "noise" || cell.reason == "too_few_samples") return more_repeats(cell);
  const CheckResult* check = deciding_check(cell);
  const bool decided_by_check =
      check != nullptr && (check->status == CheckStatus::failed || check->reason == cell.reason);
  if (decided_by_check) return explained(cell, check->metric, run_id);
  if (!cell.log_folder.empty()) return fmt::format("read {}/stderr.log of the run", cell.log_folder);
  return explained(cell, "", run_id);
}

}  // namespace reprobench
