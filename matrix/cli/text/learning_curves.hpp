// Curves of a run for TensorBoard: `tensorboard --logdir RUN/tensorboard`, with a folder for each cell, and one in it
// for each repeat.
#pragma once

#include <filesystem>
#include <string>

#include "matrix/evidence/run_record.hpp"

namespace reprobench {

class LearningCurves {
 public:
  LearningCurves(std::filesystem::path run_folder, const std::string& started_utc);

  // Writes the curves of rank 0, however the attempt ended. It takes the trace that is in memory, since reading those
  // of hundreds of cells a third time would cost seconds.
  void write(const Cell& cell, const AttemptRecord& attempt);

  // Why the first curve that is missing could not be written; empty if all were. The run is whole without curves.
  const std::string& problem() const { return problem_; }

 private:
  std::filesystem::path folder_;
  std::int64_t begun_s_;  // since 1970
  std::string problem_;
};

}  // namespace reprobench
