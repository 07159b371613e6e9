#include "matrix/cli/bisect_questions.hpp"

#include <fmt/format.h>

#include "matrix/evidence/timed_steps.hpp"
#include "matrix/stats/robust.hpp"
#include "matrix/verdict/atlas/call_comparison.hpp"
#include "matrix/verdict/loaded_libraries.hpp"

namespace reprobench {
namespace {

double time_of(const CellRequest& request, const AttemptRecord& attempt) {
  std::vector<double> times_ns;
  if (request.workload.is_probe()) {
    const ProbeMeasurement* call = find_call(attempt.lead().result->measurements, request.workload.calls.front());
    if (call == nullptr) throw NoTime("it left no record of this call");
    if (call->call->end != CallEnd::ran) throw NoTime(call->finding);
    times_ns = call->samples;
  } else {
    times_ns = timed_steps_ns(attempt);
  }
  if (times_ns.empty()) throw NoTime("it left no times");
  return median(times_ns);
}

// Those that are a stack's own, by name: build id.
std::map<std::string, std::string> stack_libraries(const Fingerprint& fingerprint) {
  std::map<std::string, std::string> libraries;
  for (const MappedLibrary& library : fingerprint.libraries) {
    if (!is_of_the_host(library.path)) libraries[library.path.substr(library.path.rfind('/') + 1)] = library.build_id;
  }
  return libraries;
}

std::string ratio_text(const RatioInterval& interval) {
  return fmt::format("{:.3f} of the good end's time ({:.3f} to {:.3f}, {} pairs)", interval.ratio, interval.low,
                     interval.high, interval.pairs);
}

}  // namespace

BitsQuestion::Observed BitsQuestion::observe(const std::string& stack) {
  if (const auto seen = seen_.find(stack); seen != seen_.end()) return {&seen->second, ""};
  if (const auto failed = failed_.find(stack); failed != failed_.end()) return {nullptr, failed->second};
  const auto fail = [&](std::string why) -> Observed { return {nullptr, failed_[stack] = std::move(why)}; };
  const BisectedStack& here = scene_.stacks.at(stack);
  if (!here.why_not.empty()) return fail(here.why_not);
  StackObservation observation;
  const StackObservation* known = forgotten_.contains(stack) ? nullptr : scene_.journal.find(stack, here.identity);
  if (known != nullptr) {
    scene_.announce(fmt::format("{} is known from an earlier call", stack));
    observation = *known;
  } else {
    scene_.announce(fmt::format("running {} twice", stack));
    run_.insert(stack);
    std::vector<CellRequest> requests(2, scene_.request);
    for (CellRequest& request : requests) request.stack = stack;
    requests.back().poison_allocator = true;
    const BisectedAttempts made = scene_.stacks.run(requests);
    if (!made.why_not.empty()) return fail(made.why_not);
    observation = observation_of(made.attempts[0], made.attempts[1]);
    observation.stack = stack;
    observation.identity = here.identity;
    scene_.journal.keep(observation);
  }
  if (std::string why = same_torch(observation); !why.empty()) return fail(std::move(why));
  return {&(seen_[stack] = std::move(observation)), ""};
}

// Two stacks that run one torch, with all the rest of it the same, are one point, whatever they are called.
std::string BitsQuestion::same_torch(const StackObservation& observation) const {
  if (scene_.is_of_components) return "";
  for (const auto& [stack, other] : seen_) {
    if (stack_libraries(observation.fingerprint) != stack_libraries(other.fingerprint)) continue;
    const std::string same = same_libraries(observation.fingerprint, other.fingerprint, /*declare_one_torch=*/false);
    if (!same.empty()) return fmt::format("{} (the other is {})", same, stack);
  }
  return "";
}

ObservedBits BitsQuestion::bits(const std::string& subject, const std::string& stack) {
  const Observed observed = observe(stack);
  if (observed.observation == nullptr) return {observed.why_not, "", {}};
  return scene_.request.workload.is_probe() ? bits_of_call(*observed.observation, subject)
                                            : bits_of_training(*observed.observation);
}

void BitsQuestion::forget(const std::string& stack) {
  seen_.erase(stack);
  failed_.erase(stack);
  forgotten_.insert(stack);
}

PointAnswer BitsQuestion::answer_of_stack(const std::string& subject, const std::string& stack) {
  const bool is_good_end = stack == scene_.axis.front();
  const ObservedBits here = bits(subject, stack);
  const ObservedBits good = is_good_end ? here : bits(subject, scene_.axis.front());
  if (is_good_end) return answer_of(here, good, {});
  return answer_of(here, good, bits(subject, scene_.axis.back()));
}

void BitsQuestion::describe(const std::string& subject, StackChange& change) {
  change.components = components_between(change.before, change.after);
  change.differing = differing_parts(bits(subject, change.before), bits(subject, change.after));
  if (!scene_.request.workload.is_probe()) {
    change.judgement = change.differing.front() + " is the first that differs";
    return;
  }
  const CallComparison compared = compare_calls(find_call(seen_.at(change.after).calls, subject),
                                                find_call(seen_.at(change.before).calls, subject));
  change.judgement = fmt::format("{}: {}", to_string(compared.word), compared.why);
}

const Fingerprint* BitsQuestion::fingerprint(const std::string& stack) {
  const Observed here = observe(stack);
  return here.observation == nullptr ? nullptr : &here.observation->fingerprint;
}

std::vector<SideDifference> BitsQuestion::components_between(const std::string& before, const std::string& after) {
  const Observed here = observe(after);
  const Observed there = observe(before);
  std::vector<SideDifference> components;
  if (here.observation == nullptr || there.observation == nullptr) return components;
  for (const auto& [part, difference] :
       fingerprint_differences(here.observation->fingerprint, there.observation->fingerprint)) {
    components.push_back(difference);
  }
  return components;
}

StackTime time_on(const BisectScene& scene, const std::string& stack) {
  const BisectedStack& here = scene.stacks.at(stack);
  if (!here.why_not.empty()) throw NoTime(here.why_not);
  CellRequest request = scene.request;
  request.stack = stack;
  request.trace = TraceLevel::step;
  const BisectedAttempts made = scene.stacks.run({request});
  if (!made.why_not.empty()) throw NoTime(made.why_not);
  return {time_of(request, made.attempts.front()), made.attempts.front().lead().result->workload_digest};
}

double SpeedQuestion::time_ns(const std::string& stack, std::string& workload_digest) {
  if (scene_.stacks.at(stack).why_not.empty()) run_.insert(stack);
  const StackTime taken = time_on(scene_, stack);
  workload_digest = taken.workload_digest;
  return taken.time_ns;
}

// One after the other, A B and B A by turns, so that a drift of the machine favours neither.
std::pair<double, double> SpeedQuestion::pair(const PairKey& key, int index) {
  if (const auto known = scene_.journal.find_pair(key, index)) return *known;
  TimedPair taken{key, index};
  std::string measured_digest;
  std::string reference_digest;
  const bool is_measured_first = index % 2 == 1;
  if (is_measured_first) taken.measured_ns = time_ns(key.stack, measured_digest);
  taken.reference_ns = time_ns(key.reference, reference_digest);
  if (!is_measured_first) taken.measured_ns = time_ns(key.stack, measured_digest);
  if (measured_digest != reference_digest) throw NoTime("its inputs are not those of the good end");
  scene_.journal.keep_pair(taken);
  return {taken.measured_ns, taken.reference_ns};
}

PointAnswer SpeedQuestion::answer_of_stack(const std::string& name, bool is_confirmation) {
  const BisectedStack& here = scene_.stacks.at(name);
  const BisectedStack& reference = scene_.stacks.at(scene_.axis.front());
  for (const BisectedStack* stack : {&here, &reference}) {
    if (!stack->why_not.empty()) return {PointState::untestable, stack->why_not, ""};
  }
  scene_.announce(fmt::format("timing {} against {}", name, scene_.axis.front()));
  const PairKey key{name, here.identity, scene_.axis.front(), reference.identity, is_confirmation};
  try {
    const RatioDecision decision = decide_ratio(plan_, [&](int index) { return pair(key, index); });
    const std::string ratio = ratio_text(decision.interval);
    if (decision.verdict == RatioVerdict::undecided) {
      return {PointState::untestable, fmt::format("noise leaves it open: {}", ratio), ""};
    }
    return {decision.verdict == RatioVerdict::worse ? PointState::as_bad : PointState::as_good, ratio, ""};
  } catch (const NoTime& error) {
    return {PointState::untestable, error.what(), ""};
  }
}

}  // namespace reprobench
