#include "matrix/plan/rule_use.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "matrix/plan/gaps.hpp"
#include "matrix/spec/files/own_files.hpp"

namespace reprobench {
namespace {

// A rule without a bound: changes the gate of the bounds that hold so far; one without `of` those of every operation.
bool apply_gate(const ThresholdRule& rule, std::vector<CellThreshold>& thresholds) {
  bool any = false;
  for (CellThreshold& threshold : thresholds) {
    if (!covers(rule.metric, threshold.metric) || (!rule.of.empty() && threshold.of != rule.of)) continue;
    threshold.gate = rule.gate;
    threshold.gate_mark = rule.mark;
    any = true;
  }
  return any;
}

// Of several rules for the same metric and operation the last one that selects a cell holds; true if this one did
// anything.
bool apply_rule(const ThresholdRule& rule, std::vector<CellThreshold>& thresholds) {
  if (!rule.bound) return apply_gate(rule, thresholds);
  const auto found = std::find_if(thresholds.begin(), thresholds.end(), [&](const CellThreshold& threshold) {
    return threshold.metric == rule.metric && threshold.of == rule.of;
  });
  CellThreshold threshold{rule.metric, rule.gate, *rule.bound, rule.mark, rule.of};
  if (found == thresholds.end()) {
    thresholds.push_back(std::move(threshold));
  } else {
    *found = std::move(threshold);
  }
  return true;
}

// Whether every side that one bound holds is held by another in its place. `max` says nothing of what is too low, and
// a limit nothing of the reference.
bool holds_as_much(const Bound& bound, const Bound& replaced) {
  if (bound.kind == replaced.kind) return true;
  const bool is_of_both_sides = bound.kind == Bound::Kind::band || bound.kind == Bound::Kind::equal;
  return is_of_both_sides && replaced.kind != Bound::Kind::max_regression;
}

// Null: it takes no armed one away.
const CellThreshold* taken_away(const ThresholdRule& rule, const std::vector<CellThreshold>& of_suite) {
  const auto found = std::ranges::find_if(of_suite, [&](const CellThreshold& threshold) {
    return rule.bound && threshold.metric == rule.metric && threshold.of == rule.of && threshold.gate == Gate::armed &&
           !holds_as_much(*rule.bound, threshold.bound);
  });
  return found == of_suite.end() ? nullptr : &*found;
}

// Whether a value that breaks `stated` may hold `bound`, which is of the same kind.
bool allows_more(const Bound& bound, const Bound& stated) {
  switch (bound.kind) {
    case Bound::Kind::max:
    case Bound::Kind::max_regression:
      return bound.limit > stated.limit;
    case Bound::Kind::min:
      return bound.limit < stated.limit;
    case Bound::Kind::band:
      return *bound.low < *stated.low || bound.limit > stated.limit;
    case Bound::Kind::equal:
      break;
  }
  return bound.limit != stated.limit;
}

// What a suite asked and a matrix now asks less of is said with the verdict: `max_regression: 1000%` fails nobody.
void note_loosened(const std::vector<CellThreshold>& of_suite, std::vector<CellThreshold>& thresholds) {
  for (CellThreshold& threshold : thresholds) {
    const auto stated = std::ranges::find_if(of_suite, [&](const CellThreshold& one) {
      return one.metric == threshold.metric && one.of == threshold.of && one.gate == Gate::armed &&
             one.bound.kind == threshold.bound.kind;
    });
    if (stated == of_suite.end() || !allows_more(threshold.bound, stated->bound)) continue;
    threshold.loosens = fmt::format("{} ({})", stated->bound.text, to_string(stated->mark));
  }
}

// How far a training gets is measured on data and from drawn weights: what a suite says of it holds for its own.
constexpr std::array<std::string_view, 3> kLearningMetrics = {"numerics.end_loss", "numerics.loss_fall_rel",
                                                              kWeightChange};

void disarm_learning(const Mark& why, std::vector<CellThreshold>& thresholds) {
  for (CellThreshold& threshold : thresholds) {
    if (std::find(kLearningMetrics.begin(), kLearningMetrics.end(), threshold.metric) == kLearningMetrics.end())
      continue;
    threshold.gate = Gate::record_only;
    threshold.gate_mark = why;
  }
}

// Where the matrix says so of a file of the user's that the cell trains with; null: it has none from there.
const Mark* other_input_of(const MatrixSpec& matrix, const WorkloadRequest& workload) {
  for (const OwnFileKind& kind : own_file_kinds()) {
    if (!(matrix.*kind.path).empty() && !(workload.*kind.field.sha256).empty()) return &(matrix.*kind.mark);
  }
  return nullptr;
}

bool is_of_time(const CellThreshold& threshold) {
  return threshold.gate == Gate::armed && threshold.metric.starts_with("throughput.");
}

// Three trainings that nothing compares would look like a check of resuming.
bool asks_of_going_on(const Cell& cell) {
  return std::ranges::any_of(cell.thresholds,
                             [](const CellThreshold& threshold) { return threshold.metric == kResumeMismatches; });
}

// A rule that no file has.
ThresholdRule always_zero(std::string_view metric, const Mark& mark, bool vs_reference) {
  return {.metric = std::string(metric),
          .of = {},
          .bound = Bound{Bound::Kind::max, 0, "max: 0", vs_reference},
          .where = {},
          .mark = mark};
}

// Threads, instructions: other values leave the same numbers but for their rounding.
bool only_reorders(const Knob* knob) { return knob != nullptr && (knob->keeps_bits || !knob->other_orders.empty()); }

void report(const std::vector<bool>& used, const auto& rules, const char* code, const char* what,
            Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!used[i]) diagnostics.error(rules[i].mark, code, what);
  }
}

}  // namespace

