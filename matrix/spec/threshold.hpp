// A bound on a metric, as a suite or a matrix states it.
//
//   throughput.step_time: {max_regression: 5%, vs: reference}
//   numerics.repeat_mismatches: {max: 0}
//   numerics.end_loss: {band: [0.31, 0.52]}                            # from the first to the second, both included
//   memory.peak_rss:
//     - {max_regression: 10%, vs: reference, where: {device: cpu}}
//     - {gate: record_only, where: "stack == torch-2.1.0-cu121"}     # evaluated and shown, decides nothing
//   throughput.*: {gate: record_only, where: "stack == torch-2.1.0-cu121"}  # the same of all of that name
// If several rules select a cell, the last one holds for it.
//
// A probe measures many things. `of` names the operation, alone or with labels, and every `of` is a check of its own:
//   device.bandwidth_share:
//     - {min: 0.92, of: triad, to: peak}                               # of the data sheet
//     - {min: 1.0, of: {operation: triad, size: 4GiB}, to: copy}       # of another operation, labelled alike
//     - {min: 0.3, of: triad, to: measured_peak, where: {device: cpu}} # of the best operation, labelled alike
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"
#include "matrix/contract/outcome.hpp"
#include "matrix/contract/probe_measurement.hpp"
#include "matrix/spec/selector.hpp"

namespace reprobench {

enum class Gate { armed, record_only };
template <>
struct Words<Gate> {
  static constexpr std::array<std::string_view, 2> table = {"armed", "record_only"};
};

struct Bound {
  enum class Kind {
    max,             // measured <= limit
    min,             // measured >= limit
    equal,           // measured == limit
    max_regression,  // measured is worse than the reference by at most the fraction `limit`
    band,            // low <= measured <= limit
  };
  Kind kind = Kind::max;
  double limit = 0;                // in the metric's unit; a fraction for max_regression (5% is 0.05)
  std::string text;                // as written: "max_regression: 5%"
  bool vs_reference = false;       // the measured value is the ratio or difference to the reference cell
  std::optional<double> low = {};  // of a band
};
template <>
struct Words<Bound::Kind> {
  static constexpr std::array<std::string_view, 5> table = {"max", "min", "equal", "max_regression", "band"};
};
template <>
struct Description<Bound> {
  static constexpr About about = About::part("bound");
  static void fields(auto& field, Bound& bound) {
    field("kind", bound.kind);
    field("limit", bound.limit, "In the metric's unit; a fraction for max_regression.");
    field("text", bound.text, "As written.");
    field("vs_reference", bound.vs_reference);
    field.optional("low", bound.low, "Of a band, whose upper end is `limit`.");
    field.hold(bound.low.has_value() == (bound.kind == Bound::Kind::band), "has a `low` if and only if it is a band");
  }
};

// "throughput.*" stands for every metric whose name begins so.
inline bool is_family(std::string_view name) { return name.ends_with(".*"); }
inline bool covers(std::string_view name, std::string_view metric) {
  return name == metric || (is_family(name) && metric.starts_with(name.substr(0, name.size() - 1)));
}

struct ThresholdRule {
  std::string metric;       // or a family
  MeasurementSelection of;  // empty: the metric is of a training, or of everything a probe measured
  Gate gate = Gate::armed;
  std::optional<Bound> bound;  // nothing: only the gate of an earlier rule changes
  Selector where;
  Mark mark;
  Dimension dimension = Dimension::numerics;  // of the metric
};

}  // namespace reprobench
