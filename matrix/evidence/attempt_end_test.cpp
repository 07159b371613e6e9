#include "matrix/evidence/attempt_end.hpp"

#include <csignal>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/evidence/attempt_folder.hpp"

namespace reprobench {
namespace {

TEST_CASE("an attempt with all its proof is completed", "[evidence]") {
  AttemptFolder scene;
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == AttemptEnd::completed);
  CHECK(attempt.lead().exit);
  CHECK(attempt.lead().result);
  REQUIRE(attempt.lead().trace);
  CHECK(attempt.lead().trace->steps.size() == 3);
}

TEST_CASE("each missing piece of proof keeps an attempt from being completed", "[evidence]") {
  AttemptFolder scene;
  std::string expected;
  SECTION("steps_completed") {
    scene.sample.result.steps_completed = 2;
    expected = "result.json: steps_completed 2 does not match the 3 steps asked for";
  }
  SECTION("request asked for more") {
    scene.sample.request.workload.steps = 4;
    scene.sample.result.steps_completed = 4;
    expected = "trace.jsonl: 3 steps, asked for 4";
  }
  SECTION("chain") {
    const std::string last_chain = scene.sample.result.chain;
    scene.sample.result.chain = std::string(32, 'c');
    expected = "result.json: chain cccccccccccccccccccccccccccccccc does not match the trace's " + last_chain;
  }
  SECTION("trace lines") {
    scene.sample.result.trace_lines = 6;
    expected = "trace.jsonl: 5 lines, result.json counts 6";
  }
  SECTION("workload digest") {
    scene.sample.result.workload_digest = std::string(32, 'd');
    expected =
        "result.json: workload_digest dddddddddddddddddddddddddddddddd does not match the trace's "
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  }
  SECTION("trace level") {
    scene.sample.request.trace = TraceLevel::tensor;
    expected = "trace.jsonl: recorded at another level than asked for";
  }
  SECTION("cell id") {
    scene.sample.result.cell_id = "9f3c";
    expected = "result.json: cell_id 9f3c does not match expected 3f9c1e0a7b52";
  }
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == AttemptEnd::contract);
  CHECK(attempt.detail == expected);
}

TEST_CASE("a step's chain follows from the link before, its root and its loss", "[evidence]") {
  AttemptFolder scene;
  nlohmann::json& second = scene.sample.lines.at(2);
  std::string expected = "trace.jsonl: the chain of step 2 does not follow from its root and loss";
  SECTION("another loss") { second["loss"] = exact_float(0.5f); }
  SECTION("another root") { second["root"] = std::string(32, 'e'); }
  SECTION("another chain") { second["chain"] = std::string(32, 'e'); }
  SECTION("a first step that begins at another workload") {
    scene.sample.lines.at(0)["workload_digest"] = scene.sample.result.workload_digest = std::string(32, 'd');
    expected = "trace.jsonl: the chain of step 1 does not follow from its root and loss";
  }
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == AttemptEnd::contract);
  CHECK(attempt.detail == expected);
}

TEST_CASE("a training that did without a setting that it was asked for breaks the contract", "[evidence]") {
  AttemptFolder scene;
  scene.sample.request.knobs["offload"] = "optimizer";
  scene.sample.request.knobs["loader_threads"] = "2";
  KnobValues& had = scene.sample.result.knobs_resolved;
  had = scene.sample.request.knobs;
  CHECK(scene.load().end == AttemptEnd::completed);
  std::string expected;
  SECTION("another") {
    had["offload"] = "none";
    expected = "result.json: it trained with offload=none, asked for optimizer";
  }
  SECTION("not told") {
    had.erase("loader_threads");
    expected = "result.json: it trained with loader_threads=0, asked for 2";
  }
  SECTION("nobody asked") {
    had["zero_stage"] = "1";
    expected = "result.json: it trained with zero_stage=1, asked for 0";
  }
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == AttemptEnd::contract);
  CHECK(attempt.detail == expected);
}

TEST_CASE("what a library made of its setting is its own word", "[evidence]") {
  AttemptFolder scene;
  scene.sample.request.knobs["cpu_isa"] = "avx512";
  scene.sample.result.knobs_resolved["cpu_isa"] = "avx2";
  CHECK(scene.load().end == AttemptEnd::completed);
}

