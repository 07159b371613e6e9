// Which steps of an attempt say how fast it was: those after the warm-up during which its GPU was not throttled,
// contended or off its clock.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "matrix/evidence/invalid_readings.hpp"
#include "matrix/evidence/run_record.hpp"

namespace reprobench {

// Steps that pay for first touches of memory and lazy initialisation: a tenth, at least ten where there are enough.
std::size_t warm_up_steps(std::size_t steps);

// When each step ran, on the telemetry's clock. Nothing if a file is older than its time stamps, or if they cannot be
// of one clock: a worker on another host, or in a time namespace.
std::optional<std::vector<Period>> spans_of_steps(const Trace& trace, const TelemetryRecord& telemetry);

// The same for the measurements of a probe. A measurement that was not timed has no span; if none was timed, there is
// nothing.
std::optional<std::vector<Period>> spans_of_measurements(const Trace& trace, const TelemetryRecord& telemetry);

// The steps after the warm-up that touch an invalid period, each with the first of its reasons in the order throttled,
// contended, clock.
std::vector<LeftOutSteps> steps_in(const InvalidPeriods& invalid, const Trace& trace, const std::vector<Period>& spans);

// The first of those reasons that touches one of `spans`; empty if none does.
Reason reason_within(const InvalidPeriods& invalid, const std::vector<Period>& spans);

// Visits the steps that count. Each is as its slowest rank recorded it, so its phases add up to its time. A reference
// does not outlive its visit, because long traces are packed.
void for_each_timed_step(const AttemptRecord& attempt, const std::function<void(const StepRecord&)>& visit);

std::vector<double> timed_steps_ns(const AttemptRecord& attempt);

// The time of every step on its slowest rank. Warm-up and disturbed steps are among them: a stall must not drop out.
std::vector<double> all_steps_ns(const AttemptRecord& attempt);

}  // namespace reprobench
