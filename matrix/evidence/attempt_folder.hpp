// For tests: the folder of a sample attempt, written and loaded as a run's is.
#pragma once

#include <optional>

#include "matrix/evidence/run_record.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {

struct AttemptFolder {
  AttemptRecord load(std::optional<AttemptEnd> stopped_as = std::nullopt) {
    sample.write(folder.path / "a" / "rank-0");
    return load_again(stopped_as);
  }
  AttemptRecord load_again(std::optional<AttemptEnd> stopped_as = std::nullopt) {
    return load_attempt(folder.path.string(), "a", sample.request, {stopped_as, std::nullopt});
  }

  TemporaryFolder folder;
  SampleAttempt sample;
};

}  // namespace reprobench
