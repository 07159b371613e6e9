// One cell on one stack and one host, and what the shipped facts make of it.
#pragma once

#include <string>

#include "matrix/plan/compat_rules.hpp"
#include "matrix/plan/plan_fixture.hpp"
#include "matrix/plan/resolve.hpp"

namespace reprobench {

inline const CompatFacts& shipped_facts() {
  static const CompatFacts kFacts = load_compat_facts(REPROBENCH_SOURCE_ROOT "/matrix/facts/compat-facts.json");
  return kFacts;
}

inline StackSpec wheel_stack(const std::string& torch, const std::string& cuda) {
  StackSpec stack;
  stack.name = "s";
  stack.components = {{"torch", torch}, {"cuda", cuda}};
  return stack;
}

struct ResolveCase {
  StackSpec stack = wheel_stack("2.9.0+cu128", "12.8");
  HostFacts host = cpu_host();
  std::string device = "cpu";
  int world_size = 1;
  KnobValues knobs;
  TraceLevel trace = TraceLevel::step;
  WorkloadRequest workload = {"mlp", "base", 20, 32};
  StackAvailability availability;
  std::vector<CellThreshold> thresholds;
};

inline PlannedCell resolve_one(const ResolveCase& c) {
  Cell cell;
  cell.request.stack = c.stack.name;
  cell.request.device = c.device;
  cell.request.world_size = c.world_size;
  cell.request.knobs = c.knobs;
  cell.request.trace = c.trace;
  cell.request.workload = c.workload;
  cell.thresholds = c.thresholds;
  const StackCatalog catalog{{{c.stack.name, c.stack}}, {{c.stack.name, c.availability}}};
  std::vector<PlannedCell> cells = {{cell, std::nullopt, {}}};
  resolve(cells, catalog, shipped_facts(), c.host);
  return cells.front();
}

inline std::string outcome_of(const ResolveCase& c) {
  const PlannedCell planned = resolve_one(c);
  return planned.skip ? planned.skip->rule + ": " + planned.skip->reason : "runs";
}

inline constexpr const char* kH100 = "NVIDIA H100";

}  // namespace reprobench
