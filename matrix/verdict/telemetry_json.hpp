// An attempt's telemetry as verdict.json carries it: all that a report shows of it.
#pragma once

#include <nlohmann/json.hpp>

#include "matrix/evidence/telemetry_summary.hpp"

namespace reprobench {

nlohmann::json to_json(const TelemetrySummary& telemetry);

}  // namespace reprobench
