// Attempts with GPUs, played by the fake libnvidia-ml and the fake worker: the fault list's F24 and F43 to F46. Every
// detector has its negative control, the healthy attempt below.
#include <cstdlib>
#include <fstream>
#include <thread>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "ci/thrown.hpp"
#include "matrix/exec/executor.hpp"
#include "matrix/exec/gpu/gpu_pool.hpp"
#include "matrix/exec/gpu/gpu_telemetry.hpp"
#include "matrix/exec/local_launcher.hpp"
#include "matrix/exec/sample_plan.hpp"
#include "matrix/host/detect_host.hpp"
#include "matrix/host/fake_nvml_scene.hpp"
#include "matrix/host/gpu_reading.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/telemetry_reader.hpp"

namespace reprobench {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Steady = std::chrono::steady_clock;

json machine_with(const std::vector<std::string>& uuids) {
  json gpus = json::array();
  for (const std::string& uuid : uuids) gpus.push_back(fake_gpu(uuid));
  return {{"gpus", gpus}};
}

// A run on a fake machine; the stack is the name of what the fake worker shall do there.
struct GpuScene {
  explicit GpuScene(const json& script) : machine(script) {
    settings.library = FakeNvmlScene::library();
    options.retry_backoff = milliseconds(1);
  }

  Cell cell(const std::string& cell_id, const std::string& behaviour) {
    Cell cell = sample_cell(cell_id, behaviour);
    cell.request.device = "sm_90";
    cell.limits = {seconds(20), seconds(20), seconds(20), milliseconds(300)};
    return cell;
  }

  std::vector<CellRecord> run(std::vector<Cell> cells) {
    std::map<std::string, WorkerCommand> workers;
    for (const Cell& cell : cells) {
      const std::string& behaviour = cell.request.stack;
      workers[behaviour] = {{std::string(REPROBENCH_BINARY_DIR) + "/reprobench-fake-worker"},
                            {"--do", behaviour},
                            {{"REPROBENCH_FAKE_NVML_COMMANDS", machine.commands()}}};
    }
    Plan plan = sample_plan(std::move(cells));
    plan.host = detect_host(detect_gpus(FakeNvmlScene::library()));
    RunDirectory directory = sample_run(store.path, plan);
    folder = directory.folder();
    LocalLauncher launcher(std::filesystem::path(REPROBENCH_BINARY_DIR) / "reprobench-shepherd");
    NvmlTelemetry telemetry(settings);
    options.telemetry = &telemetry;
    return execute(plan, workers, launcher, MonotonicClock(), directory, options, observer);
  }

  // The attempts of one cell that does this.
  std::vector<AttemptRecord> attempts_of(const std::string& behaviour) {
    return run({cell("aaa", behaviour)}).at(0).attempts;
  }

