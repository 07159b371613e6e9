// Which cells this host has enough memory for, by their workers' predictions. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "matrix/contract/attempt_memory.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {

// Why a need does not fit, with the arithmetic and what would help; nothing if it fits or is not predicted. A cell is
// held back only if it would not fit even with the prediction's whole error taken off. A cell that is skipped although
// it fits never runs, while one that runs although it does not fit ends as `host_oom`.
std::optional<std::string> misfit(const AttemptMemory& need, std::int64_t available_bytes);

inline constexpr double kPredictionError = 0.15;  // measured against predicted, docs in suites/memory.md

// The memory that the cells of a plan need. Cells that are alike, whatever their seeds, share one prediction.
struct CellNeeds {
  std::vector<AttemptMemory> distinct;
  std::vector<std::size_t> of_cell;  // which of them; one for each cell

  std::size_t add(AttemptMemory need) {
    distinct.push_back(std::move(need));
    return distinct.size() - 1;
  }
  const AttemptMemory& at(std::size_t cell) const { return distinct.at(of_cell.at(cell)); }
};

// Looks at the cells that would run. Those that do not fit are skipped by the rule `host-memory`; the others get their
// predicted memory.
void fit_into_memory(std::vector<PlannedCell>& cells, const CellNeeds& needs, std::int64_t available_bytes);

// "memory not predicted for 3 cells: precision=bf16 (2), several ranks (1)"; empty if it is predicted for all that run.
std::string unpredicted_note(const std::vector<PlannedCell>& cells, const CellNeeds& needs);

}  // namespace reprobench
