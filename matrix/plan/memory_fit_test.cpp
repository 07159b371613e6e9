#include "matrix/plan/memory_fit.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kGigabyte = 1'000'000'000;

AttemptMemory of_gigabytes(std::int64_t activations, std::int64_t parameters = 1) {
  AttemptMemory need;
  need.parameter_bytes = parameters * kGigabyte;
  need.activation_bytes = activations * kGigabyte;
  return need;
}

AttemptMemory unpredicted(const char* why) {
  AttemptMemory need;
  need.why_not = why;
  return need;
}

// One for each cell, in their order.
CellNeeds each(const std::vector<AttemptMemory>& list) {
  CellNeeds needs;
  for (const AttemptMemory& need : list) needs.of_cell.push_back(needs.add(need));
  return needs;
}

TEST_CASE("what does not fit even by the prediction's error is said with its arithmetic and advice", "[plan]") {
  const auto reason = misfit(of_gigabytes(29), 25 * kGigabyte);
  REQUIRE(reason);
  CHECK(*reason ==
        "needs about 30.0 GB: 1.0 parameters + 0.0 gradients + 0.0 optimizer + 0.0 scratch + 0.0 buffers + 29.0 "
        "activations + 0.0 holes + 0.0 process; 25.0 GB are free; a smaller batch (`batch_size`, `--batch`), a lower "
        "trace level or a smaller preset takes less");
  CHECK(misfit(of_gigabytes(1, 29), 25 * kGigabyte)
            ->ends_with("only a smaller preset takes less: most of it is the state, "
                        "whatever the batch"));
}

TEST_CASE("a cell that may fit is not held back: 15 % less than predicted is what counts", "[plan]") {
  CHECK_FALSE(misfit(of_gigabytes(99), 85 * kGigabyte));
  CHECK(misfit(of_gigabytes(99), 85 * kGigabyte - 1));
}

TEST_CASE("what is not predicted runs, however little is free", "[plan]") {
  CHECK_FALSE(misfit(unpredicted("precision=bf16"), 0));
  CHECK(misfit(of_gigabytes(0), 0));
}

TEST_CASE("cells that do not fit are skipped, tight ones noted, others keep what they need", "[plan]") {
  std::vector<PlannedCell> cells(5);
  cells[4].skip = Skip{"device-class", "no such GPU"};
  fit_into_memory(
      cells,
      each({of_gigabytes(9), of_gigabytes(10), of_gigabytes(19), unpredicted("attention=flash"), unpredicted("")}),
      10 * kGigabyte);
  CHECK_FALSE(cells[0].skip);
  CHECK(cells[0].notes.empty());
  CHECK(cells[0].cell.memory_bytes == 10 * kGigabyte);
  CHECK_FALSE(cells[1].skip);
  REQUIRE(cells[1].notes.size() == 1);
  CHECK(cells[1].notes[0].starts_with("memory is tight: needs about 11.0 GB: "));
  REQUIRE(cells[2].skip);
  CHECK(cells[2].skip->rule == "host-memory");
  CHECK(cells[2].skip->reason.starts_with("needs about 20.0 GB: "));
  CHECK_FALSE(cells[3].skip);
  CHECK(cells[3].cell.memory_bytes == 0);
  CHECK(cells[4].skip->rule == "device-class");
}

TEST_CASE("the cells whose memory nobody predicted are counted by reason", "[plan]") {
  const std::vector<PlannedCell> cells(3);
  CHECK(
      unpredicted_note(cells, each({of_gigabytes(1), unpredicted("precision=bf16"), unpredicted("precision=bf16")})) ==
      "memory not predicted for 2 cells: precision=bf16 (2)\n");
  CHECK(unpredicted_note(cells, each({of_gigabytes(1), of_gigabytes(1), of_gigabytes(1)})).empty());
  CHECK(unpredicted_note(cells, each({unpredicted("c"), unpredicted("b"), unpredicted("c")})) ==
        "memory not predicted for 3 cells: b (1), c (2)\n");
  std::vector<PlannedCell> skipped = cells;
  skipped[1].skip = Skip{"device-class", "no such GPU"};
  CHECK(unpredicted_note(skipped, each({of_gigabytes(1), unpredicted("b"), unpredicted("c")})) ==
        "memory not predicted for 1 cell: c (1)\n");
}

TEST_CASE("cells that share a need are each held to it", "[plan]") {
  std::vector<PlannedCell> cells(4);
  CellNeeds needs = each({of_gigabytes(19), of_gigabytes(3)});
  needs.of_cell = {1, 0, 0, 1};
  fit_into_memory(cells, needs, 10 * kGigabyte);
  CHECK(cells[0].cell.memory_bytes == 4 * kGigabyte);
  CHECK(cells[3].cell.memory_bytes == 4 * kGigabyte);
  REQUIRE((cells[1].skip && cells[2].skip));
  CHECK(cells[1].skip->reason.starts_with("needs about 20.0 GB: "));
  CHECK(cells[2].skip->reason == cells[1].skip->reason);
}

TEST_CASE("a smaller batch is advised where it makes more than a quarter of the need smaller", "[plan]") {
  const auto says_batch = [](std::int64_t activations, std::int64_t holes, std::int64_t parameters) {
    AttemptMemory need = of_gigabytes(activations, parameters);
    need.hole_bytes = holes * kGigabyte;
    return misfit(need, 0)->find("a smaller batch") != std::string::npos;
  };
  CHECK_FALSE(says_batch(2, 0, 6));  // exactly a quarter
  CHECK(says_batch(3, 0, 6));
  CHECK_FALSE(says_batch(1, 1, 6));
  CHECK(says_batch(1, 2, 6));
}

TEST_CASE("a cell that needs exactly what is free is not tight", "[plan]") {
  std::vector<PlannedCell> cells(2);
  fit_into_memory(cells, each({of_gigabytes(9), of_gigabytes(9)}), 10 * kGigabyte);
  CHECK(cells[0].notes.empty());
  fit_into_memory(cells, each({of_gigabytes(9), of_gigabytes(9)}), 10 * kGigabyte - 1);
  CHECK(cells[1].notes.size() == 1);
  CHECK(cells[1].cell.memory_bytes == 10 * kGigabyte);
}

}  // namespace
}  // namespace reprobench
