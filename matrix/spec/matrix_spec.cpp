#include "matrix/spec/matrix_spec.hpp"

#include <algorithm>
#include <filesystem>

#include "matrix/spec/axis_reader.hpp"
#include "matrix/spec/inject_reader.hpp"
#include "matrix/spec/knob_reader.hpp"
#include "matrix/spec/limits_reader.hpp"
#include "matrix/spec/scalar.hpp"
#include "matrix/spec/schema.hpp"
#include "matrix/spec/selection_reader.hpp"
#include "matrix/spec/threshold_reader.hpp"
#include "matrix/spec/yaml_reader.hpp"

namespace reprobench {
namespace {

using Entry = YamlEntry;

void read_suites(MatrixSpec& matrix, const Entry& entry, Scope& scope) {
  if (!is_list_or_reported(entry.key, entry.value, "[smoke, determinism]", scope)) return;
  if (entry.value.items.empty()) scope.diagnostics.error(entry.value.mark, "RB023", "`suites` lists no suite");
  for (const YamlNode& item : entry.value.items) {
    auto name = read_name(entry.key, item, scope);
    if (!name) continue;
    const auto first = std::find(matrix.suites.begin(), matrix.suites.end(), *name);
    if (first != matrix.suites.end()) {
      const Mark& at = matrix.suite_marks[static_cast<std::size_t>(first - matrix.suites.begin())];
      scope.diagnostics.error(item.mark, "RB023",
                              fmt::format("`suites` lists `{}` twice; first at {}:{}", *name, at.line, at.column));
      continue;
    }
    matrix.suites.push_back(std::move(*name));
    matrix.suite_marks.push_back(item.mark);
  }
}

using RuleReader = SelectionRule (*)(const std::string& what, const YamlNode& item, Scope& scope);

template <std::vector<SelectionRule> MatrixSpec::*member, RuleReader read>
void read_selection_rules(MatrixSpec& matrix, const Entry& entry, Scope& scope) {
  if (!is_list_or_reported(entry.key, entry.value, "[{device: cpu}]", scope)) return;
  for (const YamlNode& item : entry.value.items) {
    if (!item.refused) (matrix.*member).push_back(read(entry.key, item, scope));
  }
}

SelectionRule read_rule(const std::string& what, const YamlNode& item, Scope& scope) {
  return {read_selection_rule(what, item, scope), item.mark};
}

// {stack: candidate, device: present}: what a host lacks cannot be required of it, and what it has can.
SelectionRule read_required_rule(const std::string& what, const YamlNode& item, Scope& scope) {
  const auto is_present = [](const Entry& entry) { return entry.key == "device" && entry.value.text == "present"; };
  if (!item.is_map() || std::ranges::none_of(item.entries, is_present)) {
    return read_rule(what, item, scope);
  }
  YamlNode others = item;
  std::erase_if(others.entries, is_present);
  return {others.entries.empty() ? Selector() : read_selection_rule(what, others, scope), item.mark, true};
}

// A matrix sets no environment: knobs do, so that the cell says what was set. The names people try first get a message
// of their own, because they would make the fingerprint lie.
void read_environment(MatrixSpec&, const Entry& entry, Scope& scope) {
  const auto is_refused = [](std::string_view name) {
    return name == "CUDA_VISIBLE_DEVICES" || name.substr(0, 3) == "LD_" || name.substr(0, 7) == "NVIDIA_";
  };
  scope.diagnostics.error(entry.key_mark, "RB009", "unknown key `env`", "settings of a cell are knobs");
  for (const Entry& variable : entry.value.entries) {
    if (!is_refused(variable.key)) continue;
    scope.diagnostics.error(variable.key_mark, "RB028", fmt::format("env {} may not be set by a matrix", variable.key));
  }
}

template <auto path_member, auto mark_member>
void read_own_file(MatrixSpec& matrix, const Entry& entry, Scope& scope) {
  const auto path = read_relative_path(entry.key, entry.value, scope);
  if (!path) return;
  matrix.*path_member = (std::filesystem::path(entry.value.mark.file).parent_path() / *path).string();
  matrix.*mark_member = entry.value.mark;
}

constexpr Field<MatrixSpec> kMatrixFields[] = {
    {"schema", kRequired, "Always 1.", &read_schema_version<MatrixSpec>},
    {"name", kRequired, "What the verdict is said of.",
     [](MatrixSpec& matrix, const Entry& entry, Scope& scope) {
       assign(matrix.name, read_name(entry.key, entry.value, scope));
     }},
    {"suites", kRequired, "Names of suites/definitions/; each of their workloads is multiplied by the axes.",
     &read_suites},
    {"axes", kRequired, "What is multiplied: `stack`, `device`, `world_size` and any knob, each a list.", &read_axes},
    {"defaults", kOptional, "Knobs of every cell that no axis sets; a suite may not set them to something else.",
     [](MatrixSpec& matrix, const Entry& entry, Scope& scope) {
       matrix.defaults_mark = entry.key_mark;
       read_knobs(matrix.defaults, entry, scope);
     }},
    {"zip", kOptional, "Lists of axes that go in lock step instead of being multiplied.", &read_zip},
    {"include", kOptional, "Further cells: maps of `suite`, `workload`, `stack`, `device`, `world_size` and knobs.",
     &read_include},
    {"exclude", kOptional, "Cells to leave out: maps of coordinates, or `where`. One that matches no cell is an error.",
     &read_selection_rules<&MatrixSpec::exclude, &read_rule>},
    {"required", kOptional,
     "Cells without which the run is undecided: maps of coordinates, or `where`. Each is armed in every dimension it "
     "is asked about, and is not its own reference. `device: present` in a map stands for every device of this host.",
     &read_selection_rules<&MatrixSpec::required, &read_required_rule>},
    {"reference", kOptional,
     "Who is compared with whom: the coordinates that a cell's reference has instead of its own. Another stack: "
     "trainings may differ by rounding alone (`numerics.beyond_rounding`).",
     &read_reference},
    {"repeat", kOptional, "Fresh processes a cell, instead of the suites', and no more than `max_repeat`.",
     [](MatrixSpec& matrix, const Entry& entry, Scope& scope) { read_repeat(matrix.repeats, entry, scope); }},
    {"max_repeat", kOptional, "As many at most, instead of the suites'; see suites. Without it `repeat`.",
     [](MatrixSpec& matrix, const Entry& entry, Scope& scope) { read_max_repeat(matrix.repeats, entry, scope); }},
    {"limits", kOptional, "Times after which an attempt is stopped; see limits.",
     [](MatrixSpec& matrix, const Entry& entry, Scope& scope) { read_limits(matrix.limits, entry, scope); }},
    {"timeout", kOptional, "The same as `limits: {total: ...}`.",
     [](MatrixSpec& matrix, const Entry& entry, Scope& scope) { read_timeout(matrix.limits, entry, scope); }},
    {"thresholds", kOptional, "Rules by metric, after the suites'; see thresholds.",
     [](MatrixSpec& matrix, const Entry& entry, Scope& scope) {
       matrix.thresholds = read_thresholds(entry.value, scope);
     }},
    {"inject", kOptional, "Faults to plant, which make the run a drill; see faults.", &read_inject},
    {"data", kOptional,
     "Instructions of your own, a file below the matrix's folder, for every workload whose model takes them; "
     "see `data` of a workload.",
     &read_own_file<&MatrixSpec::data, &MatrixSpec::data_mark>},
    {"weights", kOptional,
     "Weights of your own, a file or folder below the matrix's folder, for every workload whose model takes them; see "
     "`weights` of a workload.",
     &read_own_file<&MatrixSpec::weights, &MatrixSpec::weights_mark>},
    {"package", kOptional,
     "An AOTInductor package of your own, a file below the matrix's folder, for every workload of the probe `package`. "
     "It is code, and runs with `--trust` alone.",
     &read_own_file<&MatrixSpec::package, &MatrixSpec::package_mark>},
    {"env", kOptional, "Refused: what a cell sets are knobs.", &read_environment},
};

// A bound against the reference needs one (RB035).
void check_reference_is_named(const MatrixSpec& matrix, const YamlNode& root, Scope& scope) {
  if (root.find("reference") != nullptr) return;
  for (const ThresholdRule& rule : matrix.thresholds) {
    if (!rule.bound || !rule.bound->vs_reference) continue;
    scope.diagnostics.error(rule.mark, "RB035",
                            fmt::format("`{}` of `{}` needs a reference", rule.bound->text, rule.metric),
                            "add `reference: {stack: NAME}`");
  }
}

}  // namespace

MatrixSpec parse_matrix(const std::string& text, const std::string& file, const Vocabulary& vocabulary) {
  Diagnostics diagnostics;
  Scope scope{diagnostics, &vocabulary};
  const YamlNode root = read_yaml(text, file, {"a matrix", "axes"}, diagnostics);
  if (root.entries.empty()) diagnostics.throw_if_any();
  MatrixSpec matrix;
  matrix.file = file;
  matrix.text = text;
  read_fields<MatrixSpec>(matrix, root, kMatrixFields, scope);
  check_limits(matrix.limits, root, scope);
  check_repeats(matrix.repeats, root, scope);
  check_axis_uses(matrix, root, scope);
  check_reference_is_named(matrix, root, scope);
  diagnostics.throw_if_any();
  return matrix;
}

MatrixSpec load_matrix(const std::string& path, const Vocabulary& vocabulary) {
  return parse_matrix(read_yaml_file(path), path, vocabulary);
}

std::vector<KeyTable> matrix_keys() { return {key_table<MatrixSpec>("Matrix files", kMatrixFields)}; }

}  // namespace reprobench
