#include "matrix/verdict/recorded_cells.hpp"

#include "ci/catch.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

// Cells of other names, with the attempts of the first.
RunRecord run_of(std::size_t count) {
  RunRecord run = sample::run(3, 1.0, {});
  const PlannedCell planned = run.plan.cells.front();
  const CellRecord record = run.cells.front();
  run.plan.cells.assign(count, planned);
  run.cells.assign(count, record);
  for (std::size_t i = 0; i < count; ++i) {
    run.plan.cells[i].cell.request.cell_id = run.cells[i].cell_id = "cell-" + std::to_string(i);
    run.plan.cells[i].cell.slug = "slug-" + std::to_string(i);
  }
  return run;
}

TEST_CASE("the evidence of the last three cells is not read again, nor any that somebody holds", "[verdict]") {
  const RunRecord run = run_of(6);
  const RecordedCells cells(run);
  const auto of = [&](std::size_t i) { return cells.evidence_of(run.plan.cells[i].cell); };
  const std::weak_ptr<const CellEvidence> first = of(0);
  CHECK(first.lock()->slug == "slug-0");
  CHECK(first.lock()->repeats.size() == 3);
  const std::weak_ptr<const CellEvidence> second = of(1);
  CHECK(of(2)->slug == "slug-2");
  CHECK(of(0) == first.lock());
  CHECK_FALSE(second.expired());
  CHECK(of(3)->slug == "slug-3");  // the second was asked for the longest ago
  CHECK(second.expired());
  CHECK_FALSE(first.expired());

  const auto held = of(4);
  for (const std::size_t other : {0, 1, 2, 3}) CHECK(of(other)->slug == "slug-" + std::to_string(other));
  CHECK(of(4) == held);
}

}  // namespace
}  // namespace reprobench
