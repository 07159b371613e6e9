#include "matrix/contract/nearest_name.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace reprobench {
namespace {

constexpr std::size_t kLongestCompared = 64;  // names are no longer; keeps the quadratic cost of hostile input bounded
constexpr std::size_t kShortestBeginning = 3;

// Optimal string alignment: Levenshtein with swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> known) {
  if (name.size() > kLongestCompared) return "";
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestCompared) continue;
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
