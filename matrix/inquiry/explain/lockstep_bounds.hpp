// How far apart the pooled errors of two correct runs lie on a stack, learned from that stack (class B2).
//
// A gradient that two threads add up has another error against fp64 than one thread's, larger or smaller. Both are
// right. How large an error may be follows from how many terms are added up (order_error_rel()). How far two orders
// really lie apart on a stack and workload is much less: `calibrate --lockstep` measures that, tensor by tensor. It
// runs a stack against itself with every setting that only changes the order of summation, or against another stack
// that is known to be good. Nothing is learned from a pair that lies further apart than an order of summation explains
// on its own. Where no pair is left, the stored bounds say that they must not be used.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/result.hpp"
#include "matrix/inquiry/comparison.hpp"
#include "matrix/inquiry/replays.hpp"
#include "matrix/numerics/steps/lockstep.hpp"

namespace reprobench {

// Everything that a side's errors depend on. Bounds hold as long as it stays the same.
struct BoundsBasis {
  std::string stack;
  std::vector<ComponentVersion> components;  // without their paths
  std::string blas_provider;
  std::string cpu_model;
  std::string cpu_capability;
  std::string summation_order;  // threads, lanes and fused products, of each library

  bool operator==(const BoundsBasis& other) const = default;
};

template <>
struct Description<BoundsBasis> {
  static constexpr About about = About::part("bounds_basis");
  static void fields(auto& field, BoundsBasis& basis) {
    field("stack", basis.stack);
    field("components", basis.components);
    field("blas_provider", basis.blas_provider);
    field("cpu_model", basis.cpu_model);
    field("cpu_capability", basis.cpu_capability);
    field("summation_order", basis.summation_order);
  }
};

// Further processes of a setting with which a stack does not repeat itself. After so many the last one counts.
inline constexpr int kMostUnrepeated = 3;

// A pair of runs that must both be right, compared from every state.
struct CleanPair {
  std::string what;                                 // "threads=2", "torch-2.8.0-cu128"
  int tensors = 0;                                  // judged, over all states and both directions
  int differing = 0;                                // of them with other bits
  double largest_ratio = 1;                         // pooled E of the one furthest from 1, as a ratio of at least 1
  std::string largest_tensor;                       // empty: all bits are equal
  std::map<std::string, double> legitimate_ratios;  // learned, by tensor, where they are above kLegitimateRatio
  std::string problem;  // why nothing is learned from it, in one sentence; empty: it is clean
  int unrepeated = 0;   // processes whose bits a further one did not give; only that one is judged
};

template <>
struct Description<CleanPair> {
  static constexpr About about = About::part("clean_pair");
  static void fields(auto& field, CleanPair& pair) {
    field("what", pair.what);
    field("tensors", pair.tensors, rule::at_least(0));
    field("differing", pair.differing, rule::at_least(0));
    field("largest_ratio", pair.largest_ratio);
    field("largest_tensor", pair.largest_tensor);
    field("legitimate_ratios", pair.legitimate_ratios, "By tensor, where it is above the usual one.");
    field("problem", pair.problem);
    field.optional("unrepeated", pair.unrepeated,
                   rule::at_least(1).says("Processes whose bits a further one did not give; only that one is judged."));
  }
};

struct LockstepBounds {
  std::string model;
  std::string preset;
  std::string precision;
  BoundsBasis basis;
  std::optional<BoundsBasis> against;  // another stack; nothing: the stack itself with other settings
  int batches = 0;                     // of each state
  std::vector<std::int64_t> states;    // steps after which a step was judged
  double alpha = 0;
  std::vector<CleanPair> pairs;
  std::string refused;  // why it must not be used, in one sentence; empty: it may
};

template <>
struct Description<LockstepBounds> {
  static constexpr About about =
      About::document("lockstep_bounds", "How far apart the pooled errors of correct runs lie on one stack");
  static void fields(auto& field, LockstepBounds& bounds) {
    field("model", bounds.model);
    field("preset", bounds.preset);
    field("precision", bounds.precision);
    field("basis", bounds.basis);
    field("against", bounds.against, "null: the stack itself with other settings.");
    field("batches", bounds.batches, rule::at_least(1));
    field("states", bounds.states, rule::at_least(0));
    field("alpha", bounds.alpha);
    field("pairs", bounds.pairs);
    field("refused", bounds.refused, "Why it must not be used; empty: it may.");
  }
};

// Whether every pair was clean. Bounds of others may still be used, and whoever asked is told that it is not all.
bool is_complete(const LockstepBounds& bounds);

nlohmann::json to_json(const LockstepBounds& bounds);
LockstepBounds lockstep_bounds_from_json(const nlohmann::json& json);  // throws ContractError naming the field

// Runs `base`, a completed run with every tensor digested, against itself with each setting of a table that changes
// nothing but the order of summation, or, given another stack's run of the same workload, against that alone. Throws
// UsageError for fp64, ReplayFailed, StoreError.
LockstepBounds measure_lockstep_bounds(const ComparedSide& base, const ComparedSide* against, int batches,
                                       Replays& replays, const Announce& announce);

// The file of these bounds, under STORE/baselines.
std::filesystem::path lockstep_bounds_file(const LockstepBounds& bounds, const std::filesystem::path& store);

// The limits for pooled ratios of a pair, and where they come from.
struct LegitimateRatio {
  double ratio = kLegitimateRatio;
  bool is_learned = false;                           // of these two orders: by a calibration
  std::map<std::string, double> of_tensors;          // where another was measured
  std::map<std::string, std::int64_t> summed_terms;  // where the two add up in other orders
  bool is_drawn_apart = false;                       // see LockstepOptions
  std::string from;                // what measured it, or how the orders differ; empty: a constant of error_budget.hpp
  std::vector<std::string> notes;  // sentences for the answer
};

// Whether both sides call the same operators where they diverge. A batch norm that is written out adds up in another
// order than the operator, on whatever library.
enum class Operators { same, others };

// Takes what was measured for this pair of stacks, else for the expected stack by itself, else the constants of
// error_budget.hpp. From the expected stack's pairs it takes the widest if both sides add up alike, else the pair that
// adds up as they do. Bounds that were refused, or that have another basis, are not used, and a note says so. `store`
// may be empty: nothing is kept.
LegitimateRatio legitimate_ratio_of(const ComparedSide& measured, const ComparedSide& expected,
                                    const std::filesystem::path& store, Operators operators = Operators::same);

LockstepOptions lockstep_options(const CellRequest& measured, const LegitimateRatio& legitimate);

}  // namespace reprobench
