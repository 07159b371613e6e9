#include <csignal>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "matrix/record/plain_file.hpp"
#include "matrix/record/run_record.hpp"
#include "matrix/record/trace_reader.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kLargestExitRecordBytes = 64 << 10;
constexpr std::int64_t kLargestResultBytes = 16 << 20;
constexpr std::int64_t kTailBytes = 4 << 10;
constexpr std::size_t kLongestQuoteBytes = 200;

// A document of the attempt: its value, or what is wrong with it.
template <class Document>
struct Loaded {
  std::optional<Document> value;
  std::string problem;  // "result.json: missing"
};

template <class Document>
Loaded<Document> load_document(const fs::path& path, std::int64_t limit_bytes, Document (*from_json)(const json&)) {
  const std::string name = path.filename().string() + ": ";
  const auto content = read_plain_file(path, limit_bytes);
  if (const auto* problem = std::get_if<FileProblem>(&content)) return {std::nullopt, name + problem->text};
  const auto& text = std::get<std::string>(content);
  const json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return {std::nullopt, name + fmt::format("not JSON ({} bytes)", text.size())};
  try {
    return {from_json(parsed), ""};
  } catch (const std::exception& error) {
    return {std::nullopt, name + error.what()};
  }
}

template <class Document>
std::string echo_problem(const char* name, const Document& document, const CellRequest& request) {
  if (document.nonce == request.nonce) return "";
  return fmt::format("{}: nonce {} does not match expected {}", name, document.nonce, request.nonce);
}

// The last line of stderr that says something, for one sentence on a crash; control characters become `?`.
std::string last_words(const fs::path& folder) {
  std::string tail = read_tail(folder / "stderr.log", kTailBytes);
  const std::size_t end = tail.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  tail.resize(end + 1);
  std::string line = tail.substr(tail.find_last_of('\n') + 1).substr(0, kLongestQuoteBytes);
  for (char& c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) c = '?';
  }
  return line;
}

