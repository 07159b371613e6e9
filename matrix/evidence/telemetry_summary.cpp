#include "matrix/evidence/telemetry_summary.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/contract/device/clock_event.hpp"
#include "matrix/contract/device/xid.hpp"
#include "matrix/evidence/invalid_readings.hpp"
#include "matrix/evidence/step_energy.hpp"
#include "matrix/evidence/timed_steps.hpp"

namespace reprobench {
namespace {

// As few as a sign interval of 95 % takes (stats/paired_ratio.hpp).
constexpr std::int64_t kFewestSteps = 6;
constexpr std::size_t kSeriesPoints = 48;

Readings all_readings(const TelemetryRecord& record) {
  Readings all;
  for (const TelemetrySample& sample : record.samples) all.push_back(&sample);
  return all;
}

// From the first reading after the trace began to the first one at its final length. An attempt that trained between
// two readings is judged by all of them: better a good sample called invalid than the other way round.
Readings while_trace_grew(const TelemetryRecord& record) {
  const Readings all = all_readings(record);
  std::int64_t longest = 0;
  for (const TelemetrySample& sample : record.samples) longest = std::max(longest, sample.trace_bytes);
  const auto begun = [](const TelemetrySample* sample) { return sample->trace_bytes > 0; };
  const auto first = std::find_if(all.begin(), all.end(), begun);
  auto last = std::find_if(all.begin(), all.end(), [&](const auto* sample) { return sample->trace_bytes == longest; });
  // The other GPUs' readings of that moment belong to it.
  const auto gpus = static_cast<std::ptrdiff_t>(record.header.gpus.size());
  last += std::min(gpus, std::distance(last, all.end()));
  if (first == all.end() || first >= last) return all;
  return {first, last};
}

// Of the steps that count, and those that say something about their first and last moment.
Readings during(const std::vector<Period>& spans, const TelemetryRecord& record) {
  const std::int64_t from_ns = spans[warm_up_steps(spans.size())].from_ns - record.header.period_ns;
  const std::int64_t to_ns = spans.back().to_ns + record.header.period_ns;
  Readings found = all_readings(record);
  std::erase_if(found, [&](const auto* reading) { return reading->at_ns < from_ns || reading->at_ns > to_ns; });
  return found.empty() ? all_readings(record) : found;
}

// Of a probe's measurements, and those that say something about their first and last moments.
Readings near(const std::vector<Period>& spans, const TelemetryRecord& record) {
  Readings found = all_readings(record);
  std::erase_if(found, [&](const TelemetrySample* reading) {
    return std::none_of(spans.begin(), spans.end(), [&](const Period& span) {
      return span.from_ns - record.header.period_ns <= reading->at_ns &&
             reading->at_ns <= span.to_ns + record.header.period_ns;
    });
  });
  return found.empty() ? all_readings(record) : found;
}

bool is_counter(Quantity quantity) {
  return quantity == Quantity::power_violation_ns || quantity == Quantity::thermal_violation_ns ||
         quantity == Quantity::energy_mj;
}

std::optional<TelemetryRange> range_of(const Readings& samples, Quantity quantity) {
  std::vector<std::int64_t> values;
  std::map<int, std::int64_t> first_of_gpu;
  for (const TelemetrySample* sample : samples) {
    const auto value = (*sample)[quantity];
    if (!value) continue;
    const std::int64_t origin = first_of_gpu.emplace(sample->gpu, *value).first->second;
    values.push_back(is_counter(quantity) ? std::max<std::int64_t>(*value - origin, 0) : *value);
  }
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return TelemetryRange{values.front(), values[values.size() / 2], values.back()};
}

// Largest relative move of the SM clock's median from the first half of the training to the second, over the GPUs. The
// first tenth is left out, as it is from the step times.
double clock_drift_rel(const Readings& samples, std::size_t gpus) {
  double drift_rel = 0;
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    Readings of_gpu;
    for (const TelemetrySample* sample : samples) {
      if (static_cast<std::size_t>(sample->gpu) == gpu && (*sample)[Quantity::sm_clock_mhz]) of_gpu.push_back(sample);
    }
    of_gpu.erase(of_gpu.begin(), of_gpu.begin() + static_cast<std::ptrdiff_t>(of_gpu.size() / 10));
    if (of_gpu.size() < kFewestForDrift) continue;
    const auto middle = of_gpu.begin() + static_cast<std::ptrdiff_t>(of_gpu.size() / 2);
    const auto early = static_cast<double>(range_of({of_gpu.begin(), middle}, Quantity::sm_clock_mhz)->median);
    const auto late = static_cast<double>(range_of({middle, of_gpu.end()}, Quantity::sm_clock_mhz)->median);
    if (std::max(early, late) > 0) drift_rel = std::max(drift_rel, std::abs(early - late) / std::max(early, late));
  }
  return drift_rel;
}

// The largest within any of these spans. From one operation of a probe to the next a clock may well move.
double clock_drift_within_rel(const std::vector<Period>& spans, const Readings& samples, std::size_t gpus) {
  double drift_rel = 0;
  for (const Period& span : spans) {
    Readings within = samples;
    std::erase_if(within,
                  [&](const auto* sample) { return sample->at_ns < span.from_ns || sample->at_ns > span.to_ns; });
    drift_rel = std::max(drift_rel, clock_drift_rel(within, gpus));
  }
  return drift_rel;
}

std::string hole_in(const TelemetryRecord& record) {
  if (!record.problem.empty()) return record.problem;
  if (!record.end) return "it ends before the attempt does: the coordinator died";
  if (!record.end->problem.empty()) return record.end->problem;
  if (record.samples.empty()) return "no reading was taken";
  std::map<int, std::int64_t> last_of_gpu;
  for (const TelemetrySample& sample : record.samples) {
    const auto [last, is_first] = last_of_gpu.emplace(sample.gpu, sample.at_ns);
    const std::int64_t gap_ns = sample.at_ns - last->second;
    if (gap_ns > kLongestGapPeriods * record.header.period_ns) {
      return fmt::format("no reading for {:.1f} s", static_cast<double>(gap_ns) / 1e9);
    }
    last->second = sample.at_ns;
  }
  const std::int64_t end_ns = record.samples.back().at_ns;
  for (std::size_t gpu = 0; gpu < record.header.gpus.size(); ++gpu) {
    const auto last = last_of_gpu.find(static_cast<int>(gpu));
    const std::string& uuid = record.header.gpus[gpu].uuid;
    if (last == last_of_gpu.end()) return fmt::format("no reading of {} was taken", uuid);
    const std::int64_t silent_ns = end_ns - last->second;
    if (silent_ns > kLongestGapPeriods * record.header.period_ns) {
      return fmt::format("no reading of {} in the last {:.1f} s", uuid, static_cast<double>(silent_ns) / 1e9);
    }
  }
  return "";
}

std::string moved_clock(double drift_rel, const char* what) {
  return fmt::format("the SM clock moved by {:.1f} % between the halves of {}", drift_rel * 100, what);
}

// Of an attempt as a whole: a probe, or a training that does not say when its steps ran. `drift_rel` is of `what`.
void say_why_invalid(TelemetrySummary& summary, const Readings& training, std::size_t contended_samples,
                     double drift_rel, const char* what) {
  std::uint64_t bits = 0;
  for (const TelemetrySample* sample : training) {
    bits |= static_cast<std::uint64_t>((*sample)[Quantity::clock_events].value_or(0));
  }
  const auto thermal_ns = summary[Quantity::thermal_violation_ns];
  if (const auto throttling = invalidating_events(bits); throttling != 0) {
    summary.invalid_reason = kThrottled;
    summary.invalid_sentence = fmt::format(
        "the GPU held itself back: {} in {} of {} readings", fmt::join(clock_event_words(throttling), ", "),
        std::count_if(training.begin(), training.end(), [](const auto* sample) { return is_throttled(*sample); }),
        training.size());
  } else if (thermal_ns && thermal_ns->most > 0) {
    summary.invalid_reason = kThrottled;
    summary.invalid_sentence = fmt::format("the GPU was held back by its temperature for {:.1f} ms",
                                           static_cast<double>(thermal_ns->most) / 1e6);
  } else if (contended_samples > 0) {
    summary.invalid_reason = kContended;
    summary.invalid_sentence = fmt::format(
        "another process computed on the GPU in {} of {} readings{}", contended_samples, training.size(),
        summary.foreign_pids.empty() ? std::string() : fmt::format(": pid {}", fmt::join(summary.foreign_pids, ", ")));
  } else if (drift_rel > kLargestClockDrift_rel) {
    summary.invalid_reason = kOffClock;
    summary.invalid_sentence = moved_clock(drift_rel, what);
  }
}

std::string circumstances(const std::string& reason, const TelemetrySummary& summary, const Readings& all) {
  std::uint64_t bits = 0;
  for (const TelemetrySample* sample : all) {
    bits |= static_cast<std::uint64_t>((*sample)[Quantity::clock_events].value_or(0));
  }
  const auto words = clock_event_words(invalidating_events(bits));
  if (reason == kThrottled.code() && words.empty()) return " (time lost to temperature)";
  if (reason == kThrottled.code()) return fmt::format(" ({})", fmt::join(words, ", "));
  if (reason == kOffClock.code()) return fmt::format(" (over {:.0f} % off its median)", kLargestClockDrift_rel * 100);
  return summary.foreign_pids.empty() ? "" : fmt::format(" (pid {})", fmt::join(summary.foreign_pids, ", "));
}

// The readings that say something about steps that are left out are none of those that the rest is judged by.
Readings outside(const InvalidPeriods& invalid, const Readings& readings) {
  Readings rest = readings;
  std::erase_if(rest, [&](const TelemetrySample* reading) {
    return std::any_of(invalid.begin(), invalid.end(), [&](const auto& of_reason) {
      return std::any_of(of_reason.second.begin(), of_reason.second.end(), [&](const Period& period) {
        return period.from_ns <= reading->at_ns && reading->at_ns <= period.to_ns;
      });
    });
  });
  return rest;
}

// Which steps do not count, and whether enough of the others are left to judge the attempt by.
void leave_steps_out(TelemetrySummary& summary, const TelemetryRecord& record, const Trace& trace,
                     const std::vector<Period>& spans, const Readings& training) {
  const Readings all = all_readings(record);
  const InvalidPeriods invalid = invalid_periods(all, training, record.header.period_ns);
  summary.timed_steps = static_cast<std::int64_t>(spans.size() - warm_up_steps(spans.size()));
  summary.left_out = steps_in(invalid, trace, spans);
  std::int64_t left_out = 0;
  std::int64_t most = 0;
  std::string worst;
  std::vector<std::string> reasons;
  for (const auto& [reason, steps] : count_of_left_out(summary)) {
    left_out += steps;
    if (steps > most) worst = reason;
    most = std::max(most, steps);
    reasons.push_back(fmt::format("{} {}{}", steps, reason, circumstances(reason, summary, all)));
  }
  const std::int64_t remaining = summary.timed_steps - left_out;
  const double drift_rel = clock_drift_rel(outside(invalid, training), summary.gpus.size());
  if (left_out > 0) {
    summary.left_out_sentence =
        fmt::format("{} of {} steps left out: {}", left_out, summary.timed_steps, fmt::join(reasons, ", "));
  }
  if (left_out > 0 && (remaining < kFewestSteps || remaining < left_out)) {
    summary.invalid_reason = worst;
    summary.invalid_sentence = fmt::format("too few steps remain: {}", summary.left_out_sentence);
  } else if (drift_rel > kLargestClockDrift_rel) {
    summary.invalid_reason = kOffClock;
    summary.invalid_sentence = moved_clock(drift_rel, "the training");
  }
}

std::vector<TelemetryPoint> series_of(const TelemetryRecord& record,
                                      const std::set<const TelemetrySample*>& invalidated) {
  Readings first_gpu;
  for (const TelemetrySample& sample : record.samples) {
    if (sample.gpu == 0) first_gpu.push_back(&sample);
  }
  std::vector<TelemetryPoint> points;
  const std::size_t count = std::min(kSeriesPoints, first_gpu.size());
  for (std::size_t i = 0; i < count; ++i) {
    const TelemetrySample& sample = *first_gpu[count < 2 ? 0 : i * (first_gpu.size() - 1) / (count - 1)];
    points.push_back({sample.at_ns, sample[Quantity::sm_clock_mhz], sample[Quantity::temperature_c],
                      sample[Quantity::power_mw], sample[Quantity::utilisation_percent],
                      invalidated.count(&sample) > 0});
  }
  return points;
}

}  // namespace