CoordinateLookup selection_coordinates(const Cell& cell) {
  return [&cell](const std::string& name) -> std::optional<std::string_view> {
    const auto coordinate = cell.coordinates.find(name);
    if (coordinate != cell.coordinates.end()) return coordinate->second;
    const auto chosen = cell.request.knobs.find(name);
    if (chosen != cell.request.knobs.end()) return chosen->second;
    const Knob* knob = find_knob(name);
    if (knob == nullptr) return std::nullopt;
    return knob->default_value;
  };
}

RuleUse::RuleUse(const MatrixSpec& matrix)
    : matrix_(matrix),
      by_reference_(always_zero(kBeyondRounding, matrix.reference_mark, true)),
      exclusions_(matrix.exclude),
      excluded_(matrix.exclude.size()),
      required_(matrix.required.size()),
      injected_(matrix.inject.size()) {}

bool RuleUse::is_excluded(const CoordinateLookup& cell) {
  bool excluded = false;
  exclusions_.for_each_candidate(cell, [&](std::size_t rule) {
    if (!matrix_.exclude[rule].where.matches(cell)) return;
    excluded_[rule] = true;
    excluded = true;
  });
  return excluded;
}

void RuleUse::apply(Cell& cell, const CoordinateLookup& coordinates, const SuiteSpec& suite, bool is_reference) {
  for (std::size_t i = 0; i < matrix_.required.size(); ++i) {
    if (!matrix_.required[i].where.matches(coordinates)) continue;
    required_[i] = true;
    // Whether this host has its device is known to resolve().
    cell.required_if_present = matrix_.required[i].of_present_devices && (!cell.required || cell.required_if_present);
    cell.required = true;
  }
  for (std::size_t i = 0; i < matrix_.inject.size(); ++i) {
    const InjectRule& rule = matrix_.inject[i];
    const WorkloadRequest& workload = cell.request.workload;
    const std::int64_t resumed_ranks = workload.resume_world_size;
    const std::int64_t ranks =
        is_of_resuming(rule.injection) && resumed_ranks > 0 ? resumed_ranks : cell.request.world_size;
    const bool happens = rule.repeat < cell.repeat && rule.injection.step <= workload.repetitions() &&
                         is_of_probe(rule.injection) == workload.is_probe() &&
                         (!is_of_resuming(rule.injection) || rule.injection.step == workload.resume_after + 1) &&
                         rule.injection.rank < ranks;
    if (!happens || !rule.where.matches(coordinates)) continue;
    injected_[i] = true;
    cell.injections[rule.repeat] = rule.injection;
  }
  Selected selected;
  selected.is_reference = is_reference;
  selected.other_input = other_input_of(matrix_, cell.request.workload);
  const auto add = [&](const std::vector<ThresholdRule>& rules) {
    for (const ThresholdRule& rule : rules) {
      if (rule.where.matches(coordinates)) selected.rules.push_back(&rule);
    }
  };
  add(suite.thresholds);
  selected.of_suite = selected.rules.size();
  add(matrix_.thresholds);
  cell.thresholds = thresholds_for(selected);
  if (is_held_against_another_stack(cell, coordinates) && !asks_of_differences(cell)) {
    ask_too(by_reference_, selected, cell);
  }
  if (cell.request.workload.resume_after > 0 && !asks_of_going_on(cell)) ask_too(going_on_of(suite), selected, cell);
  cell.exclusive = cell.exclusive || std::ranges::any_of(cell.thresholds, &is_of_time);
  if (cell.required) cell.gaps = unarmed_dimensions({matrix_, suite, cell, coordinates, is_reference});
}

