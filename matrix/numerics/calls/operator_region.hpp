// Where two replays of one step diverge and no pair of calls does it: the sides take different operators, and a
// subgraph of calls on each side makes other values of equal ones. Each is the outermost one without a partner; what it
// calls goes without saying.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/operator_record.hpp"

namespace reprobench {

// What one side took for the subgraph, and what it made of it.
struct OperatorSubgraph {
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
  bool constants_differ = false;  // of calls that only show a tensor otherwise, `transpose`
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

// "aten::exp, aten::div"; "nothing" of a subgraph that passes the value as it is, "no call on record" of one whose
// value something else made. At most `most` names.
std::string names_of(const OperatorSubgraph& subgraph, std::size_t most = 8);

// What differs between the two subgraphs beside the names of operators: "bfloat16 on one side only". Empty: nothing.
std::string difference_in_kind(const OperatorRegion& region);

}  // namespace reprobench
