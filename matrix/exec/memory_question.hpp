// Asks a stack's worker how much of this host's memory attempts will take, before any of them is started.
#pragma once

#include <vector>

#include "matrix/contract/attempt_memory.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/exec/executor.hpp"
#include "matrix/plan/memory_fit.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {

// The request without the parts that do not change its memory: whose it is, how long it trains, what it draws, what is
// planted or replayed. Equal questions have equal answers.
CellRequest memory_question(const CellRequest& request);

// One answer for each request, in their order. If the worker cannot answer, each of them is "not predicted". Earlier
// answers are not asked for again (kept_predictions.hpp), except for the user's files, which may change at their paths.
std::vector<AttemptMemory> predicted_needs(const std::vector<CellRequest>& requests, const WorkerCommand& worker);

// The needs of each cell of the plan; equal workloads are asked for once. Skipped cells need nothing.
CellNeeds predicted_needs(const Plan& plan, const std::map<std::string, WorkerCommand>& workers);

}  // namespace reprobench
