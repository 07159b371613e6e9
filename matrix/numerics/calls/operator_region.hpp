// Where two replays of one step part and no pair of calls does it: the sides take different operators, and a stretch of
// calls on each side makes other values of equal ones. Each is the outermost one without a partner; what it calls goes
// without saying.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/operator_record.hpp"

namespace reprobench {

// What one side took for the stretch, and what it made of it.
struct OperatorStretch {
  std::vector<OperatorRecord> calls;  // in the order they end; may be none: the value passes this side as it is, unless
                                      // `not_on_record`
  OperatorTensor outflow;             // the value that differs
  OperatorRecord at;                  // where it stands on record: the first pair of calls that takes it, or its maker
  bool is_taken = true;               // `outflow` is an input of `at`, not an output
  std::size_t place = 0;              // among these
  bool not_on_record = false;         // no call on record made the value on this side, nor was it there before
  std::vector<std::string> kept = {};  // state that this side leaves as it is and the other one's calls change
};

template <>
struct Description<OperatorStretch> {
  static constexpr About about = About::part("operator_stretch");
  static void fields(auto& field, OperatorStretch& stretch) {
    field("calls", stretch.calls,
          "In the order they end; none: the value passes this side as it is, unless it is `not_on_record`.");
    field("outflow", stretch.outflow, "The value that differs.");
    field.optional("not_on_record", stretch.not_on_record,
                   "True: no call on record made the value on this side, nor was it there before.");
    field.optional("kept", stretch.kept,
                   rule::not_empty_list.says("State that this side leaves as it is and the other one's calls change."));
  }
};

struct OperatorRegion {
  OperatorStretch measured;
  OperatorStretch expected;
  bool constants_differ = false;  // of calls that only show a tensor otherwise, `transpose`
};

template <>
struct Description<OperatorRegion> {
  static constexpr About about = About::part(
      "operator_region", "The smallest stretch of calls of each side that makes other values of equal ones.");
  static void fields(auto& field, OperatorRegion& region) {
    field("measured", region.measured);
    field("expected", region.expected);
    field("constants_differ", region.constants_differ, "Of views.");
  }
};

// "aten::exp, aten::div"; "nothing" of a stretch that passes the value as it is, "no call on record" of one whose value
// something else made. At most `most` names.
std::string names_of(const OperatorStretch& stretch, std::size_t most = 8);

// What differs between the two subgraphs beside the names of operators: "bfloat16 on one side only". Empty: nothing.
std::string difference_in_kind(const OperatorRegion& region);

}  // namespace reprobench
