#include "matrix/contract/trace.hpp"

#include "matrix/base/json_parse.hpp"
#include "matrix/base/number.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/contract/document/text_writer.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr std::string_view kChecksumKey = ",\"crc32c\":\"";
constexpr std::size_t kChecksumTail = kChecksumKey.size() + 8 + 2;  // 8 digits, quote, brace

}  // namespace

json to_json(const TraceHeader& header) { return written(header); }
json to_json(const StepRecord& step) { return written(step); }
json to_json(const TensorsRecord& tensors) { return written(tensors); }
json measurement_line(const ProbeMeasurement& measurement) { return written(MeasurementLine{measurement}); }

TraceHeader trace_header_from_json(const json& object) { return read_document<TraceHeader>(object); }
StepRecord step_record_from_json(const json& object) { return read_document<StepRecord>(object); }
TensorsRecord tensors_record_from_json(const json& object) { return read_document<TensorsRecord>(object, "trace"); }
ProbeMeasurement measurement_from_line(const json& object) {
  return read_document<MeasurementLine>(object).measurement;
}

std::string trace_line(const json& body, std::int64_t seq) {
  return numbered_line(body.dump(-1, ' ', false, json::error_handler_t::replace), seq);
}

std::string trace_line(const TensorsRecord& tensors, std::int64_t seq) {
  JsonText text;
  write_text(text, tensors);
  return numbered_line(text.text(), seq);
}

std::string numbered_line(std::string object, std::int64_t seq) {
  object.pop_back();
  object.append(",\"seq\":").append(std::to_string(seq));
  const std::string checksum = hex32(crc32c(object));
  object.append(kChecksumKey).append(checksum).append("\"}\n");
  return object;
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
  ParsedJson parsed = parse_json(line);
  if (!parsed.doubled_key.empty()) return parsed.problem;
  json& body = parsed.value;
  if (!parsed.problem.empty() || !body.is_object()) return std::string("not a JSON object");
  const auto seq = body.find("seq");
  if (seq == body.end() || !seq->is_number_integer()) return std::string("`seq` is missing");
  if (seq->get<std::int64_t>() != expected_seq) {
    return "seq is " + std::to_string(seq->get<std::int64_t>()) + ", expected " + std::to_string(expected_seq);
  }
  if (!body.contains("kind") || !body["kind"].is_string()) return std::string("`kind` is missing");
  body.erase("seq");
  body.erase("crc32c");
  return std::move(body);
}

}  // namespace reprobench
