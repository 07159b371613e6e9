#include "matrix/cli/selection.hpp"

#include <algorithm>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/host/detect_host.hpp"

namespace reprobench {
namespace {

bool names_cell(const std::string& wanted, const Cell& cell) {
  return wanted == cell.slug || (wanted.size() >= 4 && cell.request.cell_id.starts_with(wanted));
}

bool contains(const std::vector<std::string>& values, const std::string& value) {
  return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
}

class Selection {
 public:
  explicit Selection(const SelectionOptions& options) : options_(options) {
    if (!options.filter.empty()) filter_ = Selector::parse(options.filter, {"--filter", 1, 1});
  }

  bool takes(const Cell& cell) const {
    const CellRequest& request = cell.request;
    const bool named =
        options_.cells.empty() || std::any_of(options_.cells.begin(), options_.cells.end(),
                                              [&](const std::string& wanted) { return names_cell(wanted, cell); });
    return named && contains(options_.stacks, request.stack) && contains(options_.workloads, request.workload.name()) &&
           contains(options_.devices, request.device) && filter_.matches(cell.coordinates);
  }

 private:
  const SelectionOptions& options_;
  Selector filter_;
};

// A check against the reference needs the reference's cell; a reference has none of its own.
std::set<std::string> with_references(const std::vector<PlannedCell>& cells, const Selection& selection) {
  std::set<std::string> ids;
  for (const PlannedCell& planned : cells) {
    if (!selection.takes(planned.cell)) continue;
    ids.insert(planned.cell.request.cell_id);
    if (planned.cell.reference_cell_id) ids.insert(*planned.cell.reference_cell_id);
  }
  return ids;
}

void check_names(const SelectionOptions& options, const std::vector<PlannedCell>& cells) {
  for (const std::string& wanted : options.cells) {
    const bool known = std::any_of(cells.begin(), cells.end(),
                                   [&](const PlannedCell& planned) { return names_cell(wanted, planned.cell); });
    if (!known) {
      throw UsageError(
          fmt::format("--cell {}: no cell of {} has this id or slug; `reprobench plan --matrix {}` lists them", wanted,
                      options.matrix, options.matrix));
    }
  }
}

MatrixSpec matrix_with_overrides(const SelectionOptions& options, const Project& project) {
  MatrixSpec matrix = load_matrix(options.matrix, project.vocabulary());
  if (options.repeat > 0) matrix.repeat = options.repeat;
  if (!options.reference.empty()) {
    matrix.reference["stack"] = options.reference;
    matrix.reference_mark = {"--reference", 1, 1};
  }
  for (const std::string& text : options.inject) matrix.inject.push_back(parse_inject_option(text));
  return matrix;
}

}  // namespace

void add_selection_options(CLI::App& verb, SelectionOptions& options) {
  verb.add_option("--matrix", options.matrix, "Matrix file, for example matrix/v2.9.yaml")
      ->required()
      ->type_name("FILE");
  verb.add_option("--cell", options.cells,
                  "Only this cell (id, prefix of at least 4 digits, or slug) and its reference")
      ->type_name("ID");
  verb.add_option("--filter", options.filter,
                  "Only cells for which this holds: \"device == cpu and precision != fp32\"")
      ->type_name("EXPR");
  verb.add_option("--stack", options.stacks, "Only cells of this stack and their references")->type_name("NAME");
  verb.add_option("--workload", options.workloads, "Only cells of this model or probe")->type_name("NAME");
  verb.add_option("--device", options.devices, "Only cells of this device class")->type_name("CLASS");
  verb.add_option("--reference", options.reference, "Compare with this stack instead of the matrix's")
      ->type_name("STACK");
  verb.add_option("--repeat", options.repeat, "Fresh processes a cell, instead of the suites' and the matrix's")
      ->check(CLI::Range(1, 1000));
  verb.add_option("--inject", options.inject,
                  "Plant a fault: kind=weight_ulp,step=20,tensor=fc1.weight,element=5,repeat=1,stack=NAME")
      ->type_name("FAULT");
}

SelectedPlan make_plan(const Project& project, const SelectionOptions& options) {
  const MatrixSpec matrix = matrix_with_overrides(options, project);
  const StackCatalog catalog = project.catalog();
  check_stacks(matrix, catalog);
  const Selection selection(options);

  SelectedPlan selected;
  selected.matrix_text = matrix.text;
  Plan& plan = selected.plan;
  plan.matrix = matrix.name;
  plan.matrix_file = options.matrix;
  plan.host = detect_host();
  plan.cells = plan_cells(matrix, project.suites(), catalog, project.facts(), plan.host);
  check_names(options, plan.cells);
  const auto ids = with_references(plan.cells, selection);
  std::erase_if(plan.cells, [&](const PlannedCell& planned) { return !ids.contains(planned.cell.request.cell_id); });
  for (const PlannedCell& planned : plan.cells) {
    const std::string& stack = planned.cell.request.stack;
    plan.declared.try_emplace(stack, catalog.stacks.at(stack).components);
  }
  return selected;
}

}  // namespace reprobench