  FakeNvmlScene machine;
  TemporaryFolder store;
  TemporaryVariable locks{"REPROBENCH_LOCK_DIR", store.path};
  std::filesystem::path folder;
  TelemetrySettings settings;
  ExecutionOptions options;
  ExecutionObserver observer;
};

std::string gpu_of(const AttemptRecord& attempt) { return attempt.telemetry.value().gpus.at(0).uuid; }

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("a healthy attempt gets one GPU by its UUID, and its telemetry is complete and without objection",
          "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a", "GPU-b"}));
  const auto attempts = scene.attempts_of("paced=60");
  REQUIRE(attempts.size() == 1);
  CHECK(attempts[0].end == AttemptEnd::completed);
  REQUIRE(attempts[0].telemetry);
  const TelemetrySummary& telemetry = *attempts[0].telemetry;
  CHECK(gpu_of(attempts[0]) == "GPU-a");
  CHECK(telemetry.problem.empty());
  CHECK(telemetry.invalid_reason.empty());
  CHECK(telemetry.events.empty());
  CHECK(telemetry.samples >= 3);
  CHECK(telemetry.training_samples >= 2);
  CHECK(telemetry[Quantity::sm_clock_mhz]->median == 1'980);
  CHECK(telemetry[Quantity::power_mw]->most == 350'000);
  CHECK(telemetry[Quantity::thermal_violation_ns]->most == 0);  // its growth, not its level
  CHECK(telemetry.series.size() == static_cast<std::size_t>(telemetry.samples));
  CHECK(telemetry.timed_steps == 3);  // of six
  CHECK(telemetry.left_out.empty());
}

json machine_of_two() {
  json script = machine_with({"GPU-a", "GPU-b"});
  script["gpus"][1]["pci_bus_id"] = "00000000:5E:00.0";
  return script;
}

TEST_CASE("two ranks get a GPU each, both are watched, and each sees its own", "[exec][process][gpu][ranks]") {
  GpuScene scene(machine_of_two());
  Cell cell = scene.cell("aaa", "paced=60");
  cell.request.world_size = 2;
  const AttemptRecord attempt = scene.run({cell}).at(0).attempts.at(0);
  CHECK(attempt.end == AttemptEnd::completed);
  REQUIRE(attempt.telemetry);
  REQUIRE(attempt.telemetry->gpus.size() == 2);
  CHECK(attempt.telemetry->gpus[1].uuid == "GPU-b");
  CHECK(attempt.telemetry->problem.empty());
  CHECK(attempt.telemetry->timed_steps == 3);
  const auto record = read_telemetry(scene.folder / attempt.folder / "telemetry.jsonl", attempt.nonce);
  REQUIRE(record);
  const auto of_second = [](const TelemetrySample& sample) { return sample.gpu == 1; };
  CHECK(std::ranges::count_if(record->samples, of_second) == std::ssize(record->samples) / 2);
  CHECK(record->samples.back().trace_bytes > 0);  // of rank 0
}

TEST_CASE("throttling of the second rank's GPU alone costs steps of the attempt", "[exec][process][gpu][ranks]") {
  GpuScene scene(machine_of_two());
  Cell cell = scene.cell("aaa", "lockstep,paced=60,clock_events=8,rank=1");
  cell.request.world_size = 2;
  const AttemptRecord attempt = scene.run({cell}).at(0).attempts.at(0);
  CHECK(attempt.end == AttemptEnd::completed);
  CHECK(attempt.telemetry.value().invalid_reason == "throttled");
}

TEST_CASE("a device fault of one rank's GPU ends the attempt, and that GPU alone goes out of service",
          "[exec][process][gpu][ranks]") {
  json script = machine_with({"GPU-a", "GPU-b", "GPU-c"});
  for (std::size_t i = 0; i < 3; ++i) script["gpus"][i]["pci_bus_id"] = "00000000:" + std::to_string(30 + i) + ":00.0";
  GpuScene scene(script);
  Cell cell = scene.cell("aaa", "xid=79,once,rank=1");
  cell.request.world_size = 2;
  const auto attempts = scene.run({cell}).at(0).attempts;
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[0].end == AttemptEnd::gpu_hw);
  CHECK(says(attempts[0].detail, "Xid 79 (GPU has fallen off the bus) on GPU-b"));
  CHECK(attempts[1].end == AttemptEnd::completed);
  CHECK(attempts[1].telemetry->gpus.at(0).uuid == "GPU-a");
  CHECK(attempts[1].telemetry->gpus.at(1).uuid == "GPU-c");
}

TEST_CASE("where a device fault leaves too few GPUs for the ranks, the cell is given up with the numbers",
          "[exec][process][gpu][ranks]") {
  GpuScene scene(machine_of_two());
  Cell cell = scene.cell("aaa", "xid=79,rank=1");
  cell.request.world_size = 2;
  cell.repeat = 2;
  const auto attempts = scene.run({cell}).at(0).attempts;
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[0].end == AttemptEnd::gpu_hw);
  CHECK(says(attempts[1].detail, "2 GPU of class sm_90 wanted, 1 left; GPU-b is quarantined"));
}

