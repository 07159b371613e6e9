// Reads the variables of an outer launcher, torchrun or srun. They tell this process that it is one of several that run
// one command, and which one. All of them are on this host, because ranks share its clock and its folders.
#pragma once

#include <functional>
#include <string>

#include "matrix/exec/ranks/meeting_point.hpp"

namespace reprobench {

enum class OuterLauncher { either, torchrun, slurm };

struct OuterRank {
  std::string launcher;  // "torchrun", "slurm"
  // Common to the processes of one launch, and different for every other launch on this host at the time. For torchrun:
  // its run, its address and its number of restarts. For Slurm: job and step.
  std::string launch;
  int rank = 0;
  int local_rank = 0;
  int ranks = 1;
  MeetingPoint meeting;  // of torchrun
};

// The text of a variable, or null.
using Environment = std::function<const char*(const char* name)>;

// Throws UsageError, in the words of the variables, if some are missing, are no numbers, are beyond the number of
// ranks, or tell of several hosts. It is also thrown if both launchers' variables are there, do not agree, and
// `launcher` does not choose.
OuterRank outer_rank(OuterLauncher launcher, const Environment& environment);

}  // namespace reprobench
