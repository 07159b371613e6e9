// The content of run.json: who ran what and when.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/document/description.hpp"

namespace reprobench {

// One of the runs of which a merged run was made.
struct RunSource {
  std::string run_id;
  std::string host;  // label, as in plan.json
  std::string started_utc;
  std::string ended_utc;
  std::int64_t duration_ns = 0;
  bool interrupted = false;
};

struct RunInfo {
  std::string run_id;         // "r-20261121-101502-348-7f3a"
  std::string matrix_digest;  // SHA-256 of the matrix text
  std::vector<std::string> command_line;
  std::string started_utc;  // ISO 8601; for people, never for durations
  std::string ended_utc;    // empty while running
  std::int64_t duration_ns = 0;
  bool interrupted = false;
  bool terminated = false;  // by TERM or HUP, not by Ctrl-C
  std::string reprobench_version;
  std::string program_sha256;      // SHA-256 of the program that ran it; empty: an older build, or a merged run
  std::vector<RunSource> sources;  // for a merged run; empty: this run itself was run
  std::vector<std::string> changed_images;  // stacks whose image had other bytes at the end than its digest says
};

template <>
struct Description<RunSource> {
  static constexpr About about = About::part("run_source", "A run that a merged run was made of.");
  static void fields(auto& field, RunSource& source) {
    field("run_id", source.run_id);
    field("host", source.host, "Its label, as in plan.json.");
    field("started_utc", source.started_utc);
    field("ended_utc", source.ended_utc);
    field("duration_ns", source.duration_ns, rule::at_least(0));
    field("interrupted", source.interrupted);
  }
};

// The fields in run.json and verdict.json; run.json adds the document head.
template <>
struct Description<RunInfo> {
  static constexpr About about = About::part("run_info", "As in run.json.");
  static void fields(auto& field, RunInfo& info) {
    field("run_id", info.run_id, rule::not_empty);
    field("matrix_digest", info.matrix_digest, "SHA-256 of the matrix text.");
    field("command_line", info.command_line);
    field("started_utc", info.started_utc, "ISO 8601; for people, never for durations.");
    field("ended_utc", info.ended_utc, "Empty while running.");
    field("duration_ns", info.duration_ns, rule::at_least(0));
    field("interrupted", info.interrupted);
    field.optional("terminated", info.terminated, "Interrupted by TERM or HUP, not by Ctrl-C.");
    field("reprobench_version", info.reprobench_version);
    field.optional("program_sha256", info.program_sha256,
                   rule::hex(64).says("Of the program that ran it; absent: an older one, or a merged run."));
    field.optional("sources", info.sources, rule::not_empty_list.says("Of a merged run."));
    field.optional("changed_images", info.changed_images,
                   rule::not_empty_list.says("Stacks whose image had other bytes at the end than its digest says."));
  }
};

nlohmann::json to_json(const RunInfo& info);

}  // namespace reprobench