// "SIGSEGV; last step 17; stderr: terminate called ..."
std::string with_circumstances(std::string what, const AttemptRecord& record, const fs::path& folder) {
  if (record.trace && !record.trace->steps.empty()) what += fmt::format("; last step {}", record.trace->steps.size());
  const std::string words = last_words(folder);
  if (!words.empty()) what += "; stderr: " + words;
  return what;
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

// glibc's loader ends a program it cannot link with 127 or 1 and one of these, before main() could write anything.
bool loader_failed(const AttemptRecord& record, const std::string& words) {
  if (record.trace || (record.exit->exit_code != 127 && record.exit->exit_code != 1)) return false;
  return words.find("error while loading shared libraries") != std::string::npos ||
         words.find("symbol lookup error") != std::string::npos ||
         (words.find("version `") != std::string::npos && words.find("not found (required by") != std::string::npos);
}

struct Judgement {
  AttemptEnd end;
  std::string detail;
};

struct FailureEnd {
  std::string_view cause;
  AttemptEnd end;
};

// Causes that say more than that the worker caught something. A host without the GPU that the plan saw could not launch
// the cell; whoever took the GPU away, the stack did not.
constexpr FailureEnd kFailureEnds[] = {{"cuda_oom", AttemptEnd::cuda_oom},
                                       {"host_oom", AttemptEnd::host_oom},
                                       {"device_lost", AttemptEnd::gpu_hw},
                                       {"no_driver", AttemptEnd::launch},
                                       {"no_device", AttemptEnd::launch}};

AttemptEnd end_of_failure(const std::string& cause) {
  for (const FailureEnd& row : kFailureEnds) {
    if (row.cause == cause) return row.end;
  }
  return AttemptEnd::worker_error;
}

std::string describe(const WorkerFailure& failure) {
  const std::string where = failure.step > 0 ? fmt::format(" at step {}", failure.step) : "";
  return fmt::format("{}{}: {}", failure.cause, where, failure.detail);
}

// Ends that the shepherd's record decides alone, or nothing if the worker returned by itself.
std::optional<Judgement> judge_exit(const AttemptRecord& record, const fs::path& folder) {
  const ExitRecord& exit = *record.exit;
  if (!exit.launch_error.empty()) return Judgement{AttemptEnd::launch, exit.launch_error};
  if (exit.stopped_by == StoppedBy::runner_death) {
    return Judgement{AttemptEnd::lost, "the runner died while the worker ran"};
  }
  if (exit.stopped_by == StoppedBy::runner) {
    return Judgement{AttemptEnd::lost, "stopped by the runner, which died before it wrote down why"};
  }
  if (exit.signal) {
    std::string what = signal_name(*exit.signal);
    if (*exit.signal == SIGKILL) what += " that reprobench did not send (the kernel does so when memory runs out)";
    return Judgement{AttemptEnd::crash, with_circumstances(what, record, folder)};
  }
  if (!exit.exit_code) return Judgement{AttemptEnd::lost, "exit.json: neither exit code nor signal"};
  return std::nullopt;
}

Judgement judge_nonzero(const AttemptRecord& record, const fs::path& folder) {
  const std::string words = last_words(folder);
  if (loader_failed(record, words)) return {AttemptEnd::launch, words};
  return {AttemptEnd::nonzero,
          with_circumstances(fmt::format("exit code {}", *record.exit->exit_code), record, folder)};
}

// A probe's measurements stand in the trace as they arose and in the result; a training has none.
std::string measurement_gap(const CellResult& result, const Trace& trace, const CellRequest& request) {
  const auto texts = [](const std::vector<ProbeMeasurement>& measurements) {
    std::vector<std::string> lines;
    for (const ProbeMeasurement& measurement : measurements) lines.push_back(to_json(measurement).dump());
    return lines;
  };
  if (texts(result.measurements) != texts(trace.measurements)) {
    return fmt::format("result.json: its {} measurements are not the {} of the trace", result.measurements.size(),
                       trace.measurements.size());
  }
  if (request.workload.is_probe() == !trace.measurements.empty()) return "";
  return request.workload.is_probe() ? "trace.jsonl: the probe recorded no measurement"
                                     : "trace.jsonl: measurements of a probe in a training";
}

// What is missing from the positive proof of a finished run (reliability rule R5); empty: nothing.
std::string proof_gap(const CellResult& result, const Trace& trace, const CellRequest& request) {
  if (!trace.problem.empty()) return trace.problem;
  const auto steps = static_cast<std::int64_t>(trace.steps.size());
  const std::int64_t asked = last_step_of(request) - first_step_of(request) + 1;
  if (result.steps_completed != last_step_of(request)) {
    return fmt::format("result.json: steps_completed {} does not match the {} steps asked for", result.steps_completed,
                       last_step_of(request));
  }
  if (steps != asked) return fmt::format("trace.jsonl: {} steps, asked for {}", steps, asked);
  // Header, steps, tensor records and the final state, or a probe's measurements, are all the lines there are.
  const std::int64_t lines = 1 + steps + static_cast<std::int64_t>(trace.tensors.size() + trace.measurements.size());
  if (result.trace_lines != lines) {
    return fmt::format("trace.jsonl: {} lines, result.json counts {}", lines, result.trace_lines);
  }
  if (steps > 0 && result.chain != trace.steps.back().chain) {
    return fmt::format("result.json: chain {} does not match the trace's {}", result.chain, trace.steps.back().chain);
  }
  if (result.workload_digest != trace.header.workload_digest) {
    return fmt::format("result.json: workload_digest {} does not match the trace's {}", result.workload_digest,
                       trace.header.workload_digest);
  }
  if (trace.header.level != request.trace) return "trace.jsonl: recorded at another level than asked for";
  return measurement_gap(result, trace, request);
}

Judgement judge(const AttemptRecord& record, const fs::path& folder, const CellRequest& request,
                const std::string& exit_problem, const std::string& result_problem) {
  if (!record.exit) return {AttemptEnd::lost, exit_problem};
  if (auto decided = judge_exit(record, folder)) return *decided;
  if (record.result && record.result->failure) {
    return {end_of_failure(record.result->failure->cause), describe(*record.result->failure)};
  }
  if (*record.exit->exit_code != 0) return judge_nonzero(record, folder);
  if (!record.result) return {AttemptEnd::contract, result_problem};
  if (!record.trace) return {AttemptEnd::contract, "trace.jsonl: missing"};
  const std::string gap = proof_gap(*record.result, *record.trace, request);
  if (!gap.empty()) return {AttemptEnd::contract, gap};
  if (const int leaked = record.exit->leaked_processes; leaked > 0) {
    return {AttemptEnd::leaked, fmt::format("{} {} alive after the worker ended, and killed", leaked,
                                            leaked == 1 ? "process was" : "processes were")};
  }
  return {AttemptEnd::completed, "exit code 0"};
}

// A program that upset the GPU may end in any of these ways, or not notice at all.
bool may_hide_an_xid(AttemptEnd end) {
  return end == AttemptEnd::completed || end == AttemptEnd::nonzero || end == AttemptEnd::crash ||
         end == AttemptEnd::worker_error || end == AttemptEnd::contract;
}

// A device fault explains every end but the user's own; an error of the application class only one that nobody of us
// brought about, since killing a program on the GPU reports some of them too (reliability rule R12).
void blame_gpu(Judgement& judgement, const TelemetrySummary& telemetry, bool was_stopped) {
  const auto fault = worst_fault(telemetry);
  if (!fault) return;
  if (fault->is_device && side_of(judgement.end) != Side::user) {
    judgement = {AttemptEnd::gpu_hw, fault->sentence + "; " + judgement.detail};
  } else if (!fault->is_device && !was_stopped && may_hide_an_xid(judgement.end)) {
    judgement = {AttemptEnd::xid, fault->sentence + "; " + judgement.detail};
  } else {
    judgement.detail += "; " + fault->sentence;
  }
}

std::string describe_stop(AttemptEnd end, const AttemptRecord& record, const fs::path& folder) {
  switch (end) {
    case AttemptEnd::timeout:
      return with_circumstances("over the total time limit", record, folder);
    case AttemptEnd::hang:
      return with_circumstances("no heartbeat within the limit", record, folder);
    case AttemptEnd::interrupted:
      return with_circumstances("stopped by the user", record, folder);
    case AttemptEnd::store:
      return "the attempt's folder could not be written";
    case AttemptEnd::launch:
      return record.exit && !record.exit->launch_error.empty() ? record.exit->launch_error : "never started";
    default:
      return with_circumstances(std::string(to_string(end)), record, folder);
  }
}

}  // namespace

