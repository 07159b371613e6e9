#include "matrix/base/nearest_name.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace reprobench {
namespace {

constexpr std::size_t kLongestCompared = 64;  // names are no longer; keeps the quadratic cost of hostile input bounded
constexpr std::size_t kShortestBeginning = 3;

// Optimal string alignment: Levenshtein with swaps of neighbours. It looks back no further than three rows, because
// hostile input may ask for a hundred thousand names.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::array<std::array<std::size_t, kLongestCompared + 1>, 3> rows;
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i - 1) % 3];
    const auto& two_above = rows[(i + 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_above[j - 2] + 1);
      }
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::size_t difference(std::size_t a, std::size_t b) { return a < b ? b - a : a - b; }

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> known) {
  if (name.size() > kLongestCompared) return "";
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestCompared || difference(name.size(), candidate.size()) >= best_distance) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty() || name.size() < kShortestBeginning) return best;
  const auto begun = std::find_if(known.begin(), known.end(),
                                  [&](const std::string& candidate) { return candidate.starts_with(name); });
  return begun == known.end() ? "" : *begun;
}

}  // namespace reprobench
