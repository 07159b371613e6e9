// For tests: trainings of several ranks that write checkpoints together and resume from them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "suites/worker/ranks/shared_training.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {

struct RankRun {
  RankTrace trace;
  CellResult result;
  std::optional<ResumedFrom> resumed;
  std::string failure;  // the text of what it threw; empty: nothing
};

// Micro-batches of a step in all layouts of these tests.
inline constexpr int kSharedMicroBatches = 4;

inline CellRequest shared_request(const SharedTraining& training, int rank, int ranks, KnobValues knobs) {
  knobs["accumulate"] = std::to_string(kSharedMicroBatches / ranks);
  return rank_request(training, rank, ranks, knobs);
}

using ChangeRequest = std::function<void(CellRequest&)>;

// The run of each rank, whether it ended well or threw.
inline std::vector<RankRun> run_ranks(int ranks, const SharedTraining& training, const KnobValues& knobs,
                                      const ChangeRequest& change) {
  const TemporaryFolder attempt;
  std::vector<RankRun> runs(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    std::filesystem::create_directory(attempt.path() / ("rank-" + std::to_string(rank)));
  }
  in_threads(ranks, [&](int rank) {
    CellRequest request = shared_request(training, rank, ranks, knobs);
    change(request);
    const auto folder = attempt.path() / ("rank-" + std::to_string(rank));
    RankRun& run = runs[static_cast<std::size_t>(rank)];
    try {
      run_training(request, folder, kTestData, run.result, Telemetry::unwatched);
    } catch (const std::exception& error) {
      run.failure = error.what();
    }
    if (!std::filesystem::exists(folder / "trace.jsonl")) return;
    run.trace = rank_trace_from(folder);
    run.resumed = training_trace_from(folder / "trace.jsonl").header.resumed;
  });
  return runs;
}

inline ChangeRequest stop_after(std::int64_t step, const std::filesystem::path& folder) {
  return [=](CellRequest& request) {
    request.nonce += ".stopped";
    request.checkpoint = Checkpointing{folder.string()};
    request.checkpoint->stop_after = step;
  };
}

inline ChangeRequest go_on_from(const std::filesystem::path& folder) {
  return [=](CellRequest& request) {
    request.nonce += ".resumed";
    request.checkpoint = Checkpointing{folder.string()};
    request.checkpoint->resume = true;
  };
}

inline std::vector<RankTrace> traces_of(const std::vector<RankRun>& runs) {
  std::vector<RankTrace> traces;
  for (const RankRun& run : runs) traces.push_back(run.trace);
  return traces;
}

// The same trace without its first `steps` steps.
inline RankTrace behind(const RankTrace& whole, std::size_t steps) {
  RankTrace rest = whole;
  rest.records.erase(rest.records.begin(), rest.records.begin() + static_cast<std::ptrdiff_t>(steps));
  rest.steps.erase(rest.steps.begin(), rest.steps.begin() + static_cast<std::ptrdiff_t>(steps));
  return rest;
}

// All failures, one on each line.
inline std::string failures_of(const std::vector<RankRun>& runs) {
  std::string text;
  for (const RankRun& run : runs) text += run.failure.empty() ? "" : run.failure + "\n";
  return text;
}

}  // namespace reprobench
