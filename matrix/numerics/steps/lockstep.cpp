#include "matrix/numerics/steps/lockstep.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "matrix/contract/document/reader.hpp"
#include "matrix/numerics/steps/snapshot_comparison.hpp"

namespace reprobench {
namespace {

// The sums of one tensor in one batch, before the RMS of its role is known.
struct BatchSums {
  ErrorSums candidate;  // against the exact run
  ErrorSums reference;
  Difference difference;  // candidate against reference
};

struct TensorEvidence {
  LockstepTensor result;
  std::vector<BatchSums> batches;
  bool judged = true;  // false: `result` already says why not
};

// Unit roundoff of the type the tensor is stored in.
double unit_roundoff_of(ElementType type) {
  switch (type) {
    case ElementType::fp64:
      return 0x1p-53;
    case ElementType::fp32:
      return 0x1p-24;
    case ElementType::fp16:
      return 0x1p-11;
    case ElementType::bf16:
      return 0x1p-8;
    case ElementType::fp8_e4m3fn:
      return 0x1p-4;
    default:
      return 0x1p-3;
  }
}

std::string role_of(const std::string& name) { return name.substr(0, name.find('/')); }

void settle(TensorEvidence& evidence, LockstepWord word, std::string reason) {
  evidence.judged = false;
  evidence.result.word = word;
  evidence.result.reason = std::move(reason);
}

// Adds one batch, or settles the tensor if there is nothing to measure.
void add_batch(const LockstepBatch& batch, std::size_t index, TensorEvidence& evidence) {
  LockstepTensor& result = evidence.result;
  const TensorView* x = find_tensor(batch.candidate, result.name);
  const TensorView* r = find_tensor(batch.reference, result.name);
  const TensorView* h = find_tensor(batch.exact, result.name);
  // Updates are as large as gradients and say less; a replay keeps those of its first batch alone.
  if (x == nullptr && r == nullptr && h == nullptr) return;
  for (const auto& [view, side] : {std::pair(x, "candidate"), std::pair(r, "reference"), std::pair(h, "fp64 run")}) {
    if (view == nullptr) {
      return settle(evidence, LockstepWord::undecided, fmt::format("missing in the {} of batch {}", side, index));
    }
  }
  if (evidence.batches.empty()) {
    result.dtype = x->dtype;
    result.shape = x->shape;
  }
  if (x->shape != result.shape || r->shape != result.shape || h->shape != result.shape || x->dtype != result.dtype ||
      r->dtype != result.dtype || x->bytes.size() != r->bytes.size()) {
    return settle(evidence, LockstepWord::undecided, fmt::format("type or shape differ in batch {}", index));
  }
  const ElementType type = element_type_of(x->dtype);
  BatchSums sums;
  sums.difference = diff(type, x->bytes, r->bytes);
  result.equal_bits = result.equal_bits && sums.difference.equal_bits();
  if (is_floating(type)) {
    if (h->dtype != "F64") {
      return settle(evidence, LockstepWord::undecided, fmt::format("the exact run holds {}, not F64", h->dtype));
    }
    sums.candidate = error_sums(type, x->bytes, ElementType::fp64, h->bytes);
    sums.reference = error_sums(type, r->bytes, ElementType::fp64, h->bytes);
  }
  evidence.batches.push_back(std::move(sums));
}

// RMS over all tensors of a role in one batch's exact run.
using RoleRms = std::map<std::pair<std::string, std::size_t>, double>;

RoleRms role_rms(const std::vector<TensorEvidence>& tensors) {
  std::map<std::pair<std::string, std::size_t>, std::pair<double, double>> sums;
  for (const TensorEvidence& tensor : tensors) {
    for (std::size_t batch = 0; batch < tensor.batches.size(); ++batch) {
      auto& [squares, count] = sums[{role_of(tensor.result.name), batch}];
      squares += tensor.batches[batch].candidate.reference_squares;
      count += static_cast<double>(tensor.batches[batch].candidate.count);
    }
  }
  RoleRms result;
  for (const auto& [key, sum] : sums) result[key] = sum.second > 0 ? std::sqrt(sum.first / sum.second) : 0;
  return result;
}

void count_differences(TensorEvidence& evidence) {
  LockstepTensor& result = evidence.result;
  std::array<std::int64_t, kUlpBuckets> histogram{};
  for (const BatchSums& sums : evidence.batches) {
    const Difference& d = sums.difference;
    for (std::size_t bucket = 0; bucket < kUlpBuckets; ++bucket) histogram[bucket] += d.ulp_histogram[bucket];
    if (d.largest) result.max_ulp = std::max(result.max_ulp, *d.largest->ulp);
    result.nan_mismatches += d.nan_mismatches;
    result.inf_mismatches += d.inf_mismatches;
  }
  result.ulp_histogram = used_buckets(histogram);
}

// The errors of every batch: of the candidate, of the reference, and what lies between the two.
struct MeasuredErrors {
  BatchErrors to_exact;
  std::vector<double> delta;
};

MeasuredErrors measured_errors(const RoleRms& rms, const TensorEvidence& evidence) {
  MeasuredErrors errors;
  for (std::size_t batch = 0; batch < evidence.batches.size(); ++batch) {
    const BatchSums& sums = evidence.batches[batch];
    const double g = rms.at({role_of(evidence.result.name), batch});
    const std::int64_t n = sums.difference.count;
    errors.to_exact.candidate.push_back(
        relative_l2(sums.candidate.error_squares, sums.candidate.reference_squares, n, g));
    errors.to_exact.reference.push_back(
        relative_l2(sums.reference.error_squares, sums.reference.reference_squares, n, g));
    errors.delta.push_back(relative_l2(sums.difference.difference_squares, sums.difference.reference_squares, n, g));
  }
  return errors;
}

// The difference that is allowed between the sides in one tensor.
struct Allowance {
  PooledOptions pooled;
  bool orders_differ = false;
  bool is_drawn_apart = false;  // a batch of one side may be lucky
  double order_error_rel = 0;   // 0 too where the terms of this tensor are not on record
};

// E, S and their inputs of the worst batch. Two sides that add up in other orders, in one operator or in all, draw
// their errors apart: in one batch of many the reference is lucky, or the candidate is not.
void keep_worst_batch(const RoleRms& rms, const PrecisionBounds& bounds, const Allowance& allowance,
                      const MeasuredErrors& errors, TensorEvidence& evidence) {
  LockstepTensor& result = evidence.result;
  const std::int64_t count = evidence.batches[0].difference.count;
  const BatchChance chance = batch_chance(errors.to_exact.reference, count);
  const double least = allowance.is_drawn_apart ? chance.usual : 0;
  for (std::size_t batch = 0; batch < evidence.batches.size(); ++batch) {
    const BatchSums& sums = evidence.batches[batch];
    const double g = rms.at({role_of(result.name), batch});
    const double e_x = errors.to_exact.candidate[batch];
    const double e_r = errors.to_exact.reference[batch];
    const double floor = noise_floor(sums.candidate.reference_squares, sums.difference.count, g,
                                     std::max(bounds.phi, allowance.order_error_rel));
    const ErrorBudget budget = error_budget(e_x, e_r, errors.delta[batch], std::max(floor, least));
    if (batch == 0 || budget.error_ratio > result.error_ratio) {
      result.worst_batch = static_cast<int>(batch);
      result.e_x = e_x;
      result.e_r = e_r;
      result.delta = errors.delta[batch];
      result.error_ratio = budget.error_ratio;
    }
    // delta is relative to r, both errors to h: in low precision the two norms differ by up to e_r.
    result.triangle = std::max(result.triangle, budget.triangle * (1 - std::min(e_r, 0.1)));
  }
  result.error_ratio_bound = count < kSmallTensor ? bounds.max_ratio_small : bounds.max_ratio;
  if (allowance.is_drawn_apart) {
    const double legitimate = allowance.orders_differ ? kLegitimateRatioOfOrders : allowance.pooled.legitimate_ratio;
    const double draws = allowance.pooled.tensors * static_cast<double>(evidence.batches.size());
    result.error_ratio_bound = std::max(
        result.error_ratio_bound, legitimate * largest_by_chance(chance.independent, allowance.pooled.alpha / draws));
  }
}

bool fp64_is_finite_where_stacks_are_not(const TensorEvidence& evidence) {
  return std::any_of(evidence.batches.begin(), evidence.batches.end(), [](const BatchSums& sums) {
    return sums.reference.nan_mismatches + sums.reference.inf_mismatches > 0;
  });
}

Allowance allowance_of(const std::string& tensor, const LockstepOptions& options, int judged) {
  Allowance allowance{{judged, options.alpha, options.legitimate_ratio}, !options.summed_terms.empty()};
  allowance.is_drawn_apart = allowance.orders_differ || options.is_drawn_apart;
  if (const auto own = options.legitimate_ratios.find(tensor); own != options.legitimate_ratios.end()) {
    allowance.pooled.legitimate_ratio = own->second;
  }
  if (const auto terms = options.summed_terms.find(tensor); terms != options.summed_terms.end()) {
    allowance.order_error_rel = order_error_rel(terms->second);
  }
  if (!options.is_learned) allowance.pooled.order_error_rel = allowance.order_error_rel;
  return allowance;
}

bool is_beyond_b2(const LockstepTensor& tensor) { return !(tensor.error_ratio <= tensor.error_ratio_bound); }

bool is_pooled_defect(const LockstepTensor& tensor) {
  return tensor.pooled && tensor.pooled->decision == BudgetDecision::defect;
}

// Empty: it is within both bounds.
std::string beyond_bounds(const LockstepTensor& tensor) {
  if (is_beyond_b2(tensor)) {
    return fmt::format("E is {:.3g} in batch {}, class B2 allows {:.3g}", tensor.error_ratio, tensor.worst_batch,
                       tensor.error_ratio_bound);
  }
  if (!is_pooled_defect(tensor) && !(tensor.pooled && tensor.pooled->is_left_open)) return "";
  return fmt::format("E pooled over {} batches is {:.3f}, above {:.3f}", tensor.pooled->batches, tensor.pooled->ratio,
                     tensor.pooled->bound);
}

// Neither a single batch nor all of them together may show more than terms that cancel explain.
bool may_cancel(const LockstepTensor& tensor, double order_error_rel) {
  const double most_of_batch = tensor.error_ratio_bound * kCancellationOfOrders * order_error_rel;
  return !is_pooled_defect(tensor) && (!is_beyond_b2(tensor) || tensor.e_x <= most_of_batch);
}

void judge_tensor(const RoleRms& rms, const PrecisionBounds& bounds, const Allowance& allowance,
                  TensorEvidence& evidence) {
  LockstepTensor& result = evidence.result;
  count_differences(evidence);
  const ElementType type = element_type_of(result.dtype);
  if (!is_floating(type)) {
    return result.equal_bits ? settle(evidence, LockstepWord::rounding, "equal bits")
                             : settle(evidence, LockstepWord::defect, "bits differ, and integers are not rounded");
  }
  const MeasuredErrors errors = measured_errors(rms, evidence);
  keep_worst_batch(rms, bounds, allowance, errors, evidence);
  const auto ratio = pooled_ratio(errors.to_exact, evidence.batches[0].difference.count, unit_roundoff_of(type));
  if (ratio) result.pooled = PooledJudgement{*ratio, decide_pooled(*ratio, allowance.pooled)};
  if (result.nan_mismatches + result.inf_mismatches > 0) {
    settle(evidence, LockstepWord::defect,
           fmt::format("{} elements are NaN and {} infinite on one side only", result.nan_mismatches,
                       result.inf_mismatches));
  } else if (fp64_is_finite_where_stacks_are_not(evidence)) {
    settle(evidence, LockstepWord::undecided, "both stacks hold NaN or infinity where the fp64 run differs");
  } else if (result.triangle > kLargestTriangle) {
    settle(evidence, LockstepWord::undecided,
           fmt::format("S is {:.3g}: the three runs do not hold the same tensor", result.triangle));
  } else if (const std::string beyond = beyond_bounds(result); !beyond.empty()) {
    const bool is_open = may_cancel(result, allowance.pooled.order_error_rel);
    settle(evidence, is_open ? LockstepWord::undecided : LockstepWord::defect,
           is_open ? fmt::format("{}; {}", beyond, kWhereTermsCancel) : beyond);
  } else if (result.equal_bits) {
    settle(evidence, LockstepWord::rounding, "equal bits");
  } else {
    settle(evidence, LockstepWord::rounding,
           fmt::format("E is at most {:.3g}, class B2 allows {:.3g}", result.error_ratio, result.error_ratio_bound));
  }
}

std::vector<TensorEvidence> collect(std::span<const LockstepBatch> batches) {
  std::set<std::string> names;
  for (const LockstepBatch& batch : batches) {
    for (const auto& side : {batch.candidate, batch.reference, batch.exact}) {
      for (const TensorView& tensor : side) names.insert(tensor.name);
    }
  }
  std::vector<TensorEvidence> tensors;
  for (const std::string& name : names) {
    TensorEvidence evidence;
    evidence.result.name = name;
    evidence.result.equal_bits = true;
    for (std::size_t index = 0; index < batches.size() && evidence.judged; ++index) {
      add_batch(batches[index], index, evidence);
    }
    if (!evidence.judged) evidence.result.equal_bits = false;
    tensors.push_back(std::move(evidence));
  }
  return tensors;
}

// For sorting by the number in a tensor's reason: E as a share of its bound, or pooled E if that makes it a defect. A
// value that is no number counts as larger than every other.
double share_of_bound(const LockstepTensor& tensor) {
  const double pooled = is_pooled_defect(tensor) ? tensor.pooled->ratio / tensor.pooled->bound : 0;
  const double single = tensor.error_ratio_bound > 0 ? tensor.error_ratio / tensor.error_ratio_bound : 0;
  if (std::isnan(single) || std::isnan(pooled)) return std::numeric_limits<double>::infinity();
  return std::max(single, pooled);
}

// Two equally wrong sides have equal bits and an E of 1: no tensor whose bits differ is less of a difference.
bool comes_before(const LockstepTensor& a, const LockstepTensor& b) {
  const auto rank = [](const LockstepTensor& tensor) {
    const int word = tensor.word == LockstepWord::defect ? 2 : tensor.word == LockstepWord::undecided ? 1 : 0;
    return std::tuple(word, !tensor.equal_bits, share_of_bound(tensor));
  };
  const auto rank_a = rank(a);
  const auto rank_b = rank(b);
  return rank_a != rank_b ? rank_a > rank_b : a.name < b.name;
}

// A defect of rounding size could hide in a tensor whose bits differ and that pooling did not clear.
bool is_unresolved(const LockstepTensor& tensor) {
  return tensor.word == LockstepWord::rounding && !tensor.equal_bits &&
         !(tensor.pooled && tensor.pooled->decision == BudgetDecision::rounding);
}

std::string summarise(const Lockstep& lockstep) {
  if (lockstep.batches == 0) return "there is no batch to judge";
  if (lockstep.tensors.empty()) return "there is no tensor to judge";
  const auto count = [&](auto wanted) {
    return std::count_if(lockstep.tensors.begin(), lockstep.tensors.end(), wanted);
  };
  const auto total = lockstep.tensors.size();
  const LockstepTensor& worst = lockstep.tensors.front();
  if (lockstep.word != LockstepWord::rounding) {
    const auto affected = count([&](const LockstepTensor& tensor) { return tensor.word == lockstep.word; });
    const char* verb = lockstep.word == LockstepWord::defect ? "show a defect" : "cannot be judged";
    return fmt::format("{} of {} tensors {}; worst `{}`: {}", affected, total, verb, worst.name, worst.reason);
  }
  const auto equal = count([](const LockstepTensor& tensor) { return tensor.equal_bits; });
  if (static_cast<std::size_t>(equal) == total) return fmt::format("all {} tensors have equal bits", total);
  std::string text = fmt::format("all differences are of rounding size: {} of {} tensors differ, worst `{}`: {}",
                                 total - static_cast<std::size_t>(equal), total, worst.name, worst.reason);
  if (!lockstep.not_resolved.empty()) {
    text += fmt::format("; in {} of them {} batches cannot exclude a defect of rounding size",
                        lockstep.not_resolved.size(), lockstep.batches);
  }
  return text;
}

Lockstep judge_all(std::span<const LockstepBatch> batches, const LockstepOptions& options,
                   const PrecisionBounds& bounds) {
  Lockstep result;
  result.options = options;
  result.batches = static_cast<int>(batches.size());
  std::vector<TensorEvidence> evidence = collect(batches);
  const RoleRms rms = role_rms(evidence);
  const auto judged = std::count_if(evidence.begin(), evidence.end(), [](const TensorEvidence& e) { return e.judged; });
  bool all_rounding = !evidence.empty();
  bool any_defect = false;
  for (TensorEvidence& tensor : evidence) {
    if (tensor.judged) {
      judge_tensor(rms, bounds, allowance_of(tensor.result.name, options, static_cast<int>(judged)), tensor);
    }
    all_rounding = all_rounding && tensor.result.word == LockstepWord::rounding;
    any_defect = any_defect || tensor.result.word == LockstepWord::defect;
    if (is_unresolved(tensor.result)) result.not_resolved.push_back(tensor.result.name);
    result.tensors.push_back(std::move(tensor.result));
  }
  result.word = any_defect ? LockstepWord::defect : all_rounding ? LockstepWord::rounding : LockstepWord::undecided;
  std::sort(result.tensors.begin(), result.tensors.end(), comes_before);
  result.sentence = summarise(result);
  return result;
}

// One batch of so many may be left open for a mask that flips.
constexpr std::size_t kBatchesOfOneFlip = 8;

// Where a value lies within rounding of zero, a ReLU lets it through in one precision and not in another. One such
// element takes gradients hundreds of times as far from fp64, on a side that is right. So a defect that few batches
// with flips alone show is left open. It is not called rounding: a defect could make the flips, too.
void leave_flips_open(std::span<const LockstepBatch> batches, const LockstepOptions& options,
                      const PrecisionBounds& bounds, Lockstep& judged) {
  std::vector<LockstepBatch> others;
  std::string flips;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (batches[i].flips.empty()) {
      others.push_back(batches[i]);
    } else if (flips.empty()) {
      flips = fmt::format("in batch {} {} not as in fp64", i, batches[i].flips);
    }
  }
  const std::size_t flipped = batches.size() - others.size();
  if (judged.word != LockstepWord::defect || flipped == 0 || flipped * kBatchesOfOneFlip > batches.size()) return;
  const Lockstep without_flips = judge_all(others, options, bounds);
  if (without_flips.word == LockstepWord::defect) return;
  judged.word = LockstepWord::undecided;
  for (LockstepTensor& tensor : judged.tensors) {
    if (tensor.word == LockstepWord::defect) tensor.word = LockstepWord::undecided;
  }
  judged.sentence =
      fmt::format("{}; {}, which rounding can do; the {} other batches {}", summarise(judged), flips, others.size(),
                  without_flips.word == LockstepWord::rounding ? "are rounding" : "show no defect");
}

}  // namespace

nlohmann::json to_json(const Lockstep& lockstep) { return written(lockstep); }
Lockstep lockstep_from_json(const nlohmann::json& object) { return read_document<Lockstep>(object); }

Lockstep judge_lockstep(std::span<const LockstepBatch> batches, const LockstepOptions& options) {
  const PrecisionBounds* bounds = find_precision_bounds(options.precision);
  if (bounds == nullptr) throw ContractError("lockstep: there are no bounds for precision `" + options.precision + "`");
  Lockstep result = judge_all(batches, options, *bounds);
  leave_flips_open(batches, options, *bounds, result);
  return result;
}

}  // namespace reprobench
