// Small plans for the tests and benchmarks of this layer.
#pragma once

#include <filesystem>
#include <string>

#include "ci/temporary.hpp"
#include "matrix/plan/plan.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {

inline Cell sample_cell(const std::string& cell_id, const std::string& stack) {
  Cell cell;
  cell.request.cell_id = cell_id;
  cell.request.suite = "smoke";
  cell.request.workload = {"mlp", "default", 6, 32};
  cell.request.stack = stack;
  cell.request.device = "cpu";
  cell.request.knobs = with_defaults({});
  cell.slug = "smoke-mlp-" + stack + "-cpu-fp32";
  return cell;
}

inline Plan sample_plan(std::vector<Cell> cells) {
  Plan plan;
  plan.matrix = "sample";
  plan.matrix_file = "matrix/sample.yaml";
  for (Cell& cell : cells) plan.cells.push_back({std::move(cell), std::nullopt, {}});
  return plan;
}

inline RunDirectory sample_run(const std::filesystem::path& store, const Plan& plan) {
  RunInfo info;
  info.run_id = "r-20260101-000000-0001";
  info.started_utc = "2026-01-01T00:00:00Z";
  return RunDirectory::create(store, std::nullopt, info, plan);
}

}  // namespace reprobench
