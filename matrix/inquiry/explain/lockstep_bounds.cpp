#include "matrix/inquiry/explain/lockstep_bounds.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/base/json_parse.hpp"
#include "matrix/base/usage_error.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/inquiry/explain/replay_files.hpp"
#include "matrix/inquiry/explain/step_judgement.hpp"
#include "matrix/inquiry/explain/summation_order.hpp"
#include "matrix/inquiry/explain/summed_terms.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

// Settings that change in which order numbers are added up, or by which vector instructions, and nothing else. One that
// a stack or a workload does not react to gives equal bits, which teach nothing and cost little.
struct OtherOrder {
  std::string knob;
  std::string value;
};

// Threads first: every host can have other ones.
const std::vector<OtherOrder>& other_orders() {
  static const std::vector<OtherOrder> kAll = [] {
    std::vector<OtherOrder> all;
    const auto rows = knobs();
    for (auto knob = rows.rbegin(); knob != rows.rend(); ++knob) {
      for (const std::string_view value : knob->other_orders) {
        all.push_back({std::string(knob->name), std::string(value)});
      }
    }
    return all;
  }();
  return kAll;
}

std::string words_of(const OtherOrder& other) { return fmt::format("{}={}", other.knob, other.value); }

const CellResult& result_of(const ComparedSide& side) { return *side.attempt.lead().result; }

SummationOrder order_of(const ComparedSide& side) {
  return summation_order_of(result_of(side).fingerprint, result_of(side).knobs_resolved);
}

SummationOrder order_of(const ComparedSide& side, const OtherOrder& other) {
  return summation_order_with(other.knob, other.value, result_of(side).fingerprint, result_of(side).knobs_resolved);
}

// Of the first step that has every tensor on record; empty where none has.
std::map<std::string, std::int64_t> terms_of(const ComparedSide& side) {
  const auto& trace = side.attempt.lead().trace;
  if (!trace || trace->tensors.empty()) return {};
  return summed_terms(trace->tensors.front().tensors, setting_in<&Settings::accumulate>(side.request.knobs));
}

BoundsBasis basis_of(const ComparedSide& side) {
  const Fingerprint& fingerprint = result_of(side).fingerprint;
  BoundsBasis basis{side.request.stack,    fingerprint.components,     fingerprint.blas_provider,
                    fingerprint.cpu_model, fingerprint.cpu_capability, to_text(order_of(side))};
  for (ComponentVersion& component : basis.components) component.path.clear();
  return basis;
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
  for (const OtherOrder& other : other_orders()) {
    const auto knob = base.request.knobs.find(other.knob);
    if (knob == base.request.knobs.end() || knob->second == other.value) continue;
    Variant& variant = variants.emplace_back();
    variant.pair.what = words_of(other);
    variant.request = base.request;
    variant.request.knobs[other.knob] = other.value;
  }
  return variants;
}

// The judgement of a pair in one direction, taken into what is known of it.
void take(const Lockstep& judged, std::int64_t state, CleanPair& pair) {
  if (pair.problem.empty() && judged.word != LockstepWord::rounding) {
    pair.problem = fmt::format("after step {}: {}", state, judged.sentence);
  }
  for (const LockstepTensor& tensor : judged.tensors) {
    ++pair.tensors;
    if (tensor.equal_bits) continue;
    ++pair.differing;
    if (!tensor.pooled) continue;
    if (const double learned = learned_ratio(*tensor.pooled); learned > kLegitimateRatio) {
      double& kept = pair.legitimate_ratios[tensor.name];
      kept = std::max(kept, learned);
    }
    const double ratio = std::max(tensor.pooled->ratio, 1 / tensor.pooled->ratio);
    if (!pair.largest_tensor.empty() && ratio <= pair.largest_ratio) continue;
    pair.largest_ratio = ratio;
    pair.largest_tensor = tensor.name;
  }
}

