#include "matrix/plan/cell_grid.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/contract/knob.hpp"
#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

// Axes that advance together; mostly one.
struct AxisGroup {
  std::vector<std::size_t> axes;
  std::size_t size = 0;
};

std::vector<std::string> zip_partners(const MatrixSpec& matrix, const std::string& axis) {
  for (const auto& group : matrix.zip) {
    if (std::find(group.begin(), group.end(), axis) != group.end()) return group;
  }
  return {axis};
}

std::vector<AxisGroup> axis_groups(const MatrixSpec& matrix) {
  std::vector<AxisGroup> groups;
  std::vector<bool> placed(matrix.axes.size(), false);
  for (std::size_t i = 0; i < matrix.axes.size(); ++i) {
    if (placed[i]) continue;
    AxisGroup group{{}, matrix.axes[i].values.size()};
    const auto partners = zip_partners(matrix, matrix.axes[i].name);
    for (std::size_t j = i; j < matrix.axes.size(); ++j) {
      if (std::find(partners.begin(), partners.end(), matrix.axes[j].name) == partners.end()) continue;
      group.axes.push_back(j);
      placed[j] = true;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

// The product as a number and as a formula; saturates far above the limit instead of overflowing.
void check_product(const MatrixSpec& matrix, const std::vector<AxisGroup>& groups, std::size_t outer) {
  double product = static_cast<double>(outer);
  std::vector<std::string> factors;
  if (outer != 1) factors.push_back(std::to_string(outer));
  for (const AxisGroup& group : groups) {
    product *= static_cast<double>(group.size);
    factors.push_back(std::to_string(group.size));
  }
  if (product <= static_cast<double>(kMostCells)) return;
  throw_spec_error(
      matrix.axes_mark, "RB017",
      fmt::format("matrix expands to {:.0f} cells ({}); limit {}", product, fmt::join(factors, "x"), kMostCells));
}

bool is_worded(const Knob& knob) { return !knob.values.empty() && knob.values.size() > 2; }

// "fp32" speaks for itself; "on" and "4" need their knob's name.
std::string slug_part(const std::string& name, const std::string& value) {
  if (name == "stack" || name == "device") return value;
  const Knob* knob = find_knob(name);
  return knob != nullptr && is_worded(*knob) ? value : fmt::format("{}-{}", name, value);
}

std::string workload_name(const SuiteSpec& suite, const WorkloadRequest& workload) {
  const auto alike = [&](auto same) { return std::count_if(suite.workloads.begin(), suite.workloads.end(), same); };
  if (alike([&](const WorkloadRequest& other) { return other.model == workload.model; }) == 1) return workload.model;
  const std::string with_preset = fmt::format("{}.{}", workload.model, workload.preset);
  if (alike([&](const WorkloadRequest& other) {
        return other.model == workload.model && other.preset == workload.preset;
      }) == 1) {
    return with_preset;
  }
  return fmt::format("{}.s{}b{}", with_preset, workload.steps, workload.batch_size);
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

std::vector<std::vector<std::string>> axis_points(const MatrixSpec& matrix, std::size_t outer) {
  const auto groups = axis_groups(matrix);
  check_product(matrix, groups, outer);
  std::vector<std::vector<std::string>> points{std::vector<std::string>(matrix.axes.size())};
  for (const AxisGroup& group : groups) {
    std::vector<std::vector<std::string>> longer;
    longer.reserve(points.size() * group.size);
    for (const auto& point : points) {
      for (std::size_t value = 0; value < group.size; ++value) {
        longer.push_back(point);
        for (const std::size_t axis : group.axes) longer.back()[axis] = matrix.axes[axis].values[value];
      }
    }
    points = std::move(longer);
  }
  return points;
}

Cell make_cell(const MatrixSpec& matrix, const SuiteWorkload& source, const Coordinates& chosen) {
  const SuiteSpec& suite = *source.suite;
  const auto chosen_or = [&](const char* name, const char* otherwise) {
    const auto found = chosen.find(name);
    return found == chosen.end() ? std::string(otherwise) : found->second;
  };
  Cell cell;
  CellRequest& request = cell.request;
  request.suite = suite.name;
  request.workload = source.workload;
  request.stack = chosen_or("stack", "");
  request.device = chosen_or("device", "cpu");
  const std::string world_size = chosen_or("world_size", "1");
  request.world_size = std::stoi(world_size);
  request.knobs = matrix.defaults;
  request.knobs.insert(suite.knobs.begin(), suite.knobs.end());
  for (const auto& [name, value] : chosen) {
    if (find_knob(name) != nullptr) request.knobs[name] = value;
  }
  request.knobs = with_defaults(request.knobs);
  request.trace = suite.trace;

  cell.coordinates = {{"suite", suite.name},
                      {"workload", source.name},
                      {"stack", request.stack},
                      {"device", request.device},
                      {"world_size", world_size}};
  cell.slug = fmt::format("{}-{}-{}-{}", suite.name, source.name, request.stack, request.device);
  const auto add_to_slug = [&](const std::string& name, const std::string& value) {
    cell.slug += '-';
    cell.slug += slug_part(name, value);
  };
  if (request.world_size != 1) add_to_slug("world_size", world_size);
  for (const auto& [name, value] : request.knobs) {
    const bool is_axis = std::any_of(matrix.axes.begin(), matrix.axes.end(),
                                     [&, &knob = name](const Axis& axis) { return axis.name == knob; });
    if (!is_axis && chosen.count(name) == 0) continue;
    cell.coordinates[name] = value;
    add_to_slug(name, value);
  }
  cell.repeat = matrix.repeat.value_or(suite.repeat);
  cell.poison_last_repeat = suite.poison_last_repeat;
  cell.exclusive = suite.exclusive;
  cell.limits = matrix.limits.applied_to(suite.limits);
  return cell;
}

}  // namespace reprobench
