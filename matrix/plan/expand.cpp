#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "matrix/plan/cell_grid.hpp"
#include "matrix/plan/plan.hpp"
#include "matrix/plan/rule_use.hpp"
#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

class Expansion {
 public:
  Expansion(const MatrixSpec& matrix, const std::map<std::string, SuiteSpec>& suites)
      : matrix_(matrix), sources_(suite_workloads(matrix, suites)), rules_(matrix) {}

  std::vector<PlannedCell> run() {
    check_reference_values();
    add_grid();
    add_included();
    link_references();
    rules_.report_unused(diagnostics_);
    diagnostics_.throw_if_any();
    return std::move(cells_);
  }

 private:
  // The command line can name a reference after the file was read.
  void check_reference_values() {
    for (const auto& [name, value] : matrix_.reference) {
      const auto axis = std::find_if(matrix_.axes.begin(), matrix_.axes.end(),
                                     [&, &wanted = name](const Axis& candidate) { return candidate.name == wanted; });
      const bool known = axis != matrix_.axes.end() &&
                         std::find(axis->values.begin(), axis->values.end(), value) != axis->values.end();
      if (known) continue;
      throw_spec_error(matrix_.reference_mark, "RB024",
                       fmt::format("reference `{}` is no value of axis `{}`", value, name),
                       axis == matrix_.axes.end() ? "" : did_you_mean(value, axis->values));
    }
  }

  void add_grid() {
    const AxisGrid grid(matrix_, sources_.size());
    cells_.reserve(sources_.size() * (grid.size() + matrix_.include.size()));
    index_of_id_.reserve(cells_.capacity());
    for (const SuiteWorkload& source : sources_) {
      for (std::size_t i = 0; i < grid.size(); ++i) {
        Cell cell = make_cell(matrix_, source, grid.point(i));
        const Coordinates coordinates = selection_coordinates(cell);
        if (!rules_.is_excluded(coordinates)) add(std::move(cell), coordinates, source, source.suite->mark);
      }
    }
  }

  void add_included() {
    for (const IncludeRule& rule : matrix_.include) {
      bool added = false;
      for (const SuiteWorkload& source : sources_) {
        if (!names(rule, "suite", source.suite->name) || !names(rule, "workload", source.name)) continue;
        Cell cell = make_cell(matrix_, source, rule.coordinates);
        const Coordinates coordinates = selection_coordinates(cell);
        add(std::move(cell), coordinates, source, rule.mark);
        added = true;
      }
      if (!added) diagnostics_.error(rule.mark, "RB024", "include names a suite or workload this matrix does not run");
    }
  }

  static bool names(const IncludeRule& rule, const char* coordinate, const std::string& value) {
    const auto found = rule.coordinates.find(coordinate);
    return found == rule.coordinates.end() || found->second == value;
  }

  bool is_reference(const Coordinates& coordinates) const {
    return std::all_of(matrix_.reference.begin(), matrix_.reference.end(),
                       [&](const auto& wanted) { return coordinates.at(wanted.first) == wanted.second; });
  }

  void add(Cell cell, const Coordinates& coordinates, const SuiteWorkload& source, const Mark& origin) {
    cell.request.cell_id = cell_id_of(cell.request);
    const auto [first, is_new] = index_of_id_.emplace(cell.request.cell_id, cells_.size());
    if (!is_new) {
      diagnostics_.error(origin, "RB025",
                         fmt::format("two cells have the id {}: `{}` and `{}`", cell.request.cell_id,
                                     cells_[first->second].cell.slug, cell.slug));
      return;
    }
    rules_.apply(cell, coordinates, *source.suite, !matrix_.reference.empty() && is_reference(coordinates));
    report_missing_reference(cell);
    cells_.push_back({std::move(cell), std::nullopt, {}});
  }

  // Once a rule, however many cells it holds for.
  void report_missing_reference(const Cell& cell) {
    if (!matrix_.reference.empty()) return;
    for (const CellThreshold& threshold : cell.thresholds) {
      if (threshold.gate != Gate::armed || !threshold.bound.vs_reference) continue;
      if (!reported_.insert(to_string(threshold.mark)).second) continue;
      diagnostics_.error(threshold.mark, "RB035",
                         fmt::format("`{}` of `{}` needs a reference, and matrix `{}` names none", threshold.bound.text,
                                     threshold.metric, matrix_.name),
                         "add `reference: {stack: NAME}`");
    }
  }

  // All that identifies a cell to its reference: every coordinate and knob, those the matrix compares across replaced
  // by the reference's.
  std::string reference_key(const Cell& cell, bool of_reference) const {
    std::string key;
    const auto append = [&](std::string_view value) {
      key += value;
      key += '\n';
    };
    for (const char* name : {"suite", "workload", "stack", "device", "world_size"}) {
      if (!matrix_.reference.contains(name)) append(cell.coordinates.at(name));
    }
    for (const auto& [name, value] : matrix_.reference) {
      const auto coordinate = cell.coordinates.find(name);
      append(of_reference                           ? std::string_view(value)
             : coordinate != cell.coordinates.end() ? std::string_view(coordinate->second)
                                                    : knob_of(cell, name));
    }
    for (const auto& [name, value] : cell.request.knobs) {
      if (matrix_.reference.contains(name)) continue;
      append(name);
      append(value);
    }
    return key;
  }

  void link_references() {
    if (matrix_.reference.empty()) return;
    std::unordered_map<std::string, std::size_t> references;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      std::string key = reference_key(cells_[i].cell, false);
      if (key == reference_key(cells_[i].cell, true)) references.emplace(std::move(key), i);
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const auto reference = references.find(reference_key(cells_[i].cell, true));
      if (reference == references.end() || reference->second == i) continue;
      cells_[i].cell.reference_cell_id = cells_[reference->second].cell.request.cell_id;
    }
  }

  const MatrixSpec& matrix_;
  std::vector<SuiteWorkload> sources_;
  RuleUse rules_;
  Diagnostics diagnostics_;
  std::vector<PlannedCell> cells_;
  std::unordered_map<std::string, std::size_t> index_of_id_;
  std::set<std::string> reported_;
};

}  // namespace

std::vector<PlannedCell> expand(const MatrixSpec& matrix, const std::map<std::string, SuiteSpec>& suites) {
  return Expansion(matrix, suites).run();
}

}  // namespace reprobench