// Whether two processes left the same bits of every gradient and update.
bool left_same_bits(const std::filesystem::path& first, const std::filesystem::path& second, const Replay& held) {
  for (std::int64_t step = held.first_step; step <= held.last_step; ++step) {
    const SafetensorsFile ours = tensors_left_in(first, gradients_file(step));
    const SafetensorsFile theirs = tensors_left_in(second, gradients_file(step));
    const bool is_same =
        std::ranges::equal(ours.tensors(), theirs.tensors(), [](const TensorView& one, const TensorView& other) {
          return one.name == other.name && std::ranges::equal(one.bytes, other.bytes);
        });
    if (!is_same) return false;
  }
  return true;
}

// Where the base itself is wrong, every pair that differs shows it.
std::string refusal(const LockstepBounds& bounds) {
  std::string first_problem;
  for (const CleanPair& pair : bounds.pairs) {
    if (pair.problem.empty() && pair.differing > 0) return "";
    if (pair.problem.empty() || !first_problem.empty()) continue;
    first_problem =
        fmt::format("{} lies further apart than an order of summation explains: {}", pair.what, pair.problem);
  }
  return first_problem.empty() ? "every pair has equal bits: there is nothing to learn from" : first_problem;
}

LockstepBounds not_measured_yet(const ComparedSide& base, const ComparedSide* against, int batches) {
  LockstepBounds bounds;
  bounds.model = base.request.workload.model;
  bounds.preset = base.request.workload.preset;
  bounds.precision = precision_text(base.request);
  if (bounds.precision == "fp64") throw UsageError("--lockstep judges by fp64, and these runs are fp64 themselves");
  bounds.basis = basis_of(base);
  if (against != nullptr) bounds.against = basis_of(*against);
  bounds.batches = batches;
  bounds.alpha = LockstepOptions{}.alpha;
  const std::int64_t steps = base.request.workload.steps;
  bounds.states = {0, steps / 2, steps};
  return bounds;
}

// The base run, the exact one and every variant take the same step from one state; each variant is judged against the
// base run and the other way round.
void judge_from(const std::filesystem::path& states, std::int64_t state, const ComparedSide& base,
                const LockstepBounds& bounds, Replays& replays, std::vector<Variant>& variants) {
  Replay held;
  held.from_state = states / snapshot_file(state);
  held.first_step = state + 1;
  held.last_step = state + bounds.batches;
  held.hold_state = true;
  std::vector<ReplayTask> tasks = {{"base", base.request}, {"fp64", base.request}};
  set<&Settings::precision>(tasks[1].request.knobs, Precision::fp64);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    tasks.push_back({fmt::format("other-{}", i), variants[i].request});
  }
  for (ReplayTask& task : tasks) task.request.replay = held;
  const auto outcomes = replays.run(tasks);
  const auto& own = outcomes[0].folder;
  const auto& exact = outcomes[1].folder;
  LockstepOptions options;
  options.precision = bounds.precision;
  options.legitimate_ratio = kLegitimateRatioOfOrders;
  options.summed_terms = terms_of(base);
  const auto with = [&](CleanPair pair, const std::filesystem::path& other) {
    take(judge_lockstep_files(other, own, exact, held, options), state, pair);
    take(judge_lockstep_files(own, other, exact, held, options), state, pair);
    return pair;
  };
  for (std::size_t i = 0; i < variants.size(); ++i) {
    CleanPair& pair = variants[i].pair;
    std::filesystem::path other = outcomes[i + 2].folder;
    CleanPair judged = with(pair, other);
    // A kernel that one process takes by chance says nothing of the setting: MKL's first call on two threads.
    while (pair.problem.empty() && !judged.problem.empty() && pair.unrepeated < kMostUnrepeated) {
      const auto again = replays.run({{"again-" + tasks[i + 2].purpose, tasks[i + 2].request}}).front().folder;
      if (left_same_bits(other, again, held)) break;
      ++pair.unrepeated;
      other = again;
      judged = with(pair, other);
    }
    pair = judged;
  }
}

