#include "matrix/inquiry/lockstep_bounds.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/contract/document/reader.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/contract/usage_error.hpp"
#include "matrix/inquiry/step_judgement.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

// Settings that change in which order numbers are added up, or by which vector instructions, and nothing else. One that
// a stack or a workload does not react to gives equal bits, which teach nothing and cost little.
struct OtherOrder {
  const char* knob;
  const char* value;
};
constexpr OtherOrder kOtherOrders[] = {{"threads", "2"},       {"threads", "4"},  {"cpu_isa", "avx2"},
                                       {"cpu_isa", "default"}, {"onednn", "off"}, {"mkl_cbwr", "compatible"}};

BoundsBasis basis_of(const ComparedSide& side) {
  const Fingerprint& fingerprint = side.attempt.lead().result->fingerprint;
  BoundsBasis basis{side.request.stack, fingerprint.components, fingerprint.blas_provider, fingerprint.cpu_model,
                    fingerprint.cpu_capability};
  for (ComponentVersion& component : basis.components) component.path.clear();
  return basis;
}

bool have_other_libraries(const BoundsBasis& a, const BoundsBasis& b) { return a.blas_provider != b.blas_provider; }

double limit_between(const BoundsBasis& a, const BoundsBasis& b) {
  return have_other_libraries(a, b) ? kLegitimateRatioOfLibraries : kSmallestDefect;
}

struct Variant {
  CleanPair pair;
  CellRequest request;
};

std::vector<Variant> variants_of(const ComparedSide& base, const ComparedSide* against) {
  std::vector<Variant> variants;
  if (against != nullptr) {
    variants.push_back({.pair = {}, .request = against->request});
    variants.front().pair.what = against->request.stack;
    return variants;
  }
  for (const OtherOrder& other : kOtherOrders) {
    const auto knob = base.request.knobs.find(other.knob);
    if (knob == base.request.knobs.end() || knob->second == other.value) continue;
    Variant& variant = variants.emplace_back();
    variant.pair.what = fmt::format("{}={}", other.knob, other.value);
    variant.request = base.request;
    variant.request.knobs[other.knob] = other.value;
  }
  return variants;
}

// The judgement of a pair in one direction, taken into what is known of it.
void take(const Lockstep& judged, std::int64_t state, CleanPair& pair, std::vector<PooledRatio>& pooled) {
  if (pair.problem.empty() && judged.word != LockstepWord::rounding) {
    pair.problem = fmt::format("after step {}: {}", state, judged.sentence);
  }
  for (const LockstepTensor& tensor : judged.tensors) {
    ++pair.tensors;
    if (tensor.equal_bits) continue;
    ++pair.differing;
    if (!tensor.pooled) continue;
    pooled.push_back(*tensor.pooled);
    const double ratio = std::max(tensor.pooled->ratio, 1 / tensor.pooled->ratio);
    if (!pair.largest_tensor.empty() && ratio <= pair.largest_ratio) continue;
    pair.largest_ratio = ratio;
    pair.largest_tensor = tensor.name;
  }
}

// Learned from what is not clean, a bound would let it pass from then on. What is clean at the limit leaves the learned
// ratio below it: the noise that is taken off is that of more tensors.
std::string refusal(const LockstepBounds& bounds) {
  int differing = 0;
  for (const CleanPair& pair : bounds.pairs) {
    if (!pair.problem.empty()) return fmt::format("{} lies too far apart to learn from: {}", pair.what, pair.problem);
    differing += pair.differing;
  }
  if (differing == 0) return "every pair has equal bits: there is nothing to learn from";
  return "";
}

LockstepBounds not_measured_yet(const ComparedSide& base, const ComparedSide* against, int batches) {
  LockstepBounds bounds;
  bounds.model = base.request.workload.model;
  bounds.preset = base.request.workload.preset;
  bounds.precision = base.request.knobs.at("precision");
  if (bounds.precision == "fp64") throw UsageError("--lockstep judges by fp64, and these runs are fp64 themselves");
  bounds.basis = basis_of(base);
  if (against != nullptr) bounds.against = basis_of(*against);
  bounds.limit_ratio = limit_between(bounds.basis, bounds.against.value_or(bounds.basis));
  bounds.batches = batches;
  bounds.alpha = LockstepOptions{}.alpha;
  const std::int64_t steps = base.request.workload.steps;
  bounds.states = {0, steps / 2, steps};
  return bounds;
}

// The base run, the exact one and every variant take the same step from one state; each variant is judged against the
// base run and the other way round.
void judge_from(const std::filesystem::path& states, std::int64_t state, const CellRequest& base,
                const LockstepBounds& bounds, Replays& replays, std::vector<Variant>& variants,
                std::vector<PooledRatio>& pooled) {
  Replay held;
  held.from_state = states / snapshot_file(state);
  held.first_step = state + 1;
  held.last_step = state + bounds.batches;
  held.hold_state = true;
  std::vector<ReplayTask> tasks = {{"base", base}, {"fp64", base}};
  tasks[1].request.knobs["precision"] = "fp64";
  for (std::size_t i = 0; i < variants.size(); ++i) {
    tasks.push_back({fmt::format("other-{}", i), variants[i].request});
  }
  for (ReplayTask& task : tasks) task.request.replay = held;
  const auto outcomes = replays.run(tasks);
  const auto& own = outcomes[0].folder;
  const auto& exact = outcomes[1].folder;
  LockstepOptions options;
  options.precision = bounds.precision;
  options.legitimate_ratio = bounds.limit_ratio;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto& other = outcomes[i + 2].folder;
    take(judge_lockstep_files(other, own, exact, held, options), state, variants[i].pair, pooled);
    take(judge_lockstep_files(own, other, exact, held, options), state, variants[i].pair, pooled);
  }
}