TelemetrySummary summarise_telemetry(const TelemetryRecord& record, const Trace* trace) {
  TelemetrySummary summary;
  summary.gpus = record.header.gpus;
  summary.events = record.events;
  summary.problem = hole_in(record);
  summary.samples = static_cast<std::int64_t>(record.samples.size());

  const auto spans = trace == nullptr ? std::nullopt : spans_of_steps(*trace, record);
  const auto measured = trace == nullptr ? std::nullopt : spans_of_measurements(*trace, record);
  const Readings training = spans      ? during(*spans, record)
                            : measured ? near(*measured, record)
                                       : while_trace_grew(record);
  summary.training_samples = static_cast<std::int64_t>(training.size());
  std::set<const TelemetrySample*> invalidated = contended_readings(training);
  const std::size_t contended_samples = invalidated.size();
  std::set<std::int64_t> strangers;
  std::int64_t capped = 0;
  for (const TelemetrySample* sample : training) {
    const auto bits = static_cast<std::uint64_t>((*sample)[Quantity::clock_events].value_or(0));
    for (const std::string& word : clock_event_words(bits)) ++summary.clock_events[word];
    if ((bits & kSwPowerCap) != 0) ++capped;
    if (is_throttled(*sample)) invalidated.insert(sample);
    strangers.insert(sample->foreign_pids.begin(), sample->foreign_pids.end());
  }
  summary.invalidated_samples = static_cast<std::int64_t>(invalidated.size());
  if (!training.empty()) summary.power_cap_share = static_cast<double>(capped) / static_cast<double>(training.size());
  summary.foreign_pids = {strangers.begin(), strangers.end()};
  for (std::size_t i = 0; i < kQuantities; ++i) summary.ranges[i] = range_of(training, static_cast<Quantity>(i));
  if (spans) {
    leave_steps_out(summary, record, *trace, *spans, training);
    if (!trace->measurements.empty() && !measured) summary.measurements_invalid = Reason("no_telemetry");
    if (measured) {
      const InvalidPeriods invalid = invalid_periods(all_readings(record), training, record.header.period_ns);
      summary.measurements_invalid = reason_within(invalid, *measured);
    }
  } else if (measured) {
    say_why_invalid(summary, training, contended_samples,
                    clock_drift_within_rel(*measured, training, summary.gpus.size()), "a measurement");
  } else {
    say_why_invalid(summary, training, contended_samples, clock_drift_rel(training, summary.gpus.size()),
                    "the training");
  }
  const StepEnergy energy = step_energy(record, spans, summary);
  summary.step_energy_j = energy.energy_j;
  summary.step_energy_missing = energy.missing;
  summary.series = series_of(record, invalidated);
  return summary;
}

