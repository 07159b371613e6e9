// Where attempts run, and what an attempt's end does to that: on GPUs that are only facts.
#include "matrix/exec/placement.hpp"

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/exec/sample_plan.hpp"

namespace reprobench {
namespace {

// Keeps what it was asked to watch.
struct NotedTelemetry : Telemetry {
  std::unique_ptr<TelemetryRecording> start(const TelemetryHeader& header,
                                            const std::filesystem::path& folder) override {
    headers.push_back(header);
    folders.push_back(folder);
    struct Nothing : TelemetryRecording {
      void stop() override {}
    };
    return std::make_unique<Nothing>();
  }
  std::vector<TelemetryHeader> headers;
  std::vector<std::filesystem::path> folders;
};

// A host of this many GPUs of sm_90: GPU-0, GPU-1, ...
struct PlacementScene {
  explicit PlacementScene(int gpus) : placement(host_of(gpus), &telemetry) {}

  static HostFacts host_of(int gpus) {
    HostFacts host;
    for (int number = 0; number < gpus; ++number) {
      GpuFacts gpu;
      gpu.uuid = "GPU-" + std::to_string(number);
      gpu.compute_capability = "9.0";
      gpu.pci_bus_id = "pci-" + std::to_string(number);
      gpu.name = "H100";
      host.gpus.push_back(gpu);
    }
    return host;
  }

