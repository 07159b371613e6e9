// The cases of the probe `collectives`: each preset's sizes, types and placements, which of them exist, and how much
// memory they take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

class ProbeRun;
class RankGroup;

// In place: the result overwrites the memory of the rank's input.
enum class Placement { in_place, out_of_place };
std::string_view to_string(Placement placement);

struct CollectiveCase {
  std::string_view collective;  // a row of contract/collective.cpp
  std::int64_t size_bytes = 0;  // S of the bandwidths
  std::string_view dtype = "fp32";
  Placement placement = Placement::in_place;
  bool names_placement = false;  // as a label, where a preset has both
};

// The cases of a preset. Sizes between GPUs are larger: their links are filled by some tens of megabytes, a host's
// loopback by one.
std::vector<CollectiveCase> collective_cases(std::string_view collective, std::string_view preset,
                                             bool between_gpus = false);

// Why there is no such call; empty if there is one.
std::string_view lacks(const CollectiveCase& one);

// An estimate of the memory that all ranks together hold at most during the measurement.
std::int64_t needed_bytes(const CollectiveCase& one, int ranks);

// Measures one case on this rank. Its measurement says why if there is no such call, or not enough memory for it.
void measure_collective(ProbeRun& run, RankGroup& ranks, const CollectiveCase& one);

}  // namespace reprobench