std::map<std::string, std::int64_t> count_of_left_out(const TelemetrySummary& telemetry) {
  std::map<std::string, std::int64_t> counts;
  for (const LeftOutSteps& steps : telemetry.left_out) counts[steps.reason] += steps.last - steps.first + 1;
  return counts;
}

std::vector<GpuFault> faults_of(const TelemetrySummary& telemetry) {
  std::vector<GpuFault> faults;
  for (const TelemetryEvent& event : telemetry.events) {
    GpuFault fault;
    fault.uuid = telemetry.gpus[static_cast<std::size_t>(event.gpu)].uuid;
    fault.is_device = event.kind != TelemetryEventKind::xid || class_of_xid(event.code) == XidClass::device;
    switch (event.kind) {
      case TelemetryEventKind::xid:
        fault.fault = fmt::format("xid {}", event.code);
        fault.sentence = fmt::format("{} on {}", describe_xid(event.code), fault.uuid);
        break;
      case TelemetryEventKind::lost:
        fault.fault = "lost";
        fault.sentence = fmt::format("{} is lost: it no longer answers", fault.uuid);
        break;
      case TelemetryEventKind::wait_error:
        fault.fault = fmt::format("nvml wait error {}", event.code);
        fault.sentence = fmt::format("NVML's event channel broke with error {}, so faults of {} would go unseen",
                                     event.code, fault.uuid);
        break;
    }
    faults.push_back(std::move(fault));
  }
  return faults;
}

std::optional<GpuFault> worst_fault(const TelemetrySummary& telemetry) {
  const std::vector<GpuFault> faults = faults_of(telemetry);
  if (faults.empty()) return std::nullopt;
  const auto of_device = std::find_if(faults.begin(), faults.end(), [](const GpuFault& f) { return f.is_device; });
  return of_device == faults.end() ? faults.front() : *of_device;
}

}  // namespace reprobench
