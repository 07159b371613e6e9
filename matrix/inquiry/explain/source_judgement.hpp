// Judges one place where two replays diverge, by the tensors that both captured there: the first element that differs,
// and both sides' errors against fp64.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "matrix/contract/request.hpp"
#include "matrix/inquiry/comparison_document.hpp"
#include "matrix/record/safetensors.hpp"

namespace reprobench {

// The call that each side has to capture, with the subgraph before it: the measured one's first.
std::pair<OperatorSite, OperatorSite> sites_of(const DifferenceSource& source);

// The operator whose library is asked about; for a subgraph the call that ends it. Empty if there is no source.
std::string operator_of(const DifferenceSource& source);

// The memory that a capture on one side takes, about: its inputs and outputs, and both in fp64. At most 2^60.
std::int64_t capture_bytes(const DifferenceSource& source);

// The first element that differs; nothing if none does, or if the tensors have different types or shapes. A null tensor
// is missing.
std::optional<ElementFinding> differing_element(const std::string& name, const TensorView* measured,
                                                const TensorView* expected);

// The settings of a side that its bounds depend on.
LocalSettings local_settings(const CellRequest& request);

// The memory that the capture of one call takes, about.
std::int64_t capture_bytes(const OperatorRecord& call);

// What one side captured of a call.
struct CapturedSide {
  const OperatorRecord& call;
  const SafetensorsFile& captured;
  const CellRequest& request;
};

// *broken* where either side's captured output is not what that side's own order gives, and nothing can have chosen
// another order: torch's own loops on a CPU. A library may choose it by where operands lie in memory, as may a kernel
// on a GPU.
std::optional<OrderJudgement> judge_kept_orders(const CapturedSide& measured, const CapturedSide& expected,
                                                std::size_t output);

// Fills element and budget, or the reason why there is none. `measured` and `expected` are the sides' settings; further
// findings go to `notes`.
void judge_source(DifferenceSource& source, const CellRequest& measured, const CellRequest& expected,
                  const SafetensorsFile& ours, const SafetensorsFile& theirs, std::vector<std::string>& notes);

}  // namespace reprobench
