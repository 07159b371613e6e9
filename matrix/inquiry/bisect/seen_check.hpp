// What a bisect saw of one check: on each stack the value and the judgement of a run.
#pragma once

#include <string>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/outcome.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// The check that a bisect is about, as it failed in a stored run.
struct AskedCheck {
  std::string run;
  std::string cell_id;
  std::string slug;
  std::string metric;
  std::string of;  // which of a probe's measurements; empty: all of them, or a training
  std::string bound;
  std::string reason;  // with which it failed; a failure for another one is another failure
};

template <>
struct Description<AskedCheck> {
  static constexpr About about = About::part("asked_check", "A check that failed in a stored run.");
  static void fields(auto& field, AskedCheck& asked) {
    field("run", asked.run, rule::not_empty);
    field("cell_id", asked.cell_id, rule::not_empty);
    field("slug", asked.slug);
    field("metric", asked.metric, rule::not_empty);
    field("of", asked.of, "Which of a probe's measurements; empty: all, or a training.");
    field("bound", asked.bound);
    field("reason", asked.reason, "A code: with which it failed. A failure for another one does not count.");
  }
};

// The check on both sides of a change, as runs of the cell on these stacks judged it.
struct CheckChange {
  CheckResult before;
  CheckResult after;
};

template <>
struct Description<CheckChange> {
  static constexpr About about = About::part("check_change");
  static void fields(auto& field, CheckChange& change) {
    field("before", change.before);
    field("after", change.after);
  }
};

// "x1.85" of a ratio to the reference, else the value: "312.4 MiB"; "-" if there is none.
std::string value_text(const CheckResult& check);

// "memory.peak_anonymous", "comm.latency_p50 of all_reduce 8B"
std::string name_of(const CheckResult& check);
std::string name_of(const AskedCheck& asked);

// "memory.peak_anonymous of memory-mlp-torch-2.9.0-cu128-cpu-bf16"
std::string subject_of(const AskedCheck& asked);

// What a run of the cell on one stack came to. The cell was asked about this check alone.
struct CheckObservation {
  std::string stack;
  std::string identity;          // of the stack and of those that it was held against
  bool is_confirmation = false;  // of an end or an answer, after the search
  Outcome outcome = Outcome::unfinished;
  std::string cell_reason;
  std::string why;  // the cell's sentence
  CheckResult check;
  Fingerprint fingerprint;
};

template <>
struct Description<CheckObservation> {
  static constexpr About about = About::part("check_observation", "What a run of the cell on one stack came to.");
  static void fields(auto& field, CheckObservation& observation) {
    field("stack", observation.stack, rule::not_empty);
    field("identity", observation.identity, rule::hex(64));
    field("is_confirmation", observation.is_confirmation, "Of what was seen before, after the search.");
    field("outcome", observation.outcome, "Of the cell.");
    field("cell_reason", observation.cell_reason, "A code, or the metric that failed.");
    field("why", observation.why, "The cell's sentence.");
    field("check", observation.check);
    field("fingerprint", observation.fingerprint);
  }
};

}  // namespace reprobench
