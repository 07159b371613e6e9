#include "matrix/cli/verbs/selection.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/contract/device/host_facts.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/host/detect_host.hpp"
#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/files/call_list.hpp"
#include "matrix/spec/nearest_name.hpp"
#include "matrix/verdict/cell_families.hpp"

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

// Ids of the selected cells, and of all cells with which a check of any of them compares it: the reference, the same
// training on one rank.
std::unordered_set<std::string_view> with_references(const Plan& plan, const Selection& selection) {
  std::unordered_set<std::string_view> ids;
  ids.reserve(plan.cells.size());
  std::vector<const PlannedCell*> added;
  const auto add = [&](const PlannedCell& planned) {
    if (ids.insert(planned.cell.request.cell_id).second) added.push_back(&planned);
  };
  for (const PlannedCell& planned : plan.cells) {
    if (selection.takes(planned.cell)) add(planned);
  }
  std::optional<CellFamilies> families;  // of 100,000 cells they take a second, and few plans need them
  std::unordered_map<std::string_view, const PlannedCell*> by_id;
  for (const PlannedCell& planned : plan.cells) by_id.emplace(planned.cell.request.cell_id, &planned);
  for (std::size_t i = 0; i < added.size(); ++i) {
    const Cell& cell = added[i]->cell;
    if (cell.reference_cell_id) {
      if (const auto found = by_id.find(*cell.reference_cell_id); found != by_id.end()) add(*found->second);
    }
    if (!CellFamilies::is_held_against_layouts(cell)) continue;
    if (!families) families.emplace(plan);
    for (const PlannedCell* other : families->compared_with(cell)) add(*other);
  }
  return ids;
}

// Fewer processes than the suites and the matrix ask for, or another reference, ask less of the cells or something
// else.
std::vector<std::string> changes(const SelectionOptions& options, const MatrixSpec& as_written,
                                 const std::map<std::string, SuiteSpec>& suites) {
  std::vector<std::string> words;
  const bool asks_less = std::any_of(as_written.suites.begin(), as_written.suites.end(), [&](const std::string& name) {
    const auto suite = suites.find(name);
    return suite != suites.end() && options.repeat < as_written.repeats.repeat.value_or(suite->second.repeat);
  });
  if (options.repeat > 0 && asks_less) words.push_back(fmt::format("--repeat {}", options.repeat));
  const auto reference = as_written.reference.find("stack");
  if (!options.reference.empty() &&
      (reference == as_written.reference.end() || reference->second != options.reference)) {
    words.push_back(fmt::format("--reference {}", options.reference));
  }
  return words;
}

PlanRequest request_of(const SelectionOptions& options, const MatrixSpec& as_written,
                       const std::map<std::string, SuiteSpec>& suites) {
  PlanRequest request;
  const auto add = [](const char* name, const std::vector<std::string>& values, std::vector<std::string>& words) {
    for (const std::string& value : values) words.push_back(fmt::format("{} {}", name, shell_word(value)));
  };
  add("--cell", options.cells, request.selected_by);
  add("--stack", options.stacks, request.selected_by);
  add("--workload", options.workloads, request.selected_by);
  add("--device", options.devices, request.selected_by);
  if (!options.filter.empty()) add("--filter", {options.filter}, request.selected_by);
  request.names_cells = !options.cells.empty();
  request.changed_by = changes(options, as_written, suites);
  if (!options.reference.empty()) add("--reference", {options.reference}, request.overrides);
  if (!options.calls.empty()) {
    request.changed_by.push_back(fmt::format("--calls {}", options.calls));
    add("--calls", {options.calls}, request.overrides);
  }
  for (const auto& [kind, path] : options.own_files) {
    request.changed_by.push_back(fmt::format("{} {}", kind->option(), shell_word(path)));
    add(kind->option().c_str(), {path}, request.overrides);
  }
  // Libraries are kept from instructions that this CPU has, so what they computed is not what it computes.
  if (const char* cpu_class = std::getenv(kCpuClass); cpu_class != nullptr && *cpu_class != '\0') {
    request.changed_by.push_back(fmt::format("{}={}", kCpuClass, cpu_class));
  }
  if (options.trust) request.overrides.push_back("--trust");
  if (options.repeat > 0) add("--repeat", {std::to_string(options.repeat)}, request.overrides);
  add("--inject", options.inject, request.overrides);
  return request;
}

