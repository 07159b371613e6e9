// The cross product of a matrix's axes, before anything is known of thresholds and references.
#pragma once

#include <map>
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

// Suites in the matrix's order, each with its workloads in the suite's order. Throws SpecError for an unknown suite.
std::vector<SuiteWorkload> suite_workloads(const MatrixSpec& matrix, const std::map<std::string, SuiteSpec>& suites);

// The points of the axes' cross product, by number. Zipped axes advance together, at the place of the first of them.
// The last axis varies fastest.
class AxisGrid {
 public:
  // `matrix` must outlive the grid. Throws SpecError if `outer` times the axes is over kMostCells (RB017).
  AxisGrid(const MatrixSpec& matrix, std::size_t outer);

  std::size_t size() const { return size_; }

  // The value of every axis at a point, by axis name. `values` has those of another point, or is empty.
  void point(std::size_t number, Coordinates& values) const;

 private:
  // Axes that advance together; usually one.
  struct Group {
    std::vector<const Axis*> axes;
    std::size_t size = 0;
  };

  void check_size(std::size_t outer) const;

  const MatrixSpec& matrix_;
  std::vector<Group> groups_;
  std::size_t size_ = 1;
};

// Fills an empty cell with request, coordinates, slug and the suite's settings, but with no id, threshold or reference
// yet. `chosen` holds stack, device, world_size and knobs; device defaults to cpu, world_size to 1, knobs to the
// matrix's defaults, then to the suite's.
void make_cell(const MatrixSpec& matrix, const SuiteWorkload& source, const Coordinates& chosen, Cell& cell);

}  // namespace reprobench
