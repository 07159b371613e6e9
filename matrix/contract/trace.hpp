// trace.jsonl: the record of a run, with one JSON object in each line, appended while the worker runs.
//
// Every line carries `seq`, which counts from 0 without a gap. It ends with `crc32c`, the checksum of all bytes before
// the comma in front of it, so a torn or altered line is found where it is. The growth of the file is the worker's
// heartbeat.
//
//   {"kind":"header", ...}       once, first: TraceHeader
//   {"kind":"tensors", ...}      level `tensor`: the tensors of one step in execution order, before the step's own line
//                                level `recent`: those of some steps; others are in segments beside it
//                                (recent_tensors.hpp)
//   {"kind":"step", ...}         every step: StepRecord
//   {"kind":"measurement", ...}  for a probe, which has no steps: one ProbeMeasurement
//   {"kind":"progress", ...}     for a probe: a measurement that is not complete yet, and will follow
//   {"kind":"final", ...}        once, last: the state after the last step, one TensorRecord for each parameter and
//                                optimizer slot; for a probe without tensors
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/base/crc32c.hpp"
#include "matrix/contract/checkpoint.hpp"
#include "matrix/contract/probe_measurement.hpp"
#include "matrix/contract/request.hpp"

namespace reprobench {

struct TraceHeader {
  std::string cell_id;
  std::string nonce;
  std::string workload_digest;  // 32 hex digits; cells with different digests are not comparable
  TraceLevel level = TraceLevel::step;
  // CLOCK_MONOTONIC when the trace began, the same clock as in telemetry.jsonl's header. It is in microseconds, because
  // nanoseconds pass 2^53 after 104 days without a reboot. Nothing if the worker is older than the field.
  std::optional<std::int64_t> monotonic_us{};
  int rank = 0;
  std::string torch{};  // LibTorch's version as it reports it, so that a crash still tells; empty: not reported
  std::optional<ResumedFrom> resumed{};  // nothing: the run begins at the workload's start
};

struct PhaseTimes {
  std::int64_t data_ns = 0;
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;
  std::int64_t optimizer_ns = 0;
  std::int64_t comm_ns = 0;  // time to make gradients of several micro-batches one, with waits for other ranks
  // With overlap=on: how long exchanges of gradients ran, with waits for other ranks, and how much of that was during
  // the backward pass. They run beside the phases, so the phases' sum has no part of them.
  std::optional<std::int64_t> exchange_ns{};
  std::optional<std::int64_t> exchange_hidden_ns{};
  // The part of data_ns in which the host had no samples, because it made them or waited for the thread that did.
  // Nothing if the worker is older than the field.
  std::optional<std::int64_t> data_wait_ns{};
};

struct StepRecord {
  std::int64_t step = 0;     // 1-based
  nlohmann::json loss;       // exact float (number.hpp)
  nlohmann::json grad_norm;  // exact float (L2 over all parameters), or null on steps that do not measure it
  double learning_rate = 0;
  std::optional<double> loss_scale{};  // the factor on the loss, if it is found as the training goes on
  std::int64_t samples = 0;
  std::int64_t step_time_ns = 0;  // the sum of the phases; digests and this record are outside
  PhaseTimes phases;
  std::int64_t rss_bytes = -1;        // -1 on steps that do not measure it
  std::int64_t anonymous_bytes = -1;  // the part of it that is no mapped file; -1 likewise
  std::int64_t allocated_bytes = -1;  // device allocator; -1 on the CPU
  std::string root;                   // digest of everything that this step digested, 32 hex digits
  std::string chain;  // digest of the previous chain and this root: from the first difference on it differs
  nlohmann::json events = nlohmann::json::object();  // discrete events by name, for example {"relu_active": 1733}
  std::optional<std::int64_t>
      block;  // the worker's turn that this step belongs to, from 0; nothing: a worker without turns
  std::optional<std::int64_t> ended_ns;  // since `monotonic_us`: when the device had finished the last phase
};

// Roles are in the order in which a step meets them.
enum class TensorRole {
  input,
  parameter,
  forward_output,
  mask,    // which elements took part, if that steers the gradient: a ReLU's active units
  choice,  // which element was the largest; steers nothing
  loss,
  grad_output,
  parameter_gradient,
  optimizer_state,
  buffer,
  scaler_state  // the state from which a dynamic loss scale goes on
};
template <>
struct Words<TensorRole> {
  static constexpr std::array<std::string_view, 11> table = {
      "input",       "parameter",          "forward_output",  "mask",   "choice",      "loss",
      "grad_output", "parameter_gradient", "optimizer_state", "buffer", "scaler_state"};
};
static_assert(static_cast<std::size_t>(TensorRole::scaler_state) + 1 == Words<TensorRole>::table.size());

// Masks and choices are recorded as the positions of their ones, in ascending order. Their sketch is that of the tensor
// of zeros and ones and is there on every step, so flips can be counted.
//
// Sketches give distances without the tensors themselves: with the sketches of a and b, the L2 norm of the difference
// of `signed_sums` estimates |a - b| to about 9 % (kernels/sketch).
struct TensorSketch {
  std::int64_t nan_count = 0;
  std::int64_t inf_count = 0;
  double min = 0;
  double max = 0;
  double sum = 0;
  double l2 = 0;
  std::array<double, 64> signed_sums{};
};

struct TensorRecord {
  std::string name;  // module path of the parameter or output, "fc1.weight"; optimiser slots
                     // "fc1.weight.exp_avg"
  TensorRole role = TensorRole::input;
  std::string dtype;  // "float32"
  std::vector<std::int64_t> shape;
  std::string digest;                  // 32 hex digits
  std::optional<TensorSketch> sketch;  // on the steps 1, 2, 5, 10, 20, 50, 100 ... and the last
};

struct TensorsRecord {
  std::int64_t step = 0;
  bool is_final = false;  // the state after the last step
  std::vector<TensorRecord> tensors;
};

template <>
struct Description<TraceHeader> {
  static constexpr About about = About::first_line("trace", "header", "Once, first.");
  static void fields(auto& field, TraceHeader& header) {
    field("cell_id", header.cell_id, rule::not_empty);
    field("nonce", header.nonce, rule::not_empty);
    field("rank", header.rank, rule::at_least(0).says("Which of the attempt's processes, from 0."));
    field("workload_digest", header.workload_digest, rule::digest);
    field("level", header.level);
    field.optional(
        "monotonic_us", header.monotonic_us,
        rule::time.says("CLOCK_MONOTONIC when the file began. Absent from files before steps had time stamps."));
    field.optional("torch", header.torch, "What LibTorch says its version is.");
    field.optional("resumed", header.resumed);
  }
};

template <>
struct Description<PhaseTimes> {
  static constexpr About about = About::part("phases");
  static void fields(auto& field, PhaseTimes& phases) {
    field("data_ns", phases.data_ns, rule::at_least(0));
    field("forward_ns", phases.forward_ns, rule::at_least(0));
    field("backward_ns", phases.backward_ns, rule::at_least(0));
    field("optimizer_ns", phases.optimizer_ns, rule::at_least(0));
    field.optional("comm_ns", phases.comm_ns,
                   rule::at_least(1).says("Gradients of several micro-batches become one; absent where there is one."));
    field.optional("exchange_ns", phases.exchange_ns,
                   rule::at_least(0).says("With overlap=on, how long gradients were exchanged; beside the phases."));
    field.optional("exchange_hidden_ns", phases.exchange_hidden_ns,
                   rule::at_least(0).says("Part of exchange_ns: while the backward pass went on."));
    field.optional("data_wait_ns", phases.data_wait_ns,
                   rule::at_least(0).says("Part of data_ns: how long the host had no samples."));
  }
};

template <>
struct Description<StepRecord> {
  static constexpr About about = About::line("trace", "step", "Every step.");
  static void fields(auto& field, StepRecord& step) {
    field("step", step.step, rule::at_least(1));
    field("loss", step.loss, rule::of_form(Rule::Form::exact_float));
    field("grad_norm", step.grad_norm,
          rule::of_form(Rule::Form::exact_float_or_null).says("null on steps that do not measure it."));
    field("learning_rate", step.learning_rate);
    field.optional("loss_scale", step.loss_scale,
                   "What the loss was multiplied by; absent where that is constant. The event `skipped` says whether "
                   "the step updated nothing.");
    field("samples", step.samples, rule::at_least(0));
    field("step_time_ns", step.step_time_ns, rule::at_least(1));
    field("phases", step.phases);
    field("rss_bytes", step.rss_bytes, rule::at_least(-1).says("-1 on steps that do not measure it."));
    field("anonymous_bytes", step.anonymous_bytes,
          rule::at_least(-1).says("Of the resident set what is no mapped file; -1 on steps that do not measure it."));
    field("allocated_bytes", step.allocated_bytes, rule::at_least(-1).says("Of the device; -1 on the CPU."));
    field("root", step.root, rule::digest);
    field("chain", step.chain, rule::digest);
    field("events", step.events, rule::of_form(Rule::Form::object).says("Discrete events by name."));
    field.optional("block", step.block, rule::at_least(0).says("Which turn of a resident worker, from 0."));
    field.optional("ended_ns", step.ended_ns,
                   rule::time.says("Since the header's monotonic_us: when the device was done with the step."));
  }
};

template <>
struct Description<TensorSketch> {
  static constexpr About about = About::part("sketch");
  static void fields(auto& field, TensorSketch& sketch) {
    field("nan_count", sketch.nan_count, rule::at_least(0));
    field("inf_count", sketch.inf_count, rule::at_least(0));
    field("min", sketch.min);
    field("max", sketch.max);
    field("sum", sketch.sum);
    field("l2", sketch.l2);
    field("signed_sums", sketch.signed_sums);
  }
};

template <>
struct Description<TensorRecord> {
  static constexpr About about = About::part("tensor");
  static void fields(auto& field, TensorRecord& tensor) {
    field("name", tensor.name);
    field("role", tensor.role);
    field("dtype", tensor.dtype);
    field("shape", tensor.shape, rule::at_least(0));
    field("digest", tensor.digest, rule::digest);
    field.optional("sketch", tensor.sketch);
  }
};

// A line is `tensors`, before the step's own line if its tensors are kept, in execution order, or `final`, once and
// last.
template <>
struct Description<TensorsRecord> {
  static constexpr std::string_view kKinds[] = {"tensors", "final"};
  static constexpr About about =
      About::part("tensors", "The tensors of one step, or (final) the state after the last.");
  static void fields(auto& field, TensorsRecord& tensors) {
    field.as(
        "kind", [&] { return std::string(kKinds[tensors.is_final ? 1 : 0]); },
        [&](const std::string& kind) { tensors.is_final = kind == kKinds[1]; }, rule::one_of(kKinds));
    field("step", tensors.step, rule::at_least(0));
    field("tensors", tensors.tensors);
  }
};

struct MeasurementLine {
  ProbeMeasurement measurement;
};
template <>
struct Description<MeasurementLine> {
  static constexpr About about = About::line("trace", "measurement", "What a probe recorded of one operation.");
  static void fields(auto& field, MeasurementLine& line) {
    Description<ProbeMeasurement>::fields(field, line.measurement);
  }
};

nlohmann::json to_json(const TraceHeader& header);
nlohmann::json to_json(const StepRecord& step);
nlohmann::json to_json(const TensorsRecord& tensors);
nlohmann::json measurement_line(const ProbeMeasurement& measurement);

// All of them throw ContractError naming the field.
TraceHeader trace_header_from_json(const nlohmann::json& json);
StepRecord step_record_from_json(const nlohmann::json& json);
TensorsRecord tensors_record_from_json(const nlohmann::json& json);
ProbeMeasurement measurement_from_line(const nlohmann::json& json);

// `body` as line number `seq`, with its checksum and a newline. `body` must not use the keys `seq` and `crc32c`.
std::string trace_line(const nlohmann::json& body, std::int64_t seq);

// The line of many tensors. It is written without a tree of values, which would cost more than everything else of a
// recorded step. Keys are in the order of the description.
std::string trace_line(const TensorsRecord& tensors, std::int64_t seq);

// `object`, the text of a JSON object that has a key, as line number `seq`.
std::string numbered_line(std::string object, std::int64_t seq);

// The body of a line without its newline, or one sentence on what is wrong with the line. `expected_seq` is the line's
// index.
std::variant<nlohmann::json, std::string> parse_trace_line(std::string_view line, std::int64_t expected_seq);

}  // namespace reprobench