void RuleUse::ask_too(const ThresholdRule& rule, Selected& selected, Cell& cell) {
  selected.rules.insert(selected.rules.begin() + static_cast<std::ptrdiff_t>(selected.of_suite), &rule);
  ++selected.of_suite;
  cell.thresholds = thresholds_for(selected);
}

const ThresholdRule& RuleUse::going_on_of(const SuiteSpec& suite) {
  return going_on_.try_emplace(suite.name, always_zero(kResumeMismatches, suite.mark, false)).first->second;
}

bool RuleUse::is_held_against_another_stack(const Cell& cell, const CoordinateLookup& coordinates) const {
  const bool is_alike = std::ranges::all_of(matrix_.reference, [&](const auto& named) {
    const auto& [name, value] = named;
    return name == "stack" ? coordinates(name) != value : coordinates(name) == value || only_reorders(find_knob(name));
  });
  return is_alike && matrix_.reference.contains("stack") && !cell.request.workload.is_probe();
}

const SharedList<CellThreshold>& RuleUse::thresholds_for(const Selected& selected) {
  const auto [found, is_new] = thresholds_of_rules_.try_emplace(selected);
  if (is_new) found->second = thresholds_of(found->first);
  return found->second;
}

std::vector<CellThreshold> RuleUse::thresholds_of(const Selected& selected) {
  std::vector<CellThreshold> thresholds;
  const auto apply_rules = [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      if (apply_rule(*selected.rules[i], thresholds)) effective_.insert(selected.rules[i]);
    }
  };
  apply_rules(0, selected.of_suite);
  if (selected.other_input != nullptr) disarm_learning(*selected.other_input, thresholds);
  for (std::size_t i = selected.of_suite; i < selected.rules.size(); ++i) {
    if (const auto* lost = taken_away(*selected.rules[i], thresholds)) let_go_.try_emplace(selected.rules[i], *lost);
  }
  const std::vector<CellThreshold> of_suite = thresholds;
  apply_rules(selected.of_suite, selected.rules.size());
  note_loosened(of_suite, thresholds);
  if (selected.is_reference) {
    std::erase_if(thresholds, [](const CellThreshold& threshold) { return threshold.bound.vs_reference; });
  }
  return thresholds;
}

void RuleUse::report_faults(Diagnostics& diagnostics) const {
  report(excluded_, matrix_.exclude, "RB024", "exclude rule matches no cell", diagnostics);
  report(required_, matrix_.required, "RB040", "rule selects no cell", diagnostics);
  report(injected_, matrix_.inject, "RB040", "rule selects no cell", diagnostics);
  for (const ThresholdRule& rule : matrix_.thresholds) {
    if (!effective_.contains(&rule)) diagnostics.error(rule.mark, "RB040", "rule selects no cell");
    const auto lost = let_go_.find(&rule);
    if (lost == let_go_.end()) continue;
    diagnostics.error(rule.mark, "RB039",
                      fmt::format("`{}` takes the place of `{}` at {}, which nothing then holds", rule.bound->text,
                                  lost->second.bound.text, to_string(lost->second.mark)),
                      "bound both sides by a `band`, or keep the kind of bound");
  }
}

}  // namespace reprobench
