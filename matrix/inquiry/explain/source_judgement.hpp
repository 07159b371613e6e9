// What one place where two replays diverge is by itself, out of the tensors that both captured there: the element that
// shows it, and both sides' errors against fp64.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matrix/contract/request.hpp"
#include "matrix/inquiry/comparison_document.hpp"
#include "matrix/record/safetensors.hpp"

namespace reprobench {

// The call that each side has to capture, with the subgraph before it: the measured one's first.
std::pair<OperatorSite, OperatorSite> sites_of(const DifferenceSource& source);

// The one whose library is asked for: of a subgraph the call that ends it. Empty: no source.
std::string operator_of(const DifferenceSource& source);

// The memory that a capture on one side takes, about: its inputs and outputs, and both in fp64. At most 2^60.
std::int64_t capture_bytes(const DifferenceSource& source);

// The first element that differs; nothing: none does, or the tensors are not of one kind. Null: it is not there.
std::optional<ElementFinding> differing_element(const std::string& name, const TensorView* measured,
                                                const TensorView* expected);

// What a side was asked for that its bounds depend on.
LocalSettings local_settings(const CellRequest& request);

// The memory that the capture of one call takes, about.
std::int64_t capture_bytes(const OperatorRecord& call);

// Fills element and budget, or why there is none. `measured` and `expected` are what was asked of the sides, `notes`
// takes what is found beside.
void judge_source(DifferenceSource& source, const CellRequest& measured, const CellRequest& expected,
                  const SafetensorsFile& ours, const SafetensorsFile& theirs, std::vector<std::string>& notes);

}  // namespace reprobench