// A fault that sits in no cell that runs would make a drill of nothing. What the matrix itself plants may belong to
// another host.
void check_injections(std::span<const InjectRule> given, const std::vector<PlannedCell>& cells) {
  if (std::all_of(cells.begin(), cells.end(), [](const PlannedCell& planned) { return planned.skip; })) return;
  for (const InjectRule& rule : given) {
    const bool is_planted = std::any_of(cells.begin(), cells.end(), [&](const PlannedCell& planned) {
      const auto found = planned.cell.injections.find(rule.repeat);
      return !planned.skip && found != planned.cell.injections.end() && found->second == rule.injection;
    });
    if (!is_planted) throw_spec_error(rule.mark, "RB040", "no cell that runs here takes this fault");
  }
}

void check_names(const SelectionOptions& options, const std::vector<PlannedCell>& cells) {
  for (const std::string& wanted : options.cells) {
    const bool known = std::any_of(cells.begin(), cells.end(),
                                   [&](const PlannedCell& planned) { return names_cell(wanted, planned.cell); });
    if (known) continue;
    std::vector<std::string> slugs;
    for (const PlannedCell& planned : cells) slugs.push_back(planned.cell.slug);
    throw UsageError(unknown_name(fmt::format("cell of {}", options.matrix), wanted, slugs));
  }
}

// A stack, workload or device that no cell of the matrix has would select nothing without a word.
void check_values(const SelectionOptions& options, const std::vector<PlannedCell>& cells) {
  const auto check = [&](const char* what, const std::vector<std::string>& wanted, auto value_of) {
    if (wanted.empty()) return;
    std::vector<std::string> known;
    for (const PlannedCell& planned : cells) {
      std::string value = value_of(planned.cell.request);
      if (std::find(known.begin(), known.end(), value) == known.end()) known.push_back(std::move(value));
    }
    for (const std::string& name : wanted) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      throw UsageError(unknown_name(fmt::format("{} of {}", what, options.matrix), name, known));
    }
  };
  check("stack", options.stacks, [](const CellRequest& request) { return request.stack; });
  check("workload", options.workloads, [](const CellRequest& request) { return request.workload.name(); });
  check("device", options.devices, [](const CellRequest& request) { return request.device; });
}

