#include "matrix/exec/repeats_left.hpp"

#include "ci/catch.hpp"
#include "matrix/exec/sample_plan.hpp"

namespace reprobench {
namespace {

using Indices = std::vector<std::size_t>;

// Cells 0 (a candidate), 1 (the reference), 2 (another candidate), `repeat` times each and at most `max_repeat` times.
Plan compared_plan(int repeat, int max_repeat) {
  Plan plan = sample_plan({sample_cell("aaa", "a"), sample_cell("bbb", "b"), sample_cell("ccc", "c")});
  for (PlannedCell& planned : plan.cells) {
    planned.cell.repeat = repeat;
    planned.cell.max_repeat = max_repeat;
    if (planned.cell.request.cell_id != "bbb") planned.cell.reference_cell_id = "bbb";
  }
  return plan;
}

// "0:2-4 1:2-4"
std::string text_of(const std::vector<FurtherRepeats>& added) {
  std::string text;
  for (const auto& [cell, from, until] : added) {
    text += (text.empty() ? "" : " ") + std::to_string(cell) + ":" + std::to_string(from) + "-" + std::to_string(until);
  }
  return text;
}

// Ends so many repeats of each; gives what the last of them let look at.
Indices end_all(RepeatsLeft& left, const Indices& cells, int repeats) {
  Indices seen;
  for (int i = 0; i < repeats; ++i) {
    for (const std::size_t cell : cells) {
      CHECK(seen.empty());
      seen = left.ended(cell);
    }
  }
  return seen;
}

TEST_CASE("without further looks a cell is over by itself, with its last repeat", "[exec]") {
  const Plan plan = compared_plan(2, 0);
  RepeatsLeft left(plan);
  CHECK(left.ended(0).empty());
  CHECK(left.ended(0) == Indices{0});
  CHECK(left.ended(1).empty());
  CHECK(left.ended(1) == Indices{1});
  CHECK(left.add_for({0}).empty());
}

TEST_CASE("cells that may be repeated are looked at together, once the last of them has ended", "[exec]") {
  const Plan plan = compared_plan(2, 4);
  RepeatsLeft left(plan);
  CHECK(end_all(left, {0, 1}, 2).empty());
  CHECK(left.ended(2).empty());
  CHECK(left.ended(2) == Indices{0, 1, 2});
}

TEST_CASE("who is left open is repeated with its reference up to the next look, others are not", "[exec]") {
  const Plan plan = compared_plan(2, 7);
  RepeatsLeft left(plan);
  end_all(left, {0, 1, 2}, 2);
  CHECK(text_of(left.add_for({2})) == "1:2-4 2:2-4");
  CHECK(end_all(left, {1, 2}, 2) == Indices{0, 1, 2});
  CHECK(text_of(left.add_for({0, 2})) == "1:4-7 2:4-7");  // 0 has 2 repeats: those of the reference are no partners
  CHECK(end_all(left, {1, 2}, 3) == Indices{0, 1, 2});
  CHECK(left.add_for({2}).empty());  // seven are the most
}

TEST_CASE("one reference serves all that are left open", "[exec]") {
  const Plan plan = compared_plan(3, 6);
  RepeatsLeft left(plan);
  end_all(left, {0, 1, 2}, 3);
  CHECK(text_of(left.add_for({0, 2})) == "0:3-6 1:3-6 2:3-6");
}

TEST_CASE("without its reference in the run nothing is added, nor where the reference may not be repeated", "[exec]") {
  Plan plan = compared_plan(1, 2);
  SECTION("skipped") { plan.cells[1].skip = Skip{"driver", "too old"}; }
  SECTION("elsewhere") { plan.cells[0].cell.reference_cell_id = plan.cells[2].cell.reference_cell_id = "ddd"; }
  SECTION("at its most") { plan.cells[1].cell.max_repeat = 0; }
  SECTION("at its own most") { plan.cells[0].cell.max_repeat = 0; }
  SECTION("itself a reference") {
    plan.cells[0].cell.reference_cell_id.reset();
    plan.cells[1].skip = Skip{"driver", "too old"};
  }
  RepeatsLeft left(plan);
  for (const std::size_t cell : {0, 1, 2}) {
    if (!plan.cells[cell].skip) left.ended(cell);
  }
  CHECK(left.add_for({0}).empty());
}

}  // namespace
}  // namespace reprobench
