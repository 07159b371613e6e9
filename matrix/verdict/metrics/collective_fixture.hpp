// What tests of collectives plant in measurements of ranks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

inline ProbeMeasurement& of_rank(AttemptRecord& attempt, std::size_t rank, std::size_t index) {
  return attempt.ranks[rank].result->measurements[index];
}

inline void spoil(ProbeMeasurement& measurement, MeasurementStatus status, const std::string& finding) {
  measurement.status = status;
  measurement.finding = finding;
  measurement.samples.clear();
}

// Its repeats are numbered in their order.
inline CellEvidence evidence_of(std::vector<AttemptRecord> repeats) {
  for (std::size_t i = 0; i < repeats.size(); ++i) repeats[i].repeat = static_cast<int>(i);
  return {"cell", "cpu", "", std::move(repeats)};
}

}  // namespace reprobench