// A model's presets are known to its code alone, which only a worker has.
std::vector<std::string> unknown_presets(const std::vector<PlannedCell>& cells, const Vocabulary& vocabulary) {
  std::set<std::pair<std::string_view, std::string_view>> asked;  // few, of up to 100,000 cells
  std::vector<std::string> names;
  for (const PlannedCell& planned : cells) {
    const WorkloadRequest& workload = planned.cell.request.workload;
    if (planned.skip || workload.is_probe() || !asked.emplace(workload.model, workload.preset).second) continue;
    if (vocabulary.presets.contains(workload.model)) continue;
    names.push_back(fmt::format("{}/{}", workload.model, workload.preset));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Another list in place of the one that a suite names; a matrix without such a suite would pass over it.
void replace_calls(const std::string& file, const MatrixSpec& matrix, std::map<std::string, SuiteSpec>& suites) {
  if (file.empty()) return;
  const CallList list = load_call_list(file);
  bool is_taken = false;
  for (auto& [name, suite] : suites) {
    const bool is_run = std::find(matrix.suites.begin(), matrix.suites.end(), name) != matrix.suites.end();
    for (WorkloadRequest& workload : suite.workloads) {
      if (!is_run || workload.probe != kOperatorsProbe) continue;
      give_calls(list, workload);
      is_taken = true;
    }
  }
  if (!is_taken) throw UsageError(fmt::format("--calls: no suite of {} runs operator calls", matrix.name));
}

[[noreturn]] void refuse_package(const Mark& mark) {
  throw_spec_error(mark, "RB048", "a package is code, and would run because this file names it",
                   "name it yourself with --package FILE, or say --trust");
}

// A matrix and its suites may come from anywhere; a package that they bring along is a program (ADR 56).
void refuse_code(const SelectionOptions& options, const MatrixSpec& matrix,
                 const std::map<std::string, SuiteSpec>& suites) {
  const auto is_package = [](const auto& given) { return given.first->is_of_probe(); };
  if (options.trust || std::ranges::any_of(options.own_files, is_package)) return;  // it stands in for theirs
  if (!matrix.package.empty()) refuse_package(matrix.package_mark);
  for (const auto& [name, suite] : suites) {
    if (std::find(matrix.suites.begin(), matrix.suites.end(), name) == matrix.suites.end()) continue;
    for (const WorkloadRequest& workload : suite.workloads) {
      if (!workload.package_file.empty()) refuse_package(suite.mark);
    }
  }
}

MatrixSpec with_overrides(const SelectionOptions& options, MatrixSpec matrix) {
  if (options.repeat > 0) matrix.repeats = {options.repeat, options.repeat};
  for (const auto& [kind, path] : options.own_files) {
    matrix.*(kind->path) = path;
    matrix.*(kind->mark) = {kind->option(), 0, 0};
  }
  if (!options.reference.empty()) {
    matrix.reference["stack"] = options.reference;
    matrix.reference_mark = {"--reference", 1, 1};
    for (Axis& axis : matrix.axes) {
      if (axis.name != "stack" ||
          std::find(axis.values.begin(), axis.values.end(), options.reference) != axis.values.end())
        continue;
      axis.values.push_back(options.reference);
      axis.value_marks.push_back(matrix.reference_mark);
    }
  }
  for (const std::string& text : options.inject) matrix.inject.push_back(parse_inject_option(text));
  return matrix;
}

}  // namespace

std::string shell_word(const std::string& word) {
  const bool is_plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("-_./=,:+@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (is_plain && !word.empty()) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string preset_note(const SelectedPlan& selected) {
  if (selected.unknown_presets.empty()) return "";
  return fmt::format("presets not checked, because no installed worker describes these models: {}\n",
                     fmt::join(selected.unknown_presets, ", "));
}

void add_selection_options(CLI::App& verb, SelectionOptions& options) {
  verb.add_option("--matrix", options.matrix, "Matrix file, for example matrix/v2.9.yaml")
      ->required()
      ->type_name("FILE");
  verb.add_option("--cell", options.cells,
                  "Only this cell (id, prefix of at least 4 digits, or slug) and what it is compared with")
      ->type_name("ID");
  verb.add_option("--filter", options.filter,
                  "Only cells for which this holds: \"device == cpu and precision != fp32\"")
      ->type_name("EXPR");
  verb.add_option("--stack", options.stacks, "Only cells of this stack and their references")->type_name("NAME");
  verb.add_option("--workload", options.workloads, "Only cells of this model or probe")->type_name("NAME");
  verb.add_option("--device", options.devices, "Only cells of this device class")->type_name("CLASS");
  verb.add_option("--reference", options.reference, "Compare with this stack instead of the matrix's")
      ->type_name("STACK");
  verb.add_option("--calls", options.calls,
                  "Operator calls of your own for the suite `operators`: a file as those in suites/operators")
      ->type_name("FILE");
  add_own_file_options(verb, options.own_files);
  verb.add_flag("--trust", options.trust, "Run the code of packages that the matrix or a suite names, too");
  verb.add_option("--repeat", options.repeat, "Fresh processes a cell, instead of the suites' and the matrix's")
      ->check(CLI::Range(1, 1000));
  verb.add_option("--inject", options.inject,
                  "Plant a fault: kind=weight_ulp,step=20,tensor=fc1.weight,element=5,repeat=1,stack=NAME")
      ->type_name("FAULT");
}

SelectedPlan make_plan(const Project& project, const SelectionOptions& options) {
  const Vocabulary vocabulary = project.vocabulary();
  const MatrixSpec as_written = project.matrix(options.matrix, vocabulary);
  const MatrixSpec matrix = with_overrides(options, as_written);
  const StackCatalog catalog = project.catalog();
  check_stacks(matrix, catalog);
  const Selection selection(options);

  SelectedPlan selected;
  selected.matrix_text = matrix.text;
  Plan& plan = selected.plan;
  plan.matrix = matrix.name;
  plan.matrix_file = options.matrix;
  plan.host = detect_host();
  auto suites = project.suites();
  replace_calls(options.calls, matrix, suites);
  refuse_code(options, matrix, suites);
  give_own_files(matrix, vocabulary, suites);
  plan.cells = plan_cells(matrix, suites, catalog, project.facts(), plan.host, &plan.excluded);
  check_names(options, plan.cells);
  check_values(options, plan.cells);
  plan.request = request_of(options, as_written, suites);
  const bool is_part = !plan.request.selected_by.empty();
  const auto ids = is_part ? with_references(plan, selection) : std::unordered_set<std::string_view>();
  const std::string left_out = fmt::format("left out by {}", fmt::join(plan.request.selected_by, " "));
  for (PlannedCell& planned : plan.cells) {
    if (is_part && !ids.contains(planned.cell.request.cell_id)) {
      planned.skip = Skip{kDeselected, left_out};
      planned.notes.clear();
      continue;
    }
    const std::string& stack = planned.cell.request.stack;
    plan.declared.try_emplace(stack, catalog.stacks.at(stack).components);
  }
  for (const auto& [kind, path] : options.own_files) {
    if (path != as_written.*(kind->path)) check_own_file_is_used(*kind, plan.cells);
  }
  selected.unknown_presets = unknown_presets(plan.cells, vocabulary);
  check_injections(std::span(matrix.inject).subspan(as_written.inject.size()), plan.cells);
  return selected;
}

}  // namespace reprobench
