#include "matrix/verdict/implementation_notes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/numerics/steps/implementation_changes.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kMostNamed = 3;

bool tells(const CellResult& result) { return result.implementations && !result.implementations->operations.empty(); }

}  // namespace

std::vector<std::string> implementation_notes(const CellResult& cell, const CellResult& reference) {
  const auto changes = implementation_changes(cell, reference);
  if (!changes) return {};
  if (tells(cell) != tells(reference)) return {"library code: " + changes->incomplete.front()};
  if (changes->changed.empty()) return {};
  const std::size_t count = changes->changed.size();
  std::string note =
      fmt::format("other library code than the reference's computed {} operation{}", count, count == 1 ? "" : "s");
  for (std::size_t i = 0; i < std::min(count, kMostNamed); ++i) {
    note += (i == 0 ? ": " : "; ") + change_text(changes->changed[i]);
  }
  if (count > kMostNamed) note += fmt::format("; and {} more", count - kMostNamed);
  return {note};
}

}  // namespace reprobench
