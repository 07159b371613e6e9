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

// `off` only to weigh what recording costs (telemetry_cost.hpp): no trace, no digests. `unwatched` only to show what
// the pass behind the last step (watched_pass.hpp) leaves as it is: all but that pass.
enum class Telemetry { on, unwatched, off };

// Where models and data sets are found by name: among those CMake found, or a test's own; and who knows the layouts.
struct WorkloadTables {
  std::span<const Model* const> models = reprobench::models();
  std::span<const DataSetRow> data_sets = reprobench::data_sets();
  MakeParallelism make_parallelism = &reprobench::make_parallelism;
};

using OpenDevice = std::unique_ptr<ComputeDevice> (*)(const std::string& name, const DeviceOptions& options);

// Runs the request and fills in `result` as it goes, so that after a throw it says how far the run came. Writes
// FOLDER/trace.jsonl. Throws RunFailure with its cause, or whatever LibTorch throws.
void run_training(const CellRequest& request, const std::filesystem::path& folder,
                  const std::filesystem::path& data_folder, CellResult& result, Telemetry telemetry = Telemetry::on,
                  OpenDevice open = &open_device, const WorkloadTables& tables = {});

// Asks the running loop to end after its step, with checkpoints after the same one on all ranks; it then throws
// RunFailure "interrupted". Safe in a signal handler.
void request_stop();

// Whether that was asked since the last call.
bool take_stop_request();

}  // namespace reprobench