std::filesystem::path file_for(const std::string& stack, const std::string& against, const CellRequest& request,
                               const std::filesystem::path& store) {
  const std::string other = against.empty() ? "" : "-" + against;
  return store / "baselines" /
         fmt::format("lockstep-{}{}-{}-{}-{}.json", stack, other, request.workload.model, request.workload.preset,
                     request.knobs.at("precision"));
}

// Bounds on file, and the sides they are asked for.
struct Kept {
  const ComparedSide& expected;
  const ComparedSide* against;  // null: the stack by itself
  LockstepBounds bounds = {};

  std::string name() const {
    return against == nullptr ? expected.request.stack + " by itself"
                              : fmt::format("{} and {}", expected.request.stack, against->request.stack);
  }

  // Why they do not hold for these sides; empty: they do.
  std::string problem() const {
    if (!bounds.refused.empty()) return bounds.refused;
    const BoundsBasis basis = basis_of(expected);
    const BoundsBasis other = against == nullptr ? basis : basis_of(*against);
    if (!(bounds.basis == basis)) return expected.request.stack + " is not what it was then";
    if (!(bounds.against.value_or(bounds.basis) == other)) return against->request.stack + " is not what it was then";
    const bool is_possible =
        bounds.legitimate_ratio >= kLegitimateRatio && bounds.legitimate_ratio < limit_between(basis, other);
    return is_possible ? "" : fmt::format("x{} is none that is measured", bounds.legitimate_ratio);
  }
};

std::optional<Kept> kept_of(const ComparedSide& expected, const ComparedSide* against,
                            const std::filesystem::path& store) {
  const std::string other = against == nullptr ? "" : against->request.stack;
  const auto file = file_for(expected.request.stack, other, expected.request, store);
  if (!std::filesystem::exists(file)) return std::nullopt;
  Kept kept{expected, against};
  try {
    kept.bounds = lockstep_bounds_from_json(nlohmann::json::parse(read_file(file)));
  } catch (const nlohmann::json::exception&) {
    kept.bounds.refused = file.string() + " is not JSON";
  } catch (const ContractError& error) {
    kept.bounds.refused = fmt::format("{}: {}", file.string(), error.what());
  }
  return kept;
}

}  // namespace

nlohmann::json to_json(const LockstepBounds& bounds) { return written(bounds); }
LockstepBounds lockstep_bounds_from_json(const nlohmann::json& object) { return read_document<LockstepBounds>(object); }

LockstepBounds measure_lockstep_bounds(const ComparedSide& base, const ComparedSide* against, int batches,
                                       Replays& replays, const Announce& announce) {
  LockstepBounds bounds = not_measured_yet(base, against, batches);
  ReplayTask training{"states", base.request};
  training.request.replay = Replay{};
  training.request.replay->last_step = base.request.workload.steps;
  training.request.replay->snapshots_after = bounds.states;
  const auto states = replays.run({training});

  std::vector<Variant> variants = variants_of(base, against);
  std::vector<PooledRatio> pooled;
  for (const std::int64_t state : bounds.states) {
    announce(fmt::format("judging {} pairs from the state after step {}", variants.size(), state));
    judge_from(states.front().folder, state, base.request, bounds, replays, variants, pooled);
    replays.remove_latest();
  }
  for (Variant& variant : variants) bounds.pairs.push_back(std::move(variant.pair));
  bounds.legitimate_ratio = calibrate_clean_pairs(pooled, bounds.alpha).legitimate_ratio;
  bounds.refused = refusal(bounds);
  return bounds;
}

std::filesystem::path lockstep_bounds_file(const LockstepBounds& bounds, const std::filesystem::path& store) {
  CellRequest request;
  request.workload.model = bounds.model;
  request.workload.preset = bounds.preset;
  request.knobs["precision"] = bounds.precision;
  return file_for(bounds.basis.stack, bounds.against ? bounds.against->stack : "", request, store);
}

LegitimateRatio legitimate_ratio_of(const ComparedSide& measured, const ComparedSide& expected,
                                    const std::filesystem::path& store) {
  const bool have_others = have_other_libraries(basis_of(measured), basis_of(expected));
  LegitimateRatio result;
  if (have_others) {
    result.ratio = kLegitimateRatioOfLibraries;
    result.note =
        "the two sides take their matrix products from different libraries, whose orders of summation may differ in "
        "accuracy: the pooled test allows that";
  }
  const auto precision = [](const ComparedSide& side) { return side.request.knobs.at("precision"); };
  if (store.empty() || precision(measured) != precision(expected)) return result;
  std::vector<std::optional<Kept>> on_file = {kept_of(expected, &measured, store), kept_of(measured, &expected, store)};
  if (!have_others) on_file.push_back(kept_of(expected, nullptr, store));
  for (const auto& kept : on_file) {
    if (!kept) continue;
    if (const std::string problem = kept->problem(); !problem.empty()) {
      result.note =
          fmt::format("bounds that `calibrate --lockstep` kept of {} are not used: {}", kept->name(), problem);
      continue;
    }
    result.ratio = kept->bounds.legitimate_ratio;
    result.from = fmt::format("`calibrate --lockstep` of {}", kept->name());
    result.note = fmt::format("pooled errors of correct runs may differ by x{:.3g}: {}", result.ratio, result.from);
    return result;
  }
  return result;
}

}  // namespace reprobench
