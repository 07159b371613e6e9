#include "matrix/contract/trace.hpp"

#include "matrix/contract/json_field.hpp"
#include "matrix/contract/number.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 10> kRoles = {
    "input",       "parameter",          "forward_output",  "mask",  "choice", "loss",
    "grad_output", "parameter_gradient", "optimizer_state", "buffer"};
static_assert(static_cast<std::size_t>(TensorRole::buffer) + 1 == kRoles.size());

constexpr std::string_view kChecksumKey = ",\"crc32c\":\"";
constexpr std::size_t kChecksumTail = kChecksumKey.size() + 8 + 2;  // 8 digits, quote, brace

[[noreturn]] void reject(const char* key, const char* what) {
  throw ContractError(std::string("trace: `") + key + "` " + what);
}

// The field where it stands: a line holds thousands of numbers, and required<json> would copy each of them.
const json& required_field(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) reject(key, "is missing");
  return *found;
}

std::string required_digest(const json& object, const char* key) {
  auto digest = required<std::string>("trace", object, key);
  const bool well_formed = digest.size() == 32 && digest.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!well_formed) reject(key, "is not 32 hex digits");
  return digest;
}

double required_number(const json& object, const char* key) {
  const auto value = number_from_json(required_field(object, key));
  if (!value) reject(key, "is not a number");
  return *value;
}

const json& required_exact_float(const json& object, const char* key) {
  const json& value = required_field(object, key);
  if (!exact_float_from_json(value)) reject(key, "is not an exact float, or its bits and value disagree");
  return value;
}

json to_json(const TensorSketch& sketch) {
  json sums = json::array();
  for (const double sum : sketch.signed_sums) sums.push_back(json_number(sum));
  return {{"nan_count", sketch.nan_count},  {"inf_count", sketch.inf_count},  {"min", json_number(sketch.min)},
          {"max", json_number(sketch.max)}, {"sum", json_number(sketch.sum)}, {"l2", json_number(sketch.l2)},
          {"signed_sums", std::move(sums)}};
}

TensorSketch sketch_from_json(const json& object) {
  TensorSketch sketch;
  sketch.nan_count = required<std::int64_t>("trace", object, "nan_count");
  sketch.inf_count = required<std::int64_t>("trace", object, "inf_count");
  sketch.min = required_number(object, "min");
  sketch.max = required_number(object, "max");
  sketch.sum = required_number(object, "sum");
  sketch.l2 = required_number(object, "l2");
  const json& sums = required_field(object, "signed_sums");
  if (!sums.is_array()) reject("signed_sums", "has the wrong type");
  if (sums.size() != sketch.signed_sums.size()) reject("signed_sums", "does not hold 64 numbers");
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto value = number_from_json(sums[i]);
    if (!value) reject("signed_sums", "holds something that is not a number");
    sketch.signed_sums[i] = *value;
  }
  return sketch;
}

json to_json(const TensorRecord& tensor) {
  json result = {{"name", tensor.name},
                 {"role", to_string(tensor.role)},
                 {"dtype", tensor.dtype},
                 {"shape", tensor.shape},
                 {"digest", tensor.digest}};
  if (tensor.sketch) result["sketch"] = to_json(*tensor.sketch);
  return result;
}

TensorRecord tensor_from_json(const json& object) {
  TensorRecord tensor;
  tensor.name = required<std::string>("trace", object, "name");
  const auto role = tensor_role_from(required<std::string>("trace", object, "role"));
  if (!role) reject("role", "is not a tensor role");
  tensor.role = *role;
  tensor.dtype = required<std::string>("trace", object, "dtype");
  tensor.shape = required<std::vector<std::int64_t>>("trace", object, "shape");
  tensor.digest = required_digest(object, "digest");
  const auto sketch = object.find("sketch");
  if (sketch != object.end()) tensor.sketch = sketch_from_json(*sketch);
  return tensor;
}

}  // namespace

std::string_view to_string(TensorRole role) { return kRoles[static_cast<std::size_t>(role)]; }

std::optional<TensorRole> tensor_role_from(std::string_view word) {
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    if (kRoles[i] == word) return static_cast<TensorRole>(i);
  }
  return std::nullopt;
}

json to_json(const TraceHeader& header) {
  json result = document("trace");
  result["kind"] = "header";
  result["cell_id"] = header.cell_id;
  result["nonce"] = header.nonce;
  result["rank"] = header.rank;
  result["workload_digest"] = header.workload_digest;
  result["level"] = to_string(header.level);
  if (header.monotonic_us) result["monotonic_us"] = *header.monotonic_us;
  return result;
}

TraceHeader trace_header_from_json(const json& object) {
  require_document(object, "trace");
  const auto level = trace_level_from(required<std::string>("trace", object, "level"));
  if (!level) reject("level", "is neither `step` nor `tensor`");
  return {required<std::string>("trace", object, "cell_id"), required<std::string>("trace", object, "nonce"),
          required_digest(object, "workload_digest"),        *level,
          optional_time("trace", object, "monotonic_us"),    optional_field<int>("trace", object, "rank").value_or(0)};
}

