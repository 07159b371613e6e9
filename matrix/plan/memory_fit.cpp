#include "matrix/plan/memory_fit.hpp"

#include <map>

#include <fmt/format.h>

namespace reprobench {
namespace {

double gigabytes(std::int64_t bytes) { return static_cast<double>(bytes) * 1e-9; }

// What a smaller batch makes smaller.
bool batch_helps(const AttemptMemory& need) { return need.activation_bytes + need.hole_bytes > need.total() / 4; }

}  // namespace

std::optional<std::string> misfit(const AttemptMemory& need, std::int64_t available_bytes) {
  if (!need.is_predicted()) return std::nullopt;
  const double at_least = static_cast<double>(need.total()) * (1 - kPredictionError);
  if (at_least <= static_cast<double>(available_bytes)) return std::nullopt;
  const char* advice = batch_helps(need)
                           ? "a smaller batch (`batch_size`, `--batch`), a lower trace level or a smaller "
                             "preset takes less"
                           : "only a smaller preset takes less: most of it is the state, whatever the "
                             "batch";
  return fmt::format("needs about {}; {:.1f} GB are free; {}", arithmetic_of(need), gigabytes(available_bytes), advice);
}

void fit_into_memory(std::vector<PlannedCell>& cells, const CellNeeds& needs, std::int64_t available_bytes) {
  std::vector<std::optional<std::string>> reasons;  // of each distinct need
  for (const AttemptMemory& need : needs.distinct) reasons.push_back(misfit(need, available_bytes));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].skip) continue;
    const AttemptMemory& need = needs.at(i);
    if (const auto& reason = reasons[needs.of_cell[i]]) {
      cells[i].skip = Skip{Reason("host-memory"), *reason};
      continue;
    }
    cells[i].cell.memory_bytes = need.total();
    if (need.total() > available_bytes) {
      cells[i].notes.push_back(fmt::format("memory is tight: needs about {}; {:.1f} GB are free", arithmetic_of(need),
                                           gigabytes(available_bytes)));
    }
  }
}

std::string unpredicted_note(const std::vector<PlannedCell>& cells, const CellNeeds& needs) {
  std::map<std::string, int> reasons;
  int count = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].skip || needs.at(i).is_predicted()) continue;
    count += 1;
    reasons[needs.at(i).why_not] += 1;
  }
  if (count == 0) return "";
  std::string list;
  for (const auto& [reason, cells_of_it] : reasons) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", reason, cells_of_it);
  }
  return fmt::format("memory not predicted for {} cell{}: {}\n", count, count == 1 ? "" : "s", list);
}

}  // namespace reprobench
