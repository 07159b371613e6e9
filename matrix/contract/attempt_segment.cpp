#include "matrix/contract/attempt_segment.hpp"

#include <algorithm>

namespace reprobench {

std::span<const AttemptSegment> segments_of(const CellRequest& attempt) {
  static constexpr std::array kSegments = {AttemptSegment::whole, AttemptSegment::stopped, AttemptSegment::resumed};
  const bool has_parts = attempt.workload.resume_after > 0 && !attempt.replay;
  return std::span(kSegments).first(has_parts ? kSegments.size() : 1);
}

std::filesystem::path segment_folder(const std::filesystem::path& attempt_folder, AttemptSegment segment) {
  return segment == AttemptSegment::whole ? attempt_folder : attempt_folder / to_string(segment);
}

namespace {

// The same micro-batches on other ranks. Batches that cannot be shared out are refused when a cell is planned (the rule
// `resumed-micro-batches`). A request for one is refused by the worker, because its batch makes other micro-batches.
void lay_out_anew(CellRequest& request, const CellRequest& attempt) {
  const auto ranks = static_cast<int>(attempt.workload.resume_world_size);
  if (ranks == 0 || ranks == attempt.world_size) return;
  if (const auto accumulate = resumed_accumulate(attempt)) set<&Settings::accumulate>(request.knobs, *accumulate);
  const std::int64_t of_rank = setting_in<&Settings::threads>(knobs_of_rank(attempt));
  set<&Settings::threads>(request.knobs, of_rank * ranks);  // of all ranks together
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
  const bool is_resumed = segments_of(attempt).size() > 1;
  return std::max(attempt.world_size, is_resumed ? static_cast<int>(attempt.workload.resume_world_size) : 0);
}

int gpus_of(const CellRequest& attempt) { return most_ranks_of(attempt) * gpus_of_rank(attempt); }

CellRequest request_of_segment(const CellRequest& attempt, AttemptSegment segment,
                               const std::filesystem::path& attempt_folder) {
  CellRequest request = attempt;
  if (request.inject && is_of_resuming(*request.inject) && segment != AttemptSegment::resumed) request.inject.reset();
  if (segment == AttemptSegment::whole) return request;
  request.nonce += "." + std::string(to_string(segment));
  request.turn_steps = 0;  // nobody times it
  request.gemm_peak_samples = 0;
  Checkpointing& checkpoint = request.checkpoint.emplace();
  checkpoint.folder = segment_folder(attempt_folder, AttemptSegment::stopped) / "checkpoints";
  if (segment == AttemptSegment::stopped) checkpoint.stop_after = attempt.workload.resume_after;
  if (segment == AttemptSegment::resumed) {
    checkpoint.resume = true;
    checkpoint.resume_after = attempt.workload.resume_after;
    lay_out_anew(request, attempt);
  }
  return request;
}

}  // namespace reprobench
