// The bits that a bisect has observed of one stack, and which end they are like.
//
// A stack is observed once, by two fresh processes. The second of them runs with a pattern in memory that it did not
// write. Bits that are equal in both stay as they are, so the ends need no second look. Bits that are not equal say
// nothing about the release, and the stack is untestable.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/probe_measurement.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/inquiry/bisect/bisect_search.hpp"

namespace reprobench {

struct TrainingBits {
  std::string workload_digest;
  std::vector<std::string> chains;  // after each step: equal up to the first step that differs
};

// The results of both processes of one stack; for a training `training`, else `calls`.
struct StackObservation {
  std::string stack;
  std::string identity;  // identity of the stack when it was observed; if it changes, this is worthless
  Fingerprint fingerprint;
  std::vector<ProbeMeasurement> calls;  // of the first process
  std::optional<TrainingBits> training;
  std::vector<std::string> unrepeated;  // calls whose bits differ between the processes; for a training a sentence
};

template <>
struct Description<TrainingBits> {
  static constexpr About about = About::part("training_bits");
  static void fields(auto& field, TrainingBits& bits) {
    field("workload_digest", bits.workload_digest, rule::digest);
    field("chains", bits.chains, rule::digest);
  }
};

template <>
struct Description<StackObservation> {
  static constexpr About about = About::part("stack_observation", "What two processes of one stack left.");
  static void fields(auto& field, StackObservation& observation) {
    field("stack", observation.stack, rule::not_empty);
    field("identity", observation.identity, rule::hex(64));
    field("fingerprint", observation.fingerprint);
    field.optional("calls", observation.calls, rule::not_empty_list);
    field.optional("training", observation.training);
    field("unrepeated", observation.unrepeated, "What had other bits in the second process.");
  }
};

// Made from two completed attempts at one request. No call may be missing from either.
StackObservation observation_of(const AttemptRecord& first, const AttemptRecord& second);

struct NamedDigest {
  std::string name;  // "output.0 float32[256, 768]", "step 3"
  std::string digest;

  bool operator==(const NamedDigest&) const = default;
};

// The bits of one subject on one stack.
struct ObservedBits {
  std::string why_not;  // why there are none, one sentence; empty if there are some
  std::string inputs;   // digest of the inputs
  std::vector<NamedDigest> parts;
};

ObservedBits bits_of_call(const StackObservation& observation, const std::string& call);
ObservedBits bits_of_training(const StackObservation& observation);

// Which end `here` is like. Bits of other inputs are untestable, because they do not answer the same question.
PointAnswer answer_of(const ObservedBits& here, const ObservedBits& good, const ObservedBits& bad);

// Names of parts that are not equal, including those that only one side has.
std::vector<std::string> differing_parts(const ObservedBits& a, const ObservedBits& b);

}  // namespace reprobench
