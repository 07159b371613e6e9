// A place where two replays of one step diverge without one pair of calls as the cause. The sides use different
// operators, and a subgraph of calls on each side makes different values from equal ones. Each call in it is the
// outermost one without a partner; the calls inside it are not listed.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/operator_record.hpp"

namespace reprobench {

// The calls of one side's subgraph, and the value that they made.
struct OperatorSubgraph {
  std::vector<OperatorRecord> calls;  // in the order they end; may be none: the value passes this side as it is, unless
                                      // `not_on_record`
  OperatorTensor outflow;             // the value that differs
  OperatorRecord at;                  // the record of it: the first pair of calls that takes it, or its maker
  bool is_taken = true;               // `outflow` is an input of `at`, not an output
  std::size_t place = 0;              // place among these
  bool not_on_record = false;         // no call on record made the value on this side, and it was not there before
  std::vector<std::string> kept = {};  // state that this side leaves unchanged and the other one's calls change
};

template <>
struct Description<OperatorSubgraph> {
  static constexpr About about = About::part("operator_subgraph");
  static void fields(auto& field, OperatorSubgraph& subgraph) {
    field("calls", subgraph.calls,
          "In the order they end; none: the value passes this side as it is, unless it is `not_on_record`.");
    field("outflow", subgraph.outflow, "The value that differs.");
    field.optional("not_on_record", subgraph.not_on_record,
                   "True: no call on record made the value on this side, nor was it there before.");
    field.optional("kept", subgraph.kept,
                   rule::not_empty_list.says("State that this side leaves as it is and the other one's calls change."));
  }
};

struct OperatorRegion {
  OperatorSubgraph measured;
  OperatorSubgraph expected;
  bool constants_differ = false;  // for calls that only view a tensor in another way, `transpose`
};

template <>
struct Description<OperatorRegion> {
  static constexpr About about = About::part(
      "operator_region", "The smallest subgraph of calls of each side that makes other values of equal ones.");
  static void fields(auto& field, OperatorRegion& region) {
    field("measured", region.measured);
    field("expected", region.expected);
    field("constants_differ", region.constants_differ, "Of views.");
  }
};

// "aten::exp, aten::div". "nothing" for a subgraph that passes the value unchanged; "no call on record" if something
// else made the value. At most `most` names.
std::string names_of(const OperatorSubgraph& subgraph, std::size_t most = 8);

// A difference between the two subgraphs other than operator names: "bfloat16 on one side only". Empty if there is
// none.
std::string difference_in_kind(const OperatorRegion& region);

}  // namespace reprobench
