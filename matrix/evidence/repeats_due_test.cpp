#include "matrix/evidence/repeats_due.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

int due_with(const std::vector<int>& repeats, int max_repeat = 28) {
  Cell cell;
  cell.repeat = 7;
  cell.max_repeat = max_repeat;
  CellRecord record{"aaa", {}};
  for (const int repeat : repeats) {
    record.attempts.emplace_back();
    record.attempts.back().repeat = repeat;
  }
  return repeats_due(cell, record);
}

TEST_CASE("a cell owes its repeats up to the look that the last of its attempts was begun for", "[evidence]") {
  CHECK(due_with({}) == 7);
  CHECK(due_with({0, 1, 2}) == 7);
  CHECK(due_with({6}) == 7);
  CHECK(due_with({0, 7}) == 14);
  CHECK(due_with({7, 0}) == 14);  // in any order
  CHECK(due_with({13}) == 14);
  CHECK(due_with({14}) == 28);
  CHECK(due_with({27}) == 28);
}

TEST_CASE("an attempt that no look asks for makes nothing due", "[evidence]") {
  CHECK(due_with({28}) == 7);
  CHECK(due_with({-1}) == 7);
  CHECK(due_with({7}, 0) == 7);
  CHECK(due_with({9, 28}) == 14);
}

}  // namespace
}  // namespace reprobench
