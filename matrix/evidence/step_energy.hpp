// How much energy a step of a training took on its GPUs, by NVML's counter of what a card has drawn since its driver
// was loaded (nvmlDeviceGetTotalEnergyConsumption, in mJ). Pure.
//
// Example: of steps of 50 ms that count from 10.00 s to 13.00 s, readings at 10.04 s and 12.94 s enclose 2.90 s and 58
// steps; 1160 J between them are 20 J a step. A step that a reading cuts counts by its share of time. The energy that
// the card draws between two steps is counted as theirs. The counter moves about as often as it is read, so either end
// may be off by the energy of one period: with ten periods between the two at the least, by a tenth of the value
// together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matrix/evidence/invalid_readings.hpp"
#include "matrix/evidence/telemetry_summary.hpp"

namespace reprobench {

inline constexpr std::size_t kFewestEnergyReadings = 11;

// Either a value or a reason why there is none.
struct StepEnergy {
  std::optional<double> energy_j;
  std::string missing;  // "the energy counter of GPU-… went backwards"
};

// `spans`: when each step, warm-up included, ran on the telemetry's clock; nothing if that is not known. `summary`: of
// the same record, complete except for the energy. Energies of several GPUs add up. There is no value where telemetry
// has holes, any step was left out or the times are invalid as a whole (another process drew power too, or the card
// held itself back), where any reading in that time lacks the counter, and where the counter went backwards or stood
// still.
StepEnergy step_energy(const TelemetryRecord& record, const std::optional<std::vector<Period>>& spans,
                       const TelemetrySummary& summary);

}  // namespace reprobench