TEST_CASE("the energy of a step comes from the cards' own counters", "[exec][process][gpu]") {
  const bool has_counter = GENERATE(true, false);
  json script = machine_with({"GPU-a"});
  if (!has_counter) script["gpus"][0].erase("energy_mj");
  GpuScene scene(script);
  Cell cell = scene.cell("aaa", "paced=60");
  cell.request.workload.steps = 60;
  const TelemetrySummary telemetry = scene.run({cell}).at(0).attempts.at(0).telemetry.value();
  CHECK(telemetry.step_energy_j.has_value() == has_counter);
  if (has_counter) {
    CHECK(*telemetry.step_energy_j > 0.35 * 60 * 0.8);  // 350 W for 60 ms at the least
  } else {
    CHECK(telemetry.step_energy_missing == "GPU-a does not say how much energy it drew");
  }
}

TEST_CASE("a cell of the CPU has no telemetry and is told of no GPU", "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a"}));
  Cell cell = scene.cell("aaa", "ok");
  cell.request.device = "cpu";
  const auto records = scene.run({cell});
  CHECK(records[0].attempts.at(0).end == AttemptEnd::completed);
  CHECK_FALSE(records[0].attempts.at(0).telemetry);
  CHECK_FALSE(std::filesystem::exists(scene.folder / records[0].attempts[0].folder / "telemetry.jsonl"));
}

TEST_CASE("F43: an Xid of the application class fails the attempt, names it and is not retried",
          "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a", "GPU-b"}));
  const auto attempts = scene.attempts_of("xid=31");
  REQUIRE(attempts.size() == 1);
  CHECK(attempts[0].end == AttemptEnd::xid);
  CHECK(side_of(attempts[0].end) == Side::product);
  CHECK(attempts[0].detail == "Xid 31 (MMU fault) on GPU-a; exit code 0");
}

TEST_CASE("F43: a crash with an Xid is named by both", "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a"}));
  const auto attempts = scene.attempts_of("xid=13,exit=3");
  REQUIRE(attempts.size() == 1);
  CHECK(attempts[0].end == AttemptEnd::xid);
  CHECK(says(attempts[0].detail, "Xid 13 (graphics engine exception) on GPU-a; exit code 3"));
}

TEST_CASE("F43: after an Xid of the device class the attempt is repeated on another GPU and the first stays out",
          "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a", "GPU-b"}));
  Cell cell = scene.cell("aaa", "xid=79,once");
  const auto records = scene.run({cell, scene.cell("bbb", "ok")});
  const auto& attempts = records[0].attempts;
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[0].end == AttemptEnd::gpu_hw);
  CHECK(side_of(attempts[0].end) == Side::infra);
  CHECK(says(attempts[0].detail, "Xid 79 (GPU has fallen off the bus) on GPU-a"));
  CHECK(attempts[1].end == AttemptEnd::completed);
  CHECK(gpu_of(attempts[1]) == "GPU-b");
  CHECK(gpu_of(records[1].attempts.at(0)) == "GPU-b");
}

TEST_CASE("F43: the same device fault on a second GPU ends the retries", "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a", "GPU-b", "GPU-c"}));
  const auto attempts = scene.attempts_of("xid=79");
  REQUIRE(attempts.size() == 2);
  CHECK(gpu_of(attempts[0]) == "GPU-a");
  CHECK(gpu_of(attempts[1]) == "GPU-b");
  CHECK(attempts[1].end == AttemptEnd::gpu_hw);
}

TEST_CASE("F43: an Xid that no row names is the device's", "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a"}));
  const auto attempts = scene.attempts_of("xid=666");
  REQUIRE(attempts.size() == 1);
  CHECK(attempts[0].end == AttemptEnd::gpu_hw);
  CHECK(says(attempts[0].detail, "Xid 666 (unlisted)"));
}

TEST_CASE("cells that want a GPU of which none is left are on record as given up", "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a"}));
  const auto records = scene.run({scene.cell("aaa", "xid=79"), scene.cell("bbb", "ok")});
  REQUIRE(records[1].attempts.size() == 1);
  CHECK(records[1].attempts[0].end == AttemptEnd::gpu_hw);
  CHECK(records[1].attempts[0].detail ==
        "1 GPU of class sm_90 wanted, 0 left; GPU-a is quarantined: Xid 79 (GPU has fallen off the bus) on GPU-a");
  CHECK_FALSE(records[1].attempts[0].lead().result);
}