std::filesystem::path file_for(const std::string& stack, const std::string& against, const CellRequest& request,
                               const std::filesystem::path& store) {
  const std::string other = against.empty() ? "" : "-" + against;
  return store / "baselines" /
         fmt::format("lockstep-{}{}-{}-{}-{}.json", stack, other, request.workload.model, request.workload.preset,
                     precision_text(request));
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
    for (const CleanPair& pair : bounds.pairs) {
      if (std::string text = impossible(pair); !text.empty()) return text;
    }
    return "";
  }

  bool is_around(const ComparedSide& side) const { return &side == &expected; }

  // What may be between the sides of these bounds and `other`, by tensor; nothing where no pair adds up as `other`
  // does.
  std::optional<std::map<std::string, double>> ratios_beside(const ComparedSide& other) const {
    const bool adds_up_alike = order_of(other) == order_of(expected);
    std::optional<std::map<std::string, double>> widest;
    for (const CleanPair& pair : bounds.pairs) {
      const OtherOrder* setting = setting_of(pair);
      const bool holds = against != nullptr || adds_up_alike || order_of(expected, *setting) == order_of(other);
      if (!holds || !pair.problem.empty()) continue;
      if (!widest) widest.emplace();
      for (const auto& [tensor, ratio] : pair.legitimate_ratios) {
        double& kept = (*widest)[tensor];
        kept = std::max(kept, ratio);
      }
    }
    return widest;
  }

 private:
  // The range is asked again: a file may have been edited.
  std::string impossible(const CleanPair& pair) const {
    if (against == nullptr && setting_of(pair) == nullptr)
      return fmt::format("`{}` is no pair of this stack", pair.what);
    const auto terms = terms_of(expected);
    if (!pair.problem.empty() && !pair.legitimate_ratios.empty()) {
      return fmt::format("`{}` was not clean, and has something learned", pair.what);
    }
    for (const auto& [tensor, ratio] : pair.legitimate_ratios) {
      const auto known = terms.find(tensor);
      const double largest = largest_ratio_of_orders(known == terms.end() ? 0 : known->second);
      if (!(ratio >= kLegitimateRatio && ratio <= largest)) {
        return fmt::format("x{} of `{}` is none that is measured", ratio, tensor);
      }
    }
    return "";
  }

  static const OtherOrder* setting_of(const CleanPair& pair) {
    const auto found =
        std::ranges::find_if(other_orders(), [&](const OtherOrder& other) { return words_of(other) == pair.what; });
    return found == other_orders().end() ? nullptr : &*found;
  }
};

std::optional<Kept> kept_of(const ComparedSide& expected, const ComparedSide* against,
                            const std::filesystem::path& store) {
  const std::string other = against == nullptr ? "" : against->request.stack;
  const auto file = file_for(expected.request.stack, other, expected.request, store);
  if (!std::filesystem::exists(file)) return std::nullopt;
  Kept kept{expected, against};
  try {
    const nlohmann::json document = json_or_discarded(read_file(file));
    if (document.is_discarded()) throw ContractError("is not JSON");
    kept.bounds = lockstep_bounds_from_json(document);
  } catch (const nlohmann::json::exception& error) {
    kept.bounds.refused = fmt::format("{}: {}", file.string(), error.what());
  } catch (const ContractError& error) {
    kept.bounds.refused = fmt::format("{}: {}", file.string(), error.what());
  }
  return kept;
}

// In the order in which they are asked: of the pair, then of a stack by itself. Where one stack is on both sides,
// either may be the one that was measured around.
std::vector<Kept> on_file(const ComparedSide& measured, const ComparedSide& expected,
                          const std::filesystem::path& store) {
  std::vector<std::optional<Kept>> all = {kept_of(expected, &measured, store), kept_of(measured, &expected, store),
                                          kept_of(expected, nullptr, store)};
  if (measured.request.stack == expected.request.stack) all.push_back(kept_of(measured, nullptr, store));
  std::vector<Kept> found;
  for (auto& kept : all) {
    if (kept) found.push_back(std::move(*kept));
  }
  return found;
}

