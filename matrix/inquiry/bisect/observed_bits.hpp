// What a bisect of bits knows of one stack, and which end that is like.
//
// A stack is observed once, by two fresh processes, the second of which finds a pattern in memory that it did not
// write. Bits that are equal in both stay what they are, so the ends need no second look; bits that are not equal say
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

// What both processes of one stack left; of a training `training`, else `calls`.
struct StackObservation {
  std::string stack;
  std::string identity;  // what the stack was when it was observed: a change of it makes this worthless
  Fingerprint fingerprint;
  std::vector<ProbeMeasurement> calls;  // of the first process
  std::optional<TrainingBits> training;
  std::vector<std::string> unrepeated;  // calls whose bits differ between the processes; of a training its own sentence
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

// Of two completed attempts at one request, in which no call is missing from the other.
StackObservation observation_of(const AttemptRecord& first, const AttemptRecord& second);

struct NamedDigest {
  std::string name;  // "output.0 float32[256, 768]", "step 3"
  std::string digest;

  bool operator==(const NamedDigest&) const = default;
};

// The bits of one subject on one stack.
struct ObservedBits {
  std::string why_not;  // why there are none, one sentence; empty: there are
  std::string inputs;   // digest of what went in
  std::vector<NamedDigest> parts;
};

ObservedBits bits_of_call(const StackObservation& observation, const std::string& call);
ObservedBits bits_of_training(const StackObservation& observation);

// As which end `here` is. Bits of other inputs are untestable: they are no answer to the same question.
PointAnswer answer_of(const ObservedBits& here, const ObservedBits& good, const ObservedBits& bad);

// Parts that are not equal, by name; one that only one side has is among them.
std::vector<std::string> differing_parts(const ObservedBits& a, const ObservedBits& b);

}  // namespace reprobench
