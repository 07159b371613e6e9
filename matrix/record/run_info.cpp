#include "matrix/record/run_info.hpp"

#include "matrix/contract/json_field.hpp"

namespace reprobench {
namespace {

nlohmann::json to_json(const RunSource& source) {
  return {{"run_id", source.run_id},           {"host", source.host},
          {"started_utc", source.started_utc}, {"ended_utc", source.ended_utc},
          {"duration_ns", source.duration_ns}, {"interrupted", source.interrupted}};
}

RunSource source_from_json(const nlohmann::json& object) {
  return {required<std::string>("run", object, "run_id"),       required<std::string>("run", object, "host"),
          required<std::string>("run", object, "started_utc"),  required<std::string>("run", object, "ended_utc"),
          required<std::int64_t>("run", object, "duration_ns"), required<bool>("run", object, "interrupted")};
}

}  // namespace

nlohmann::json to_json(const RunInfo& info) {
  nlohmann::json object = {{"run_id", info.run_id},
                           {"matrix_digest", info.matrix_digest},
                           {"command_line", info.command_line},
                           {"started_utc", info.started_utc},
                           {"ended_utc", info.ended_utc},
                           {"duration_ns", info.duration_ns},
                           {"interrupted", info.interrupted},
                           {"reprobench_version", info.reprobench_version}};
  for (const RunSource& source : info.sources) object["sources"].push_back(to_json(source));
  return object;
}

RunInfo run_info_from_json(const nlohmann::json& object) {
  RunInfo info;
  info.run_id = required<std::string>("run", object, "run_id");
  info.matrix_digest = required<std::string>("run", object, "matrix_digest");
  info.command_line = required<std::vector<std::string>>("run", object, "command_line");
  info.started_utc = required<std::string>("run", object, "started_utc");
  info.ended_utc = required<std::string>("run", object, "ended_utc");
  info.duration_ns = required<std::int64_t>("run", object, "duration_ns");
  info.interrupted = required<bool>("run", object, "interrupted");
  info.reprobench_version = required<std::string>("run", object, "reprobench_version");
  if (object.contains("sources")) {
    for (const auto& source : required<nlohmann::json>("run", object, "sources")) {
      info.sources.push_back(source_from_json(source));
    }
  }
  return info;
}

}  // namespace reprobench
