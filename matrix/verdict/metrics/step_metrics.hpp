// The speed of a training's steps: their times, the samples they take in, what the card does meanwhile. `Timed` steps
// are those after warm-up that telemetry does not leave out (evidence/timed_steps.hpp).
#pragma once

#include <optional>

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Nothing where an attempt has no step to say it by.
std::optional<double> median_step_time_ns(const AttemptRecord& attempt);    // of timed steps
std::optional<double> mean_step_time_ns(const AttemptRecord& attempt);      // of all, warm-up and stalls included
std::optional<double> step_time_p99_ns(const AttemptRecord& attempt);       // after warm-up, stalls included
std::optional<double> slowest_steps_time_ns(const AttemptRecord& attempt);  // likewise, mean of a hundredth
std::optional<double> slowest_quarter_step_time_ns(const AttemptRecord& attempt);  // likewise, its median
std::optional<double> samples_per_s(const AttemptRecord& attempt);                 // over the time of all steps
std::optional<double> start_to_first_step_ns(const AttemptRecord& attempt);

// From the end of the first step to the end of the process, without other steps and waits for a turn. A training of
// several processes has none.
std::optional<double> time_outside_steps_ns(const AttemptRecord& attempt);

// Of the time after warm-up, the share without samples to compute with; nothing where a step does not say.
std::optional<double> data_wait_share(const AttemptRecord& attempt);

// Of telemetry's readings while steps ran, so of the SMs under load and not of the start-up. A training too brief for
// eight readings of a GPU has no value.
Measurement utilisation(const AttemptRecord& attempt, const MeasurementSelection& unused);
Measurement step_energy_j(const AttemptRecord& attempt, const MeasurementSelection& unused);

}  // namespace reprobench
