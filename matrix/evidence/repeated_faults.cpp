#include "matrix/evidence/repeated_faults.hpp"

namespace reprobench {
namespace {

std::optional<GpuFault> device_fault(const AttemptRecord& attempt) {
  if (attempt.end != AttemptEnd::gpu_hw || !attempt.telemetry) return std::nullopt;
  return worst_fault(*attempt.telemetry);
}

}  // namespace

void RepeatedFaults::add(const std::string& stack, const AttemptRecord& attempt) {
  if (const auto fault = device_fault(attempt)) devices_[{stack, fault->fault}].insert(fault->uuid);
}

bool RepeatedFaults::is_of_stack(const std::string& stack, const AttemptRecord& attempt) const {
  const auto fault = device_fault(attempt);
  if (!fault) return false;
  const auto met = devices_.find({stack, fault->fault});
  return met != devices_.end() && met->second.size() >= 2;
}

}  // namespace reprobench
