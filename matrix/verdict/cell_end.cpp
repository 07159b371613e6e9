#include "matrix/verdict/cell_end.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "matrix/base/number.hpp"
#include "matrix/evidence/repeats_due.hpp"

namespace reprobench {
namespace {

// A fault that cannot be planted is a mistake of who asked for it, not of the stack.
bool is_bad_injection(const Cell& cell, const AttemptRecord& attempt) {
  const auto& result = attempt.deciding().result;
  return cell.injections.contains(attempt.repeat) && attempt.end == AttemptEnd::worker_error && result &&
         result->failure && result->failure->cause == "bad_request";
}

// A stack that cannot do what the cell asks is no regression of it, and no pass either.
bool is_unsupported(const AttemptRecord& attempt) {
  const auto& result = attempt.deciding().result;
  return attempt.end == AttemptEnd::worker_error && result && result->failure &&
         result->failure->cause == "unsupported";
}

// Causes that are no end of the stack's: somebody changed a file after the plan was made, or it holds what no training
// can begin with. Whatever the stack would have done, it was not asked. Null: it was.
const char* reason_of_input(const AttemptRecord& attempt) {
  const auto& result = attempt.deciding().result;
  if (attempt.end != AttemptEnd::worker_error || !result || !result->failure) return nullptr;
  for (const char* cause : {"input_changed", "input_refused"}) {
    if (result->failure->cause == cause) return cause;
  }
  return nullptr;
}

}  // namespace

std::vector<const AttemptRecord*> last_attempts(const Cell& cell, const CellRecord& record) {
  const int due = repeats_due(cell, record);
  std::vector<const AttemptRecord*> last(static_cast<std::size_t>(due), nullptr);
  for (const AttemptRecord& attempt : record.attempts) {
    if (attempt.repeat < 0 || attempt.repeat >= due) continue;
    const AttemptRecord*& slot = last[static_cast<std::size_t>(attempt.repeat)];
    if (slot == nullptr || attempt.attempt >= slot->attempt) slot = &attempt;
  }
  return last;
}

std::optional<Ended> ended_early(const Cell& cell, const std::vector<const AttemptRecord*>& last,
                                 const std::string& stack, const RepeatedFaults& faults) {
  const AttemptRecord* product = nullptr;
  const AttemptRecord* unsupported = nullptr;
  const AttemptRecord* infra = nullptr;
  const AttemptRecord* refused = nullptr;
  const AttemptRecord* of_input = nullptr;
  bool unfinished = false;
  for (const AttemptRecord* attempt : last) {
    if (attempt == nullptr || side_of(attempt->end) == Side::user) {
      unfinished = true;
    } else if (is_unsupported(*attempt)) {
      unsupported = attempt;
    } else if (is_bad_injection(cell, *attempt)) {
      refused = attempt;
    } else if (reason_of_input(*attempt) != nullptr) {
      of_input = attempt;
    } else if (side_of(attempt->end) == Side::product || faults.is_of_stack(stack, *attempt)) {
      if (product == nullptr) product = attempt;
    } else if (side_of(attempt->end) == Side::infra) {
      infra = attempt;
    }
  }
  const auto from = [&](Outcome outcome, const AttemptRecord& attempt, Reason reason) {
    const bool followed = faults.is_of_stack(stack, attempt);
    return Ended{outcome, reason,
                 fmt::format("repeat {}: {}{}", attempt.repeat, attempt.detail,
                             followed ? "; the same on a second GPU, so it is held against the stack" : ""),
                 attempt.repeat};
  };
  if (product != nullptr) return from(Outcome::failed, *product, Reason::of(to_string(product->end)));
  if (refused != nullptr) return from(Outcome::errored, *refused, kBadInjection);
  if (of_input != nullptr) return from(Outcome::errored, *of_input, Reason::of(reason_of_input(*of_input)));
  if (infra != nullptr) return from(Outcome::errored, *infra, Reason::of(to_string(infra->end)));
  if (unsupported != nullptr) return from(Outcome::inconclusive, *unsupported, "unsupported");
  if (unfinished) return Ended{Outcome::unfinished, "interrupted", "the run ended before all repeats of this cell did"};
  return std::nullopt;
}

std::optional<std::string> common_workload_digest(const std::vector<const AttemptRecord*>& repeats) {
  const std::string& first = repeats.front()->lead().result->workload_digest;
  const bool equal = std::all_of(repeats.begin(), repeats.end(), [&](const AttemptRecord* attempt) {
    return attempt->lead().result->workload_digest == first;
  });
  return equal ? std::optional(first) : std::nullopt;
}

CheckResult unanswered(const Gap& gap) {
  CheckResult check;
  check.metric = fmt::format("{}.{}", to_string(gap.dimension), gap.reason == "unarmed" ? "armed_checks" : "reference");
  check.unit = "count";
  check.dimension = gap.dimension;
  check.better = Better::higher;
  check.reason = gap.reason;
  check.sentence = gap.sentence;
  check.measured = 0;
  check.bound = "min: 1";
  check.limit = 1;
  check.origin = "built in";
  return check;
}

Ended from_checks(const std::vector<CheckResult>& checks) {
  const auto first_armed = [&](CheckStatus status) {
    return std::find_if(checks.begin(), checks.end(),
                        [&](const CheckResult& check) { return check.gate == Gate::armed && check.status == status; });
  };
  if (const auto failed = first_armed(CheckStatus::failed); failed != checks.end()) {
    return {Outcome::failed, Reason::of(failed->reason), failed->sentence, failed->repeat, failed->metric};
  }
  if (const auto open = first_armed(CheckStatus::inconclusive); open != checks.end()) {
    return {Outcome::inconclusive, Reason::of(open->reason), fmt::format("{}: {}", open->metric, open->sentence),
            open->repeat};
  }
  const auto armed =
      std::count_if(checks.begin(), checks.end(), [](const CheckResult& check) { return check.gate == Gate::armed; });
  if (armed == 0) {
    return {Outcome::recorded, "nothing_armed",
            checks.empty() ? "ran to completion; no threshold applies to it"
                           : fmt::format("ran to completion; its {} checks are record-only", checks.size())};
  }
  return {Outcome::passed, "all_checks_passed", fmt::format("{} of {} armed checks passed", armed, armed)};
}

namespace {

CheckResult built_in(const CellEvidence& evidence, const AttemptRecord& attempt, const std::string& metric,
                     Reason reason, const std::string& sentence) {
  CheckResult check;
  check.metric = metric;
  check.unit = "count";
  check.status = CheckStatus::failed;
  check.reason = reason;
  check.sentence = sentence;
  check.measured = 1;
  check.samples = static_cast<int>(evidence.repeats.size());
  check.bound = "max: 0";
  check.origin = "built in";
  check.repeat = attempt.repeat;
  return check;
}

CheckResult not_finite(const CellEvidence& evidence, const AttemptRecord& attempt, std::size_t rank,
                       const std::string& metric, Reason reason, const std::string& what) {
  const std::string which = attempt.ranks.size() > 1 ? fmt::format(", rank {}", rank) : "";
  return built_in(evidence, attempt, metric, reason, fmt::format("repeat {}{}: {}", attempt.repeat, which, what));
}

// A dynamic loss scale meets infinite gradients by design, and leaves the step out.
bool was_left_out(const Trace& trace, std::int64_t step) {
  const auto found = std::ranges::find(trace.steps, step, &StepRecord::step);
  return found != trace.steps.end() && found->events.value("skipped", 0) != 0;
}

// A buffer may hold infinities, as a mask does.
std::int64_t not_finite_in(const TensorRecord& tensor) {
  if (!tensor.sketch) return 0;
  switch (tensor.role) {
    case TensorRole::parameter:
    case TensorRole::parameter_gradient:
    case TensorRole::optimizer_state:
      return tensor.sketch->nan_count + tensor.sketch->inf_count;
    case TensorRole::buffer:
      return tensor.sketch->nan_count;
    default:
      return 0;
  }
}

// "3 values of `fc1.weight` (parameter) are not finite in step 20"; empty: none.
std::string not_finite_tensor(const Trace& trace) {
  for (const TensorsRecord& record : trace.tensors) {
    for (const TensorRecord& tensor : record.tensors) {
      const std::int64_t count = not_finite_in(tensor);
      if (count == 0) continue;
      if (tensor.role == TensorRole::parameter_gradient && was_left_out(trace, record.step)) continue;
      return fmt::format("{} value{} of `{}` ({}) {} not finite {} step {}", count, count == 1 ? "" : "s", tensor.name,
                         to_string(tensor.role), count == 1 ? "is" : "are", record.is_final ? "after" : "in",
                         record.step);
    }
  }
  return "";
}

bool differ(const nlohmann::json& a, const nlohmann::json& b) { return !a.is_null() && !b.is_null() && a != b; }

// "the loss of step 3 on rank 1 is not that of rank 0"; empty: all ranks say the same of every step.
std::string apart_in(const std::vector<RankRecord>& ranks) {
  const StepList& lead = ranks.front().trace->steps;
  for (std::size_t i = 0; i < lead.size(); ++i) {
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
      const StepRecord& step = ranks[rank].trace->steps.at(i);
      const char* what = differ(step.loss, lead[i].loss)             ? "loss"
                         : differ(step.grad_norm, lead[i].grad_norm) ? "gradient norm"
                                                                     : nullptr;
      if (what == nullptr) continue;
      return fmt::format("the {} of step {} on rank {} is not that of rank 0: they do not train one model", what,
                         lead[i].step, rank);
    }
  }
  return "";
}

}  // namespace

