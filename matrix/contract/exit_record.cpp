#include "matrix/contract/exit_record.hpp"

#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

json optional_int(const std::optional<int>& value) { return value ? json(*value) : json(nullptr); }

}  // namespace

json to_json(const ExitRecord& record) {
  json object = document("exit");
  object["nonce"] = record.nonce;
  object["rank"] = record.rank;
  object["exit_code"] = optional_int(record.exit_code);
  object["signal"] = optional_int(record.signal);
  object["launch_error"] = record.launch_error;
  object["stopped_by"] = to_string(record.stopped_by);
  object["leaked_processes"] = record.leaked_processes;
  object["duration_ns"] = record.duration_ns;
  object["max_rss_bytes"] = record.max_rss_bytes;
  object["user_ns"] = record.user_ns;
  object["system_ns"] = record.system_ns;
  object["stdout_bytes"] = record.stdout_bytes;
  object["stderr_bytes"] = record.stderr_bytes;
  return object;
}

ExitRecord exit_record_from_json(const json& object) {
  require_document(object, "exit");
  ExitRecord record;
  try {
    record.nonce = object.at("nonce").get<std::string>();
    record.rank = object.value("rank", 0);
    if (!object.at("exit_code").is_null()) record.exit_code = object.at("exit_code").get<int>();
    if (!object.at("signal").is_null()) record.signal = object.at("signal").get<int>();
    record.launch_error = object.at("launch_error").get<std::string>();
    const auto stopped_by = object.at("stopped_by").get<std::string>();
    const auto found = from_word<StoppedBy>(stopped_by);
    if (!found) throw ContractError("exit: nobody is called `" + stopped_by + "` in `stopped_by`");
    record.stopped_by = *found;
    record.leaked_processes = object.at("leaked_processes").get<int>();
    record.duration_ns = object.at("duration_ns").get<std::int64_t>();
    record.max_rss_bytes = object.at("max_rss_bytes").get<std::int64_t>();
    record.user_ns = object.at("user_ns").get<std::int64_t>();
    record.system_ns = object.at("system_ns").get<std::int64_t>();
    record.stdout_bytes = object.at("stdout_bytes").get<std::int64_t>();
    record.stderr_bytes = object.at("stderr_bytes").get<std::int64_t>();
  } catch (const json::exception& error) {
    throw ContractError(std::string("exit: ") + error.what());
  }
  return record;
}

}  // namespace reprobench
