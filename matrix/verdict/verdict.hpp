// verdict.json: what the run says. Every planned cell has exactly one entry, and the totals equal the plan.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/exit_code.hpp"
#include "matrix/contract/metric.hpp"
#include "matrix/contract/outcome.hpp"
#include "matrix/contract/reason.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/numerics/steps/match.hpp"
#include "matrix/verdict/telemetry_report.hpp"

namespace reprobench {

// The first place where two traces diverge.
struct Divergence {
  std::int64_t step = 0;
  std::string tensor;  // empty: only step-level digests were recorded
  std::string role;    // of the tensor, "parameter"; "loss" or "root" at step level
  std::string measured_digest;
  std::string expected_digest;
};

struct CheckDivergence : Divergence {
  std::string against;  // "repeat 0", or the reference's slug
};

// A phase of a step: the median over repeats of each repeat's median over its steps.
struct StepPhase {
  std::string phase;  // kStepPhases
  double measured_ns = 0;
  std::optional<double> reference_ns;
  std::optional<double> ratio;  // measured / reference, paired as the step's, and its interval; nothing: too few pairs
  std::optional<double> ratio_low;
  std::optional<double> ratio_high;
};

// In the order of a step.
inline constexpr std::string_view kStepPhases[] = {"data", "forward", "backward", "communication", "optimizer"};

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
  std::string loosens;               // the suite's bound that allowed less, and where; empty: none did
  std::optional<int> repeat;         // the one that decided it; nothing: all of them together
  std::optional<double> margin_rel;  // distance to the limit as a fraction of it; negative: beyond
  bool gain = false;                 // better than the reference by more than the bound allows to be worse
  std::optional<CheckDivergence> divergence;
  std::vector<StepPhase> phases;  // of a step's time: where it went; empty for other metrics
};

struct AttemptSummary {
  int repeat = 0;
  int attempt = 0;
  AttemptEnd end = AttemptEnd::lost;
  std::string detail;
  std::string folder;
  std::string chain;
  std::string injected;                      // the planted fault, "weight_ulp at step 20, fc1.weight[5]"; empty: none
  std::optional<TelemetryReport> telemetry;  // of its GPUs; nothing: it had none
  std::optional<std::int64_t> duration_ns;   // of its longest process; nothing: none left an exit record
  std::vector<std::string> links;            // between its GPUs, of which it had several (link_notes.hpp)
};

struct RepeatedMeasurement {
  int repeat = 0;
  ProbeMeasurement measurement;
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
  std::optional<Match> reference_bits;  // reference_bits.hpp; nothing: it did not run, or has no reference here
  std::vector<AttemptSummary> attempts;
  std::vector<CheckResult> checks;
  std::vector<std::string> notes;
  std::string workload_digest;
  std::string chain;                              // of repeat 0
  std::vector<RepeatedMeasurement> measurements;  // of a probe
  std::string log_folder;  // of the attempt that decided the outcome, or the last; empty: none was started
  std::string next;        // what to do about it; empty: nothing
  std::string reproduce;   // "reprobench run --matrix matrix/v2.9.yaml --cell 3f9c1e0a7b52"
};

struct StackEnvironment {
  std::string stack;
  std::map<std::string, std::string> declared;  // component -> version
  std::optional<Fingerprint> fingerprint;       // of its first completed attempt, else of the first that told one
  std::string torch_loaded;                     // where none told one: what the first said as it began; empty: nothing
  std::vector<std::string> findings;            // declared, compiled and loaded disagree
};

// The worst of a dimension's armed checks. `recorded`: none is armed. `not_checked`: there is no check.
inline constexpr std::string_view kDimensionWords[] = {"failed", "inconclusive", "passed", "recorded", "not_checked"};

// How the candidates compare with their references in one dimension, in one sentence with numbers.
struct DimensionSummary {
  Dimension dimension = Dimension::numerics;
  std::string word;      // kDimensionWords
  std::string sentence;  // "torch-2.9.0-cu128: bits equal to torch-2.8.0-cu128 in 4 of 4 cells"
};

inline constexpr std::string_view kVerdictWords[] = {"passed", "failed", "undecided", "nothing_ran", "interrupted"};

// Counts of a run's cells.
struct RunTotals {
  int planned = 0;
  std::array<int, Words<Outcome>::table.size()> by_outcome{};

  int& operator[](Outcome outcome) { return by_outcome[static_cast<std::size_t>(outcome)]; }
  int operator[](Outcome outcome) const { return by_outcome[static_cast<std::size_t>(outcome)]; }
};

