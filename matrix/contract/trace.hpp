// trace.jsonl: what happened, one JSON object a line, appended while the worker runs.
//
// Every line carries `seq`, which counts from 0 without a gap, and ends with `crc32c`, the checksum
// of all bytes before the comma in front of it, so a torn or altered line is found where it is. The
// file growing is the worker's heartbeat.
//
//   {"kind":"header", ...}   once, first: TraceHeader
//   {"kind":"tensors", ...}  level `tensor`: the tensors of one step in execution order, before the
//   step's own line
//   {"kind":"step", ...}     every step: StepRecord
//   {"kind":"measurement", ...}  of a probe, which has no steps: one ProbeMeasurement
//   {"kind":"progress", ...}     of a probe: a measurement that is not complete yet, and will follow
//   {"kind":"final", ...}    once, last: the state after the last step, one TensorRecord a
//   parameter and optimiser slot; of a probe without tensors
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/probe_measurement.hpp"
#include "matrix/contract/request.hpp"

namespace reprobench {

struct TraceHeader {
  std::string cell_id;
  std::string nonce;
  std::string workload_digest;  // 32 hex digits; cells with different ones are not comparable
  TraceLevel level = TraceLevel::step;
  // CLOCK_MONOTONIC when the trace began, the clock that telemetry.jsonl's header names too. In microseconds, because
  // nanoseconds pass 2^53 after 104 days without a reboot. Nothing: a worker older than the field.
  std::optional<std::int64_t> monotonic_us{};
  int rank = 0;
};

struct PhaseTimes {
  std::int64_t data_ns = 0;
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;
  std::int64_t optimizer_ns = 0;
};

struct StepRecord {
  std::int64_t step = 0;     // 1-based
  nlohmann::json loss;       // exact float (number.hpp)
  nlohmann::json grad_norm;  // exact float (L2 over all parameters), or null on steps that do not measure it
  double learning_rate = 0;
  std::int64_t samples = 0;
  std::int64_t step_time_ns = 0;  // the four phases and nothing else: digests and this record are outside
  PhaseTimes phases;
  std::int64_t rss_bytes = -1;        // -1 on steps that do not measure it
  std::int64_t allocated_bytes = -1;  // device allocator; -1 on the CPU
  std::string root;                   // digest of all this step digested, 32 hex digits
  std::string chain;  // digest of the previous chain and this root: differs from the first difference on
  nlohmann::json events = nlohmann::json::object();  // discrete events by name, for example {"relu_active": 1733}
  std::optional<std::int64_t>
      block;  // which of the worker's turns this step belongs to, from 0; a worker without turns has none
  std::optional<std::int64_t> ended_ns;  // since `monotonic_us`: when the device was done with the last phase
};

// Roles in the order a step meets them.
enum class TensorRole {
  input,
  parameter,
  forward_output,
  mask,    // which elements took part, where that steers the gradient: a ReLU's active units
  choice,  // which element was the largest; steers nothing
  loss,
  grad_output,
  parameter_gradient,
  optimizer_state,
  buffer
};

// Masks and choices are recorded as the positions of their ones, in ascending order; their sketch, of the tensor of
// zeros and ones, is there on every step, so flips can be counted.
//
// Distances without shipping tensors: with the sketches of a and b, the L2 norm of the difference
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

nlohmann::json to_json(const TraceHeader& header);
nlohmann::json to_json(const StepRecord& step);
nlohmann::json to_json(const TensorsRecord& tensors);
nlohmann::json measurement_line(const ProbeMeasurement& measurement);  // read by probe_measurement_from_json

// All of them throw ContractError naming the field.
TraceHeader trace_header_from_json(const nlohmann::json& json);
StepRecord step_record_from_json(const nlohmann::json& json);
TensorsRecord tensors_record_from_json(const nlohmann::json& json);

std::string_view to_string(TensorRole role);
std::optional<TensorRole> tensor_role_from(std::string_view word);

// `body` as line number `seq`, with its checksum and a newline. `body` must not use the keys `seq`
// and `crc32c`.
std::string trace_line(const nlohmann::json& body, std::int64_t seq);

// The body of a line without its newline, or one sentence on what is wrong with it. `expected_seq`
// is the line's index.
std::variant<nlohmann::json, std::string> parse_trace_line(std::string_view line, std::int64_t expected_seq);

// CRC-32C (Castagnoli), as in iSCSI (RFC 3720, appendix B.4): crc32c("123456789") == 0xe3069283.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace reprobench
