// The calls of one step as a graph of what flows from one to the next, and the subgraph of calls behind a value.
//
// A tensor is known by its digest, and by the call that made it: values are followed through views, which have no
// digest of their own.
#pragma once

#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "matrix/contract/operator_record.hpp"
#include "matrix/numerics/calls/operator_region.hpp"

namespace reprobench {

inline constexpr std::size_t kNoCall = static_cast<std::size_t>(-1);

// One side.
class OperatorFlow {
 public:
  explicit OperatorFlow(std::span<const OperatorRecord> of_side);

  // Its place among its caller's calls can be told: every call above it has a partner.
  bool is_in_sight(std::size_t call) const;

  // The operator without a partner that `call` is part of, be it itself. A backward node is none: of its operators
  // each counts by itself.
  std::size_t outermost_without_partner(std::size_t call) const;

  // `call` is made by `caller`, or by one that is.
  bool encloses(std::size_t caller, std::size_t call) const;

  // The calls that its caller makes before and after it; kNoCall: none.
  std::size_t sibling_before(std::size_t call) const;
  std::size_t sibling_behind(std::size_t call) const;

  // The call that made what `reader` takes; kNoCall: none of this step. Where the record does not say, the last one
  // before the reader that returned the same bytes.
  std::size_t maker(std::size_t reader, const OperatorTensor& tensor) const;

  // Once every partner is known.
  void note_values();

  // A call in sight took or made it: one that is only part of an unmatched call does not count. `before`: it was there
  // when that call began; kNoCall: at any time.
  bool has_value(const OperatorTensor& tensor, std::size_t before = kNoCall) const;

  // `call` made this value, or handed it on instead of what it made (contract/replay.hpp).
  bool gave(std::size_t call, const OperatorTensor& tensor) const;

  bool is_read(std::size_t call) const { return is_read_[call]; }  // a later call takes what it made
  bool is_innermost(std::size_t call) const { return !calls_[call]; }

  // What it made is known to differ, because it is a source or takes what one made; so are those it is part of.
  void note_apart(std::size_t call);
  bool is_apart(std::size_t call) const { return is_apart_[call]; }

  std::span<const OperatorRecord> calls;
  std::vector<std::size_t> partner;
  std::vector<std::size_t> parent;

 private:
  std::size_t first_callee(std::size_t call) const;

  std::vector<bool> is_read_;
  std::vector<bool> calls_;  // others
  std::vector<bool> is_apart_;
  std::unordered_map<std::int64_t, std::size_t> position_;
  std::unordered_map<std::string, std::vector<std::size_t>> makers_;
  std::unordered_map<std::string, std::size_t> values_;  // by digest: from which call on, 0 of those that none made
  std::unordered_map<std::size_t, std::unordered_set<std::string>>
      handed_on_;  // what calls gave that they did not make
};

// The subgraph behind one value, followed back to what both sides have, and to calls whose results are known to differ.
// With `end` it ends at that call of the other side: what that side has only behind it flows into nothing before it. A
// replay on substituted inputs (contract/replay.hpp) hands on there what this side's subgraph has made.
class OperatorSlice {
 public:
  OperatorSlice(const OperatorFlow& own, const OperatorFlow& other, std::size_t end = kNoCall)
      : own_(own), other_(other), end_(end) {}

  // Of what `reader` takes.
  OperatorSubgraph behind(std::size_t reader, std::size_t input);

  // The same where this value does not flow into the other side's subgraph: with the call that made it, if any did.
  OperatorSubgraph widened(std::size_t reader, std::size_t input);

  // Of what `call` made, with itself.
  OperatorSubgraph made_by(std::size_t call, std::size_t output);

  const std::set<std::size_t>& met() const { return met_; }
  bool constants_differ() const { return constants_differ_; }  // of a view
  bool meets_apart() const { return meets_apart_; }            // a call whose results are known to differ
  bool leaves_step() const { return leaves_step_; }            // a value that differs and that no call of the step made

  // This value of the other side is one that flows into the subgraph: as itself, or shown otherwise.
  bool takes(std::size_t reader, const OperatorTensor& of_other) const;

 private:
  // A value as one call made it, looked at through views; without a maker it is known by its digest.
  struct Origin {
    std::size_t maker = kNoCall;
    std::string digest;
  };
  static Origin origin_of(const OperatorFlow& flow, std::size_t reader, OperatorTensor tensor);

  bool is_shared(std::size_t maker, const OperatorTensor& tensor) const;
  void follow(std::size_t reader, const OperatorTensor& tensor);
  void take(std::size_t call);
  void follow_inputs(std::size_t call);
  std::vector<OperatorRecord> calls_met() const;

  const OperatorFlow& own_;
  const OperatorFlow& other_;
  std::size_t end_;
  std::set<std::size_t> met_;
  std::vector<Origin> inflows_;
  bool constants_differ_ = false;
  bool meets_apart_ = false;
  bool leaves_step_ = false;
};

}  // namespace reprobench
