#include "matrix/cli/text/plan_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/plan/compat_facts.hpp"

namespace reprobench {
namespace {

PlannedCell cell_named(const std::string& id, int repeat, std::optional<Skip> skip = std::nullopt) {
  PlannedCell planned;
  planned.cell.request.cell_id = id;
  planned.cell.request.stack = "stack-a";
  planned.cell.request.device = "cpu";
  planned.cell.slug = "smoke-" + id;
  planned.cell.repeat = repeat;
  planned.skip = std::move(skip);
  return planned;
}

std::string table_of(const Plan& plan) {
  std::string text;
  plan_table(plan, Terminal(), [&](std::string_view part) { text += part; });
  return text;
}

const Skip kNoGpu{"device-class", "needs a GPU of class sm_90, this host has none"};
const Skip kLeftOut{kDeselected, "left out by --stack stack-a"};

TEST_CASE("a plan's summary counts what can run, and of a selection what was selected", "[cli]") {
  Plan plan;
  plan.matrix = "v2.9";
  CHECK(plan_summary(plan) == "plan v2.9: 0 cells, 0 runnable, 0 skipped");
  plan.cells = {cell_named("a", 1), cell_named("b", 3), cell_named("c", 1, kNoGpu)};
  CHECK(selected_cells(plan) == 3);
  CHECK(plan_summary(plan) == "plan v2.9: 3 cells, 2 runnable, 1 skipped");
  plan.cells.push_back(cell_named("d", 1, kLeftOut));
  plan.cells.push_back(cell_named("e", 1, kLeftOut));
  CHECK(selected_cells(plan) == 3);
  CHECK(plan_summary(plan) == "plan v2.9: 3 of 5 cells selected, 2 runnable, 1 skipped");
}

TEST_CASE("skipped cells are counted by rule and reason, in the order in which these appear", "[cli]") {
  Plan plan;
  const Skip other{"device-class", "needs a GPU of class sm_80, this host has none"};
  plan.cells = {cell_named("a", 1, kNoGpu), cell_named("b", 1, other), cell_named("c", 1), cell_named("d", 1, kNoGpu)};
  CHECK(skipped_by_reason(plan) ==
        "skipped  device-class: needs a GPU of class sm_90, this host has none (2 cells)\n"
        "skipped  device-class: needs a GPU of class sm_80, this host has none (1 cell)\n");
}

TEST_CASE("a plan's table has a line a runnable cell, with its notes, and the skipped ones by reason", "[cli]") {
  Plan plan;
  plan.matrix = "v2.9";
  plan.cells = {cell_named("a", 1), cell_named("b", 3), cell_named("c", 1, kNoGpu)};
  plan.cells[0].cell.exclusive = true;
  plan.cells[0].notes = {"bf16 is emulated", "slow"};
  plan.cells[1].cell.required = true;
  plan.cells[1].cell.gaps = {{Dimension::memory, "unarmed", "no check of memory is armed"}};
  plan.cells.push_back(cell_named("d", 7));
  plan.cells[3].cell.max_repeat = 28;
  plan.cells[3].cell.exclusive = true;
  plan.cells[3].cell.request.turn_steps = 150;
  CHECK(table_of(plan) ==
        "plan v2.9: 4 cells, 3 runnable, 1 skipped\n"
        "runnable a  smoke-a  1 repeat, alone\n"
        "         note: bf16 is emulated\n"
        "         note: slow\n"
        "runnable b  smoke-b  3 repeats, required\n"
        "         leaves the run undecided: no check of memory is armed\n"
        "runnable d  smoke-d  7 to 28 repeats, in turns of 150 steps with what it is compared with\n"
        "skipped  device-class: needs a GPU of class sm_90, this host has none (1 cell)\n");
}

TEST_CASE("the table of a large plan comes in parts, each of whole lines, and all of them are there", "[cli]") {
  Plan plan;
  plan.matrix = "v2.9";
  for (int i = 0; i < 10'000; ++i) plan.cells.push_back(cell_named(fmt::format("{:012x}", i), 1));
  std::vector<std::string> parts;
  plan_table(plan, Terminal(), [&](std::string_view part) { parts.emplace_back(part); });
  CHECK(parts.size() > 2);
  std::size_t lines = 0;
  for (const std::string& part : parts) {
    CHECK(part.size() < 70'000);
    CHECK((part.empty() || part.back() == '\n'));
    lines += static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
  }
  CHECK(lines == 10'001);
}

TEST_CASE("the coverage of a stack is told for the devices that its cells ask for", "[cli]") {
  const CompatFacts facts = load_compat_facts(REPROBENCH_SOURCE_ROOT "/matrix/facts/compat-facts.json");
  StackSpec stack;
  stack.name = "stack-a";
  stack.source = StackSource::wheel;
  stack.components = {{"torch", "2.8.0+cu128"}, {"cuda", "12.8"}};
  const auto told = [&](std::vector<PlannedCell> cells) {
    Plan plan;
    plan.cells = std::move(cells);
    return coverage_text(plan, {{"stack-a", stack}}, facts);
  };
  const auto on = [](const char* device, std::optional<Skip> skip = std::nullopt) {
    PlannedCell planned = cell_named("a", 1, std::move(skip));
    planned.cell.request.device = device;
    return planned;
  };
  CHECK(told({on("cpu"), on("sm_90", kLeftOut)}).empty());
  const std::string one = told({on("cpu"), on("sm_90", kNoGpu), on("sm_90")});
  CHECK(one.starts_with("coverage stack-a: sm_90 "));
  CHECK(one.ends_with("\n"));
  CHECK(one.find("sm_80") == std::string::npos);
  CHECK(told({on("sm_80"), on("sm_90")}).find("; sm_90 ") != std::string::npos);
}

}  // namespace
}  // namespace reprobench
