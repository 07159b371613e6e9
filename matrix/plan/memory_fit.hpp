// Which cells this host has the memory for, by what their workers say they will take. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/attempt_memory.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {

// Why a need does not fit, with the arithmetic and what would help; nothing where it does, or is not predicted. Only
// what would not fit even if less were needed than is said, by all of the prediction's error, is held back: a cell that
// is skipped though it fits is never run, one that runs though it does not fit ends as `host_oom`.
std::optional<std::string> misfit(const AttemptMemory& need, std::int64_t available_bytes);

inline constexpr double kPredictionError = 0.15;  // measured against predicted, docs in suites/README.md

// Of the cells that would run: those that do not fit are skipped by the rule `host-memory`, the others keep what they
// are said to take. `needs`: one for each cell.
void fit_into_memory(std::vector<PlannedCell>& cells, const std::vector<AttemptMemory>& needs,
                     std::int64_t available_bytes);

// "memory not predicted for 3 cells: precision=bf16 (2), several ranks (1)"; empty where it is for all that run.
std::string unpredicted_note(const std::vector<PlannedCell>& cells, const std::vector<AttemptMemory>& needs);

}  // namespace reprobench
