// A probe that measures nothing: every operation it declares with invented samples, spoilt as the behaviour says.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/probe_measurement.hpp"
#include "matrix/contract/request.hpp"
#include "suites/fake_worker/behaviour.hpp"

namespace reprobench {

std::vector<ProbeMeasurement> synthetic_measurements(const CellRequest& request, const Behaviour& behaviour);

// 32 hex digits: equal for equal requests but for the stack.
std::string synthetic_probe_digest(const CellRequest& request);

}  // namespace reprobench
