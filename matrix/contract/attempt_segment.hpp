// The processes of an attempt that is asked to stop and go on again (`resume_after: K` of its workload): the `whole`
// training in one process; then the same, `stopped` after K steps with a checkpoint; then a third process, `resumed`
// from that, to the end. They run one after the other, each with its ranks and a folder:
//
//   r0a0.NONCE/rank-0/           whole, which is all that an attempt without `resume_after` has
//   r0a0.NONCE/stopped/rank-0/   steps 1 .. K, and beside it checkpoints/
//   r0a0.NONCE/resumed/rank-0/   steps K+1 .. the last
//
// With `resume_world_size: M` the third has M ranks, which share out the same micro-batches among them: each does as
// many as makes the same number of all, with the same stage of ZeRO and as many threads a rank.
//
// A segment's nonce is the attempt's followed by its name, so no segment's files pass for another's.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "matrix/contract/request.hpp"

namespace reprobench {

enum class AttemptSegment { whole, stopped, resumed };
template <>
struct Words<AttemptSegment> {
  static constexpr std::array<std::string_view, 3> table = {"whole", "stopped", "resumed"};
};

// In the order in which they run; a replay is whole.
std::span<const AttemptSegment> segments_of(const CellRequest& attempt);

// Where the rank folders of a segment are.
std::filesystem::path segment_folder(const std::filesystem::path& attempt_folder, AttemptSegment segment);

// Into how many micro-batches each rank of the resumed segment cuts its part; nothing where they cannot be shared out.
std::optional<std::int64_t> resumed_accumulate(const CellRequest& attempt);

// The most ranks that any segment of it has.
int most_ranks_of(const CellRequest& attempt);

// The GPUs that an attempt takes from its beginning to its end: those of the segment that has most. Of the CPU none.
int gpus_of(const CellRequest& attempt);

// What a segment is asked for. Its checkpoints are in stopped/checkpoints of `attempt_folder`, an absolute path that
// only whoever runs it needs.
CellRequest request_of_segment(const CellRequest& attempt, AttemptSegment segment,
                               const std::filesystem::path& attempt_folder = {});

}  // namespace reprobench
