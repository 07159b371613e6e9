// The cross product of a matrix's axes, before anything is known of thresholds and references.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "matrix/plan/cell.hpp"

namespace reprobench {

inline constexpr std::size_t kMostCells = 100'000;

// One suite with one of its workloads: what the axes are multiplied with.
struct SuiteWorkload {
  const SuiteSpec* suite = nullptr;
  WorkloadRequest workload;
  std::string name;  // coordinate `workload`: the model, with preset, steps and batch where a suite has it twice
};

// In the matrix's order of suites and the suites' order of workloads. Throws SpecError for an unknown suite.
std::vector<SuiteWorkload> suite_workloads(const MatrixSpec& matrix, const std::map<std::string, SuiteSpec>& suites);

// What the axes give one cell: a value for every axis, in axis order. Zipped axes advance together where the first of
// them stands; the last axis varies fastest. Throws SpecError if `outer` times the axes is over kMostCells (RB017).
std::vector<std::vector<std::string>> axis_points(const MatrixSpec& matrix, std::size_t outer);

// A cell with request, coordinates, slug and what its suite says; no id, threshold or reference yet. `chosen` holds
// stack, device, world_size and knobs; device defaults to cpu, world_size to 1, knobs to the
// matrix's defaults, then to the suite's.
Cell make_cell(const MatrixSpec& matrix, const SuiteWorkload& source, const Coordinates& chosen);

}  // namespace reprobench
