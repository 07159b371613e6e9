#include "matrix/evidence/attempt_end.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "matrix/contract/knob.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/evidence/trace_chain.hpp"

namespace reprobench {
namespace {

// "SIGSEGV; last step 17; stderr: terminate called ..."
std::string with_circumstances(std::string what, const RankFiles& files) {
  if (files.trace && !files.trace->steps.empty()) what += fmt::format("; last step {}", files.trace->steps.size());
  if (files.trace && !files.trace->recent_problem.empty()) what += "; " + files.trace->recent_problem;
  if (!files.last_words.empty()) what += "; stderr: " + files.last_words;
  return what;
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

// glibc's loader ends a program it cannot link with 127 or 1 and one of these, before main() could write anything.
bool loader_failed(const RankFiles& files) {
  const std::string& words = files.last_words;
  if (files.trace || (files.exit.value->exit_code != 127 && files.exit.value->exit_code != 1)) return false;
  return words.find("error while loading shared libraries") != std::string::npos ||
         words.find("symbol lookup error") != std::string::npos ||
         (words.find("version `") != std::string::npos && words.find("not found (required by") != std::string::npos);
}

struct FailureEnd {
  std::string_view cause;
  AttemptEnd end;
};

// Causes that say more than that the worker caught something. A port that another program took is that program's doing,
// and the next attempt gets another. A host without the GPU that the plan saw could not launch
// the cell; whoever took the GPU away, the stack did not.
constexpr FailureEnd kFailureEnds[] = {{"cuda_oom", AttemptEnd::cuda_oom},  {"host_oom", AttemptEnd::host_oom},
                                       {"device_lost", AttemptEnd::gpu_hw}, {"port_in_use", AttemptEnd::launch},
                                       {"no_driver", AttemptEnd::launch},   {"no_device", AttemptEnd::launch}};

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
std::optional<JudgedEnd> judge_exit(const RankFiles& files) {
  const ExitRecord& exit = *files.exit.value;
  if (!exit.launch_error.empty()) return JudgedEnd{AttemptEnd::launch, exit.launch_error};
  if (exit.stopped_by == StoppedBy::runner_death) {
    return JudgedEnd{AttemptEnd::lost, "the runner died while the worker ran"};
  }
  if (exit.stopped_by == StoppedBy::runner) {
    return JudgedEnd{AttemptEnd::lost, "stopped by the runner, which died before it wrote down why"};
  }
  if (exit.signal) {
    std::string what = signal_name(*exit.signal);
    if (*exit.signal == SIGXFSZ) {
      what += ": a file grew beyond what this host lets a process write (ulimit -f)";
      return JudgedEnd{AttemptEnd::store, with_circumstances(what, files)};
    }
    if (*exit.signal == SIGKILL) what += " that reprobench did not send (the kernel does so when memory runs out)";
    return JudgedEnd{AttemptEnd::crash, with_circumstances(what, files)};
  }
  if (!exit.exit_code) return JudgedEnd{AttemptEnd::lost, "exit.json: neither exit code nor signal"};
  return std::nullopt;
}

JudgedEnd judge_nonzero(const RankFiles& files) {
  if (loader_failed(files)) return {AttemptEnd::launch, files.last_words};
  return {AttemptEnd::nonzero, with_circumstances(fmt::format("exit code {}", *files.exit.value->exit_code), files)};
}

// What a probe was asked for and has no measurement of, whatever came of it. A call of a list stands in its place.
// Which operations a device's probe makes depends on the device; what ranks do together does not.
std::string unmeasured(const std::vector<ProbeMeasurement>& measurements, const WorkloadRequest& workload) {
  std::vector<std::string> calls;
  for (const ProbeMeasurement& measurement : measurements) {
    if (measurement.call) calls.push_back(measurement.labels.at("call"));
  }
  const auto [asked, made] = std::ranges::mismatch(workload.calls, calls);
  if (asked != workload.calls.end()) return *asked;
  if (made != calls.end()) return *made + ", which was not asked for";
  const ProbeInfo* probe = find_probe(workload.probe);
  if (probe == nullptr || !probe->of_ranks) return "";
  for (const ProbeOperation& operation : probe->operations) {
    if (std::ranges::find(measurements, operation.name, &ProbeMeasurement::operation) == measurements.end()) {
      return std::string(operation.name);
    }
  }
  return "";
}

// What a probe measured twice, or "". Ranks, repeats and stacks are compared by operation and labels, so a second
// measurement would be looked at by nobody, be it wrong.
std::string measured_twice(const std::vector<ProbeMeasurement>& measurements) {
  std::set<std::pair<std::string, decltype(ProbeMeasurement::labels)>> seen;
  for (const ProbeMeasurement& measurement : measurements) {
    if (!seen.emplace(measurement.operation, measurement.labels).second) return measurement.operation;
  }
  return "";
}

// What else than matrix products a training measured, or "" ; it is asked for nothing else.
std::string unasked(const std::vector<ProbeMeasurement>& measurements, const CellRequest& request) {
  for (const ProbeMeasurement& measurement : measurements) {
    if (!measures_gemm_peak(request) || measurement.operation != "gemm") return measurement.operation;
  }
  return "";
}

// Measurements stand in the trace as they arose and in the result. A probe has some; a training that was asked for
// matrix products and has none gets no share of them (verdict/metrics/compute_share.cpp).
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
  if (const std::string twice = measured_twice(trace.measurements); !twice.empty()) {
    return fmt::format("trace.jsonl: `{}` with the same labels is measured twice", twice);
  }
  if (!request.workload.is_probe()) {
    const std::string other = unasked(trace.measurements, request);
    return other.empty() ? "" : fmt::format("trace.jsonl: a measurement of `{}` in a training", other);
  }
  if (trace.measurements.empty()) return "trace.jsonl: the probe recorded no measurement";
  const std::string missing = unmeasured(trace.measurements, request.workload);
  return missing.empty() ? "" : fmt::format("trace.jsonl: no measurement in its place of {}", missing);
}

// A resident worker's steps say in which of its turns they were done.
std::string block_gap(const Trace& trace, const CellRequest& request) {
  const auto text = [](std::optional<std::int64_t> block) {
    return block ? fmt::format("block {}", *block) : "no block";
  };
  for (const StepRecord& step : trace.steps) {
    const auto asked = block_of(request, step.step);
    if (step.block == asked) continue;
    return fmt::format("trace.jsonl: step {} is of {}, asked for {}", step.step, text(step.block), text(asked));
  }
  return "";
}

// Without it nobody knows whether a resident left the cores to whoever had the turn. Nobody else waits.
std::string wait_gap(const CellResult& result, const CellRequest& request) {
  const bool takes_turns = request.turn_steps > 0;
  if (takes_turns == result.turns_wait.has_value()) return "";
  return takes_turns ? "result.json: it does not say how it waited for its turns"
                     : "result.json: it waited for turns that nobody asked for";
}

// Who does without a setting has the bits of who was not asked for it. A library may have another word for its own.
std::string setting_gap(const CellResult& result, const CellRequest& request) {
  if (request.workload.is_probe()) return "";
  const KnobValues asked = with_defaults(request.knobs);
  const KnobValues had = with_defaults(result.knobs_resolved);
  for (const Knob& knob : knobs()) {
    const std::string name(knob.name);
    if (knob.acts_by == ActsBy::library || had.at(name) == asked.at(name)) continue;
    return fmt::format("result.json: it trained with {}={}, asked for {}", name, had.at(name), asked.at(name));
  }
  return "";
}

// A step is its phases and nothing else, so that a time can be followed into them.
std::string phase_gap(const Trace& trace) {
  for (const StepRecord& step : trace.steps) {
    const PhaseTimes& phases = step.phases;
    const std::int64_t sum_ns =
        phases.data_ns + phases.forward_ns + phases.backward_ns + phases.comm_ns + phases.optimizer_ns;
    if (sum_ns == step.step_time_ns) continue;
    return fmt::format("trace.jsonl: the phases of step {} add up to {} ns, the step took {}", step.step, sum_ns,
                       step.step_time_ns);
  }
  return "";
}

// Steps are parts of the life of their process, by the shepherd's clock. A GPU times its steps by a clock of its own,
// which may differ by a thousandth.
std::string lifetime_gap(const ExitRecord& exit, const Trace& trace) {
  std::int64_t steps_ns = 0;
  for (const StepRecord& step : trace.steps) steps_ns += step.step_time_ns;
  if (steps_ns <= exit.duration_ns + exit.duration_ns / 1000) return "";
  return fmt::format("exit.json: the process lived {} ns, and its {} steps took {} ns", exit.duration_ns,
                     trace.steps.size(), steps_ns);
}

// Worker and shepherd read one counter of the kernel, whose readers may miss what CPUs have not handed in yet: on each
// at most as many pages as twice the CPUs, 128 MiB in all on 128 of them.
constexpr std::int64_t kNotHandedIn_bytes = std::int64_t{128} << 20;
constexpr double kNotHandedIn_rel = 0.05;  // on a host with more CPUs, whose programs are larger

// A kernel that keeps no account of a process's memory says 0, and contradicts nobody.
std::string memory_gap(const ExitRecord& exit, const CellResult& result, const Trace& trace) {
  std::int64_t said_bytes = std::max(result.peak_rss_bytes, result.peak_anonymous_bytes);
  for (const StepRecord& step : trace.steps) said_bytes = std::max({said_bytes, step.rss_bytes, step.anonymous_bytes});
  const std::int64_t missed_bytes = std::max(
      kNotHandedIn_bytes, static_cast<std::int64_t>(kNotHandedIn_rel * static_cast<double>(exit.max_rss_bytes)));
  if (exit.max_rss_bytes == 0) return "";
  if (said_bytes <= exit.max_rss_bytes + missed_bytes) return "";
  return fmt::format("result.json: a resident set of {} bytes, and the kernel saw no more than {}", said_bytes,
                     exit.max_rss_bytes);
}

// What is missing from the positive proof of a finished run (reliability rule R5); empty: nothing.
std::string proof_gap(const ExitRecord& exit, const CellResult& result, const Trace& trace,
                      const CellRequest& request) {
  if (!trace.problem.empty()) return trace.problem;
  const auto steps = static_cast<std::int64_t>(trace.steps.size());
  const std::int64_t asked = last_step_of(request) - first_step_of(request) + 1;
  if (result.steps_completed != last_step_of(request)) {
    return fmt::format("result.json: steps_completed {} does not match the {} steps asked for", result.steps_completed,
                       last_step_of(request));
  }
  if (steps != asked) return fmt::format("trace.jsonl: {} steps, asked for {}", steps, asked);
  // Header, steps, tensor records and the final state, or a probe's measurements and their progress, are all the lines
  // there are. What segments hold is beside them.
  const std::int64_t lines = 1 + steps + static_cast<std::int64_t>(trace.tensors.size() + trace.measurements.size()) -
                             trace.recent_tensors + trace.progress_lines;
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
  for (const std::string& gap :
       {setting_gap(result, request), chain_gap(trace, request), block_gap(trace, request), wait_gap(result, request),
        phase_gap(trace), lifetime_gap(exit, trace), memory_gap(exit, result, trace)}) {
    if (!gap.empty()) return gap;
  }
  return measurement_gap(result, trace, request);
}

}  // namespace

JudgedEnd judge_rank(const RankFiles& files, const CellRequest& request) {
  if (!files.exit.value) return {AttemptEnd::lost, files.exit.problem};
  if (auto decided = judge_exit(files)) return *decided;
  if (files.result.value && files.result.value->failure) {
    return {end_of_failure(files.result.value->failure->cause), describe(*files.result.value->failure)};
  }
  if (*files.exit.value->exit_code != 0) return judge_nonzero(files);
  if (!files.result.value) return {AttemptEnd::contract, files.result.problem};
  if (!files.trace) return {AttemptEnd::contract, "trace.jsonl: missing"};
  const std::string gap = proof_gap(*files.exit.value, *files.result.value, *files.trace, request);
  if (!gap.empty()) return {AttemptEnd::contract, gap};
  if (const int leaked = files.exit.value->leaked_processes; leaked > 0) {
    return {AttemptEnd::leaked, fmt::format("{} {} alive after the worker ended, and killed", leaked,
                                            leaked == 1 ? "process was" : "processes were")};
  }
  return {AttemptEnd::completed, "exit code 0"};
}

std::string describe_stop(AttemptEnd end, const RankFiles& files) {
  switch (end) {
    case AttemptEnd::timeout:
      return with_circumstances("over the total time limit", files);
    case AttemptEnd::hang:
      return with_circumstances("no heartbeat within the limit", files);
    case AttemptEnd::interrupted:
      return with_circumstances("stopped by the user", files);
    case AttemptEnd::store:
      return "the attempt's folder could not be written";
    case AttemptEnd::launch:
      return files.exit.value && !files.exit.value->launch_error.empty() ? files.exit.value->launch_error
                                                                         : "never started";
    default:
      return with_circumstances(std::string(to_string(end)), files);
  }
}

}  // namespace reprobench