  TemporaryFolder locks;
  TemporaryVariable lock_folder{"REPROBENCH_LOCK_DIR", locks.path};
  NotedTelemetry telemetry;
  Placement placement;
};

Cell cell_for(const std::string& device, bool exclusive = false, int world_size = 1) {
  Cell cell = sample_cell("aaa", "stack-a");
  cell.request.device = device;
  cell.request.world_size = world_size;
  cell.exclusive = exclusive;
  return cell;
}

// An attempt that ended so, with these events of GPU-0, or without telemetry.
AttemptRecord ended_as(AttemptEnd end, std::optional<std::vector<TelemetryEvent>> events = std::nullopt,
                       const std::string& uuid = "GPU-0") {
  AttemptRecord attempt;
  attempt.end = end;
  if (events) {
    attempt.telemetry.emplace();
    attempt.telemetry->gpus = {{uuid, "pci", "H100"}};
    attempt.telemetry->events = *events;
  }
  return attempt;
}

const TelemetryEvent kFallenOff{1, 0, TelemetryEventKind::xid, 79};
const TelemetryEvent kMmuFault{1, 0, TelemetryEventKind::xid, 31};

TEST_CASE("a cell of the CPU has its place at once, one of GPUs as many as it has ranks", "[exec][gpu]") {
  PlacementScene scene(2);
  CHECK(scene.placement.try_take(cell_for("cpu", true))->gpus().empty());
  const auto pair = scene.placement.try_take(cell_for("sm_90", true, 2));
  REQUIRE(pair);
  CHECK(pair->gpus().size() == 2);
  CHECK_FALSE(scene.placement.try_take(cell_for("sm_90")));
  CHECK(scene.placement.try_take(cell_for("cpu")));
  scene.placement.give_back(*pair);
  CHECK_FALSE(scene.placement.try_take(cell_for("sm_90")));  // its locks live as long as the lease
  CHECK_FALSE(scene.placement.hopeless_because(cell_for("sm_90", true, 2)));
  const auto hopeless = scene.placement.hopeless_because(cell_for("sm_90", false, 3));
  REQUIRE(hopeless);
  CHECK(hopeless->end == AttemptEnd::gpu_hw);
  CHECK(hopeless->reason == "3 GPU of class sm_90 wanted, 2 left");
}

TEST_CASE("a probe of what is between GPUs takes them for its one process", "[exec][gpu]") {
  PlacementScene scene(2);
  Cell cell = cell_for("sm_90", true);
  cell.request.workload = {"", "base", 0, 0, "device_peer", 5};
  CHECK(scene.placement.try_take(cell)->gpus().size() == 2);
  PlacementScene alone(1);
  CHECK_FALSE(alone.placement.try_take(cell));
  CHECK(alone.placement.hopeless_because(cell)->reason == "2 GPU of class sm_90 wanted, 1 left");
}

TEST_CASE("what connects the GPUs of an attempt is looked up by where they are plugged in", "[exec][gpu]") {
  const TemporaryFolder locks;
  const TemporaryVariable lock_folder("REPROBENCH_LOCK_DIR", locks.path);
  HostFacts host = PlacementScene::host_of(3);
  host.gpus[0].pci_bus_id = "00000000:3B:00.0";
  host.gpus[1].pci_bus_id = "00000000:5E:00.0";
  host.gpus[2].pci_bus_id = "00000000:AF:00.0";
  const Cell pair = cell_for("sm_90", true, 2);
  {
    Placement placement(host, nullptr);
    CHECK_FALSE(placement.link_peak(*placement.try_take(pair)));  // nobody asked for the topology
  }
  host.topology.emplace();
  host.topology->pairs = {
      {"0000:3b:00.0", "0000:5e:00.0", "PIX", 12, "", 300'000'000'000, "12 NVLinks x 25000 MB/s, from NVML", ""}};
  Placement placement(host, nullptr);
  {
    const auto lease = placement.try_take(pair);
    const auto peak = placement.link_peak(*lease);
    REQUIRE(peak);
    CHECK(peak->gb_per_s == 300);
    CHECK(peak->formula == "12 NVLinks x 25000 MB/s, from NVML");
    placement.give_back(*lease);
  }
  {
    const auto lease = placement.try_take(cell_for("sm_90", true, 3));  // two of its pairs are not told
    CHECK_FALSE(placement.link_peak(*lease));
    placement.give_back(*lease);
  }
  CHECK_FALSE(placement.link_peak(*placement.try_take(cell_for("sm_90", true))));
  CHECK_FALSE(placement.link_peak(GpuLease{}));
}

TEST_CASE("only GPUs are watched, ten times a second, under the attempt's name", "[exec][gpu]") {
  PlacementScene scene(2);
  CellRequest request = cell_for("sm_90").request;
  request.nonce = "0011";
  CHECK_FALSE(scene.placement.watch(GpuLease{}, request, "/attempt"));
  CHECK(scene.telemetry.headers.empty());
  const auto lease = scene.placement.try_take(cell_for("sm_90", true, 2));
  CHECK(scene.placement.watch(*lease, request, "/attempt"));
  REQUIRE(scene.telemetry.headers.size() == 1);
  const TelemetryHeader& header = scene.telemetry.headers[0];
  CHECK(header.cell_id == "aaa");
  CHECK(header.nonce == "0011");
  CHECK(header.period_ns == 100'000'000);
  REQUIRE(header.gpus.size() == 2);
  CHECK(header.gpus[1].uuid == "GPU-1");
  CHECK(header.gpus[1].pci_bus_id == "pci-1");
  CHECK(header.gpus[1].name == "H100");
  CHECK(scene.telemetry.folders[0] == "/attempt");
  CHECK_FALSE(Placement(HostFacts{}, nullptr).watch(*lease, request, "/attempt"));
}

TEST_CASE("beside what survived its KILLs nothing is timed; on a GPU it costs that GPU alone", "[exec][gpu]") {
  PlacementScene on_gpu(2);
  {
    const auto lease = on_gpu.placement.try_take(cell_for("sm_90"));
    on_gpu.placement.leave_behind(*lease, cell_for("sm_90"));
    on_gpu.placement.give_back(*lease);
  }
  CHECK_FALSE(on_gpu.placement.hopeless_because(cell_for("cpu", true)));
  CHECK_FALSE(on_gpu.placement.hopeless_because(cell_for("sm_90", true)));
  CHECK(on_gpu.placement.try_take(cell_for("sm_90"))->gpus().at(0).uuid == "GPU-1");
  CHECK(on_gpu.placement.hopeless_because(cell_for("sm_90", true, 2))->reason ==
        "2 GPU of class sm_90 wanted, 1 left; GPU-0 is quarantined: a process on it survived 8 KILLs");

  PlacementScene on_host(1);
  on_host.placement.leave_behind(GpuLease{}, cell_for("cpu"));
  for (const char* device : {"cpu", "sm_90"}) {
    const auto hopeless = on_host.placement.hopeless_because(cell_for(device, true));
    REQUIRE(hopeless);
    CHECK(hopeless->end == AttemptEnd::launch);
    CHECK(hopeless->reason ==
          "nothing can be timed on this host any more: a process of smoke-mlp-stack-a-cpu-fp32 survived 8 KILLs");
    CHECK_FALSE(on_host.placement.hopeless_because(cell_for(device)));
  }
}

TEST_CASE("a device fault takes its GPU out of service, a program's fault does not", "[exec][gpu]") {
  PlacementScene scene(2);
  const Cell cell = cell_for("sm_90");
  scene.placement.note(cell, ended_as(AttemptEnd::completed));
  scene.placement.note(cell, ended_as(AttemptEnd::xid, {{kMmuFault}}));
  CHECK(scene.placement.try_take(cell)->gpus().at(0).uuid == "GPU-0");
  scene.placement.note(cell, ended_as(AttemptEnd::gpu_hw, {{kMmuFault, kFallenOff}}));
  CHECK(scene.placement.try_take(cell)->gpus().at(0).uuid == "GPU-1");
}

TEST_CASE("infrastructure is worth another try until no device is left or a second one says the same", "[exec][gpu]") {
  PlacementScene scene(3);
  const Cell cell = cell_for("sm_90");
  CHECK(scene.placement.is_worth_retrying(cell, ended_as(AttemptEnd::lost)));
  CHECK_FALSE(scene.placement.is_worth_retrying(cell, ended_as(AttemptEnd::crash)));
  const AttemptRecord first = ended_as(AttemptEnd::gpu_hw, {{kFallenOff}});
  scene.placement.note(cell, first);
  CHECK(scene.placement.is_worth_retrying(cell, first));
  const AttemptRecord second = ended_as(AttemptEnd::gpu_hw, {{kFallenOff}}, "GPU-1");
  scene.placement.note(cell, second);
  CHECK_FALSE(scene.placement.is_worth_retrying(cell, second));
  CHECK(scene.placement.is_worth_retrying(cell, ended_as(AttemptEnd::lost)));  // another fault, and GPU-2 is left
  Cell of_another_stack = cell;
  of_another_stack.request.stack = "stack-b";
  CHECK(scene.placement.is_worth_retrying(of_another_stack, second));
  CHECK_FALSE(scene.placement.is_worth_retrying(cell_for("sm_90", false, 2), ended_as(AttemptEnd::lost)));
}

TEST_CASE("a timed attempt with invalid readings is worth another try, no other that was completed", "[exec][gpu]") {
  const PlacementScene scene(1);
  AttemptRecord throttled = ended_as(AttemptEnd::completed, std::vector<TelemetryEvent>{});
  const Cell timed = cell_for("sm_90", true);
  CHECK_FALSE(scene.placement.is_worth_retrying(timed, throttled));
  CHECK_FALSE(scene.placement.is_worth_retrying(timed, ended_as(AttemptEnd::completed)));
  throttled.telemetry->invalid_reason = "throttled";
  CHECK(scene.placement.is_worth_retrying(timed, throttled));
  CHECK_FALSE(scene.placement.is_worth_retrying(cell_for("sm_90"), throttled));
  throttled.end = AttemptEnd::nonzero;
  CHECK_FALSE(scene.placement.is_worth_retrying(timed, throttled));
}

}  // namespace
}  // namespace reprobench
