// The two sides of a comparison: cells of stored runs, or stacks on which a workload is run now.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "matrix/contract/capability.hpp"
#include "matrix/inquiry/comparison.hpp"
#include "matrix/spec/files/own_files.hpp"

namespace reprobench {

// The workload of a comparison of stacks.
struct WorkloadChoice {
  std::string model = "mlp";
  std::string preset;  // empty: the model's first
  std::int64_t steps = 20;
  std::int64_t batch_size = 0;  // 0: the preset's usual one
  KnobValues measured_knobs;    // those that are not the default
  KnobValues expected_knobs;
  std::vector<std::pair<const OwnFileKind*, GiveOwnFile>> own_files = {};  // of the user's, on both sides
};

using SidePair = std::pair<ComparedSide, ComparedSide>;

// The cells of a stored run, or those of one name.
struct RunCells {
  std::filesystem::path folder;  // the run directory
  std::string cell;              // slug, id or the beginning of an id; empty: all
};

// The pairs of stored cells, each side with evidence or with the reason why it has none, and the cells that are in no
// pair. Traces are not read yet.
struct StoredPairs {
  std::vector<SidePair> pairs;
  std::vector<std::string> without_partner;  // cells of either run, by label
  int skipped = 0;                           // cells that were not to run
  int probes = 0;                            // their measurements are judged by checks; operator calls are not counted
};

// What to do about runs without a pair of trainings. It is allowed if they have operator calls to compare; cells
// without a partner are named all the same.
enum class NoPair { is_refused, is_allowed };

// Pairs the cells of two runs that have equal coordinates, in merged runs those of the same host first. A cell without
// such a partner is paired with the only one that differs only in its stack, or else only in its device. Throws
// UsageError if there is no pair: two runs without a common cell are never "no difference".
StoredPairs sides_of_runs(const RunCells& measured, const RunCells& expected, NoPair no_pair = NoPair::is_refused);

// Pairs every cell that was to run, or the named one, with its reference cell. Throws UsageError if there is no pair.
StoredPairs sides_within_run(const RunCells& cells, NoPair no_pair = NoPair::is_refused);

// Chooses two repeats of two stored cells that differ, if any two do. Equal bits in one repeat of each say nothing
// about the others.
void take_differing_repeats(SidePair& pair);

// Reads the traces of a side's ranks that are not in memory. Throws StoreError for a trace that is not whole.
void read_trace_of(ComparedSide& side);

// The request for the workload on a stack with these knobs, on the CPU and with every tensor digested. Throws
// UsageError for a choice that is not in the capability.
CellRequest training_request(const std::string& stack, const WorkloadChoice& choice, const KnobValues& chosen_knobs,
                             const Capability& capability);

// Runs the workload on both stacks with every tensor digested. `capability` of a stack says what presets there are.
// `begin` is called once the choice is known to be possible, before anything is run. Throws UsageError for a choice
// that is not in the capability.
SidePair sides_of_stacks(
    const std::string& a, const std::string& b, const WorkloadChoice& choice, const Capability& capability,
    Replays& replays, const std::function<void()>& begin = [] {});

// The same for one stack, with the expected side's knobs.
ComparedSide side_of_stack(const std::string& stack, const WorkloadChoice& choice, const Capability& capability,
                           Replays& replays);

// Runs both sides' requests with the seeds 1 ... `seeds` and holds their loss curves against each other (class D).
LossEquivalence equivalence_of_stacks(const SidePair& sides, int seeds, Replays& replays);

}  // namespace reprobench
