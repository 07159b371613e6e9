// What the probe `collectives` is asked to measure: each preset's sizes, types and placements, what there is of them,
// and how much memory it takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

class ProbeRun;
class RankGroup;

// In place: the result comes into the memory of what the rank brought.
enum class Placement { in_place, out_of_place };
std::string_view to_string(Placement placement);

struct CollectiveCase {
  std::string_view collective;  // a row of contract/collective.cpp
  std::int64_t size_bytes = 0;  // S of the bandwidths
  std::string_view dtype = "fp32";
  Placement placement = Placement::in_place;
  bool names_placement = false;  // as a label: where a preset has both
};

// Larger sizes between GPUs: their links are filled by some tens of megabytes, a host's loopback by one.
std::vector<CollectiveCase> collective_cases(std::string_view collective, std::string_view preset,
                                             bool between_gpus = false);

// Why there is no such call; empty: there is.
std::string_view lacks(const CollectiveCase& one);

// An estimate of what all ranks together hold at most while it is measured.
std::int64_t needed_bytes(const CollectiveCase& one, int ranks);

// One case on this rank; its measurement says why where there is no such call, or not the memory for it.
void measure_collective(ProbeRun& run, RankGroup& ranks, const CollectiveCase& one);

}  // namespace reprobench
