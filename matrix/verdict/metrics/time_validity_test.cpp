#include "matrix/verdict/metrics/time_validity.hpp"

#include "ci/catch.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using sample::candidate;
using sample::threshold;

const std::vector<CellThreshold> kSpeedAndBits = {
    threshold("throughput.step_time", Bound::Kind::max_regression, 0.05, true),
    threshold("numerics.repeat_mismatches", Bound::Kind::equal, 0, false)};

TelemetrySummary healthy(const std::string& uuid = "GPU-a") {
  TelemetrySummary telemetry;
  telemetry.gpus = {{uuid, "00000000:3B:00.0", "NVIDIA H100 80GB HBM3"}};
  telemetry.samples = telemetry.training_samples = 20;
  telemetry.ranges[static_cast<std::size_t>(Quantity::sm_clock_mhz)] = TelemetryRange{1'900, 1'980, 1'980};
  return telemetry;
}

// Seven pairs of equal speed on a healthy GPU, which pass.
RunRecord gpu_run() {
  RunRecord run = sample::run(7, 1.0, kSpeedAndBits);
  for (CellRecord& cell : run.cells) {
    for (AttemptRecord& attempt : cell.attempts) {
      attempt.telemetry = healthy();
      attempt.lead().result->fingerprint.device_name = "NVIDIA H100 80GB HBM3";
    }
  }
  return run;
}

void set_clock(CellRecord& cell, std::int64_t clock_mhz) {
  for (AttemptRecord& attempt : cell.attempts) {
    attempt.telemetry->ranges[static_cast<std::size_t>(Quantity::sm_clock_mhz)] =
        TelemetryRange{clock_mhz, clock_mhz, clock_mhz};
  }
}

void set_power_cap(CellRecord& cell, double share) {
  for (AttemptRecord& attempt : cell.attempts) attempt.telemetry->power_cap_share = share;
}

const CheckResult& speed(const RunVerdict& verdict) { return candidate(verdict).checks.at(0); }
const CheckResult& bits(const RunVerdict& verdict) { return candidate(verdict).checks.at(1); }

TEST_CASE("times measured on a healthy, watched GPU are judged", "[verdict][gpu]") {
  const RunVerdict verdict = judge(gpu_run());
  CHECK(speed(verdict).status == CheckStatus::passed);
  CHECK(candidate(verdict).outcome == Outcome::passed);
}

// Two sides of 20 steps of 100 ms, which others' turns of 4 s interrupt. Each waits without computing.
RunRecord run_in_turns() {
  RunRecord run = sample::run(7, 1.0, kSpeedAndBits);
  for (CellRecord& cell : run.cells) {
    for (AttemptRecord& attempt : cell.attempts) {
      attempt = sample::attempt(attempt.repeat, 100'000'000);
      attempt.lead().result->turns_wait = TurnsWait{4'000'000'000, 0};
    }
  }
  return run;
}

TEST_CASE("times beside a worker that computed while it waited for its turn are not judged", "[verdict]") {
  struct Row {
    TurnsWait most;  // that leaves the times judged
    std::string what;
  };
  const auto [most, what] = GENERATE(values<Row>({
      {{4'000'000'000, 100'000'000}, "as much of its own steps as a twentieth"},
      {{1'000'000'000, 50'000'000}, "as much of others' time as a twentieth"},
      {{1'000'000, 20'000'000}, "a moment of a short wait"},
  }));
  CAPTURE(what);
  RunRecord run = run_in_turns();
  const std::size_t side = GENERATE(0, 1);
  TurnsWait& wait = *run.cells[side].attempts[3].lead().result->turns_wait;
  wait = most;
  CHECK(speed(judge(run)).status == CheckStatus::passed);
  wait.cpu_ns += 1'000;
  const RunVerdict verdict = judge(run);
  CHECK(speed(verdict).status == CheckStatus::inconclusive);
  CHECK(speed(verdict).reason == "busy_while_waiting");
  CHECK(bits(verdict).status == CheckStatus::passed);
  CHECK(candidate(verdict).outcome == Outcome::inconclusive);
}

TEST_CASE("a worker that does its own work while others have their turn is named with all three times", "[verdict]") {
  RunRecord run = run_in_turns();
  run.cells[1].attempts[3].lead().result->turns_wait = TurnsWait{4'000'000'000, 400'000'000};
  CHECK(speed(judge(run)).sentence ==
        fmt::format("repeat 3 of {}: it computed for 0.40 s in the 4.00 s in which others "
                    "had their turn; its own turns took 2.00 s",
                    run.plan.cells[1].cell.slug));
}

// Both cells on two GPUs of three: A and B over NVLinks, A and C over the sockets.
RunRecord run_of_pairs() {
  RunRecord run = gpu_run();
  run.plan.host.topology.emplace();
  run.plan.host.topology->pairs = {
      {"0000:3b:00.0", "0000:5e:00.0", "PIX", 12, "", 300'000'000'000, "12 NVLinks", ""},
      {"0000:3b:00.0", "0000:af:00.0", "SYS", 0, "no active NVLink", 31'000'000'000, "PCIe", ""}};
  for (CellRecord& cell : run.cells) {
    for (AttemptRecord& attempt : cell.attempts) {
      attempt.telemetry->gpus.push_back({"GPU-b", "00000000:5E:00.0", "NVIDIA H100 80GB HBM3"});
    }
  }
  return run;
}

TEST_CASE("over like links speed is judged, and the verdict says what they are", "[verdict][gpu][links]") {
  const RunVerdict verdict = judge(run_of_pairs());
  CHECK(speed(verdict).status == CheckStatus::passed);
  CHECK(candidate(verdict).notes.empty());
  CHECK(candidate(verdict).attempts.at(0).links ==
        std::vector<std::string>{"0000:3b:00.0 and 0000:5e:00.0: PIX, 12 NVLinks: 300.0 GB/s one way"});
  CHECK(judge(gpu_run()).cells.at(1).attempts.at(0).links.empty());
}

TEST_CASE("a speed over other links than the reference's, or of some repeats, is not comparable; bits are",
          "[verdict][gpu][links]") {
  const auto [cell, repeats] = GENERATE(table<std::size_t, std::size_t>({{0, 7}, {1, 7}, {0, 1}, {1, 1}}));
  RunRecord run = run_of_pairs();
  for (std::size_t i = 0; i < repeats; ++i) {
    run.cells[cell].attempts[i].telemetry->gpus[1] = {"GPU-c", "00000000:AF:00.0", "NVIDIA H100 80GB HBM3"};
  }
  const RunVerdict verdict = judge(run);
  CHECK(speed(verdict).status == CheckStatus::inconclusive);
  CHECK(speed(verdict).reason == "not_comparable");
  CHECK(speed(verdict).sentence.find("their GPUs were not connected alike") != std::string::npos);
  CHECK(bits(verdict).status == CheckStatus::passed);
  CHECK(candidate(verdict).outcome == Outcome::inconclusive);
  CHECK_FALSE(candidate(verdict).notes.empty());
}

TEST_CASE("a cell of several GPUs is compared with one of a single GPU as before", "[verdict][gpu][links]") {
  RunRecord run = run_of_pairs();
  for (AttemptRecord& attempt : run.cells[0].attempts) attempt.telemetry->gpus.resize(1);
  CHECK(speed(judge(run)).status == CheckStatus::passed);
}

TEST_CASE("one invalid repeat makes the speed inconclusive with its reason and leaves the numerics alone",
          "[verdict][gpu]") {
  const auto reason = GENERATE(std::string("throttled"), std::string("contended"), std::string("clock"));
  const bool of_reference = GENERATE(false, true);
  RunRecord run = gpu_run();
  CellRecord& cell = of_reference ? run.cells[0] : run.cells[1];
  cell.attempts[3].telemetry->invalid_reason = reason;
  cell.attempts[3].telemetry->invalid_sentence = "because";
  const RunVerdict verdict = judge(run);
  CHECK(speed(verdict).status == CheckStatus::inconclusive);
  CHECK(speed(verdict).reason == reason);
  CHECK(speed(verdict).sentence.find("because") != std::string::npos);
  CHECK(bits(verdict).status == CheckStatus::passed);
  CHECK(candidate(verdict).outcome == Outcome::inconclusive);
}

TEST_CASE("steps that are left out are counted in the sentence and not in the time", "[verdict][gpu]") {
  RunRecord run = gpu_run();
  for (AttemptRecord& attempt : candidate(run).attempts) {
    for (std::size_t i = 14; i < 18; ++i) attempt.lead().trace->steps[i].step_time_ns *= 3;  // steps 15 to 18 of 20
    for (std::size_t i = 10; i < 13; ++i) attempt.lead().trace->steps[i].step_time_ns *= 3;  // steps 11 to 13
  }
  CHECK(speed(judge(run)).status == CheckStatus::failed);
  for (AttemptRecord& attempt : candidate(run).attempts) {
    attempt.telemetry->timed_steps = 10;
    attempt.telemetry->left_out = {{11, 13, "contended"}, {15, 18, "throttled"}};
  }
  CHECK(speed(judge(run)).status == CheckStatus::passed);
  CHECK(speed(judge(run)).sentence.find("; 49 of 70 steps left out (21 contended, 28 throttled)") != std::string::npos);
  CHECK(bits(judge(run)).sentence.find("left out") == std::string::npos);
  std::swap(run.cells[0].attempts, run.cells[1].attempts);
  CHECK(speed(judge(run)).sentence.find(": 49 of 70 steps left out") != std::string::npos);
}

TEST_CASE("of all steps none is left out: what disturbed a side leaves open what it may have decided",
          "[verdict][gpu]") {
  RunRecord run = gpu_run();
  const char* metric = GENERATE("throughput.mean_step_time", "throughput.step_time_p99",
                                "throughput.slowest_steps_time", "throughput.samples");
  CAPTURE(metric);
  run.plan.cells[1].cell.thresholds = {threshold(metric, Bound::Kind::max_regression, 0.05, true)};
  const auto slow = [](CellRecord& cell) {
    for (AttemptRecord& attempt : cell.attempts) attempt.lead().trace->steps[14].step_time_ns *= 100;
  };
  const auto disturb = [](CellRecord& cell) {
    for (AttemptRecord& attempt : cell.attempts) {
      attempt.telemetry->timed_steps = 10;
      attempt.telemetry->left_out = {{15, 15, "contended"}};
    }
  };
  const auto judged = [&] { return speed(judge(run)); };
  const std::string doubt = "; that may be what disturbed them";
  CHECK(judged().status == CheckStatus::passed);

  SECTION("a disturbed cell that passes all the same has passed") {
    disturb(candidate(run));
    CHECK(judged().status == CheckStatus::passed);
    CHECK(judged().sentence.ends_with("; 7 of 70 steps were disturbed and count (7 contended)"));
  }
  SECTION("a disturbed cell that is slow is not failed for it") {
    slow(candidate(run));
    CHECK(judged().status == CheckStatus::failed);
    disturb(candidate(run));
    CHECK(judged().status == CheckStatus::inconclusive);
    CHECK(judged().reason == "contended");
    CHECK(judged().sentence.ends_with("; 7 of 70 steps were disturbed and count (7 contended)" + doubt));
  }
  SECTION("a disturbed reference makes nobody pass") {
    slow(candidate(run));
    slow(run.cells[0]);
    disturb(run.cells[0]);
    CHECK(judged().status == CheckStatus::inconclusive);
    CHECK(judged().sentence.ends_with(doubt));
  }
  SECTION("nor gain") {
    slow(run.cells[0]);
    CHECK(judged().gain);
    disturb(run.cells[0]);
    CHECK(judged().status == CheckStatus::inconclusive);
    CHECK_FALSE(judged().gain);
  }
  SECTION("who is slower than a disturbed reference has failed") {
    slow(candidate(run));
    disturb(run.cells[0]);
    CHECK(judged().status == CheckStatus::failed);
  }
}

// A candidate whose GPU's utilisation this was, in so many readings while its steps were timed.
RunRecord busy_run(std::int64_t percent, std::int64_t readings) {
  RunRecord run = gpu_run();
  run.plan.cells[1].cell.thresholds = {threshold("device.utilisation", Bound::Kind::min, 0.85, false)};
  for (AttemptRecord& attempt : candidate(run).attempts) {
    attempt.telemetry->training_samples = readings;
    attempt.telemetry->ranges[static_cast<std::size_t>(Quantity::utilisation_percent)] =
        TelemetryRange{0, percent, 100};
  }
  return run;
}

TEST_CASE("a GPU that idles between steps fails its utilisation", "[verdict][gpu]") {
  CHECK(speed(judge(busy_run(85, 8))).status == CheckStatus::passed);
  CHECK(speed(judge(busy_run(84, 8))).status == CheckStatus::failed);
  CHECK(speed(judge(busy_run(84, 8))).measured == Approx(0.84));
}

TEST_CASE("without enough readings there is no utilisation, and the check says why", "[verdict][gpu]") {
  RunRecord run = busy_run(97, 7);
  std::string why = "repeat 0 trained too briefly: 7 readings of its GPU, 8 would say something";
  SECTION("too brief") {}
  SECTION("the driver names none") {
    run = busy_run(97, 20);
    why = "repeat 2 has no reading of its GPU's utilisation";
    candidate(run).attempts[2].telemetry->ranges[static_cast<std::size_t>(Quantity::utilisation_percent)].reset();
  }
  SECTION("the CPU") {
    run = sample::run(7, 1.0, run.plan.cells[1].cell.thresholds.items());
    why = "repeat 0 had no GPU to read";
  }
  CHECK(speed(judge(run)).status == CheckStatus::inconclusive);
  CHECK(speed(judge(run)).reason == "missing_metric");
  CHECK(speed(judge(run)).sentence == why);
}

TEST_CASE("a slow cell on a throttled GPU is inconclusive, not failed", "[verdict][gpu]") {
  RunRecord run = sample::run(7, 1.5, kSpeedAndBits);
  CHECK(candidate(judge(run)).outcome == Outcome::failed);
  for (AttemptRecord& attempt : candidate(run).attempts) {
    attempt.telemetry = healthy();
    attempt.telemetry->invalid_reason = "throttled";
  }
  CHECK(candidate(judge(run)).outcome == Outcome::inconclusive);
}

TEST_CASE("times on a GPU that nobody could watch are inconclusive", "[verdict][gpu]") {
  RunRecord run = gpu_run();
  SECTION("NVML hung") { candidate(run).attempts[0].telemetry->problem = "NVML has not answered for 2.0 s"; }
  SECTION("there is no telemetry at all") { candidate(run).attempts[0].telemetry.reset(); }
  const RunVerdict verdict = judge(run);
  CHECK(speed(verdict).status == CheckStatus::inconclusive);
  CHECK(speed(verdict).reason == "no_telemetry");
  CHECK(bits(verdict).status == CheckStatus::passed);
}

TEST_CASE("a cell of the CPU needs no telemetry", "[verdict][gpu]") {
  CHECK(speed(judge(sample::run(7, 1.0, kSpeedAndBits))).status == CheckStatus::passed);
}

TEST_CASE("the power limit is compared between the arms", "[verdict][gpu]") {
  RunRecord run = gpu_run();
  set_power_cap(candidate(run), 0.8);
  CHECK(speed(judge(run)).reason == "throttled");
  set_power_cap(run.cells[0], 0.7);
  CHECK(speed(judge(run)).status == CheckStatus::passed);
}

TEST_CASE("arms at different clocks are not compared, unless both were at the power limit", "[verdict][gpu]") {
  RunRecord run = gpu_run();
  set_clock(candidate(run), 1'980 * 96 / 100);
  CHECK(speed(judge(run)).status == CheckStatus::passed);
  set_clock(candidate(run), 1'980 * 90 / 100);
  CHECK(speed(judge(run)).reason == "clock");
  set_power_cap(run.cells[0], 0.9);
  set_power_cap(run.cells[1], 0.9);
  CHECK(speed(judge(run)).status == CheckStatus::passed);
}

AttemptRecord device_fault(int repeat, int attempt, const std::string& uuid, int xid) {
  AttemptRecord record;
  record.repeat = repeat;
  record.attempt = attempt;
  record.end = AttemptEnd::gpu_hw;
  record.detail = "Xid";
  record.telemetry = healthy(uuid);
  record.telemetry->events = {{0, 0, TelemetryEventKind::xid, xid}};
  return record;
}

TEST_CASE("F43: a device fault errors its cell; on two GPUs under one stack it fails it", "[verdict][gpu]") {
  RunRecord run = gpu_run();
  auto& attempts = candidate(run).attempts;
  attempts.push_back(device_fault(6, 1, "GPU-a", 79));
  CHECK(candidate(judge(run)).outcome == Outcome::errored);
  CHECK(candidate(judge(run)).reason == "gpu_hw");

  SECTION("another fault on the second GPU is no repetition") {
    attempts.push_back(device_fault(6, 2, "GPU-b", 62));
    CHECK(candidate(judge(run)).outcome == Outcome::errored);
  }
  SECTION("twice on one GPU is that GPU") {
    attempts.push_back(device_fault(6, 2, "GPU-a", 79));
    CHECK(candidate(judge(run)).outcome == Outcome::errored);
  }
  SECTION("the same on the second GPU is the stack") {
    attempts.push_back(device_fault(6, 2, "GPU-b", 79));
    const RunVerdict verdict = judge(run);
    CHECK(candidate(verdict).outcome == Outcome::failed);
    CHECK(candidate(verdict).reason == "gpu_hw");
    CHECK(candidate(verdict).sentence.find("held against the stack") != std::string::npos);
    CHECK(verdict.exit_code == ExitCode::failed);
  }
  SECTION("the same on the second GPU under another stack is not") {
    run.cells[0].attempts.push_back(device_fault(6, 1, "GPU-b", 79));
    CHECK(candidate(judge(run)).outcome == Outcome::errored);
  }
}

TEST_CASE("an attempt's telemetry is part of the verdict's document", "[verdict][gpu]") {
  RunRecord run = gpu_run();
  candidate(run).attempts[0].telemetry->clock_events = {{"hw_slowdown", 3}};
  const nlohmann::json document = to_json(judge(run));
  const auto& telemetry = document.at("cells").at(1).at("attempts").at(0).at("telemetry");
  CHECK(telemetry.at("gpus").at(0).at("uuid") == "GPU-a");
  CHECK(telemetry.at("clock_events").at("hw_slowdown") == 3);
  CHECK(telemetry.at("ranges").at("sm_clock_mhz").at("median") == 1'980);
  CHECK(to_json(judge(sample::run(2, 1.0, {}))).at("cells").at(1).at("attempts").at(0).at("telemetry").is_null());
}

}  // namespace
}  // namespace reprobench
