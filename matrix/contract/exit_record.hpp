// exit.json: the shepherd's account of how the worker ended. The shepherd writes it whatever happens to the worker. If
// it is missing, shepherd or machine died and the attempt is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"

namespace reprobench {

enum class StoppedBy { nobody, runner, runner_death };
template <>
struct Words<StoppedBy> {
  static constexpr std::array<std::string_view, 3> table = {"nobody", "runner", "runner_death"};
};

struct ExitRecord {
  std::string nonce;
  int rank = 0;
  std::optional<int> exit_code;  // exactly one of exit_code and signal is set once the worker was started
  std::optional<int> signal;
  std::string launch_error;  // exec failed: errno text; empty otherwise
  StoppedBy stopped_by = StoppedBy::nobody;
  int leaked_processes = 0;        // processes alive after the worker ended; killed by the shepherd
  std::int64_t duration_ns = 0;    // CLOCK_MONOTONIC, fork to reap
  std::int64_t max_rss_bytes = 0;  // largest process of the tree
  std::int64_t user_ns = 0;
  std::int64_t system_ns = 0;
  std::int64_t stdout_bytes = 0;  // written by the worker; the log file keeps head and tail up to its cap
  std::int64_t stderr_bytes = 0;
};

template <>
struct Description<ExitRecord> {
  static constexpr About about = About::document("exit", "exit.json: the shepherd's account of how the worker ended");
  static void fields(auto& field, ExitRecord& exit) {
    field("nonce", exit.nonce, rule::not_empty);
    field("rank", exit.rank, rule::at_least(0).says("Which of the attempt's processes, from 0."));
    field("exit_code", exit.exit_code);
    field("signal", exit.signal);
    field("launch_error", exit.launch_error);
    field("stopped_by", exit.stopped_by);
    field("leaked_processes", exit.leaked_processes, rule::at_least(0));
    field("duration_ns", exit.duration_ns, rule::at_least(0));
    field("max_rss_bytes", exit.max_rss_bytes, rule::at_least(0));
    field("user_ns", exit.user_ns, rule::at_least(0));
    field("system_ns", exit.system_ns, rule::at_least(0));
    field("stdout_bytes", exit.stdout_bytes, rule::at_least(0));
    field("stderr_bytes", exit.stderr_bytes, rule::at_least(0));
  }
};

nlohmann::json to_json(const ExitRecord& record);

// Throws ContractError naming the field.
ExitRecord exit_record_from_json(const nlohmann::json& json);

}  // namespace reprobench
