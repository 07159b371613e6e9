// What an outer launcher, torchrun or srun, has told this process: that it is one of several that run one command, and
// which. All of them on this host: ranks share its clock and its folders.
#pragma once

#include <functional>
#include <string>

#include "matrix/exec/ranks/meeting_point.hpp"

namespace reprobench {

enum class OuterLauncher { either, torchrun, slurm };

struct OuterRank {
  std::string launcher;  // "torchrun", "slurm"
  // What the processes of one launch have in common, and no other launch on this host at the time: of torchrun its run,
  // its address and how often it restarted, of Slurm job and step.
  std::string launch;
  int rank = 0;
  int local_rank = 0;
  int ranks = 1;
  MeetingPoint meeting;  // of torchrun
};

// The text of a variable, or null.
using Environment = std::function<const char*(const char* name)>;

// Throws UsageError, in the words of the variables: some are missing, or no numbers, or beyond the number of ranks, or
// on several hosts; both launchers' are there and do not agree, and `launcher` does not choose.
OuterRank outer_rank(OuterLauncher launcher, const Environment& environment);

}  // namespace reprobench
