// Compares one operator call of two stacks by their records (contract/call_record.hpp).
//
// Strongest evidence first: other inputs, types, shapes or results in fp64 are another computation; an error farther
// than rounding takes it, or a call that repeats its bits on one side alone, is a defect; the rest is rounding. Where
// both orders of summation are on record (contract/call_order.hpp) they decide instead of the error: two orders that
// differ and give both results to the bit prove rounding; a result that its own order does not give is a defect. The
// bound for rounding is class B1 of suites/own-files.md: four times the reference's own error, or the sum of K
// roundings of random sign, whichever is more. K is taken from the sizes of the tensors, so the bound is wide, and a
// defect of rounding size is within it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/probe_measurement.hpp"

namespace reprobench {

enum class CallWord {
  equal,
  rounding,
  differs,  // other bits, and no fp64 form that could judge them
  defect,
  another_computation,
  absent,   // this release has no such operator
  not_run,  // refused, or too large
  unknown,  // one side has no record of it
};
template <>
struct Words<CallWord> {
  static constexpr std::array<std::string_view, 8> table = {
      "equal", "rounding", "differs", "defect", "another_computation", "absent", "not_run", "unknown"};
};

// The order in which one output is added up. Equal names are equal orders, which give equal bits for every input of the
// shape.
struct OrderName {
  std::string output;
  std::string name;     // "1 chain of 64, fused #3f9c1e0a"; empty: not known
  std::string problem;  // why it is not known
};

struct CallComparison {
  CallWord word = CallWord::unknown;
  std::string why;                           // one sentence; empty where bits are equal
  std::vector<std::string> differing;        // outputs whose bits differ
  std::optional<double> distance_rel;        // the largest estimated one of these, relative L2
  std::optional<double> error_rel;           // error of the output that decided the word, against fp64
  std::optional<double> expected_error_rel;  // the reference's of the same output
  // Every differing output is proven to be rounding: both sides add the same terms in known orders, which are not the
  // same, and replaying either gives its result to the bit.
  bool proven = false;
  std::vector<OrderName> orders = {};  // of this side, where they were asked for
  // Which library computed it on this side, where orders were asked for; else why that is not known. For pages alone:
  // the document does not have it.
  std::string library = {};
  std::string library_unknown = {};
};

template <>
struct Description<OrderName> {
  static constexpr About about = About::part("order_name", "In which order one output is added up.");
  static void fields(auto& field, OrderName& order) {
    field("output", order.output, rule::not_empty);
    field("name", order.name, "Equal names are equal orders, and equal bits for every input; empty: not known.");
    field("problem", order.problem, "Why it is not known.");
  }
};

template <>
struct Description<CallComparison> {
  static constexpr About about = About::part("compared_call", "One call of two stacks.");
  static void fields(auto& field, CallComparison& call) {
    field("word", call.word);
    field("why", call.why, "One sentence; empty where bits are equal.");
    field("differing", call.differing, "Outputs whose bits differ.");
    field("distance_rel", call.distance_rel, "The largest of these, relative L2, estimated to about 25 %.");
    field("error_rel", call.error_rel, "Against fp64, of the output that decided the word.");
    field("expected_error_rel", call.expected_error_rel, "The reference's, of the same output.");
    field("proven", call.proven, "Rounding, shown by replaying both sides' orders of summation to the bit.");
    field.optional("orders", call.orders, "In which order this side adds up its outputs, where that was asked for.");
  }
};

// Compares the records of one call; null means that this side has none.
CallComparison compare_calls(const ProbeMeasurement* measured, const ProbeMeasurement* expected);

// The record of a call among a cell's measurements; null if there is none.
const ProbeMeasurement* find_call(const std::vector<ProbeMeasurement>& measurements, const std::string& call);

// Whether no legitimate change of a release has this word.
bool is_broken(CallWord word);

}  // namespace reprobench