TEST_CASE("a step is its phases and nothing else, so that no time is hidden between them", "[evidence]") {
  AttemptFolder scene;
  nlohmann::json& second = scene.sample.lines.at(2);
  const auto step_time_ns = second.at("step_time_ns").get<std::int64_t>();
  const char* phase = GENERATE("data_ns", "forward_ns", "backward_ns", "optimizer_ns");
  second["phases"][phase] = second["phases"][phase].get<std::int64_t>() + 1;
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == AttemptEnd::contract);
  CHECK(attempt.detail == fmt::format("trace.jsonl: the phases of step 2 add up to {} ns, the step took {}",
                                      step_time_ns + 1, step_time_ns));
  second["phases"]["comm_ns"] = 5;
  second["step_time_ns"] = step_time_ns + 6;
  CHECK(scene.load().end == AttemptEnd::completed);
}

TEST_CASE("a resident names the turn of each step, and says how it waited", "[evidence]") {
  AttemptFolder scene;  // three steps
  scene.sample.request.turn_steps = 2;
  for (const int step : {1, 2, 3}) scene.sample.lines.at(step)["block"] = (step - 1) / 2;
  CHECK(scene.load().detail == "result.json: it does not say how it waited for its turns");
  scene.sample.result.turns_wait = TurnsWait{5, 1};
  CHECK(scene.load().end == AttemptEnd::completed);
  scene.sample.lines.at(3)["block"] = 0;
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == AttemptEnd::contract);
  CHECK(attempt.detail == "trace.jsonl: step 3 is of block 0, asked for block 1");
  scene.sample.request.turn_steps = 0;
  for (const int step : {1, 2, 3}) scene.sample.lines.at(step).erase("block");
  CHECK(scene.load().detail == "result.json: it waited for turns that nobody asked for");
}

