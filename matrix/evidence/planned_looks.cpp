#include "matrix/evidence/planned_looks.hpp"

#include <algorithm>

namespace reprobench {
namespace {

constexpr double kErrorOfAllLooks = 0.05;

}  // namespace

std::vector<int> planned_looks(const Cell& cell) {
  std::vector<int> looks{cell.repeat};
  while (looks.back() < cell.max_repeat) looks.push_back(std::min(2 * looks.back(), cell.max_repeat));
  return looks;
}

int look_after(const Cell& cell, int repeats_begun) {
  const std::vector<int> looks = planned_looks(cell);
  const auto look = std::ranges::lower_bound(looks, repeats_begun);
  return look == looks.end() ? looks.back() : *look;
}

double confidence_of_each(std::size_t looks) {
  return 1 - kErrorOfAllLooks / static_cast<double>(std::max<std::size_t>(looks, 1));
}

}  // namespace reprobench