AttemptRecord load_attempt(const std::string& run_folder, const std::string& attempt_folder, const CellRequest& request,
                           std::optional<AttemptEnd> stopped_as) {
  const fs::path folder = fs::path(run_folder) / attempt_folder;
  AttemptRecord record;
  record.repeat = request.repeat;
  record.attempt = request.attempt;
  record.nonce = request.nonce;
  record.folder = attempt_folder;

  auto exit = load_document(folder / "exit.json", kLargestExitRecordBytes, &exit_record_from_json);
  if (exit.value) exit.problem = echo_problem("exit.json", *exit.value, request);
  if (exit.problem.empty()) record.exit = std::move(exit.value);

  auto result = load_document(folder / "result.json", kLargestResultBytes, &result_from_json);
  if (result.value && result.value->cell_id != name_without_host(request.cell_id)) {
    result.problem =
        fmt::format("result.json: cell_id {} does not match expected {}", result.value->cell_id, request.cell_id);
  } else if (result.value) {
    result.problem = echo_problem("result.json", *result.value, request);
  }
  if (result.problem.empty()) record.result = std::move(result.value);

  Trace trace = read_trace(folder / "trace.jsonl", request.cell_id, request.nonce, first_step_of(request));
  if (trace.problem != "trace.jsonl: missing") record.trace = std::move(trace);

  if (const auto telemetry = read_telemetry(folder / "telemetry.jsonl", request.nonce)) {
    record.telemetry = summarise_telemetry(*telemetry, record.trace ? &*record.trace : nullptr);
  }

  Judgement judgement = stopped_as ? Judgement{*stopped_as, describe_stop(*stopped_as, record, folder)}
                                   : judge(record, folder, request, exit.problem, result.problem);
  if (record.telemetry) blame_gpu(judgement, *record.telemetry, stopped_as.has_value());
  record.end = judgement.end;
  record.detail = std::move(judgement.detail);
  return record;
}

}  // namespace reprobench