std::string measured_text(const LegitimateRatio& legitimate) {
  double largest = legitimate.ratio;
  for (const auto& [tensor, ratio] : legitimate.of_tensors) largest = std::max(largest, ratio);
  return fmt::format("pooled errors of correct runs may differ by x{:.3g}{}: {}", largest,
                     legitimate.of_tensors.empty() ? "" : " in some tensors", legitimate.from);
}

}  // namespace

bool is_complete(const LockstepBounds& bounds) {
  return bounds.refused.empty() &&
         std::ranges::all_of(bounds.pairs, [](const CleanPair& pair) { return pair.problem.empty(); });
}

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
  for (const std::int64_t state : bounds.states) {
    announce(fmt::format("judging {} pairs from the state after step {}", variants.size(), state));
    const std::size_t calls_before = replays.calls_left();
    judge_from(states.front().folder, state, base, bounds, replays, variants);
    while (replays.calls_left() > calls_before) replays.remove_latest();
  }
  for (Variant& variant : variants) {
    // Learned from what is not clean, a bound would let it pass from then on.
    if (!variant.pair.problem.empty()) variant.pair.legitimate_ratios.clear();
    bounds.pairs.push_back(std::move(variant.pair));
  }
  bounds.refused = refusal(bounds);
  return bounds;
}

std::filesystem::path lockstep_bounds_file(const LockstepBounds& bounds, const std::filesystem::path& store) {
  CellRequest request;
  request.workload.model = bounds.model;
  request.workload.preset = bounds.preset;
  request.knobs[std::string(knob_for<&Settings::precision>().name)] = bounds.precision;
  return file_for(bounds.basis.stack, bounds.against ? bounds.against->stack : "", request, store);
}

LegitimateRatio legitimate_ratio_of(const ComparedSide& measured, const ComparedSide& expected,
                                    const std::filesystem::path& store, Operators operators) {
  LegitimateRatio result;
  const SummationOrder ours = order_of(measured);
  const SummationOrder theirs = order_of(expected);
  const bool takes_others = operators == Operators::others;
  if (takes_others || !(ours == theirs)) {
    const std::string how = takes_others ? "other operators" : difference_between(ours, theirs);
    result.ratio = kLegitimateRatioOfOrders;
    result.summed_terms = terms_of(expected);
    result.from = "orders of summation: " + how;
    result.notes.push_back(fmt::format(
        "the two sides add up in other orders ({}): an error that such an order may leave is called no defect", how));
  }
  if (takes_others) return result;  // a calibration measured two orders of the same operators
  const auto precision = [](const ComparedSide& side) { return precision_text(side.request); };
  if (!store.empty() && precision(measured) == precision(expected)) {
    std::string unused;  // of two that are not used one is told: it may be one file, looked at from either side
    for (const auto& kept : on_file(measured, expected, store)) {
      if (const std::string problem = kept.problem(); !problem.empty()) {
        unused = fmt::format("bounds that `calibrate --lockstep` kept of {} are not used: {}", kept.name(), problem);
      } else if (auto ratios = kept.ratios_beside(kept.is_around(expected) ? measured : expected)) {
        result.ratio = kLegitimateRatio;
        result.is_learned = true;
        result.of_tensors = std::move(*ratios);
        result.from = fmt::format("`calibrate --lockstep` of {}", kept.name());
        result.notes = {measured_text(result)};
        return result;
      }
    }
    if (!unused.empty()) result.notes.push_back(unused);
  }
  return result;
}

LockstepOptions lockstep_options(const CellRequest& measured, const LegitimateRatio& legitimate) {
  LockstepOptions options;
  options.precision = precision_text(measured);
  options.legitimate_ratio = legitimate.ratio;
  options.legitimate_ratios = legitimate.of_tensors;
  options.summed_terms = legitimate.summed_terms;
  options.is_learned = legitimate.is_learned;
  options.is_drawn_apart = legitimate.is_drawn_apart;
  options.legitimate_ratio_from = legitimate.from;
  return options;
}

}  // namespace reprobench
