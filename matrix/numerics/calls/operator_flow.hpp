// The calls of one step as a graph of the values between them, and the subgraph of calls behind a value.
//
// A tensor is identified by its digest, and by the call that made it. Values are followed through views, which have no
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

// The calls of one side.
class OperatorFlow {
 public:
  explicit OperatorFlow(std::span<const OperatorRecord> of_side);

  // Whether the call's place among its caller's calls is known, because every call above it has a partner.
  bool is_in_sight(std::size_t call) const;

  // The outermost operator without a partner that contains `call`, which may be `call` itself. A backward node does not
  // count as one: each of its operators counts by itself.
  std::size_t outermost_without_partner(std::size_t call) const;

  // Whether `call` is made by `caller`, directly or through other calls.
  bool encloses(std::size_t caller, std::size_t call) const;

  // The calls that its caller makes before and after it; kNoCall if there is none.
  std::size_t sibling_before(std::size_t call) const;
  std::size_t sibling_behind(std::size_t call) const;

  // The call that made the input `tensor` of `reader`; kNoCall if no call of this step did. If the record does not say,
  // it is the last call before the reader that returned the same bytes.
  std::size_t maker(std::size_t reader, const OperatorTensor& tensor) const;

  // To be called once every partner is known.
  void note_values();

  // Whether a call in sight took or made the value; a call inside an unmatched one does not count. With `before` the
  // value must have existed when that call began; kNoCall stands for any time.
  bool has_value(const OperatorTensor& tensor, std::size_t before = kNoCall) const;

  // Whether `call` made this value, or returned it in place of its own output (contract/replay.hpp).
  bool gave(std::size_t call, const OperatorTensor& tensor) const;

  bool is_read(std::size_t call) const { return is_read_[call]; }  // whether a later call takes its output
  bool is_innermost(std::size_t call) const { return !calls_[call]; }

  // Marks a call whose output is known to differ, because it is a source or takes a source's output; and the calls that
  // contain it.
  void note_apart(std::size_t call);
  bool is_apart(std::size_t call) const { return is_apart_[call]; }

  std::span<const OperatorRecord> calls;
  std::vector<std::size_t> partner;
  std::vector<std::size_t> parent;

 private:
  std::size_t first_callee(std::size_t call) const;

  std::vector<bool> is_read_;
  std::vector<bool> calls_;  // whether it calls others
  std::vector<bool> is_apart_;
  std::unordered_map<std::int64_t, std::size_t> position_;
  std::unordered_map<std::string, std::vector<std::size_t>> makers_;
  std::unordered_map<std::string, std::size_t> values_;  // by digest: from which call on; 0 if no call made it
  std::unordered_map<std::size_t, std::unordered_set<std::string>>
      handed_on_;  // what calls gave that they did not make
};

// The subgraph behind one value, followed back to values that both sides have, and to calls whose results are known to
// differ. With `end` it ends at that call of the other side. Values that the other side has only after it do not flow
// into anything before it. A replay on substituted inputs (contract/replay.hpp) returns there the values of this side's
// subgraph.
class OperatorSlice {
 public:
  OperatorSlice(const OperatorFlow& own, const OperatorFlow& other, std::size_t end = kNoCall)
      : own_(own), other_(other), end_(end) {}

  // The subgraph behind an input of `reader`.
  OperatorSubgraph behind(std::size_t reader, std::size_t input);

  // The same if this value does not flow into the other side's subgraph: with the call that made it, if any did.
  OperatorSubgraph widened(std::size_t reader, std::size_t input);

  // The subgraph behind an output of `call`, with the call itself.
  OperatorSubgraph made_by(std::size_t call, std::size_t output);

  const std::set<std::size_t>& met() const { return met_; }
  bool constants_differ() const { return constants_differ_; }  // of a view
  bool meets_apart() const { return meets_apart_; }            // it meets a call whose results are known to differ
  bool leaves_step() const { return leaves_step_; }            // a value that differs and that no call of it made

  // Whether this value of the other side flows into the subgraph, as itself or through a view.
  bool takes(std::size_t reader, const OperatorTensor& of_other) const;

 private:
  // A value as one call made it, looked at through views. Without a maker it is identified by its digest.
  struct Origin {
    std::size_t maker = kNoCall;
    std::string digest;
  };
  static Origin origin_of(const OperatorFlow& flow, std::size_t reader, OperatorTensor tensor);

  bool is_shared(std::size_t maker, const OperatorTensor& tensor) const;
  void follow(std::size_t reader, const OperatorTensor& read);
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
