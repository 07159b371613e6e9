// verdict.json: what the run says. Every planned cell has exactly one entry, and the totals equal the plan.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/exit_code.hpp"
#include "matrix/contract/metric.hpp"
#include "matrix/contract/outcome.hpp"
#include "matrix/evidence/run_record.hpp"

namespace reprobench {

// The first place where two traces part.
struct Divergence {
  std::int64_t step = 0;
  std::string tensor;   // empty: only step-level digests were recorded
  std::string role;     // of the tensor, "parameter"; "loss" or "root" at step level
  std::string against;  // "repeat 0", or the reference's slug
  std::string measured_digest;
  std::string expected_digest;
};

// The outcome of a cell whose planted fault its worker could not plant: an unknown tensor, an element out of range.
inline constexpr const char* kBadInjection = "bad_injection";

// One metric of one cell against its threshold.
struct CheckResult {
  std::string metric;
  std::string of;  // which of a probe's measurements, "triad to peak"; empty for a training, or for all of them
  Dimension dimension = Dimension::numerics;
  std::string unit;
  Better better = Better::lower;
  Gate gate = Gate::armed;
  CheckStatus status = CheckStatus::inconclusive;
  std::string
      reason;  // code: "within_bound", "over_bound", "no_reference", "missing_metric", "noise", "not_comparable" ...
  std::string sentence;             // for people, with the numbers
  std::optional<double> measured;   // in `unit`; for a bound against the reference this cell's own value
  std::optional<double> reference;  // the reference cell's value, in `unit`
  std::optional<double> ratio;      // measured / reference, and its interval
  std::optional<double> ratio_low;
  std::optional<double> ratio_high;
  std::optional<double> noise_rel;  // robust spread between attempts
  int samples = 0;
  std::string bound;  // as written: "max_regression: 5%"
  double limit = 0;
  std::string origin;                // "suites/definitions/throughput.yaml:14:5"
  std::string gate_origin;           // of a record-only check: the rule that disarmed it; empty: it is armed
  std::optional<int> repeat;         // the one that decided it; nothing: all of them together
  std::optional<double> margin_rel;  // distance to the limit as a fraction of it; negative: beyond
  bool gain = false;                 // better than the reference by more than the bound allows to be worse
  std::optional<Divergence> divergence;
};

struct AttemptSummary {
  int repeat = 0;
  int attempt = 0;
  AttemptEnd end = AttemptEnd::lost;
  std::string detail;
  std::string folder;
  std::string chain;
  std::string injected;                       // the planted fault, "weight_ulp at step 20, fc1.weight[5]"; empty: none
  std::optional<TelemetrySummary> telemetry;  // of its GPUs; nothing: it had none
};

struct CellVerdict {
  std::string cell_id;
  std::string slug;
  Coordinates coordinates;
  Outcome outcome = Outcome::unfinished;
  std::string reason;  // code: a failing check's metric, an attempt's end, a skip rule, "all_checks_passed"
  std::string sentence;
  bool required = false;
  std::optional<std::string> reference_cell_id;
  std::vector<AttemptSummary> attempts;
  std::vector<CheckResult> checks;
  std::vector<std::string> notes;
  std::string workload_digest;
  std::string chain;                                          // of repeat 0
  std::map<int, std::vector<ProbeMeasurement>> measurements;  // of a probe, by repeat
  std::string log_folder;  // of the attempt that decided the outcome, or the last; empty: none was started
  std::string next;        // what to do about it; empty: nothing
  std::string reproduce;   // "reprobench run --matrix matrix/v2.9.yaml --cell 3f9c1e0a7b52"
};

struct StackEnvironment {
  std::string stack;
  std::map<std::string, std::string> declared;  // component -> version
  std::optional<Fingerprint> fingerprint;       // of its first completed attempt
  std::vector<std::string> findings;            // declared, compiled and loaded disagree
};

// One dimension of the candidates against their references, in one sentence with numbers.
struct DimensionSummary {
  Dimension dimension = Dimension::numerics;
  std::string word;  // of its armed checks, the worst: "failed", "inconclusive", "passed"; "recorded", "not_checked"
  std::string sentence;  // "bits equal to torch-2.8.0-cu128 in 4 of 4 cells"
};

struct RunVerdict {
  RunInfo info;
  std::string matrix;
  std::string matrix_file;
  PlanRequest request;  // a run of less than the matrix gives no verdict on the matrix
  std::vector<std::string>
      planted;       // "weight_ulp at step 20, fc1.weight[5] in 2 cells"; of a drill, which never qualifies
  std::string word;  // "passed", "failed", "undecided", "nothing_ran", "interrupted"
  ExitCode exit_code = ExitCode::internal_bug;
  std::string sentence;               // "v2.9 NOT qualified: 2 of 40 cells failed ..."
  std::map<std::string, int> totals;  // "planned" and each outcome
  std::vector<DimensionSummary> dimensions;
  std::vector<CellVerdict> cells;  // in plan order
  std::vector<StackEnvironment> environments;
};

nlohmann::json to_json(const RunVerdict& verdict);

}  // namespace reprobench
