// A probe that measures nothing. Every operation that it declares has invented samples, which the behaviour may spoil.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/probe_measurement.hpp"
#include "matrix/contract/request.hpp"
#include "suites/fake_worker/behaviour.hpp"

namespace reprobench {

std::vector<ProbeMeasurement> synthetic_measurements(const CellRequest& request, const Behaviour& behaviour);

// 32 hex digits, which are equal for equal workloads, whatever the stack.
std::string synthetic_probe_digest(const CellRequest& request);

}  // namespace reprobench
