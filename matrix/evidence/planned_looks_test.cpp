#include "matrix/evidence/planned_looks.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

Cell repeated(int repeat, int max_repeat) {
  Cell cell;
  cell.repeat = repeat;
  cell.max_repeat = max_repeat;
  return cell;
}

TEST_CASE("a cell is looked at after its repeats, twice as many and so on, and for the last time at the most",
          "[evidence]") {
  using Looks = std::vector<int>;
  CHECK(planned_looks(repeated(7, 28)) == Looks{7, 14, 28});
  CHECK(planned_looks(repeated(7, 27)) == Looks{7, 14, 27});
  CHECK(planned_looks(repeated(7, 29)) == Looks{7, 14, 28, 29});
  CHECK(planned_looks(repeated(7, 8)) == Looks{7, 8});
  CHECK(planned_looks(repeated(1, 4)) == Looks{1, 2, 4});
  for (const int most : {0, 1, 6, 7}) CHECK(planned_looks(repeated(7, most)) == Looks{7});
}

TEST_CASE("a repeat that was begun is on its way to the next look, and none is behind the last", "[evidence]") {
  const Cell cell = repeated(7, 28);
  for (const auto& [begun, look] : {std::pair(0, 7), {1, 7}, {7, 7}, {8, 14}, {14, 14}, {15, 28}, {28, 28}, {99, 28}}) {
    INFO(begun);
    CHECK(look_after(cell, begun) == look);
  }
  CHECK(look_after(repeated(3, 0), 4) == 3);
}

TEST_CASE("all looks together err in one of twenty: each in its share of that", "[evidence]") {
  CHECK(confidence_of_each(0) == Approx(0.95));
  CHECK(confidence_of_each(1) == Approx(0.95));
  CHECK(confidence_of_each(2) == Approx(0.975));
  CHECK(confidence_of_each(3) == Approx(1 - 0.05 / 3));
}

}  // namespace
}  // namespace reprobench
