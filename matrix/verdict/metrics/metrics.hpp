// What can be measured of a cell. To add a metric: a row in metrics.cpp and the function it points to; thresholds,
// judge, `reprobench list metrics` and the report pick it up from there.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/metric.hpp"
#include "matrix/contract/reason.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {

// The attempts of a cell that count: for each repeat, in order, one completed attempt with its trace.
struct CellEvidence {
  std::string slug;
  std::string device;  // "cpu", "sm_90"
  std::string host;    // in a merged run
  std::vector<AttemptRecord> repeats;
  std::vector<int> looks{};                    // planned_looks() of the cell
  const CellDiagnosis* diagnosis = nullptr;    // of its difference from the reference; null: nobody asked
  std::string precision = "fp32";              // "bf16"
  std::set<std::vector<std::string>> links{};  // link_kinds() of the repeats that had several GPUs, each once
  std::string run{};                           // in a merged run, the one in which it ran
};

// A metric of a whole cell, or the reason why it has none.
struct Measurement {
  std::optional<double> value;
  std::optional<CheckDivergence> divergence;
  std::string missing;             // sentence; set if and only if there is neither `value` nor `of_pairs`
  std::string finding = {};        // what was counted, for the check's sentence
  std::string statement = {};      // the whole of it in words, instead of "182 > 0"
  std::optional<int> repeat = {};  // the one that decided it
  // The values of all pairs of repeats, each positive. `value` is then left out, since it is their median. A bound
  // holds or fails only if their interval does not reach over it.
  std::vector<double> of_pairs = {};
  // The value if calls of the cell waited for a core as long as they may have, by its own fastest call and by the
  // reference's repeats. If this keeps the bound, the check does not fail, but is left to noise.
  std::optional<double> at_best = {};
  Reason missing_reason = "missing_metric";
};

inline Measurement no_value(std::string why) { return {std::nullopt, std::nullopt, std::move(why)}; }

// How the values of several attempts become one, and how they are compared with the reference's.
enum class Aggregate {
  median_paired,  // times: median over attempts; against the reference, the median of the ratios of attempts run side
                  // by side
  worst,          // peaks: the worst attempt of each side
};

// The other cell that a metric needs.
enum class Against {
  nothing,
  reference,
  other_host,    // the same cell on another host of a merged run; where there is none the metric does not apply
  one_rank,      // the same training with all its micro-batches on one rank; of one rank the metric does not apply
  one_share,     // the same training of one rank's share of the batch on one rank; likewise
  seeds,         // this cell and those that differ from it in the seed alone; where there are none the metric does not
                 // apply
  on_cpu,        // the same training on the CPU; of a cell on the CPU the metric does not apply
  construction,  // the cell of the run that stands for its workload, on whatever stack, device and host it ran
};

// Everything that a metric may look at.
struct MetricInput {
  const CellEvidence& cell;
  const AttemptRecord* attempt = nullptr;    // the one that is measured, where a metric is of one attempt
  const CellEvidence* other = nullptr;       // the cell that Metric::against names
  const MeasurementSelection* of = nullptr;  // the measurements of a probe that the threshold is about; null: all
};

struct Metric {
  MetricInfo info;
  // How it is measured, and whether that takes the whole cell or one attempt after the other.
  struct Function {
    Measurement (*measure)(const MetricInput& input) = nullptr;
    bool of_cell = false;
  } function;
  Aggregate aggregate = Aggregate::worst;
  Against against = Against::nothing;  // whose evidence is MetricInput::other, whatever the bound says
  bool compares_bits = false;          // class A: across devices and hosts only equal fingerprints promise them
  bool is_of_steps = false;            // over the times of steps, of which telemetry may leave some out
  bool counts_disturbed = false;       // of all steps: those that telemetry leaves out of other times count
  bool has_phases = false;             // it is the time of a step, which has phases

  Measurement of_attempt(const CellEvidence& cell, const AttemptRecord& attempt,
                         const MeasurementSelection& of = {}) const {
    return function.measure({cell, &attempt, nullptr, &of});
  }
  Measurement of_cell(const CellEvidence& cell, const CellEvidence* other) const {
    return function.measure({cell, nullptr, other, nullptr});
  }
};

std::span<const Metric> metrics();
const Metric* find_metric(std::string_view name);

// The part of the table the spec layer checks thresholds against.
std::span<const MetricInfo> metric_infos();

}  // namespace reprobench