TEST_CASE("steps that took longer than their process lived break the contract", "[evidence]") {
  AttemptFolder scene;  // three steps of 1000 ns
  for (const std::int64_t duration_ns : {2'998, 3'000, 2'990}) {
    scene.sample.exit.duration_ns = duration_ns;
    const AttemptRecord attempt = scene.load();
    CHECK((attempt.end == AttemptEnd::completed) == (duration_ns > 2'990));
    if (attempt.end == AttemptEnd::completed) continue;
    CHECK(attempt.end == AttemptEnd::contract);
    CHECK(attempt.detail == "exit.json: the process lived 2990 ns, and its 3 steps took 3000 ns");
  }
}

TEST_CASE("memory that the kernel never saw breaks the contract, wherever the worker claims it", "[evidence]") {
  constexpr std::int64_t kMebibyte = 1 << 20;
  AttemptFolder scene;
  const auto end_with = [&](std::int64_t seen_bytes, std::int64_t said_bytes) {
    scene.sample.exit.max_rss_bytes = seen_bytes;
    scene.sample.result.peak_rss_bytes = said_bytes;
    return scene.load().end;
  };
  CHECK(end_with(100 * kMebibyte, 228 * kMebibyte) == AttemptEnd::completed);
  CHECK(end_with(100 * kMebibyte, 229 * kMebibyte) == AttemptEnd::contract);
  CHECK(scene.load().detail ==
        "result.json: a resident set of 240123904 bytes, and the kernel saw no more than 104857600");
  CHECK(end_with(20'000 * kMebibyte, 20'999 * kMebibyte) == AttemptEnd::completed);
  CHECK(end_with(20'000 * kMebibyte, 21'001 * kMebibyte) == AttemptEnd::contract);
  CHECK(end_with(0, 229 * kMebibyte) == AttemptEnd::completed);
  CHECK(end_with(100 * kMebibyte, 0) == AttemptEnd::completed);
  SECTION("anonymous") { scene.sample.result.peak_anonymous_bytes = 300 * kMebibyte; }
  SECTION("in a step") { scene.sample.lines.at(2)["rss_bytes"] = 300 * kMebibyte; }
  SECTION("anonymous in a step") { scene.sample.lines.at(2)["anonymous_bytes"] = 300 * kMebibyte; }
  CHECK(scene.load().end == AttemptEnd::contract);
}

TEST_CASE("a replay's first step goes on from a chain that only its state knows", "[evidence]") {
  AttemptFolder scene;
  scene.sample.request.replay.emplace();
  scene.sample.request.replay->from_state = "/state.safetensors";
  scene.sample.request.replay->last_step = 3;
  scene.sample.lines.at(0)["workload_digest"] = scene.sample.result.workload_digest = std::string(32, 'd');
  CHECK(scene.load().detail == "exit code 0");
  scene.sample.lines.at(2)["loss"] = exact_float(0.5f);
  CHECK(scene.load().detail == "trace.jsonl: the chain of step 2 does not follow from its root and loss");
}

TEST_CASE("a result or a trace in which a key stands twice is refused", "[evidence]") {
  AttemptFolder scene;
  scene.load();
  const std::filesystem::path folder = scene.folder.path / "a" / "rank-0";
  SECTION("result") {
    std::string text = read_file(folder / "result.json");
    text.insert(1, "\"steps_completed\":2,");
    std::ofstream(folder / "result.json") << text;
    CHECK(scene.load_again().detail ==
          fmt::format("result.json: `steps_completed` stands twice in one object ({} bytes)", text.size()));
  }
  SECTION("trace") {
    std::string line = trace_line(scene.sample.lines.at(1), 1);
    line.resize(line.rfind(",\"crc32c\""));
    line.insert(1, "\"step_time_ns\":5,");
    const std::string checksum = hex32(crc32c(line));
    std::ofstream(folder / "trace.jsonl")
        << trace_line(scene.sample.lines.at(0), 0) << line + ",\"crc32c\":\"" + checksum + "\"}\n";
    CHECK(scene.load_again().detail ==
          "trace.jsonl:2: `step_time_ns` stands twice in one object; 1 complete lines kept");
  }
  CHECK(scene.load_again().end == AttemptEnd::contract);
}

TEST_CASE("where tensors are on record, a step's root follows from them", "[evidence]") {
  AttemptFolder scene;
  scene.sample.record_tensors();
  CHECK(scene.load().detail == "exit code 0");
  std::string expected = "trace.jsonl: the root of step 2 does not follow from its tensors";
  nlohmann::json& weight = scene.sample.lines.at(3)["tensors"][0];
  SECTION("another digest") { weight["digest"] = std::string(32, 'd'); }
  SECTION("another name") { weight["name"] = "v"; }
  SECTION("another role") { weight["role"] = "buffer"; }
  SECTION("no tensors of one step") {
    scene.sample.lines.erase(scene.sample.lines.begin() + 3);
    scene.sample.result.trace_lines -= 1;
    expected = "trace.jsonl: the tensors of step 2 are missing";
  }
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == AttemptEnd::contract);
  CHECK(attempt.detail == expected);
}

TEST_CASE("at level `recent` roots follow from what is on record, in the trace or in a segment", "[evidence]") {
  AttemptFolder scene;
  scene.sample.record_tensors(TraceLevel::recent);
  CHECK(scene.load().detail == "exit code 0");
  // A last step that is not the workload's, as of a process that is to be resumed, stands in a segment.
  std::vector<nlohmann::json> segment{scene.sample.lines.at(0), scene.sample.lines.at(5)};
  scene.sample.lines.erase(scene.sample.lines.begin() + 5);
  const auto write_segment = [&] {
    std::filesystem::create_directories(scene.folder.path / "a" / "rank-0");
    std::ofstream file(scene.folder.path / "a" / "rank-0" / "recent-1.jsonl");
    for (std::size_t i = 0; i < segment.size(); ++i) file << trace_line(segment[i], static_cast<std::int64_t>(i));
  };
  write_segment();
  CHECK(scene.load().detail == "trace.jsonl: 7 lines, result.json counts 8");
  scene.sample.result.trace_lines = 7;
  const AttemptRecord good = scene.load();
  CHECK(good.detail == "exit code 0");
  CHECK(good.lead().trace->recent_tensors == 1);
  CHECK(good.lead().trace->tensors.size() == 4);
  std::string expected = "trace.jsonl: the root of step 3 does not follow from its tensors";
  SECTION("another digest") { segment[1]["tensors"][0]["digest"] = std::string(32, 'd'); }
  SECTION("no segment") {
    segment.clear();
    expected = "recent-1.jsonl: empty";
  }
  SECTION("a segment of another attempt") {
    segment[0]["nonce"] = "ffffffffffffffff";
    expected =
        "recent-1.jsonl:1: nonce ffffffffffffffff does not match trace.jsonl's 0123456789abcdef; 0 complete lines kept";
  }
  SECTION("no tensors of the step") {
    segment.pop_back();
    expected = "trace.jsonl: the tensors of step 3 are on record nowhere";
  }
  SECTION("no tensors of a log-spaced step") {
    scene.sample.lines.erase(scene.sample.lines.begin() + 1);
    scene.sample.result.trace_lines = 6;
    expected = "trace.jsonl: the tensors of step 1 are on record nowhere";
  }
  write_segment();
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == AttemptEnd::contract);
  CHECK(attempt.detail == expected);
}

TEST_CASE("a crash says what is wrong with the tensors of its last steps", "[evidence]") {
  AttemptFolder scene;
  scene.sample.record_tensors(TraceLevel::recent);
  scene.sample.exit.exit_code.reset();
  scene.sample.exit.signal = SIGSEGV;
  CHECK(scene.load().detail == "SIGSEGV; last step 3");
  scene.sample.lines.erase(scene.sample.lines.begin() + 5, scene.sample.lines.end() - 2);
  scene.sample.lines.pop_back();
  CHECK(scene.load().detail == "SIGSEGV; last step 3; trace.jsonl: the tensors of step 3 are on record nowhere");
}

TEST_CASE("without a valid exit record of this attempt it is lost", "[evidence]") {
  AttemptFolder scene;
  scene.load();
  std::filesystem::remove(scene.folder.path / "a" / "rank-0" / "exit.json");
  CHECK(scene.load_again().end == AttemptEnd::lost);
  std::ofstream(scene.folder.path / "a" / "rank-0" / "exit.json") << "";
  CHECK(scene.load_again().end == AttemptEnd::lost);
  scene.sample.exit.nonce = "ffffffffffffffff";
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == AttemptEnd::lost);
  CHECK(attempt.detail == "exit.json: nonce ffffffffffffffff does not match expected 0123456789abcdef");
}

