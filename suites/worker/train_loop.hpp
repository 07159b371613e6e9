// The one train loop: every workload, every stack.
#pragma once

#include <filesystem>
#include <span>

#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "models/data_set.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/device.hpp"
#include "suites/worker/parallelism/parallelism.hpp"

namespace reprobench {

// `off`: no trace and no digests, only to measure the cost of recording (telemetry_cost.hpp). `unwatched`: everything
// but the pass after the last step (watched_pass.hpp), only to test what that pass leaves as it is.
enum class Telemetry { on, unwatched, off };

// Where models and data sets are found by name: among those CMake found, or a test's own. `make_parallelism` knows the
// layouts.
struct WorkloadTables {
  std::span<const Model* const> models = reprobench::models();
  std::span<const DataSetRow> data_sets = reprobench::data_sets();
  MakeParallelism make_parallelism = &reprobench::make_parallelism;
};

using OpenDevice = std::unique_ptr<ComputeDevice> (*)(const std::string& name, const DeviceOptions& options);

// Runs the request and fills in `result` as it goes, so that `result` says how far the run came even after a throw.
// Writes FOLDER/trace.jsonl. Throws RunFailure with its cause, or whatever LibTorch throws.
void run_training(const CellRequest& request, const std::filesystem::path& folder,
                  const std::filesystem::path& data_folder, CellResult& result, Telemetry telemetry = Telemetry::on,
                  OpenDevice open = &open_device, const WorkloadTables& tables = {});

// Asks the running loop to end after its step, with checkpoints after the same one on all ranks; it then throws
// RunFailure "interrupted". Safe in a signal handler.
void request_stop();

// Whether a stop was requested since the last call.
bool take_stop_request();

}  // namespace reprobench
