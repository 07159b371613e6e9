#include "matrix/contract/leg.hpp"

#include <algorithm>

namespace reprobench {

std::span<const Leg> legs_of(const CellRequest& attempt) {
  static constexpr std::array kLegs = {Leg::whole, Leg::stopped, Leg::resumed};
  const bool has_parts = attempt.workload.resume_after > 0 && !attempt.replay;
  return std::span(kLegs).first(has_parts ? kLegs.size() : 1);
}

std::filesystem::path leg_folder(const std::filesystem::path& attempt_folder, Leg leg) {
  return leg == Leg::whole ? attempt_folder : attempt_folder / to_string(leg);
}

namespace {

// The same micro-batches on other ranks. What cannot be shared out is refused when a cell is planned (the rule
// `resumed-micro-batches`); whoever asks all the same is refused by the worker, whose batch makes other ones.
void lay_out_anew(CellRequest& request, const CellRequest& attempt) {
  const auto ranks = static_cast<int>(attempt.workload.resume_world_size);
  if (ranks == 0 || ranks == attempt.world_size) return;
  if (const auto accumulate = resumed_accumulate(attempt)) request.knobs["accumulate"] = std::to_string(*accumulate);
  const auto threads = request.knobs.find("threads");  // of all ranks together
  if (threads != request.knobs.end()) {
    threads->second = std::to_string(std::stoll(knobs_of_rank(attempt).at("threads")) * ranks);
  }
  request.world_size = ranks;
}

}  // namespace

std::optional<std::int64_t> resumed_accumulate(const CellRequest& attempt) {
  const std::int64_t ranks = attempt.workload.resume_world_size;
  const std::int64_t micro_batches = micro_batches_of(attempt);
  if (ranks == 0) return micro_batches / attempt.world_size;
  if (micro_batches % ranks != 0) return std::nullopt;
  return micro_batches / ranks;
}

int most_ranks_of(const CellRequest& attempt) {
  const bool is_resumed = legs_of(attempt).size() > 1;
  return std::max(attempt.world_size, is_resumed ? static_cast<int>(attempt.workload.resume_world_size) : 0);
}

int gpus_of(const CellRequest& attempt) { return most_ranks_of(attempt) * gpus_of_rank(attempt); }

CellRequest request_of_leg(const CellRequest& attempt, Leg leg, const std::filesystem::path& attempt_folder) {
  CellRequest request = attempt;
  if (request.inject && is_of_resuming(*request.inject) && leg != Leg::resumed) request.inject.reset();
  if (leg == Leg::whole) return request;
  request.nonce += "." + std::string(to_string(leg));
  request.turn_steps = 0;  // nobody times it
  request.gemm_peak_samples = 0;
  Checkpointing& checkpoint = request.checkpoint.emplace();
  checkpoint.folder = leg_folder(attempt_folder, Leg::stopped) / "checkpoints";
  if (leg == Leg::stopped) checkpoint.stop_after = attempt.workload.resume_after;
  if (leg == Leg::resumed) {
    checkpoint.resume = true;
    checkpoint.resume_after = attempt.workload.resume_after;
    lay_out_anew(request, attempt);
  }
  return request;
}

}  // namespace reprobench
