#include "matrix/plan/cell_grid.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/digits.hpp"
#include "matrix/contract/knob.hpp"
#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

std::vector<std::string> zip_partners(const MatrixSpec& matrix, const std::string& axis) {
  for (const auto& group : matrix.zip) {
    if (std::find(group.begin(), group.end(), axis) != group.end()) return group;
  }
  return {axis};
}

bool is_worded(const Knob& knob) { return knob.values.size() > 2 && !is_digit(knob.values.front().front()); }

// "fp32" speaks for itself; "on" and "4" need their knob's name.
std::string slug_part(const std::string& name, const std::string& value) {
  if (name == "stack" || name == "device") return value;
  const Knob* knob = find_knob(name);
  return knob != nullptr && is_worded(*knob) ? value : fmt::format("{}-{}", name, value);
}

// Of a file's SHA-256, in names.
constexpr std::size_t kDigitsOfDigest = 8;

std::string workload_name(const SuiteSpec& suite, const WorkloadRequest& workload) {
  const auto alike = [&](auto same) { return std::count_if(suite.workloads.begin(), suite.workloads.end(), same); };
  if (alike([&](const WorkloadRequest& other) { return other.name() == workload.name(); }) == 1) return workload.name();
  const std::string with_preset = fmt::format("{}.{}", workload.name(), workload.preset);
  if (alike([&](const WorkloadRequest& other) {
        return other.name() == workload.name() && other.preset == workload.preset;
      }) == 1) {
    return with_preset;
  }
  std::string name = workload.is_probe() ? fmt::format("{}.n{}", with_preset, workload.samples)
                                         : fmt::format("{}.s{}b{}", with_preset, workload.steps, workload.batch_size);
  if (workload.resume_world_size > 0) name += fmt::format(".resumed-on-{}", workload.resume_world_size);
  for (const OwnFileField& own : kOwnFiles) {
    if (!(workload.*own.sha256).empty()) {
      name += fmt::format(".{}-{}", own.name, (workload.*own.sha256).substr(0, kDigitsOfDigest));
    }
  }
  return name;
}

// On a GPU whoever waits would keep its memory there, and telemetry would take it for another program.
std::int64_t turn_steps_of(const SuiteSpec& suite, const CellRequest& request) {
  const WorkloadRequest& workload = request.workload;
  if (suite.turns == 0 || request.device != "cpu" || workload.is_probe() || workload.resume_after > 0) return 0;
  return (workload.steps + suite.turns - 1) / suite.turns;
}

}  // namespace

std::vector<SuiteWorkload> suite_workloads(const MatrixSpec& matrix, const std::map<std::string, SuiteSpec>& suites) {
  std::vector<std::string> known;
  for (const auto& [name, suite] : suites) known.push_back(name);
  Diagnostics diagnostics;
  std::vector<SuiteWorkload> sources;
  for (std::size_t i = 0; i < matrix.suites.size(); ++i) {
    const auto suite = suites.find(matrix.suites[i]);
    if (suite == suites.end()) {
      diagnostics.error(matrix.suite_marks[i], "RB009", fmt::format("unknown suite `{}`", matrix.suites[i]),
                        did_you_mean(matrix.suites[i], known));
      continue;
    }
    for (const WorkloadRequest& workload : suite->second.workloads) {
      sources.push_back({&suite->second, workload, workload_name(suite->second, workload)});
    }
  }
  diagnostics.throw_if_any();
  return sources;
}

AxisGrid::AxisGrid(const MatrixSpec& matrix, std::size_t outer) : matrix_(matrix) {
  std::set<std::string> placed;
  for (const Axis& first : matrix.axes) {
    if (placed.count(first.name) != 0) continue;
    const auto partners = zip_partners(matrix, first.name);
    Group group{{}, first.values.size()};
    for (const Axis& axis : matrix.axes) {
      if (std::find(partners.begin(), partners.end(), axis.name) == partners.end()) continue;
      group.axes.push_back(&axis);
      placed.insert(axis.name);
    }
    groups_.push_back(std::move(group));
  }
  check_size(outer);
  for (const Group& group : groups_) size_ *= group.size;
}

