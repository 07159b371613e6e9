// Asks a stack's worker what attempts will take of this host's memory, before any of them is started.
#pragma once

#include <vector>

#include "matrix/contract/attempt_memory.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/exec/executor.hpp"
#include "matrix/plan/memory_fit.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {

// The request without what its memory does not depend on: whose it is, how long it trains, what it draws, what is
// planted or replayed. Equal questions have equal answers.
CellRequest memory_question(const CellRequest& request);

// One for each request, in their order. A worker that cannot say makes each of them "not predicted". What it said
// before is not asked again (kept_predictions.hpp), but for files of the user's, which change where they lie.
std::vector<AttemptMemory> predicted_needs(const std::vector<CellRequest>& requests, const WorkerCommand& worker);

// Of each cell of the plan; equal workloads are asked for once. Cells that are skipped need nothing.
CellNeeds predicted_needs(const Plan& plan, const std::map<std::string, WorkerCommand>& workers);

}  // namespace reprobench
