// Curves of a run for TensorBoard: `tensorboard --logdir RUN/tensorboard`, a folder a cell and one a repeat in it.
#pragma once

#include <filesystem>
#include <string>

#include "matrix/evidence/run_record.hpp"

namespace reprobench {

class LearningCurves {
 public:
  LearningCurves(std::filesystem::path run_folder, const std::string& started_utc);

  // Of rank 0, however the attempt ended. Takes the trace that is in memory: reading those of a run of hundreds of
  // cells a third time would cost seconds.
  void write(const Cell& cell, const AttemptRecord& attempt);

  // Why the first that could not be written is not there; empty: all are. The run is whole without them.
  const std::string& problem() const { return problem_; }

 private:
  std::filesystem::path folder_;
  std::int64_t begun_s_;  // since 1970
  std::string problem_;
};

}  // namespace reprobench
