// One step of two stacks from the same stored state, judged against an fp64 rerun: rounding, defect or undecided.
//
//   e_x = relL2(x, h)   e_r = relL2(r, h)   delta = relL2(x, r)   E and S
//
// Each tensor has these in each batch, and the pooled E over the batches. Formulas and bounds are in
// matrix/stats/error_budget.hpp. Tensors are named "ROLE/NAME", "gradient/fc1.weight". The noise floor of relL2 is the
// RMS of all tensors of one role.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernels/diff/diff.hpp"
#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"
#include "matrix/numerics/steps/ulp_histogram.hpp"
#include "matrix/record/safetensors.hpp"
#include "matrix/stats/error_budget.hpp"

namespace reprobench {

// The three runs of one batch; each list is ordered by name.
struct LockstepBatch {
  std::span<const TensorView> candidate;  // x
  std::span<const TensorView> reference;  // r
  std::span<const TensorView> exact;      // h, fp64
  // Few elements of masks that are not as in fp64 on a side, "1 element of `relu3.active` is"; empty: none, or many.
  std::string flips = {};
};

struct LockstepOptions {
  std::string precision = "fp32";  // a row of precision_bounds()
  double alpha = 1e-3;             // false alarms of the pooled test per comparison
  double legitimate_ratio = kLegitimateRatio;
  std::map<std::string, double> legitimate_ratios = {};  // by tensor, if it has one of its own
  // If the two add up in different orders: the number of products of which each tensor's elements are sums.
  std::map<std::string, std::int64_t> summed_terms = {};
  bool is_learned =
      false;  // the ratios were measured of these two orders, so pooled errors are held against them alone
  // An operator is proven to add in another order on the two sides, which otherwise add up alike: errors of single
  // batches are drawn apart, pooled ones are not.
  bool is_drawn_apart = false;
  std::string legitimate_ratio_from = {};  // source of these ratios; empty: a constant of error_budget.hpp
};

enum class LockstepWord { rounding, defect, undecided };
template <>
struct Words<LockstepWord> {
  static constexpr std::array<std::string_view, 3> table = {"rounding", "defect", "undecided"};
};

template <>
struct Words<BudgetDecision> {
  static constexpr std::array<std::string_view, 3> table = {"rounding", "defect", "inconclusive"};
};

// E over all batches, and the decision that follows from it.
struct PooledJudgement : PooledRatio, PooledDecision {};

template <>
struct Description<PooledJudgement> {
  static constexpr About about = About::part("pooled", "Over all batches.");
  static void fields(auto& field, PooledJudgement& pooled) {
    field("error_ratio", pooled.ratio);
    field.optional("candidate_error_rel", pooled.candidate_error_rel, "RMS over the batches.");
    field("bound", pooled.bound);
    field("upper", pooled.upper);
    field("spread_log", pooled.spread_log);
    field("effective_batches", pooled.effective_batches);
    field("decision", pooled.decision);
    field("reason", pooled.reason);
    field("batches_needed", pooled.batches_needed, rule::at_least(0));
  }
};

struct LockstepTensor {
  std::string name;
  std::string dtype;  // the candidate's, as in the file
  std::vector<std::int64_t> shape;
  LockstepWord word = LockstepWord::undecided;
  std::string reason;       // one sentence
  bool equal_bits = false;  // candidate equals reference, in every batch
  // These are for the batch with the largest E.
  int worst_batch = 0;
  double e_x = 0;
  double e_r = 0;
  double delta = 0;
  double error_ratio = 0;        // E
  double triangle = 0;           // S, the largest of all batches
  double error_ratio_bound = 0;  // class B2
  std::optional<PooledJudgement> pooled;
  std::vector<std::int64_t> ulp_histogram;  // candidate against reference; up to the last bucket that is not empty
  std::uint64_t max_ulp = 0;
  std::int64_t nan_mismatches = 0;  // candidate against reference
  std::int64_t inf_mismatches = 0;
};

template <>
struct Description<LockstepTensor> {
  static constexpr About about = About::part("tensor");
  static void fields(auto& field, LockstepTensor& tensor) {
    field("name", tensor.name);
    field("dtype", tensor.dtype);
    field("shape", tensor.shape, rule::at_least(0));
    field("word", tensor.word);
    field("reason", tensor.reason);
    field("equal_bits", tensor.equal_bits);
    field("worst_batch", tensor.worst_batch, rule::at_least(0));
    field("e_x", tensor.e_x);
    field("e_r", tensor.e_r);
    field("delta", tensor.delta);
    field("error_ratio", tensor.error_ratio);
    field("error_ratio_bound", tensor.error_ratio_bound);
    field("triangle", tensor.triangle);
    field("pooled", tensor.pooled);
    field("ulp_histogram", tensor.ulp_histogram, kUlpHistogramRule);
    field("max_ulp", tensor.max_ulp);
    field("nan_mismatches", tensor.nan_mismatches, rule::at_least(0));
    field("inf_mismatches", tensor.inf_mismatches, rule::at_least(0));
  }
};

struct Lockstep {
  LockstepOptions options;
  int batches = 0;
  // defect: one tensor is. undecided: none is, and one could not be judged, or there is nothing to judge. rounding: all
  // are within class B2 and no pooled ratio is a defect. `not_resolved` then names those in which a defect of rounding
  // size could hide.
  LockstepWord word = LockstepWord::undecided;
  std::string sentence;
  std::vector<LockstepTensor> tensors;    // worst first
  std::vector<std::string> not_resolved;  // by name
};

template <>
struct Description<Lockstep> {
  static constexpr About about =
      About::document("lockstep", "One step of two stacks from one state, judged against fp64");
  static void fields(auto& field, Lockstep& lockstep) {
    field("precision", lockstep.options.precision);
    field("alpha", lockstep.options.alpha);
    field("legitimate_ratio", lockstep.options.legitimate_ratio);
    field.optional("legitimate_ratios", lockstep.options.legitimate_ratios, "By tensor, where it has one of its own.");
    field.optional("summed_terms", lockstep.options.summed_terms,
                   "By tensor, where the sides add up in other orders: products in a sum.");
    field.optional("is_learned", lockstep.options.is_learned, "The ratios were measured of these two orders.");
    field.optional("is_drawn_apart", lockstep.options.is_drawn_apart,
                   "An operator is proven to add in another order on the two sides.");
    field.optional("legitimate_ratio_from", lockstep.options.legitimate_ratio_from,
                   "What measured it, or what the two sides do otherwise.");
    field("batches", lockstep.batches, rule::at_least(0));
    field("word", lockstep.word);
    field("sentence", lockstep.sentence);
    field("tensors", lockstep.tensors, "Worst first.");
    field("not_resolved", lockstep.not_resolved, "Tensors in which a defect of rounding size could hide.");
  }
};

// Throws ContractError if the precision has no bounds.
Lockstep judge_lockstep(std::span<const LockstepBatch> batches, const LockstepOptions& options);

nlohmann::json to_json(const Lockstep& lockstep);

// Throws ContractError naming the field.
Lockstep lockstep_from_json(const nlohmann::json& json);

}  // namespace reprobench
