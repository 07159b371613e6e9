// A collective as every rank of an attempt measured it. A call is as slow as on its slowest rank.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

using CollectiveKey = std::pair<std::string, decltype(ProbeMeasurement::labels)>;  // operation, labels

std::string collective_name(const CollectiveKey& key);  // "all_reduce of 1MiB"
std::string collective_name(const ProbeMeasurement& measurement);

// The same measurement on each rank.
using OnRanks = std::vector<const ProbeMeasurement*>;

// Of the measurements that a threshold is about each on all ranks, or what one rank lacks of them.
struct SelectedOnRanks {
  std::vector<OnRanks> all;
  std::string gap;
};

SelectedOnRanks selected(const AttemptRecord& attempt, const MeasurementSelection& of);

// The measurement of the same operation with the same labels; null: there is none.
const ProbeMeasurement* find_alike(const CellResult& result, const ProbeMeasurement& wanted);

bool is_done_here(const ProbeMeasurement* measurement);

// Why it has no time; empty if every rank has.
std::string untimed(const OnRanks& ranks);

// On the slowest rank, by what `of_samples` makes of a rank's times.
double slowest_ns(const OnRanks& ranks, double (*of_samples)(const std::vector<double>&));

// What a busy machine moves least: where ranks wait for a core, every second call may take a time slice.
double fastest_tenth(const std::vector<double>& samples);

}  // namespace reprobench
