#include "suites/fake_worker/attempt.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "matrix/base/write_fully.hpp"
#include "matrix/contract/recent_tensors.hpp"
#include "matrix/contract/turn_wait.hpp"
#include "suites/fake_worker/fake_gpu.hpp"
#include "suites/fake_worker/rank_wait.hpp"
#include "suites/fake_worker/synthetic_checkpoint.hpp"
#include "suites/fake_worker/synthetic_probe.hpp"
#include "suites/fake_worker/synthetic_training.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

void write_all(int fd, std::string_view bytes) {
  if (const int error = write_fully(fd, bytes)) throw std::system_error(error, std::generic_category(), "write");
}

class TraceWriter {
 public:
  TraceWriter(const fs::path& path, const Behaviour& behaviour) : folder_(path.parent_path()), behaviour_(behaviour) {
    fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), path.string());
  }
  ~TraceWriter() { close(fd_); }
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void append(const nlohmann::json& body) {
    std::string line = trace_line(body, lines_++);
    const bool is_second = lines_ == 2;
    if (is_second && behaviour_.does("bad_crc")) line[line.size() / 2] ^= 1;
    write_all(fd_, line);
  }

  void cut(const nlohmann::json& body) {
    const std::string line = trace_line(body, lines_);
    write_all(fd_, line.substr(0, line.size() / 2));
  }

  void begin(const TraceHeader& header) {
    const nlohmann::json body = to_json(header);
    if (header.level == TraceLevel::recent) recent_.emplace(folder_, body);
    append(body);
  }

  void append_tensors(TensorsRecord tensors, bool is_kept) {
    if (!recent_ || is_kept) return append(to_json(tensors));
    recent_->add(std::move(tensors));
    recent_->write();
  }

  void lose_segments() {
    for (const std::string_view name : kRecentSegments) fs::remove(folder_ / name);
  }

  std::int64_t lines() const { return lines_; }

 private:
  fs::path folder_;
  const Behaviour& behaviour_;
  std::optional<RecentTensors> recent_;
  int fd_ = -1;
  std::int64_t lines_ = 0;
};

[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

void flood(double bytes) {
  const std::string block(64 << 10, 'x');
  for (double written = 0; written < bytes; written += static_cast<double>(block.size()))
    write_all(STDOUT_FILENO, block);
}

void before_training(const Behaviour& behaviour) {
  if (behaviour.does("close_stdout")) {
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
  }
  if (behaviour.does("ignore_term")) signal(SIGTERM, SIG_IGN);
  if (behaviour.does("flood")) flood(behaviour.value("flood", 1 << 20));
  if (behaviour.does("silent")) sleep_for_ever();
}

// What happens in the middle of the training; returns for those behaviours that nothing happens to.
void half_way(const Behaviour& behaviour, std::int64_t step) {
  if (behaviour.does("throw")) throw std::runtime_error("synthetic exception at step " + std::to_string(step));
  if (behaviour.does("exit")) {
    write_all(STDERR_FILENO, "leaving early\n");
    _exit(static_cast<int>(behaviour.value("exit", 3)));
  }
  if (behaviour.does("crash")) {
    write_all(STDERR_FILENO, "about to crash\n");
    // A sanitizer would turn the signal into its own report and exit code.
    const auto number = static_cast<int>(behaviour.value("crash", SIGSEGV));
    signal(number, SIG_DFL);
    raise(number);
  }
  if (behaviour.does("stop")) raise(SIGSTOP);
  if (behaviour.does("hang") || behaviour.does("ignore_term")) sleep_for_ever();
}

// Leaves a process behind that holds nothing of this one's.
void leave_child(bool in_own_session) {
  const pid_t child = fork();
  if (child != 0) return;
  if (in_own_session) {
    setsid();
    if (fork() != 0) _exit(0);
  }
  close(STDOUT_FILENO);
  close(STDERR_FILENO);
  sleep_for_ever();
}

void write_atomically(const fs::path& path, const std::string& text) {
  const fs::path temporary = path.string() + ".tmp";
  std::ofstream(temporary, std::ios::binary) << text;
  fs::rename(temporary, path);
}

void write_result(const fs::path& folder, const CellResult& result, const Behaviour& behaviour) {
  if (behaviour.does("no_result")) return;
  nlohmann::json document = to_json(result);
  if (behaviour.does("wrong_nonce")) document["nonce"] = "0000000000000000";
  if (behaviour.does("wrong_rank")) document["rank"] = result.rank + 1;
  if (behaviour.does("wrong_cell")) document["cell_id"] = "000000000000";
  if (behaviour.does("wrong_version")) document["version"]["major"] = 99;
  std::string text = document.dump(1);
  if (behaviour.does("partial_result")) text.resize(text.size() / 2);
  write_atomically(folder / "result.json", text);
}

StepImplementations synthetic_implementations(const Behaviour& behaviour) {
  StepImplementations step;
  const char* const code = behaviour.does("other_code") ? "synthetic other" : "synthetic";
  step.operations = {{"synthetic::layer", "(8,4)", "float32", code}};
  return step;
}

void train(const CellRequest& request, const Behaviour& behaviour, SyntheticTraining& training, TraceWriter& trace,
           CellResult& result, const fs::path& folder) {
  using std::chrono::milliseconds;
  const auto began = std::chrono::steady_clock::now();
  TraceHeader header{request.cell_id, request.nonce, training.workload_digest(), request.trace};
  header.rank = request.rank;
  header.monotonic_us = std::chrono::duration_cast<std::chrono::microseconds>(began.time_since_epoch()).count();
  header.torch = result.fingerprint.components.front().loaded;
  header.resumed = resume_synthetic(request, behaviour, training, result);
  trace.begin(header);
  TurnWait turns(request, folder);
  std::int64_t steps_ns = 0;
  // Of the training; of a process that goes on behind it, its first step.
  const std::int64_t middle = std::max(first_step_of(request), (request.workload.steps + 1) / 2);
  const std::int64_t last = behaviour.does("never_stop") ? request.workload.steps : last_step_of(request);
  for (std::int64_t step = first_step_of(request); step <= last || behaviour.does("trickle"); ++step) {
    turns.until_allowed(step, [&] {
      const auto until = std::chrono::steady_clock::now() + milliseconds(10);
      while (behaviour.does("busy_wait") && std::chrono::steady_clock::now() < until) continue;
      return false;
    });
    if (behaviour.does("trickle")) std::this_thread::sleep_for(milliseconds(20));
    if (digests_tensors(request.trace)) trace.append_tensors(training.tensors(), training.is_sketched(step));
    StepRecord record = training.advance();
    record.block = block_of(request, step);
    if (record.block && behaviour.does("wrong_block")) ++*record.block;
    record.ended_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count();
    trace.append(to_json(record));
    steps_ns += record.step_time_ns;
    result.steps_completed = step;
    if (behaviour.does("paced"))
      std::this_thread::sleep_for(milliseconds(static_cast<int>(behaviour.value("paced", 20))));
    if (step == middle) {
      upset_gpu(behaviour, request);
      half_way(behaviour, step);
    }
    if (behaviour.does("lockstep")) wait_for_ranks(request, folder, step);
  }
  if (request.turn_steps > 0) result.turns_wait = turns.waited();
  std::this_thread::sleep_until(began + std::chrono::nanoseconds(steps_ns));  // they are a part of its life
  calm_gpu(behaviour);
  write_synthetic_checkpoint(request, training, result);
  const nlohmann::json final_state = to_json(training.final_state());
  if (behaviour.does("truncated_trace")) {
    trace.cut(final_state);
  } else {
    trace.append(final_state);
  }
  if (behaviour.does("lost_segments")) trace.lose_segments();
  if (!request.replay) result.implementations = synthetic_implementations(behaviour);
}

void probe(const CellRequest& request, const Behaviour& behaviour, TraceWriter& trace, CellResult& result) {
  trace.append(
      to_json(TraceHeader{request.cell_id, request.nonce, result.workload_digest, request.trace, {}, request.rank}));
  for (ProbeMeasurement& measurement : synthetic_measurements(request, behaviour)) {
    trace.append(measurement_line(measurement));
    result.measurements.push_back(std::move(measurement));
    if (result.measurements.size() == 1) half_way(behaviour, 1);
  }
  trace.append(to_json(TensorsRecord{0, true, {}}));
}

}  // namespace