TEST_CASE("a GPU that is lost half-way is a device fault", "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a", "GPU-b"}));
  const auto attempts = scene.attempts_of("gpu_lost,once");
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[0].end == AttemptEnd::gpu_hw);
  CHECK(says(attempts[0].detail, "GPU-a is lost"));
  CHECK(attempts[1].end == AttemptEnd::completed);
}

TEST_CASE("an event channel that breaks makes every GPU unhealthy", "[exec][process][gpu]") {
  json script = machine_with({"GPU-a"});
  script["failing"] = {{"nvmlEventSetWait", 999}};
  GpuScene scene(script);
  const auto attempts = scene.attempts_of("paced=60");
  REQUIRE(attempts.size() == 1);
  CHECK(attempts[0].end == AttemptEnd::gpu_hw);
  CHECK(says(attempts[0].detail, "event channel broke with error 999"));
}

TEST_CASE("F44: throttling invalidates the measurement and leaves the attempt completed", "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a"}));
  const auto [bits, word] = GENERATE(table<int, std::string>(
      {{0x08, "hw_slowdown"}, {0x20, "sw_thermal_slowdown"}, {0x40, "hw_thermal_slowdown"}, {0x80, "hw_power_brake"}}));
  const auto attempts = scene.attempts_of("paced=60,clock_events=" + std::to_string(bits));
  REQUIRE(attempts.size() == 1);  // not a timed cell
  CHECK(attempts[0].end == AttemptEnd::completed);
  REQUIRE(attempts[0].telemetry);
  CHECK(attempts[0].telemetry->invalid_reason == "throttled");
  CHECK(says(attempts[0].telemetry->invalid_sentence, word));
  CHECK(attempts[0].telemetry->invalidated_samples > 0);
}

TEST_CASE("F44: bits that say nothing against a measurement are recorded and do not invalidate it",
          "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a"}));
  const auto [bits, word] = GENERATE(table<int, std::string>({{0x01, "gpu_idle"},
                                                              {0x02, "applications_clocks"},
                                                              {0x04, "sw_power_cap"},
                                                              {0x10, "sync_boost"},
                                                              {0x100, "display_clocks"},
                                                              {0x4000, "0x4000"}}));
  const auto attempts = scene.attempts_of("paced=60,clock_events=" + std::to_string(bits));
  REQUIRE(attempts.at(0).telemetry);
  CHECK(attempts[0].telemetry->invalid_reason.empty());
  CHECK(attempts[0].telemetry->clock_events.count(word) == 1);
}

TEST_CASE("F44: steps and readings share a clock, so what passes costs steps and not the attempt",
          "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a"}));
  Cell cell = scene.cell("aaa", "clock_events=8,brief,paced=30");
  cell.request.workload.steps = 60;
  cell.exclusive = true;
  const auto records = scene.run({cell});
  REQUIRE(records[0].attempts.size() == 1);  // not measured again
  const TelemetrySummary& telemetry = records[0].attempts[0].telemetry.value();
  CHECK(telemetry.invalid_reason.empty());
  CHECK(telemetry.timed_steps == 50);
  REQUIRE(telemetry.left_out.size() == 1);
  // After step 30, half-way, and at most one reading and a period further.
  CHECK(telemetry.left_out[0].first > 20);
  CHECK(telemetry.left_out[0].first <= 31);
  CHECK(telemetry.left_out[0].last >= 31);
  CHECK(telemetry.left_out[0].last < 45);
  CHECK(telemetry.left_out[0].reason == "throttled");
}

TEST_CASE("a timed attempt that was throttled is measured again", "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a"}));
  Cell cell = scene.cell("aaa", "clock_events=8,once");
  cell.exclusive = true;
  const auto records = scene.run({cell});
  REQUIRE(records[0].attempts.size() == 2);
  CHECK(records[0].attempts[0].telemetry->invalid_reason == "throttled");
  CHECK(records[0].attempts[1].telemetry->invalid_reason.empty());
}

TEST_CASE("a timed attempt that is throttled every time is given up after two more", "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a"}));
  Cell cell = scene.cell("aaa", "clock_events=64");
  cell.exclusive = true;
  CHECK(scene.run({cell})[0].attempts.size() == 3);
}

