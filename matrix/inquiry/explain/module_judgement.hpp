// What a module is by itself whose operators differ between the sides, as another decomposition of it does: a GELU in
// nine calls against one.
//
// Its bound is put together out of its operators': each call of either side is held against fp64 from what it took
// itself. If every one stays within its bound, and the two sides ask for the same in fp64 (region's budget), nothing
// but rounding is between what they make. A call without a bound leaves the module without one: then it is said to
// have none, never to be within.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/request.hpp"
#include "matrix/inquiry/comparison_document.hpp"
#include "matrix/record/safetensors.hpp"

namespace reprobench {

// A call of a subgraph as one side has captured it.
struct CapturedModuleCall {
  const OperatorRecord* call = nullptr;
  SafetensorsFile file;
};

// Calls of the subgraph that make values and can be called by themselves: those to capture.
std::vector<const OperatorRecord*> module_calls(const OperatorSubgraph& subgraph);

// The calls of one side. `not_captured`: why its calls are not there; empty: they are, in the order of module_calls().
ModuleSide judge_module_side(const OperatorSubgraph& subgraph, const CellRequest& request,
                             const std::vector<CapturedModuleCall>& captured, const std::string& not_captured);

// Gives a region without a call its judgement, out of both sides' and what is known of the source.
void judge_module(DifferenceSource& source, ModuleSide measured, ModuleSide expected);

// "h.0.attn" of calls in h.0.attn.scores and h.0.attn.mixed; of those that have nothing in common the last one's.
// Empty: no call has one.
std::string module_of(const OperatorRegion& region);

// What differs in what the two sides ask for: types, constants of views, or what fp64 makes. Empty: nothing on record.
std::string other_question(const DifferenceSource& source);

// "the expected side is 33 times as far from fp64 as the measured one"; empty: they are about as far.
std::string farther_side(const OperatorBudget& budget);

bool is_beyond(const ModuleSide& side);
bool is_within(const ModuleSide& side);

// Why all calls of it are within their bounds; empty: they are not known to be.
std::string within_text(const ModuleJudgement& judged);

}  // namespace reprobench