json to_json(const StepRecord& step) {
  json result = {{"kind", "step"},
                 {"step", step.step},
                 {"loss", step.loss},
                 {"grad_norm", step.grad_norm},
                 {"learning_rate", step.learning_rate},
                 {"samples", step.samples},
                 {"step_time_ns", step.step_time_ns},
                 {"phases",
                  {{"data_ns", step.phases.data_ns},
                   {"forward_ns", step.phases.forward_ns},
                   {"backward_ns", step.phases.backward_ns},
                   {"optimizer_ns", step.phases.optimizer_ns}}},
                 {"rss_bytes", step.rss_bytes},
                 {"allocated_bytes", step.allocated_bytes},
                 {"root", step.root},
                 {"chain", step.chain},
                 {"events", step.events}};
  if (step.block) result["block"] = *step.block;
  if (step.ended_ns) result["ended_ns"] = *step.ended_ns;
  return result;
}

StepRecord step_record_from_json(const json& object) {
  StepRecord step;
  step.step = required<std::int64_t>("trace", object, "step");
  step.loss = required_exact_float(object, "loss");
  step.grad_norm = required_field(object, "grad_norm");
  if (!step.grad_norm.is_null()) step.grad_norm = required_exact_float(object, "grad_norm");
  step.learning_rate = required_number(object, "learning_rate");
  step.samples = required<std::int64_t>("trace", object, "samples");
  step.step_time_ns = required<std::int64_t>("trace", object, "step_time_ns");
  if (step.step_time_ns <= 0) reject("step_time_ns", "is not positive");
  const json& phases = required_field(object, "phases");
  step.phases = {
      required<std::int64_t>("trace", phases, "data_ns"), required<std::int64_t>("trace", phases, "forward_ns"),
      required<std::int64_t>("trace", phases, "backward_ns"), required<std::int64_t>("trace", phases, "optimizer_ns")};
  step.rss_bytes = required<std::int64_t>("trace", object, "rss_bytes");
  step.allocated_bytes = required<std::int64_t>("trace", object, "allocated_bytes");
  step.root = required_digest(object, "root");
  step.chain = required_digest(object, "chain");
  step.events = required_field(object, "events");
  step.block = optional_field<std::int64_t>("trace", object, "block");
  step.ended_ns = optional_time("trace", object, "ended_ns");
  return step;
}

json to_json(const TensorsRecord& tensors) {
  json list = json::array();
  for (const TensorRecord& tensor : tensors.tensors) list.push_back(to_json(tensor));
  return {{"kind", tensors.is_final ? "final" : "tensors"}, {"step", tensors.step}, {"tensors", std::move(list)}};
}

json measurement_line(const ProbeMeasurement& measurement) {
  json line = to_json(measurement);
  line["kind"] = "measurement";
  return line;
}

TensorsRecord tensors_record_from_json(const json& object) {
  TensorsRecord result;
  result.step = required<std::int64_t>("trace", object, "step");
  result.is_final = required<std::string>("trace", object, "kind") == "final";
  const json& list = required_field(object, "tensors");
  if (!list.is_array()) reject("tensors", "is not a list");
  for (const json& tensor : list) result.tensors.push_back(tensor_from_json(tensor));
  return result;
}

std::string trace_line(const json& body, std::int64_t seq) {
  json numbered = body;
  numbered["seq"] = seq;
  std::string line = numbered.dump(-1, ' ', false, json::error_handler_t::replace);
  line.pop_back();
  const std::string checksum = hex32(crc32c(line));
  line.append(kChecksumKey).append(checksum).append("\"}\n");
  return line;
}

std::variant<json, std::string> parse_trace_line(std::string_view line, std::int64_t expected_seq) {
  if (line.size() < kChecksumTail ||
      line.substr(line.size() - kChecksumTail).substr(0, kChecksumKey.size()) != kChecksumKey) {
    return "line cut after " + std::to_string(line.size()) + " bytes";
  }
  const std::string_view covered = line.substr(0, line.size() - kChecksumTail);
  const auto stated = parse_hex(line.substr(line.size() - 10, 8));
  const std::uint32_t actual = crc32c(covered);
  if (!stated || *stated != actual) return "checksum is " + hex32(actual) + ", the line says otherwise";
  json body = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (body.is_discarded() || !body.is_object()) return std::string("not a JSON object");
  const auto seq = body.find("seq");
  if (seq == body.end() || !seq->is_number_integer()) return std::string("`seq` is missing");
  if (seq->get<std::int64_t>() != expected_seq) {
    return "seq is " + std::to_string(seq->get<std::int64_t>()) + ", expected " + std::to_string(expected_seq);
  }
  if (!body.contains("kind") || !body["kind"].is_string()) return std::string("`kind` is missing");
  body.erase("seq");
  body.erase("crc32c");
  return body;
}

}  // namespace reprobench