TEST_CASE("F45: without NVML the cell completes and its telemetry is flagged absent", "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a"}));
  scene.settings.library = "libreprobench-no-such-library.so";
  const auto attempts = scene.attempts_of("paced=20");
  CHECK(attempts.at(0).end == AttemptEnd::completed);
  CHECK(attempts[0].telemetry->problem == "NVML cannot be opened");
  CHECK(attempts[0].telemetry->samples == 0);
}

TEST_CASE("F45: NVML that hangs for 30 s delays neither the cell nor those after it", "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a"}));
  scene.settings.patience = milliseconds(300);
  const auto started = Steady::now();
  const auto records = scene.run({scene.cell("aaa", "nvml_hang=30000"), scene.cell("bbb", "ok")});
  CHECK(Steady::now() - started < seconds(15));
  CHECK(records[0].attempts.at(0).end == AttemptEnd::completed);
  CHECK(says(records[0].attempts[0].telemetry->problem, "NVML has not answered for"));
  CHECK(records[1].attempts.at(0).end == AttemptEnd::completed);
  CHECK(says(records[1].attempts[0].telemetry->problem, "NVML has not answered for"));
}

TEST_CASE("F45: garbage from NVML is no reading, and no reason to stop", "[exec][process][gpu]") {
  json script = machine_with({"GPU-a"});
  script["garbage"] = {"nvmlDeviceGetTemperature", "nvmlDeviceGetClockInfo"};
  GpuScene scene(script);
  const auto attempts = scene.attempts_of("paced=60");
  CHECK(attempts.at(0).end == AttemptEnd::completed);
  CHECK_FALSE((*attempts[0].telemetry)[Quantity::temperature_c]);
  CHECK((*attempts[0].telemetry)[Quantity::power_mw]);
}

TEST_CASE("F46: a foreign process on the GPU makes the measurement contended", "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a"}));
  const auto attempts = scene.attempts_of("paced=60,foreign_pid=1");  // init is nobody's child of ours
  REQUIRE(attempts.at(0).telemetry);
  CHECK(attempts[0].end == AttemptEnd::completed);
  CHECK(attempts[0].telemetry->invalid_reason == "contended");
  CHECK(attempts[0].telemetry->foreign_pids == std::vector<std::int64_t>{1});
}

TEST_CASE("F46: this run's own processes are no strangers", "[exec][process][gpu]") {
  GpuScene scene(machine_with({"GPU-a"}));
  const auto attempts = scene.attempts_of("paced=60,foreign_pid=" + std::to_string(getpid()));
  CHECK(attempts.at(0).telemetry->invalid_reason.empty());
  CHECK(attempts[0].telemetry->foreign_pids.empty());
}

TEST_CASE("F43: where NVML has no events, the kernel's log tells of the Xid", "[exec][process][gpu]") {
  json script = machine_with({"GPU-a", "GPU-b"});
  script["gpus"][1]["pci_bus_id"] = "00000000:5E:00.0";
  script["failing"] = {{"nvmlEventSetCreate", 3}};
  GpuScene scene(script);
  scene.settings.kernel_log = scene.store.path / "kmsg";
  std::ofstream(scene.settings.kernel_log) << "NVRM: Xid (PCI:0000:3b:00): 79, before anybody asked\n";
  const std::string pci = GENERATE(std::string("0000:3b:00"), std::string("0000:5e:00"));
  scene.observer.attempt_started = [&](const Cell&, const CellRequest& request) {
    if (request.attempt > 0) return;
    std::thread([path = scene.settings.kernel_log, pci] {
      std::this_thread::sleep_for(milliseconds(300));
      std::ofstream(path, std::ios::app) << "NVRM: Xid (PCI:" << pci << "): 79, pid=1\n";
    }).detach();
  };
  const auto attempts = scene.attempts_of("paced=150");
  CHECK(attempts.at(0).end == (pci == "0000:3b:00" ? AttemptEnd::gpu_hw : AttemptEnd::completed));
}