std::optional<CheckResult> ranks_apart(const CellEvidence& evidence) {
  for (const AttemptRecord& attempt : evidence.repeats) {
    std::string found = apart_in(attempt.ranks);
    for (const SegmentRecord& segment : attempt.segments) {
      if (found.empty()) found = apart_in(segment.ranks);
    }
    if (found.empty()) continue;
    return built_in(evidence, attempt, "numerics.ranks_apart", "ranks_apart",
                    fmt::format("repeat {}: {}", attempt.repeat, found));
  }
  return std::nullopt;
}

std::optional<CheckResult> non_finite_loss(const CellEvidence& evidence) {
  for (const AttemptRecord& attempt : evidence.repeats) {
    for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
      for (const StepRecord& step : attempt.ranks[rank].trace->steps) {
        const auto loss = exact_float_from_json(step.loss);
        if (loss && std::isfinite(*loss)) continue;
        return not_finite(evidence, attempt, rank, "numerics.finite_loss", "non_finite_loss",
                          fmt::format("the loss of step {} is not a finite number", step.step));
      }
    }
  }
  return std::nullopt;
}

std::optional<CheckResult> non_finite_tensor(const CellEvidence& evidence) {
  for (const AttemptRecord& attempt : evidence.repeats) {
    for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
      const std::string found = not_finite_tensor(*attempt.ranks[rank].trace);
      if (found.empty()) continue;
      return not_finite(evidence, attempt, rank, "numerics.finite_tensors", "non_finite_tensor", found);
    }
  }
  return std::nullopt;
}

}  // namespace reprobench
