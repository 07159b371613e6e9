// For tests: real trainings whose ranks are threads of this process, and the trace of each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/trace.hpp"
#include "suites/worker/ranks/in_threads.hpp"
#include "suites/worker/temporary_folder.hpp"
#include "suites/worker/train_loop.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {

struct SharedTraining {
  std::string model;
  std::string preset;
  std::int64_t batch_size;
};

using DigestByName = std::map<std::string, std::string>;  // of a step, by role and name

struct RankTrace {
  std::string workload_digest;
  std::vector<DigestByName> records;
  std::vector<StepRecord> steps;
  std::int64_t optimizer_state_bytes = -1;
  std::int64_t model_state_peak_bytes = -1;
  std::int64_t on_device_peak_bytes = -1;
  std::int64_t on_host_peak_bytes = -1;
};

inline RankTrace rank_trace_from(const std::filesystem::path& folder) {
  RankTrace trace;
  std::ifstream file(folder / "trace.jsonl");
  std::string line;
  for (std::int64_t seq = 0; std::getline(file, line); ++seq) {
    const auto json = std::get<0>(parse_trace_line(line, seq));
    if (json.at("kind") == "step") trace.steps.push_back(step_record_from_json(json));
    if (json.at("kind") != "tensors" && json.at("kind") != "final") continue;
    DigestByName& record = trace.records.emplace_back();
    for (const TensorRecord& tensor : tensors_record_from_json(json).tensors) {
      record.emplace(std::string(to_string(tensor.role)) + " " + tensor.name, tensor.digest);
    }
  }
  return trace;
}

inline constexpr std::int64_t kSharedSteps = 3;

inline CellRequest rank_request(const SharedTraining& training, int rank, int ranks, const KnobValues& knobs) {
  CellRequest request;
  request.cell_id = "cell";
  request.nonce = "0123456789abcdef";
  request.workload = {training.model, training.preset, kSharedSteps, training.batch_size};
  request.device = "cpu";
  request.knobs = with_defaults(knobs);
  request.trace = TraceLevel::tensor;
  request.rank = rank;
  request.world_size = ranks;
  return request;
}

// The traces of all ranks. The fault, if any, is planted in the last one.
inline std::vector<RankTrace> train_on(int ranks, int accumulate, const SharedTraining& training,
                                       const std::optional<Injection>& fault = {}, KnobValues knobs = {}) {
  knobs["accumulate"] = std::to_string(accumulate);
  const TemporaryFolder attempt;
  std::vector<RankTrace> traces(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    std::filesystem::create_directory(attempt.path() / ("rank-" + std::to_string(rank)));
  }
  in_threads(ranks, [&](int rank) {
    CellRequest request = rank_request(training, rank, ranks, knobs);
    if (rank == ranks - 1) request.inject = fault;
    const auto folder = attempt.path() / ("rank-" + std::to_string(rank));
    CellResult result;
    run_training(request, folder, kTestData, result, Telemetry::unwatched);  // only one may watch in a process
    traces[static_cast<std::size_t>(rank)] = rank_trace_from(folder);
    traces[static_cast<std::size_t>(rank)].workload_digest = result.workload_digest;
    traces[static_cast<std::size_t>(rank)].optimizer_state_bytes = result.optimizer_state_bytes;
    traces[static_cast<std::size_t>(rank)].model_state_peak_bytes = result.model_state_peak_bytes;
    traces[static_cast<std::size_t>(rank)].on_device_peak_bytes = result.model_state_device_peak_bytes;
    traces[static_cast<std::size_t>(rank)].on_host_peak_bytes = result.model_state_host_peak_bytes;
  });
  return traces;
}

// All digests of ranks that `alone` does not have or has differently: "step 2: parameter_gradient fc1.weight#1 of rank
// 1".
inline std::vector<std::string> differences(const std::vector<RankTrace>& ranks, const RankTrace& alone) {
  std::vector<std::string> found;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::size_t i = 0; i < ranks[rank].records.size(); ++i) {
      for (const auto& [name, digest] : ranks[rank].records[i]) {
        const auto same = alone.records.at(i).find(name);
        if (same != alone.records[i].end() && same->second == digest) continue;
        found.push_back("step " + std::to_string(i + 1) + ": " + name + " of rank " + std::to_string(rank));
      }
    }
  }
  return found;
}

inline const SharedTraining kSharedMlp{"mlp", "base", 32};
inline const SharedTraining kSharedLlama{"llama", "tiny", 4};
inline const SharedTraining kSharedLora{"llama", "tiny-lora", 4};

// Why the second of two ranks does not plant a fault: it throws before it meets the other one.
inline std::string why_not_planted(const Injection& fault, const KnobValues& knobs) {
  CellRequest request = rank_request(kSharedMlp, 1, 2, knobs);
  request.inject = fault;
  const TemporaryFolder folder;
  CellResult result;
  try {
    run_training(request, folder.path(), kTestData, result);
  } catch (const std::exception& refused) {
    return refused.what();
  }
  return "it was planted";
}

}  // namespace reprobench
