// Compares the two segments of a training that was stopped and resumed with the training that never was. It compares
// every tensor of every step that any rank recorded, and the states, whatever ranks hold of them in either layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matrix/evidence/run_record.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {

using Ranks = std::vector<RankRecord>;

// The records of all ranks of the three processes. The third has as many ranks as the others, unless
// `resume_world_size` names another number.
struct ResumedSegments {
  const Ranks& whole;
  const Ranks& stopped;
  const Ranks& resumed;

  std::int64_t stopped_after() const { return stopped.front().trace->steps.back().step; }
  std::int64_t last_step() const { return whole.front().trace->steps.back().step; }
};

struct Differing {
  std::int64_t steps = 0;
  std::int64_t steps_differing = 0;
  bool stopped_state_differs = false;
  std::vector<std::size_t> loaded_otherwise{};  // ranks that did not load the state that was stopped in
  bool final_state_differs = false;
  std::optional<Divergence> first{};
  std::string where{};    // of the first: "rank 1 of the resumed process"; of one rank empty
  std::string missing{};  // what kept the comparison from being made

  double count() const {
    return static_cast<double>(steps_differing + stopped_state_differs + !loaded_otherwise.empty() +
                               final_state_differs);
  }
};

// All traces are complete, and resumed_ranks' headers say what they went on from (resume_metrics.cpp asks that first).
Differing compare_segments(const ResumedSegments& of);

}  // namespace reprobench
