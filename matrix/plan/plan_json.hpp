// plan.json cell by cell. to_json(Plan) and plan_from_json(), declared in plan.hpp, build on these.
#pragma once

#include <ostream>

#include "matrix/plan/plan.hpp"

namespace reprobench {

nlohmann::json to_json(const PlannedCell& planned);

// Throws ContractError naming the field.
PlannedCell planned_cell_from_json(const nlohmann::json& json);

// The document to_json(plan) is, one cell a line, without ever holding it in memory: a plan of 100,000 cells is 190 MB
// of text and would be several times that as a tree.
void write_plan(const Plan& plan, std::ostream& out);

}  // namespace reprobench