TEST_CASE("the memory of this run's processes is told apart from the device's", "[exec][process][gpu]") {
  json script = machine_with({"GPU-a"});
  script["gpus"][0]["process_memory_bytes"] = 123'456'789;
  GpuScene scene(script);
  const auto attempts = scene.attempts_of("paced=60,foreign_pid=" + std::to_string(getpid()));
  CHECK((*attempts.at(0).telemetry)[Quantity::process_memory_bytes]->most == 123'456'789);
  CHECK((*attempts[0].telemetry)[Quantity::memory_used_bytes]->most == 1'000'000'000);
}

TEST_CASE("the last reading is taken after the attempt has ended, also where one is under way",
          "[exec][process][gpu]") {
  json script = machine_with({"GPU-a"});
  script["failing"] = {{"nvmlEventSetCreate", 3}};  // so that only readings enter the library
  const FakeNvmlScene machine(script);
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path / "rank-0");
  std::ofstream trace(folder.path / "rank-0" / "trace.jsonl");
  TelemetrySettings settings;
  settings.library = FakeNvmlScene::library();
  settings.kernel_log = "/dev/null";
  NvmlTelemetry telemetry(settings);
  const auto recording =
      telemetry.start({"aaa", "0011", 100'000'000, {{"GPU-a", "00000000:3B:00.0", "NVIDIA H100"}}}, folder.path);
  std::this_thread::sleep_for(milliseconds(250));
  machine.command({{"hang_ms", 600}});
  std::this_thread::sleep_for(milliseconds(300));  // a pass has read the trace's length and waits for the library
  trace << "the attempt's last line\n" << std::flush;
  recording->stop();
  const auto record = read_telemetry(folder.path / "telemetry.jsonl", "0011");
  REQUIRE(record);
  REQUIRE(record->samples.size() > 1);
  CHECK(record->samples.front().trace_bytes == 0);
  CHECK(record->samples.back().trace_bytes == 24);
}

TEST_CASE("a GPU's lock that cannot be written is the store's failure, with what would help", "[exec][gpu]") {
  GpuFacts gpu;
  gpu.uuid = "GPU-a";
  gpu.compute_capability = "9.0";
  GpuPool pool({gpu}, "/proc/reprobench-no-such-folder");
  const std::string said = message_of<StoreError>([&] { pool.try_lease("sm_90", 1, true); });
  CHECK(says(said, "reprobench-GPU-a.lock: a GPU cannot be locked"));
  CHECK(says(said, "REPROBENCH_LOCK_DIR"));
}

// When the attempts of a run held their GPU.
struct Interval {
  Steady::time_point begin;
  Steady::time_point end;
};

TEST_CASE("F24: timed cells of two runners never hold one GPU at the same time", "[exec][process][gpu]") {
  const TemporaryFolder locks;
  GpuScene first(machine_with({"GPU-a"}));
  const std::string script = std::getenv("REPROBENCH_FAKE_NVML");
  GpuScene second(machine_with({"GPU-a"}));
  const TemporaryVariable machine("REPROBENCH_FAKE_NVML", script);  // one machine for both
  const TemporaryVariable lock_folder("REPROBENCH_LOCK_DIR", locks.path);
  const auto intervals_of = [](GpuScene& scene, std::vector<Interval>& intervals) {
    scene.observer.attempt_started = [&](const Cell&, const CellRequest&) {
      intervals.push_back({Steady::now(), Steady::now()});
    };
    scene.observer.attempt_ended = [&](const Cell&, const AttemptRecord&) { intervals.back().end = Steady::now(); };
    Cell cell = scene.cell("aaa", "paced=5");
    cell.exclusive = true;
    cell.repeat = 4;
    scene.run({cell});
  };
  std::vector<Interval> of_first;
  std::vector<Interval> of_second;
  std::thread other([&] { intervals_of(second, of_second); });
  intervals_of(first, of_first);
  other.join();
  REQUIRE(of_first.size() == 4);
  REQUIRE(of_second.size() == 4);
  for (const Interval& a : of_first) {
    for (const Interval& b : of_second) CHECK((a.end <= b.begin || b.end <= a.begin));
  }
}

}  // namespace
}  // namespace reprobench