TEST_CASE("an attempt that we stopped is never completed, whatever it wrote", "[evidence]") {
  AttemptFolder scene;
  scene.sample.exit.stopped_by = StoppedBy::runner;
  CHECK(scene.load().end == AttemptEnd::lost);
  scene.sample.exit.stopped_by = StoppedBy::runner_death;
  CHECK(scene.load().end == AttemptEnd::lost);
  scene.sample.exit.stopped_by = StoppedBy::nobody;
  CHECK(scene.load(AttemptEnd::timeout).end == AttemptEnd::timeout);
  CHECK(scene.load(AttemptEnd::interrupted).detail == "stopped by the user; last step 3");
}

TEST_CASE("a leaked process spoils an otherwise complete attempt", "[evidence]") {
  AttemptFolder scene;
  scene.sample.exit.leaked_processes = 2;
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == AttemptEnd::leaked);
  CHECK(attempt.detail == "2 processes were alive after the worker ended, and killed");
  scene.sample.exit.leaked_processes = 1;
  CHECK(scene.load().detail == "1 process was alive after the worker ended, and killed");
}

TEST_CASE("a worker's own account of its failure decides its class", "[evidence]") {
  const auto [cause, end] = GENERATE(table<std::string, AttemptEnd>({{"exception", AttemptEnd::worker_error},
                                                                     {"non_finite_loss", AttemptEnd::worker_error},
                                                                     {"cuda_oom", AttemptEnd::cuda_oom},
                                                                     {"illegal_address", AttemptEnd::worker_error},
                                                                     {"no_kernel_image", AttemptEnd::worker_error},
                                                                     {"device_lost", AttemptEnd::gpu_hw},
                                                                     {"no_driver", AttemptEnd::launch},
                                                                     {"port_in_use", AttemptEnd::launch},
                                                                     {"no_device", AttemptEnd::launch},
                                                                     {"host_oom", AttemptEnd::host_oom}}));
  const auto exit_code = GENERATE(0, 1);
  AttemptFolder scene;
  scene.sample.exit.exit_code = exit_code;
  scene.sample.result.failure = WorkerFailure{cause, "it went wrong", 2};
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == end);
  CHECK(attempt.detail == cause + " at step 2: it went wrong");
}

TEST_CASE("a signal decides, though a whole result may be there", "[evidence]") {
  AttemptFolder scene;
  scene.sample.exit.exit_code.reset();
  scene.sample.exit.signal = SIGSEGV;
  std::filesystem::create_directories(scene.folder.path / "a" / "rank-0");
  std::ofstream(scene.folder.path / "a" / "rank-0" / "stderr.log") << "first\nlast \x1b[31mwords\n\n";
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == AttemptEnd::crash);
  CHECK(attempt.detail == "SIGSEGV; last step 3; stderr: last ?[31mwords");
}