// In floating point, so that a product far above the limit does not overflow.
void AxisGrid::check_size(std::size_t outer) const {
  double product = static_cast<double>(outer);
  std::vector<std::string> factors;
  if (outer != 1) factors.push_back(std::to_string(outer));
  for (const Group& group : groups_) {
    product *= static_cast<double>(group.size);
    factors.push_back(std::to_string(group.size));
  }
  if (product <= static_cast<double>(kMostCells)) return;
  throw_spec_error(
      matrix_.axes_mark, "RB017",
      fmt::format("matrix expands to {:.0f} cells ({}); limit {}", product, fmt::join(factors, "x"), kMostCells));
}

void AxisGrid::point(std::size_t number, Coordinates& values) const {
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    for (const Axis* axis : group->axes) values[axis->name] = axis->values[number % group->size];
    number /= group->size;
  }
}

void make_cell(const MatrixSpec& matrix, const SuiteWorkload& source, const Coordinates& chosen, Cell& cell) {
  const SuiteSpec& suite = *source.suite;
  const auto chosen_or = [&](const char* name, const char* otherwise) {
    const auto found = chosen.find(name);
    return found == chosen.end() ? std::string(otherwise) : found->second;
  };
  CellRequest& request = cell.request;
  request.suite = suite.name;
  request.workload = source.workload;
  request.stack = chosen_or("stack", "");
  request.device = chosen_or("device", "cpu");
  const std::string world_size = chosen_or("world_size", std::to_string(suite.world_size).c_str());
  request.world_size = std::stoi(world_size);
  KnobValues knobs = matrix.defaults;
  knobs.insert(suite.knobs.begin(), suite.knobs.end());
  for (const auto& [name, value] : chosen) {
    if (find_knob(name) != nullptr) knobs[name] = value;
  }
  for (const Axis& axis : matrix.axes) {  // an included cell need not name them all
    if (const Knob* knob = find_knob(axis.name)) knobs.emplace(axis.name, knob->default_value);
  }
  request.knobs = without_defaults(knobs);
  request.trace = suite.trace;
  request.turn_steps = turn_steps_of(suite, request);

  const auto is_named = [&](const std::string& knob) {
    return chosen.contains(knob) ||
           std::any_of(matrix.axes.begin(), matrix.axes.end(), [&](const Axis& axis) { return axis.name == knob; });
  };
  constexpr std::size_t kNotKnobs = 5;
  cell.coordinates.reserve(kNotKnobs +
                           static_cast<std::size_t>(std::count_if(
                               knobs.begin(), knobs.end(), [&](const auto& knob) { return is_named(knob.first); })));
  cell.coordinates.emplace("device", request.device);
  cell.coordinates.emplace("stack", request.stack);
  cell.coordinates.emplace("suite", suite.name);
  cell.coordinates.emplace("workload", source.name);
  cell.coordinates.emplace("world_size", world_size);
  const std::string what = suite.name == source.name ? suite.name : fmt::format("{}-{}", suite.name, source.name);
  cell.slug = fmt::format("{}-{}-{}", what, request.stack, request.device);
  const auto add_to_slug = [&](const std::string& name, const std::string& value) {
    cell.slug += '-';
    cell.slug += slug_part(name, value);
  };
  if (request.world_size != 1) add_to_slug("world_size", world_size);
  for (const auto& [name, value] : knobs) {
    if (!is_named(name)) continue;
    cell.coordinates[name] = value;
    add_to_slug(name, value);
  }
  cell.repeat = matrix.repeats.repeat.value_or(suite.repeat);
  const int most = matrix.repeats.repeat ? matrix.repeats.max_repeat.value_or(cell.repeat) : suite.max_repeat;
  if (most > cell.repeat) cell.max_repeat = most;
  cell.poison_last_repeat = suite.poison_last_repeat;
  cell.exclusive = suite.exclusive;
  cell.limits = matrix.limits.applied_to(suite.limits);
}

}  // namespace reprobench
