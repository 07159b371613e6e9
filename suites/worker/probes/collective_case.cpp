#include "suites/worker/probes/collective_case.hpp"

#include <algorithm>

#include "matrix/contract/collective.hpp"
#include "suites/worker/ranks/crafted_values.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kSmallest = 8;
constexpr std::int64_t kLargestOfSweep = 64 * kMebibyte;
constexpr std::int64_t kLargestOfFull = 1024 * kMebibyte;

// How LibTorch's process group is called: these replace what they are given, the others write beside it. all_gather and
// reduce_scatter can be given memory that overlaps as nccl-tests has it in place: a rank's own part of the whole.
constexpr std::string_view kReplaces[] = {"all_reduce", "reduce", "broadcast"};
constexpr std::string_view kCannotReplace[] = {"all_to_all", "send_recv"};

bool is_one_of(std::string_view name, auto& names) { return std::ranges::find(names, name) != std::end(names); }

Placement usual_placement(std::string_view collective) {
  return is_one_of(collective, kReplaces) ? Placement::in_place : Placement::out_of_place;
}

std::vector<std::int64_t> sizes(std::int64_t factor, std::int64_t largest) {
  std::vector<std::int64_t> all;
  for (std::int64_t bytes = kSmallest; bytes <= largest; bytes *= factor) all.push_back(bytes);
  return all;
}

// `base` in a few seconds.
std::vector<std::int64_t> few_sizes(bool between_gpus) {
  std::vector<std::int64_t> few = {8, 4 << 10, 256 << 10, kMebibyte};
  if (between_gpus) few.insert(few.end(), {64 * kMebibyte, 256 * kMebibyte});
  return few;
}

std::vector<std::int64_t> sweep_sizes(bool between_gpus) {
  std::vector<std::int64_t> all = sizes(4, between_gpus ? kLargestOfFull : kLargestOfSweep);
  if (between_gpus) all.push_back(kLargestOfFull);  // no power of four times the smallest
  return all;
}

}  // namespace

std::string_view to_string(Placement placement) {
  return placement == Placement::in_place ? "in_place" : "out_of_place";
}

std::vector<CollectiveCase> collective_cases(std::string_view collective, std::string_view preset, bool between_gpus) {
  std::vector<CollectiveCase> cases;
  if (preset != "full") {
    for (const std::int64_t bytes : preset == "base" ? few_sizes(between_gpus) : sweep_sizes(between_gpus)) {
      cases.push_back({collective, bytes, "fp32", usual_placement(collective), false});
    }
    return cases;
  }
  for (const Placement placement : {Placement::out_of_place, Placement::in_place}) {
    for (const std::int64_t bytes : sizes(2, kLargestOfFull)) {
      cases.push_back({collective, bytes, "fp32", placement, true});
    }
    // What a type costs shows at one size of each kind: latency, and bandwidth.
    for (const std::string_view dtype : collective_dtypes()) {
      if (dtype == "fp32") continue;
      for (const std::int64_t bytes : {std::int64_t{8}, std::int64_t{4} << 10, std::int64_t{1} << 20}) {
        cases.push_back({collective, bytes, dtype, placement, true});
      }
    }
  }
  return cases;
}

std::string_view lacks(const CollectiveCase& one) {
  if (one.placement == Placement::out_of_place && is_one_of(one.collective, kReplaces)) {
    return "not supported: process groups have it in place alone";
  }
  if (one.placement == Placement::in_place && is_one_of(one.collective, kCannotReplace)) {
    return "not supported: what is received may not lie where it is sent from";
  }
  return "";
}

// Counted, and held against what processes were seen to take: a call's numbers and those of one that is not timed, each
// in and out, the sequence they come from, and either what is expected or the library's copies.
std::int64_t needed_bytes(const CollectiveCase& one, int ranks) {
  constexpr std::int64_t kCopies = 7;
  return kCopies * one.size_bytes * ranks;
}

}  // namespace reprobench