// What stands on stderr last decides only where the worker never began to write.
TEST_CASE("a program that its loader could not link never started, and no other exit code says so", "[evidence]") {
  const auto ends = [](int code, const std::string& words, bool has_trace = false) {
    AttemptFolder scene;
    scene.sample.exit.exit_code = code;
    scene.load();
    if (!has_trace) std::filesystem::remove(scene.folder.path / "a" / "rank-0" / "trace.jsonl");
    std::ofstream(scene.folder.path / "a" / "rank-0" / "stderr.log") << words << "\n";
    return scene.load_again();
  };
  const std::string missing = "w: error while loading shared libraries: libc10.so: cannot open shared object file";
  const std::string symbol = "w: symbol lookup error: w: undefined symbol: _ZN3c105ErrorE";
  const std::string version = "w: /lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by w)";
  for (const std::string& words : {missing, symbol, version}) {
    INFO(words);
    for (const int code : {127, 1}) {
      CHECK(ends(code, words).end == AttemptEnd::launch);
      CHECK(ends(code, words).detail == words);
    }
    CHECK(ends(2, words).end == AttemptEnd::nonzero);
    CHECK(ends(2, words).detail == "exit code 2; stderr: " + words);
    CHECK(ends(127, words, true).end == AttemptEnd::nonzero);
  }
  for (const char* other : {"version `GLIBCXX_3.4.32' is here", "file not found (required by w)", "no such command"}) {
    INFO(other);
    CHECK(ends(127, other).end == AttemptEnd::nonzero);
  }
}

TEST_CASE("an exit that the shepherd decides is told by its record alone", "[evidence]") {
  struct Row {
    std::string launch_error;
    StoppedBy stopped_by;
    std::optional<int> code;
    std::optional<int> signal;
    AttemptEnd end;
    std::string detail;
  };
  const auto row = GENERATE(values<Row>({
      {"no such program", StoppedBy::nobody, {}, {}, AttemptEnd::launch, "no such program"},
      {"", StoppedBy::runner_death, 0, {}, AttemptEnd::lost, "the runner died while the worker ran"},
      {"", StoppedBy::runner, 0, {}, AttemptEnd::lost, "stopped by the runner, which died before it wrote down why"},
      {"",
       StoppedBy::nobody,
       {},
       SIGXFSZ,
       AttemptEnd::store,
       "SIGXFSZ: a file grew beyond what this host lets a process write (ulimit -f); last step 3"},
      {"",
       StoppedBy::nobody,
       {},
       SIGKILL,
       AttemptEnd::crash,
       "SIGKILL that reprobench did not send (the kernel does so when memory runs out); last step 3"},
      {"", StoppedBy::nobody, {}, SIGABRT, AttemptEnd::crash, "SIGABRT; last step 3"},
      {"", StoppedBy::nobody, {}, 40, AttemptEnd::crash, "signal 40; last step 3"},
      {"", StoppedBy::nobody, 3, {}, AttemptEnd::nonzero, "exit code 3; last step 3"},
      {"", StoppedBy::nobody, {}, {}, AttemptEnd::lost, "exit.json: neither exit code nor signal"},
  }));
  AttemptFolder scene;
  scene.sample.exit.launch_error = row.launch_error;
  scene.sample.exit.stopped_by = row.stopped_by;
  scene.sample.exit.exit_code = row.code;
  scene.sample.exit.signal = row.signal;
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == row.end);
  CHECK(attempt.detail == row.detail);
}

TEST_CASE("each end that the files do not tell has its sentence", "[evidence]") {
  RankFiles files;
  CHECK(describe_stop(AttemptEnd::timeout, files) == "over the total time limit");
  CHECK(describe_stop(AttemptEnd::hang, files) == "no heartbeat within the limit");
  CHECK(describe_stop(AttemptEnd::interrupted, files) == "stopped by the user");
  CHECK(describe_stop(AttemptEnd::store, files) == "the attempt's folder could not be written");
  CHECK(describe_stop(AttemptEnd::launch, files) == "never started");
  files.last_words = "why";
  files.exit.value = ExitRecord{};
  CHECK(describe_stop(AttemptEnd::launch, files) == "never started");
  files.exit.value->launch_error = "no such program";
  CHECK(describe_stop(AttemptEnd::launch, files) == "no such program");
  CHECK(describe_stop(AttemptEnd::hang, files) == "no heartbeat within the limit; stderr: why");
  CHECK(describe_stop(AttemptEnd::crash, files) == std::string(to_string(AttemptEnd::crash)) + "; stderr: why");
}

TEST_CASE("result.json may hold anything without harm", "[evidence]") {
  AttemptFolder scene;
  const std::string text =
      GENERATE(as<std::string>(), "", "[", "[]", "7", "{}", R"({"schema": 7})",
               R"({"schema": "reprobench/result", "version": {"major": "x", "minor": 0}})", "\xff\xfe");
  scene.load();
  std::ofstream(scene.folder.path / "a" / "rank-0" / "result.json") << text;
  const AttemptRecord attempt = scene.load_again();
  CHECK(attempt.end == AttemptEnd::contract);
  CHECK(attempt.detail.substr(0, 13) == "result.json: ");
  CHECK_FALSE(attempt.lead().result);
}

}  // namespace
}  // namespace reprobench
