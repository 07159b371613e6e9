#include "matrix/cli/compared_orders.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "matrix/contract/probe.hpp"
#include "matrix/plan/cell_id.hpp"
#include "matrix/spec/files/call_list.hpp"

namespace reprobench {
namespace {

// A column is named by its stack, and by the knobs whose values differ.
Coordinates coordinates_of(const CellRequest& request, const std::array<const OrderSide*, 2>& sides) {
  Coordinates coordinates = {{"stack", request.stack}};
  for (const OrderSide* side : sides) {
    for (const auto& [knob, value] : side->knobs) coordinates[knob] = request.knobs.at(knob);
  }
  return coordinates;
}

PlannedCell planned_cell(const CellRequest& request, const std::string& purpose, Coordinates coordinates) {
  PlannedCell planned;
  Cell& cell = planned.cell;
  cell.request = request;
  cell.request.suite = purpose;  // one stack may stand on both sides
  cell.request.cell_id = cell_id_of(cell.request);
  cell.slug = purpose;
  cell.coordinates = std::move(coordinates);
  return planned;
}

// Two columns of one name are the two sides of one stack.
void tell_apart(OperatorAtlas& atlas, std::size_t measured, std::size_t expected) {
  if (atlas.columns[measured].name != atlas.columns[expected].name) return;
  atlas.columns[measured].name += " (A)";
  atlas.columns[expected].name += " (B)";
}

}  // namespace

CellRequest orders_request(const OrderSide& side, const std::string& calls_file, const Project& project) {
  CellRequest request;
  request.stack = side.stack;
  const auto suites = project.suites();
  request.workload = suites.at(std::string(kOrdersPreset)).workloads.front();
  if (!calls_file.empty()) give_calls(load_call_list(calls_file), request.workload);
  request.device = "cpu";
  request.knobs = with_defaults(side.knobs);
  return request;
}

ComparedOrders compare_orders(const OrderSide& measured, const OrderSide& expected, const std::string& calls_file,
                              const Project& project, Replays& replays) {
  const std::array<const OrderSide*, 2> sides{&measured, &expected};
  RunRecord run;
  std::vector<ReplayTask> tasks;
  const auto stacks = project.stacks();
  for (const OrderSide* side : sides) {
    const std::string purpose = side == &measured ? "orders-a" : "orders-b";
    const CellRequest request = orders_request(*side, calls_file, project);
    tasks.push_back({purpose, request});
    run.plan.cells.push_back(planned_cell(request, purpose, coordinates_of(request, sides)));
    run.plan.declared[side->stack] = stacks.at(side->stack).components;
  }
  run.plan.cells.front().cell.reference_cell_id = run.plan.cells.back().cell.request.cell_id;
  std::vector<ReplayOutcome> outcomes = replays.run_to_any_end(tasks);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    run.cells.push_back({run.plan.cells[i].cell.request.cell_id, {std::move(outcomes[i].attempt)}});
  }
  ComparedOrders compared{*operator_atlas(run)};
  const auto column_of = [&](const CellRecord& cell) {
    return static_cast<std::size_t>(std::ranges::find(compared.atlas.columns, cell.cell_id, &AtlasColumn::cell_id) -
                                    compared.atlas.columns.begin());
  };
  compared.measured = column_of(run.cells.front());
  compared.expected = column_of(run.cells.back());
  tell_apart(compared.atlas, compared.measured, compared.expected);
  return compared;
}

}  // namespace reprobench
