// One cell of plan.json. The document as a whole is declared in plan.hpp.
#pragma once

#include "matrix/plan/plan.hpp"

namespace reprobench {

nlohmann::json to_json(const PlannedCell& planned);

// Throws ContractError naming the field.
PlannedCell planned_cell_from_json(const nlohmann::json& json);

}  // namespace reprobench
