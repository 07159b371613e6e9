#include <algorithm>
#include <cstdint>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "matrix/plan/cell_grid.hpp"
#include "matrix/plan/gaps.hpp"
#include "matrix/plan/named_values.hpp"
#include "matrix/plan/plan.hpp"
#include "matrix/plan/rule_use.hpp"
#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

class Expansion {
 public:
  Expansion(const MatrixSpec& matrix, const std::map<std::string, SuiteSpec>& suites)
      : matrix_(matrix),
        sources_(suite_workloads(matrix, suites)),
        rules_(matrix),
        named_values_(matrix),
        required_stacks_(matrix) {}

  std::vector<PlannedCell> run() {
    check_reference_values();
    check_defaults();
    add_grid();
    add_included();
    link_references();
    find_own_references();
    check_suites();
    named_values_.report(diagnostics_);
    if (diagnostics_.empty()) rules_.report_faults(diagnostics_);
    if (diagnostics_.empty()) required_stacks_.report(diagnostics_);
    diagnostics_.throw_if_any();
    return std::move(cells_);
  }

  std::int64_t excluded() const { return excluded_; }

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
    Coordinates chosen;
    for (const SuiteWorkload& source : sources_) {
      for (std::size_t i = 0; i < grid.size(); ++i) {
        grid.point(i, chosen);
        Cell& cell = cells_.emplace_back().cell;
        make_cell(matrix_, source, chosen, cell);
        const CoordinateLookup coordinates = selection_coordinates(cell);
        named_values_.see(coordinates);
        if (rules_.is_excluded(coordinates)) {
          cells_.pop_back();
          ++excluded_;
        } else {
          complete_last(source, source.suite->mark);
        }
      }
    }
  }

  void add_included() {
    for (const IncludeRule& rule : matrix_.include) {
      bool added = false;
      for (const SuiteWorkload& source : sources_) {
        if (!names(rule, "suite", source.suite->name) || !names(rule, "workload", source.name)) continue;
        make_cell(matrix_, source, rule.coordinates, cells_.emplace_back().cell);
        complete_last(source, rule.mark);
        added = true;
      }
      if (!added) diagnostics_.error(rule.mark, "RB024", "include names a suite or workload this matrix does not run");
    }
  }

  // A default holds for every suite, also for one that is about another value: `sequence_lengths: fixed` of bucketed
  // lengths.
  void check_defaults() {
    std::set<std::string_view> reported;
    for (const SuiteWorkload& source : sources_) {
      for (const auto& [name, value] : source.suite->knobs) {
        const auto stated = matrix_.defaults.find(name);
        const bool is_axis = std::ranges::find(matrix_.axes, name, &Axis::name) != matrix_.axes.end();
        if (stated == matrix_.defaults.end() || stated->second == value || is_axis) continue;
        if (!reported.insert(name).second) continue;
        diagnostics_.error(matrix_.defaults_mark, "RB039",
                           fmt::format("`{}: {}` takes the place of `{}: {}` of suite `{}` at {}", name, stated->second,
                                       name, value, source.suite->name, to_string(source.suite->mark)),
                           fmt::format("an axis `{}: [{}]` does so for all to see", name, stated->second));
      }
    }
  }

  // A suite that is listed and asks nothing would look as if it had been asked.
  void check_suites() {
    std::set<std::string_view> asked;
    for (const PlannedCell& planned : cells_) asked.insert(planned.cell.request.suite);
    for (std::size_t i = 0; i < matrix_.suites.size(); ++i) {
      if (asked.contains(matrix_.suites[i])) continue;
      diagnostics_.error(matrix_.suite_marks[i], "RB024",
                         fmt::format("`exclude` leaves no cell of suite `{}`", matrix_.suites[i]),
                         "take it off `suites`, or leave it a cell");
    }
  }

  static bool names(const IncludeRule& rule, const char* coordinate, const std::string& value) {
    const auto found = rule.coordinates.find(coordinate);
    return found == rule.coordinates.end() || found->second == value;
  }

  bool is_reference(const CoordinateLookup& coordinates) const {
    return !matrix_.reference.empty() &&
           std::all_of(matrix_.reference.begin(), matrix_.reference.end(),
                       [&](const auto& wanted) { return coordinates(wanted.first) == wanted.second; });
  }

  // The last cell gets its id and what the rules say of it; one that is there already is taken away again.
  void complete_last(const SuiteWorkload& source, const Mark& origin) {
    const std::size_t index = cells_.size() - 1;
    Cell& cell = cells_[index].cell;
    cell.request.cell_id = cell_id_of(cell.request);
    const auto [first, is_new] = index_of_id_.emplace(number_of(cell.request.cell_id), index);
    if (!is_new) {
      diagnostics_.error(origin, "RB025",
                         fmt::format("two cells have the id {}: `{}` and `{}`", cell.request.cell_id,
                                     cells_[first->second].cell.slug, cell.slug));
      cells_.pop_back();
      return;
    }
    const CoordinateLookup coordinates = selection_coordinates(cell);
    const bool is_compared_with = is_reference(coordinates);
    named_values_.see(coordinates);
    required_stacks_.see(coordinates);
    if (is_compared_with) references_.emplace(key_without_reference(cell), index);
    rules_.apply(cell, coordinates, *source.suite, is_compared_with);
    report_missing_reference(cell);
  }

  static std::uint64_t number_of(const std::string& cell_id) { return std::stoull(cell_id, nullptr, 16); }

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

  // All that a cell and its reference have in common: every coordinate and knob but those the matrix compares across.
  std::string key_without_reference(const Cell& cell) const {
    std::string key;
    const auto append = [&](std::string_view value) {
      key += value;
      key += '\n';
    };
    for (const char* name : {"suite", "workload", "stack", "device", "world_size"}) {
      if (!matrix_.reference.contains(name)) append(cell.coordinates.at(name));
    }
    for (const auto& [name, value] : cell.request.knobs) {
      if (matrix_.reference.contains(name)) continue;
      append(name);
      append(value);
    }
    return key;
  }

  void link_references() {
    if (references_.empty()) return;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const auto reference = references_.find(key_without_reference(cells_[i].cell));
      if (reference == references_.end() || reference->second == i) continue;
      cells_[i].cell.reference_cell_id = cells_[reference->second].cell.request.cell_id;
      if (cells_[i].cell.exclusive) cells_[reference->second].cell.exclusive = true;  // one that is timed beside it
      if (cells_[i].cell.required) compared_with_required_.insert(reference->second);
    }
  }

  // A required cell with which no required one is compared: what is asked against the reference is asked of nobody.
  void find_own_references() {
    for (const auto& [key, index] : references_) {
      Cell& cell = cells_[index].cell;
      if (!cell.required || compared_with_required_.contains(index)) continue;
      const auto source = std::ranges::find_if(
          sources_, [&](const SuiteWorkload& candidate) { return candidate.suite->name == cell.request.suite; });
      const CoordinateLookup coordinates = selection_coordinates(cell);
      for (Gap& gap : dimensions_of_own_reference({matrix_, *source->suite, cell, coordinates, true})) {
        cell.gaps.push_back(std::move(gap));
      }
    }
  }

  const MatrixSpec& matrix_;
  std::vector<SuiteWorkload> sources_;
  RuleUse rules_;
  NamedValues named_values_;
  RequiredStacks required_stacks_;
  Diagnostics diagnostics_;
  std::int64_t excluded_ = 0;
  std::vector<PlannedCell> cells_;
  std::unordered_map<std::uint64_t, std::size_t> index_of_id_;
  std::unordered_map<std::string, std::size_t> references_;  // by key_without_reference()
  std::set<std::size_t> compared_with_required_;
  std::set<std::string> reported_;
};

}  // namespace

std::vector<PlannedCell> expand(const MatrixSpec& matrix, const std::map<std::string, SuiteSpec>& suites,
                                std::int64_t* excluded) {
  Expansion expansion(matrix, suites);
  std::vector<PlannedCell> cells = expansion.run();
  if (excluded != nullptr) *excluded = expansion.excluded();
  return cells;
}

}  // namespace reprobench
