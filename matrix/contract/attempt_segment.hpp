// The processes of an attempt that must stop and go on again (`resume_after: K` of its workload). First comes the
// `whole` training in one process. Then the same training runs again, `stopped` after K steps with a checkpoint. A
// third process, `resumed` from that checkpoint, trains to the end. They run one after the other, each with its ranks
// and a folder:
//
//   r0a0.NONCE/rank-0/           whole, which is all that an attempt without `resume_after` has
//   r0a0.NONCE/stopped/rank-0/   steps 1 .. K, and beside it checkpoints/
//   r0a0.NONCE/resumed/rank-0/   steps K+1 .. the last
//
// With `resume_world_size: M` the third has M ranks, which share out the same micro-batches. Each rank does as many as
// keep their total number the same, with the same stage of ZeRO and as many threads for each rank.
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

// The segments in the order in which they run. A replay has `whole` alone.
std::span<const AttemptSegment> segments_of(const CellRequest& attempt);

// The folder that has the rank folders of a segment.
std::filesystem::path segment_folder(const std::filesystem::path& attempt_folder, AttemptSegment segment);

// Into how many micro-batches each rank of the resumed segment cuts its part; nothing if the ranks cannot share them
// out.
std::optional<std::int64_t> resumed_accumulate(const CellRequest& attempt);

// The number of ranks of the segment that has most.
int most_ranks_of(const CellRequest& attempt);

// The GPUs that an attempt takes from its beginning to its end: those of the segment that has most. An attempt on the
// CPU takes none.
int gpus_of(const CellRequest& attempt);

// The request of one segment. Its checkpoints are in stopped/checkpoints of `attempt_folder`, an absolute path that
// only the code that runs the segment needs.
CellRequest request_of_segment(const CellRequest& attempt, AttemptSegment segment,
                               const std::filesystem::path& attempt_folder = {});

}  // namespace reprobench
