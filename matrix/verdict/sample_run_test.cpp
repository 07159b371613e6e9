#include "matrix/verdict/sample_run.hpp"

#include "matrix/base/number.hpp"

namespace reprobench::sample {
namespace {

// A digest that depends on `text` and nothing else.
std::string digest_of(const std::string& text) { return hex32(crc32c(text)) + std::string(24, '0'); }

TensorsRecord tensors_of_step(int step, const std::string& bits) {
  TensorsRecord record;
  record.step = step;
  for (const auto& [name, role] :
       {std::pair{"fc1.weight", TensorRole::parameter}, std::pair{"fc1", TensorRole::forward_output},
        std::pair{"fc1.weight", TensorRole::parameter_gradient}}) {
    TensorRecord tensor{name, role, "float32", {2, 2}, digest_of(bits + name + std::to_string(step)), TensorSketch{}};
    tensor.sketch->l2 = 2;
    tensor.sketch->signed_sums[0] = bits == "same" ? 1.0 : 1.0 + 2e-6;
    record.tensors.push_back(tensor);
  }
  return record;
}

PlannedCell planned_cell(const std::string& id, const std::string& stack, int repeats) {
  PlannedCell planned;
  Cell& cell = planned.cell;
  cell.request.cell_id = id;
  cell.request.stack = stack;
  cell.slug = "suite-mlp-" + stack;
  cell.coordinates = {{"stack", stack}, {"device", "cpu"}, {"suite", "suite"}, {"workload", "mlp"}};
  cell.repeat = repeats;
  return planned;
}

}  // namespace

CellThreshold threshold(const std::string& metric, Bound::Kind kind, double limit, bool vs_reference, Gate gate) {
  CellThreshold result;
  result.metric = metric;
  result.gate = gate;
  result.bound = {kind, limit, "bound", vs_reference};
  result.mark = {"suite.yaml", 7, 3};
  return result;
}

AttemptRecord attempt(int repeat, double step_time_ns, const std::string& bits, int steps) {
  AttemptRecord record;
  record.repeat = repeat;
  record.end = AttemptEnd::completed;
  record.nonce = hex64(static_cast<std::uint64_t>(repeat));
  record.folder = "cells/x/r" + std::to_string(repeat);
  record.lead().result = CellResult{};
  record.lead().result->workload_digest = digest_of("workload");
  record.lead().result->peak_rss_bytes = 100 << 20;
  record.lead().result->fingerprint.blas_provider = "mkl";
  record.lead().trace = Trace{};
  for (int step = 1; step <= steps; ++step) {
    StepRecord line;
    line.step = step;
    line.loss = exact_float(2.0f / static_cast<float>(step));
    line.samples = 32;
    line.step_time_ns = static_cast<std::int64_t>(step_time_ns) + step % 3;
    const std::int64_t part_ns = line.step_time_ns / 10;
    line.phases = {part_ns, 3 * part_ns, 4 * part_ns, line.step_time_ns - 8 * part_ns};
    line.root = digest_of(bits + "root" + std::to_string(step));
    line.chain = digest_of(bits + "chain" + std::to_string(step));
    record.lead().trace->tensors.push_back(tensors_of_step(step, bits));
    record.lead().trace->steps.push_back(line);
  }
  record.lead().result->chain = record.lead().trace->steps.back().chain;
  return record;
}

RunRecord run(int repeats, double slowdown, std::vector<CellThreshold> thresholds) {
  RunRecord record;
  record.info.run_id = "r-sample";
  record.plan.matrix = "sample";
  record.plan.matrix_file = "matrix/sample.yaml";
  record.plan.cells = {planned_cell(kReferenceId, "stack-a", repeats), planned_cell(kCandidateId, "stack-b", repeats)};
  record.plan.cells[1].cell.reference_cell_id = kReferenceId;
  record.plan.cells[1].cell.thresholds = std::move(thresholds);
  record.cells = {{kReferenceId, {}}, {kCandidateId, {}}};
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const double base_ns = 300'000 + 1'000 * (repeat % 4);  // machine drift, shared by the pair
    record.cells[0].attempts.push_back(attempt(repeat, base_ns));
    record.cells[1].attempts.push_back(attempt(repeat, base_ns * slowdown));
  }
  return record;
}

ProbeMeasurement call_record(const std::string& call, char digit) {
  CallOutput output{"output.0", "float32", {2}, std::string(32, digit), 5e-8, 0, "", std::vector<double>(8, 1), {}, 1};
  output.fp64_sums = output.sums;
  ProbeMeasurement measurement;
  measurement.labels = {{"call", call}};
  measurement.status = MeasurementStatus::measured;
  measurement.call = CallRecord{CallEnd::ran, std::string(32, 'e'), true, {output}};
  return measurement;
}

CellRecord& candidate(RunRecord& run) { return run.cells[1]; }
const CellVerdict& candidate(const RunVerdict& verdict) { return verdict.cells.at(1); }

}  // namespace reprobench::sample
