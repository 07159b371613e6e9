// Judges a module whose operators differ between the sides, as in another decomposition: a GELU in nine calls against
// one.
//
// Its bound is made up of its operators' bounds: each call of either side is compared with fp64 from its own inputs. If
// every call stays within its bound, and the two sides compute the same in fp64 (region's budget), only rounding lies
// between their results. If one call has no bound, the module has none and is never said to be within it.
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

// Sets the judgement of a region without a call, from the calls of both sides and the findings on the source.
void judge_module(DifferenceSource& source, ModuleSide measured, ModuleSide expected);

// The name of the module: "h.0.attn" for calls in h.0.attn.scores and h.0.attn.mixed, or the last call's tap if they
// have nothing in common. Empty if no call has a tap.
std::string module_of(const OperatorRegion& region);

// The difference between the two sides' computations: types, constants of views, or results in fp64. Empty if there is
// none on record.
std::string other_question(const DifferenceSource& source);

// "the expected side is 33 times as far from fp64 as the measured one"; empty if both are about as far.
std::string farther_side(const OperatorBudget& budget);

bool is_beyond(const ModuleSide& side);
bool is_within(const ModuleSide& side);

// Why all calls of the module are within their bounds; empty if this is not known.
std::string within_text(const ModuleJudgement& judged);

}  // namespace reprobench
