#include "matrix/cli/compared_orders.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "matrix/contract/probe.hpp"
#include "matrix/host/detect_host.hpp"
#include "matrix/inquiry/kept_orders.hpp"
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

struct AskedSide {
  std::string purpose;
  CellRequest request;
  KeptOrders kept;
};

// One attempt a side, with what is kept of the calls that nobody has to make.
std::vector<AttemptRecord> probe_missing(std::vector<AskedSide>& asked, Replays& replays) {
  std::vector<ReplayTask> tasks;
  std::vector<std::size_t> sides;
  std::vector<AttemptRecord> attempts(asked.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const std::vector<std::string>& calls = asked[i].request.workload.calls;
    ReplayTask task{asked[i].purpose, asked[i].request};
    task.request.workload.calls = asked[i].kept.missing(calls);
    if (task.request.workload.calls.empty()) {
      attempts[i].end = AttemptEnd::completed;
      attempts[i].lead().result = asked[i].kept.with_kept(nullptr, calls);
      continue;
    }
    tasks.push_back(std::move(task));
    sides.push_back(i);
  }
  if (tasks.empty()) return attempts;
  std::vector<ReplayOutcome> outcomes = replays.run_to_any_end(tasks);
  for (std::size_t k = 0; k < sides.size(); ++k) {
    AskedSide& side = asked[sides[k]];
    AttemptRecord& attempt = attempts[sides[k]] = std::move(outcomes[k].attempt);
    if (attempt.end != AttemptEnd::completed || !attempt.lead().result) continue;
    const CellResult probed = *attempt.lead().result;
    attempt.lead().result = side.kept.with_kept(&probed, side.request.workload.calls);
    side.kept.keep(probed);
  }
  return attempts;
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
                              const Project& project, const std::map<std::string, WorkerCommand>& workers,
                              Replays& replays) {
  const std::array<const OrderSide*, 2> sides{&measured, &expected};
  RunRecord run;
  std::vector<AskedSide> asked;
  const auto stacks = project.stacks();
  const HostFacts host = detect_host();
  for (const OrderSide* side : sides) {
    const std::string purpose = side == &measured ? "orders-a" : "orders-b";
    const CellRequest request = orders_request(*side, calls_file, project);
    asked.push_back({purpose, request, KeptOrders(workers.at(side->stack), request, host)});
    run.plan.cells.push_back(planned_cell(request, purpose, coordinates_of(request, sides)));
    run.plan.declared[side->stack] = stacks.at(side->stack).components;
  }
  run.plan.cells.front().cell.reference_cell_id = run.plan.cells.back().cell.request.cell_id;
  std::vector<AttemptRecord> attempts = probe_missing(asked, replays);
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    run.cells.push_back({run.plan.cells[i].cell.request.cell_id, {std::move(attempts[i])}});
  }
  ComparedOrders compared;
  compared.atlas = *operator_atlas(run);
  const auto column_of = [&](const CellRecord& cell) {
    return static_cast<std::size_t>(std::ranges::find(compared.atlas.columns, cell.cell_id, &AtlasColumn::cell_id) -
                                    compared.atlas.columns.begin());
  };
  compared.measured = column_of(run.cells.front());
  compared.expected = column_of(run.cells.back());
  for (const AskedSide& side : asked) {
    const std::string& problem = side.kept.problem();
    const bool is_new = std::ranges::find(compared.left_aside, problem) == compared.left_aside.end();
    if (!problem.empty() && is_new) compared.left_aside.push_back(problem);
  }
  tell_apart(compared.atlas, compared.measured, compared.expected);
  return compared;
}

}  // namespace reprobench
