// How one rank of an attempt ended, from what it left. A pass needs positive proof (reliability rule R5): exit code 0,
// nobody stopped it, and no process left behind. Result and trace must be whole, belong to this rank and agree with
// each other.
#pragma once

#include <string>

#include "matrix/contract/outcome.hpp"
#include "matrix/record/attempt_files.hpp"

namespace reprobench {

struct JudgedEnd {
  AttemptEnd end = AttemptEnd::lost;
  std::string detail;  // one sentence: "exit code 3", "SIGSEGV; last step 17; stderr: terminate called ..."
};

// Judges one rank by its files alone. `request` says which rank it is.
JudgedEnd judge_rank(const RankFiles& files, const CellRequest& request);

// One sentence on an end that the files do not tell: timeout, hang, interrupted, launch, store.
std::string describe_stop(AttemptEnd end, const RankFiles& files);

}  // namespace reprobench
