// Which cells this host has the memory for, by what their workers say they will take. Pure.
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

// Why a need does not fit, with the arithmetic and what would help; nothing where it does, or is not predicted. Only
// what would not fit even if less were needed than is said, by all of the prediction's error, is held back: a cell that
// is skipped though it fits is never run, one that runs though it does not fit ends as `host_oom`.
std::optional<std::string> misfit(const AttemptMemory& need, std::int64_t available_bytes);

inline constexpr double kPredictionError = 0.15;  // measured against predicted, docs in suites/memory.md

// What the cells of a plan need: those alike in it, and a seed is no difference, share one prediction.
struct CellNeeds {
  std::vector<AttemptMemory> distinct;
  std::vector<std::size_t> of_cell;  // which of them; one for each cell

  std::size_t add(AttemptMemory need) {
    distinct.push_back(std::move(need));
    return distinct.size() - 1;
  }
  const AttemptMemory& at(std::size_t cell) const { return distinct.at(of_cell.at(cell)); }
};

// Of the cells that would run: those that do not fit are skipped by the rule `host-memory`, the others keep what they
// are said to take.
void fit_into_memory(std::vector<PlannedCell>& cells, const CellNeeds& needs, std::int64_t available_bytes);

// "memory not predicted for 3 cells: precision=bf16 (2), several ranks (1)"; empty where it is for all that run.
std::string unpredicted_note(const std::vector<PlannedCell>& cells, const CellNeeds& needs);

}  // namespace reprobench