struct RunVerdict {
  RunInfo info;
  std::string matrix;
  std::string matrix_file;
  std::int64_t excluded = 0;                  // of the plan
  std::map<std::string, PlanImage> images;    // of the plan
  std::map<std::string, std::string> suites;  // of the plan
  PlanRequest request;                        // a run of less than the matrix gives no verdict on the matrix
  std::vector<std::string>
      planted;       // "weight_ulp at step 20, fc1.weight[5] in 2 cells"; of a drill, which never qualifies
  std::string word;  // kVerdictWords
  ExitCode exit_code = ExitCode::internal_bug;
  std::string sentence;  // "v2.9 NOT qualified: 2 of 40 cells failed ..."
  RunTotals totals;
  std::vector<DimensionSummary> dimensions;
  std::vector<CellVerdict> cells;  // in plan order
  std::vector<StackEnvironment> environments;
  std::optional<RunSeal> seal;  // of the plan and the journal that were judged; nothing: the run is not on disk
};

template <>
struct Description<Divergence> {
  static constexpr About about = About::part("divergence", "The first place where two traces diverge.");
  static void fields(auto& field, Divergence& divergence) {
    field("step", divergence.step, rule::at_least(0));
    field("tensor", divergence.tensor, "Empty: only step-level digests were recorded.");
    field("role", divergence.role);
    field("measured_digest", divergence.measured_digest);
    field("expected_digest", divergence.expected_digest);
  }
};

template <>
struct Description<CheckDivergence> {
  static constexpr About about = About::part("check_divergence", "The first place where two traces diverge.");
  static void fields(auto& field, CheckDivergence& divergence) {
    Description<Divergence>::fields(field, divergence);
    field("against", divergence.against);
  }
};

template <>
struct Description<StepPhase> {
  static constexpr About about = About::part("step_phase", "What a phase takes of a step's time.");
  static void fields(auto& field, StepPhase& phase) {
    field("phase", phase.phase, rule::one_of(kStepPhases));
    field("measured_ns", phase.measured_ns, rule::at_least(0).says("Median of the repeats' medians over their steps."));
    field("reference_ns", phase.reference_ns, "null: the bound asks for no reference.");
    field("ratio", phase.ratio, "measured / reference; null: too few pairs for an interval.");
    field("ratio_low", phase.ratio_low);
    field("ratio_high", phase.ratio_high);
  }
};

template <>
struct Description<CheckResult> {
  static constexpr About about = About::part("check");
  static void fields(auto& field, CheckResult& check) {
    field("metric", check.metric);
    field.optional("of", check.of, "Which of a probe's measurements; absent for all of them and for trainings.");
    field("dimension", check.dimension);
    field("unit", check.unit);
    field("better", check.better);
    field("gate", check.gate);
    field("status", check.status);
    field("reason", check.reason, "A code.");
    field("sentence", check.sentence, "For people, with the numbers.");
    field("measured", check.measured);
    field("reference", check.reference);
    field("ratio", check.ratio, "measured / reference.");
    field("ratio_low", check.ratio_low);
    field("ratio_high", check.ratio_high);
    field("noise_rel", check.noise_rel, "Robust spread between attempts.");
    field("samples", check.samples, rule::at_least(0));
    field("bound", check.bound, "As written.");
    field("limit", check.limit);
    field("origin", check.origin);
    field.optional("gate_origin", check.gate_origin, "Of a record-only check: the rule that disarmed it.");
    field.optional("loosens", check.loosens, "The suite's bound, as written, that allowed less than this one.");
    field.optional("repeat", check.repeat, rule::at_least(0).says("The one that decided it; absent: all of them."));
    field("margin_rel", check.margin_rel, "Distance to the limit as a fraction of it; negative: beyond.");
    field("gain", check.gain);
    field("divergence", check.divergence);
    field.optional("phases", check.phases, rule::not_empty_list.says("Of a step's time: where it went."));
  }
};

template <>
struct Description<AttemptSummary> {
  static constexpr About about = About::part("attempt");
  static void fields(auto& field, AttemptSummary& attempt) {
    field("repeat", attempt.repeat, rule::at_least(0));
    field("attempt", attempt.attempt, rule::at_least(0));
    field("end", attempt.end);
    field("detail", attempt.detail);
    field("folder", attempt.folder);
    field("chain", attempt.chain);
    field("injected", attempt.injected, "The planted fault; empty: none.");
    field("telemetry", attempt.telemetry, "Of its GPUs; null: it had none.");
    field.optional("duration_ns", attempt.duration_ns,
                   rule::at_least(0).says("Of its longest process; absent: none left an exit record."));
    field.optional("links", attempt.links,
                   rule::not_empty_list.says("Of several GPUs: what connects each pair, and its expected peak."));
  }
};

