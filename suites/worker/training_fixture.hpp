// For tests: trainings of one rank in this process, and their traces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ci/catch.hpp"
#include "matrix/contract/trace.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/knobs/knobs.hpp"
#include "suites/worker/temporary_folder.hpp"
#include "suites/worker/train_loop.hpp"

namespace reprobench {

inline const std::filesystem::path kTestData = std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "models" / "data";

inline CellRequest training_request(const Model& model, std::int64_t steps, TraceLevel level) {
  CellRequest request;
  request.cell_id = "cell";
  request.nonce = "0123456789abcdef";
  const ModelPreset& preset = model.presets().front();
  request.workload = {std::string(model.name()), std::string(preset.name), steps, preset.batch_size};
  request.device = "cpu";
  request.knobs = with_defaults({});
  request.trace = level;
  return request;
}

inline const Model& model_called(std::string_view name) {
  for (const Model* model : models()) {
    if (model->name() == name) return *model;
  }
  throw std::logic_error("there is no such model");
}

inline const Model& mlp() { return model_called("mlp"); }

struct TrainingTrace {
  CellResult result;
  TraceHeader header;
  std::vector<StepRecord> steps;
  std::vector<TensorsRecord> tensors;  // the last one is the final state
};

inline TrainingTrace training_trace_from(const std::filesystem::path& path) {
  TrainingTrace trace;
  std::ifstream file(path);
  std::string line;
  for (std::int64_t seq = 0; std::getline(file, line); ++seq) {
    const auto body = parse_trace_line(line, seq);
    REQUIRE(body.index() == 0);
    const auto& json = std::get<0>(body);
    if (json.at("kind") == "header") trace.header = trace_header_from_json(json);
    if (json.at("kind") == "step") trace.steps.push_back(step_record_from_json(json));
    if (json.at("kind") == "tensors" || json.at("kind") == "final") {
      trace.tensors.push_back(tensors_record_from_json(json));
    }
  }
  return trace;
}

inline TrainingTrace train(const CellRequest& request) {
  const TemporaryFolder folder;
  CellResult result;
  run_training(request, folder.path(), kTestData, result);
  TrainingTrace trace = training_trace_from(folder.path() / "trace.jsonl");
  trace.result = result;
  return trace;
}

inline const TensorRecord* find_tensor(const TensorsRecord& tensors, TensorRole role, const std::string& name) {
  for (const TensorRecord& tensor : tensors.tensors) {
    if (tensor.role == role && tensor.name == name) return &tensor;
  }
  return nullptr;
}

}  // namespace reprobench