Fingerprint fake_fingerprint(const std::string& stack) {
  Fingerprint fingerprint;
  fingerprint.components = {{"torch", stack, stack, ""}};
  fingerprint.compiler = __VERSION__;
  fingerprint.cpu_model = "synthetic";
  fingerprint.cpu_capability = "DEFAULT";
  fingerprint.blas_provider = "none";
  return fingerprint;
}

// Shorter, together with all steps, than any process of this program lives. What is left is its time outside steps.
constexpr double kStartToFirstStep_ns = 1e6;

int run_attempt(const CellRequest& request, const Behaviour& behaviour, const fs::path& folder,
                const std::vector<MappedLibrary>& loaded) {
  before_training(behaviour);
  if (behaviour.does("early_child")) leave_child(/*in_own_session=*/false);
  if (behaviour.does("early_setsid_child")) leave_child(/*in_own_session=*/true);
  SyntheticTraining training(request, behaviour);
  TraceWriter trace(folder / "trace.jsonl", behaviour);
  CellResult result;
  result.cell_id = request.cell_id;
  result.nonce = request.nonce;
  result.rank = request.rank;
  result.knobs_resolved = request.knobs;
  result.fingerprint = fake_fingerprint(request.stack);
  result.fingerprint.libraries = loaded;
  result.workload_digest = training.workload_digest();
  result.peak_rss_bytes = training.peak_rss_bytes();
  result.peak_anonymous_bytes = training.peak_anonymous_bytes();
  result.start_to_first_step_ns =
      behaviour.does("drop_metric") ? 0 : std::llround(kStartToFirstStep_ns * behaviour.value("late_start", 1));
  try {
    if (request.workload.is_probe()) {
      result.workload_digest = synthetic_probe_digest(request);
      probe(request, behaviour, trace, result);
    } else {
      train(request, behaviour, training, trace, result, folder);
    }
  } catch (const std::exception& error) {
    result.failure = WorkerFailure{"exception", error.what(), result.steps_completed};
  }
  result.chain = training.chain();
  result.trace_lines = trace.lines();
  if (behaviour.does("leak")) leave_child(/*in_own_session=*/false);
  if (behaviour.does("setsid_child")) leave_child(/*in_own_session=*/true);
  write_result(folder, result, behaviour);
  return result.failure ? 1 : 0;
}

}  // namespace reprobench
