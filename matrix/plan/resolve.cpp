#include "matrix/plan/resolve.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/contract/device/device_class.hpp"
#include "matrix/contract/metric.hpp"
#include "matrix/plan/compat_rules.hpp"
#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

std::vector<std::string> names_of(const StackCatalog& catalog) {
  std::vector<std::string> names;
  for (const auto& [name, stack] : catalog.stacks) names.push_back(name);
  return names;
}

void check_stack(const std::string& name, const Mark& mark, const StackCatalog& catalog, Diagnostics& diagnostics) {
  if (catalog.stacks.count(name) != 0) return;
  if (const auto broken = catalog.broken.find(name); broken != catalog.broken.end()) {
    diagnostics.add(broken->second);
    return;
  }
  diagnostics.error(mark, "RB009", fmt::format("unknown stack `{}`", name), did_you_mean(name, names_of(catalog)));
}

void apply_rules(const Situation& situation, PlannedCell& planned) {
  for (const CompatRule& rule : compat_rules()) {
    if (!rule.skip.empty() && planned.skip) continue;
    auto sentence = rule.finding(situation);
    if (!sentence) continue;
    if (rule.skip.empty()) {
      planned.notes.push_back(std::move(*sentence));
    } else {
      planned.skip = Skip{rule.skip, std::move(*sentence)};
    }
  }
}

// So that a peak is found in a neighbour's pause: each sample is a block of at least 2 ms.
constexpr std::int64_t kGemmPeakSamples = 5;

// What a threshold needs and takes time, and so is measured for it alone.
void ask_for_what_is_judged(Cell& cell) {
  if (cell.request.workload.is_probe()) return;
  for (const CellThreshold& threshold : cell.thresholds) {
    const bool is_share = std::ranges::find(kSharesOfGemmPeak, threshold.metric) != kSharesOfGemmPeak.end();
    if (is_share) cell.request.gemm_peak_samples = kGemmPeakSamples;
    if (threshold.metric == kWeightChange) cell.request.weight_change = true;
  }
}

// A GPU that is there and cannot be used is there: a cell that is required of it stays without an answer.
bool is_present(const std::string& device, const HostFacts& host) {
  const auto wanted = DeviceClass::parse(device);
  return !wanted->is_gpu() || std::ranges::any_of(host.gpus, [&](const GpuFacts& gpu) {
    return DeviceClass::of_capability(gpu.compute_capability) == wanted;
  });
}

// The data sheet of the GPU that is measured, by a probe or by products: of the host's first one of the class.
void attach_peaks(Cell& cell, const CompatFacts& facts, const HostFacts& host) {
  if (!cell.request.workload.is_probe() && cell.request.gemm_peak_samples == 0) return;
  for (const GpuFacts& gpu : host.gpus) {
    if (DeviceClass::of_capability(gpu.compute_capability) != DeviceClass::parse(cell.request.device)) continue;
    const DevicePeaks* peaks = facts.find_peaks(gpu.name);
    if (peaks != nullptr) cell.request.peaks = *peaks;
    return;
  }
}

// What every cell of one stack shares.
struct StackSituation {
  const StackSpec& stack;
  const StackAvailability& availability;
  const WheelFacts* wheel;
};

std::map<std::string, StackSituation> stack_situations(const StackCatalog& catalog, const CompatFacts& facts) {
  static const StackAvailability kNothingKnown;
  std::map<std::string, StackSituation> situations;
  for (const auto& [name, stack] : catalog.stacks) {
    const auto availability = catalog.availability.find(name);
    const TorchBuild build = torch_build(stack);
    situations.emplace(
        name, StackSituation{stack, availability == catalog.availability.end() ? kNothingKnown : availability->second,
                             stack.is_of_wheels() ? facts.find_wheel(build.line, build.variant) : nullptr});
  }
  return situations;
}

}  // namespace

void check_stacks(const MatrixSpec& matrix, const StackCatalog& catalog) {
  Diagnostics diagnostics;
  for (const Axis& axis : matrix.axes) {
    if (axis.name != "stack") continue;
    for (std::size_t i = 0; i < axis.values.size(); ++i) {
      check_stack(axis.values[i], axis.value_marks[i], catalog, diagnostics);
    }
  }
  for (const IncludeRule& rule : matrix.include) {
    const auto stack = rule.coordinates.find("stack");
    if (stack != rule.coordinates.end()) check_stack(stack->second, rule.mark, catalog, diagnostics);
  }
  diagnostics.throw_if_any();
}

void resolve(std::vector<PlannedCell>& cells, const StackCatalog& catalog, const CompatFacts& facts,
             const HostFacts& host) {
  const auto situations = stack_situations(catalog, facts);
  for (PlannedCell& planned : cells) {
    const StackSituation& of_stack = situations.at(planned.cell.request.stack);
    const Settings settings = settings_of(planned.cell.request.knobs);
    apply_rules({planned.cell, settings, of_stack.stack, of_stack.availability, of_stack.wheel, facts, host}, planned);
    if (planned.cell.required_if_present && !is_present(planned.cell.request.device, host)) {
      planned.cell.required = false;
      planned.cell.gaps.clear();
    }
    ask_for_what_is_judged(planned.cell);
    attach_peaks(planned.cell, facts, host);
  }
}

std::vector<PlannedCell> plan_cells(const MatrixSpec& matrix, const std::map<std::string, SuiteSpec>& suites,
                                    const StackCatalog& catalog, const CompatFacts& facts, const HostFacts& host,
                                    std::int64_t* excluded) {
  std::vector<PlannedCell> planned = expand(matrix, suites, excluded);
  resolve(planned, catalog, facts, host);
  return planned;
}

}  // namespace reprobench