template <>
struct Description<RepeatedMeasurement> {
  static constexpr About about =
      About::part("repeated_measurement", "What a repeat of a probe recorded of one operation.");
  static void fields(auto& field, RepeatedMeasurement& repeated) {
    field("repeat", repeated.repeat, rule::at_least(0));
    Description<ProbeMeasurement>::fields(field, repeated.measurement);
  }
};

template <>
struct Description<CellVerdict> {
  static constexpr About about = About::part("cell");
  static void fields(auto& field, CellVerdict& cell) {
    field("cell_id", cell.cell_id, rule::not_empty);
    field("slug", cell.slug);
    field("coordinates", cell.coordinates, "suite, workload, stack, device, world_size and the axes' knobs, by name.");
    field("outcome", cell.outcome);
    field("reason", cell.reason, "A code.");
    field("sentence", cell.sentence);
    field("required", cell.required);
    field("reference_cell_id", cell.reference_cell_id, rule::not_empty);
    field.optional("reference_bits", cell.reference_bits,
                   "All repeats of both sides; absent: it did not run, or its reference is not in this run.");
    field("attempts", cell.attempts);
    field("checks", cell.checks);
    field("notes", cell.notes);
    field("workload_digest", cell.workload_digest);
    field("chain", cell.chain, "Of repeat 0.");
    field.optional("measurements", cell.measurements,
                   rule::not_empty_list.says("Of a probe, of every repeat; absent for a training."));
    field.optional("log_folder", cell.log_folder, "Of the attempt that decided.");
    field.optional("next", cell.next, "What to do about it.");
    field("reproduce", cell.reproduce);
  }
};

template <>
struct Description<StackEnvironment> {
  static constexpr About about = About::part("environment");
  static void fields(auto& field, StackEnvironment& environment) {
    field("stack", environment.stack);
    field("declared", environment.declared, "Component, version.");
    field("fingerprint", environment.fingerprint,
          "Of its first completed attempt, or else of the first that told one; null: none did.");
    field.optional("torch_loaded", environment.torch_loaded,
                   "Without a fingerprint: the version LibTorch gave itself as an attempt began.");
    field("findings", environment.findings);
  }
};

template <>
struct Description<DimensionSummary> {
  static constexpr About about = About::part("dimension");
  static void fields(auto& field, DimensionSummary& summary) {
    field("dimension", summary.dimension);
    field("word", summary.word, rule::one_of(kDimensionWords));
    field("sentence", summary.sentence);
  }
};

template <>
struct Description<RunTotals> {
  static constexpr About about = About::part("totals", "Of the cells: `planned`, and of each outcome.");
  static void fields(auto& field, RunTotals& totals) {
    field("planned", totals.planned, rule::at_least(0));
    for (std::size_t i = 0; i < totals.by_outcome.size(); ++i) {
      const char* const word = Words<Outcome>::table[i].data();  // a literal: it ends in 0
      if (static_cast<Outcome>(i) == Outcome::recorded) {
        field(word, totals.by_outcome[i], rule::at_least(0));
      } else {
        field(word, totals.by_outcome[i], rule::at_least(0));
      }
    }
  }
};

template <>
struct Description<RunVerdict> {
  static constexpr About about = About::document("verdict", "verdict.json: what the run says");
  static void fields(auto& field, RunVerdict& verdict) {
    field("info", verdict.info);
    field("matrix", verdict.matrix);
    field("matrix_file", verdict.matrix_file);
    field.optional("excluded", verdict.excluded, rule::at_least(1).says("Cells that the matrix excludes."));
    field.optional("images", verdict.images, "Of a comparison of two images: which they are, by stack.");
    field.optional("suites", verdict.suites, "Of a comparison of two images: SHA-256 of each suite's file and calls.");
    field("word", verdict.word, rule::one_of(kVerdictWords));
    field("exit_code", verdict.exit_code);
    field("sentence", verdict.sentence);
    field("totals", verdict.totals);
    field("dimensions", verdict.dimensions, "Candidates against references, one sentence a dimension.");
    field.optional("selected_by", verdict.request.selected_by,
                   rule::not_empty_list.says("Options that left cells out: no verdict on the matrix."));
    field.optional("changed_by", verdict.request.changed_by,
                   rule::not_empty_list.says(
                       "Options by which cells were asked for something else than the matrix says: no verdict on it."));
    field.optional("planted", verdict.planted, rule::not_empty_list.says("Faults of a drill, which never qualifies."));
    field("cells", verdict.cells, "In plan order.");
    field("environments", verdict.environments);
    field("seal", verdict.seal, "Of plan and journal; null: of a run that is not on disk.");
  }
};

nlohmann::json to_json(const RunVerdict& verdict);

// Throws ContractError naming the field.
RunVerdict verdict_from_json(const nlohmann::json& json);

}  // namespace reprobench
