// What of a cell's request becomes a command, a folder and an environment for each of its ranks.
#include "matrix/exec/launch_request.hpp"

#include <optional>
#include <utility>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/exec/attempt_environment.hpp"
#include "matrix/exec/enclosure/spine.hpp"
#include "matrix/exec/sample_plan.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;

GpuFacts numbered_gpu(int number) {
  GpuFacts gpu;
  gpu.uuid = "GPU-" + std::to_string(number);
  return gpu;
}

const WorkerCommand kLaunchedWorker{{"/bin/worker", "--quiet"}, {"--data", "/data"}, {{"LANG", "de"}, {"OWN", "1"}}};

TEST_CASE("a rank's command is the worker's, its own request and the worker's arguments", "[exec]") {
  const CellRequest request = sample_cell("aaa", "stack-a").request;
  const LaunchRequest launch = launch_request(request, "/run/attempt", kLaunchedWorker, {}, milliseconds(321));
  CHECK(launch.grace == milliseconds(321));
  REQUIRE(launch.ranks.size() == 1);
  CHECK(launch.ranks[0].folder == "/run/attempt/rank-0");
  CHECK(launch.ranks[0].command == std::vector<std::string>{"/bin/worker", "--quiet", "run",
                                                            "/run/attempt/rank-0/request.json", "--data", "/data"});
  const auto& environment = launch.ranks[0].environment;
  CHECK(environment.at("PATH") == "/usr/local/bin:/usr/bin:/bin");
  CHECK(environment.at("HOME") == "/run/attempt/rank-0");
  CHECK(environment.at("TMPDIR") == "/run/attempt/rank-0");
  CHECK(environment.at("LANG") == "de");  // a stack may say otherwise
  CHECK(environment.at("OWN") == "1");
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "MASTER_PORT", "WORLD_SIZE"}) {
    CHECK_FALSE(environment.contains(name));
  }
}

TEST_CASE("the shell's instruction sets reach a worker where a class of CPU is named, and a knob has the last word",
          "[exec]") {
  CellRequest request = sample_cell("aaa", "stack-a").request;
  const auto capability = [&request] {
    const auto environment =
        launch_request(request, "/run/attempt", kLaunchedWorker, {}, milliseconds(321)).ranks[0].environment;
    const auto found = environment.find("ATEN_CPU_CAPABILITY");
    return std::pair(found == environment.end() ? "unset" : found->second, environment.count(kCpuClass));
  };
  const TemporaryVariable none(kCpuClass, std::nullopt);
  const TemporaryVariable aten("ATEN_CPU_CAPABILITY", "avx2");
  CHECK(capability() == std::pair(std::string("unset"), std::size_t{0}));
  const TemporaryVariable named(kCpuClass, "avx2");
  CHECK(capability() == std::pair(std::string("avx2"), std::size_t{1}));
  request.knobs["cpu_isa"] = "default";
  CHECK(capability() == std::pair(std::string("default"), std::size_t{1}));
}

TEST_CASE("inside an image the driver goes with a GPU, and a cell of the CPU sees neither", "[exec]") {
  WorkerCommand worker = kLaunchedWorker;
  worker.enclosure.emplace().gpu = {.devices = {"/dev/nvidia0"}, .libraries = {"/usr/lib/libcuda.so.1"}};
  CellRequest request = sample_cell("aaa", "stack-a").request;
  const auto launched = [&](const std::vector<GpuFacts>& gpus) {
    return launch_request(request, "/run/attempt", worker, gpus, milliseconds(1)).ranks.at(0);
  };
  CHECK(launched({}).enclosure->gpu == GpuFiles{});
  CHECK_FALSE(launched({}).environment.contains("LD_LIBRARY_PATH"));
  request.device = "sm_90";
  CHECK(launched({numbered_gpu(7)}).enclosure->gpu == worker.enclosure->gpu);
  CHECK(launched({numbered_gpu(7)}).environment.at("LD_LIBRARY_PATH") == kDriverPlace);
}

TEST_CASE("each rank sees its own GPU and meets the others at one port", "[exec][ranks]") {
  CellRequest request = sample_cell("aaa", "stack-a").request;
  request.device = "sm_90";
  request.world_size = 3;
  request.inject = Injection{"weight_ulp", 2, "fc1.weight", 5, 1};
  const LaunchRequest launch = launch_request(request, "/run/attempt", kLaunchedWorker,
                                              {numbered_gpu(7), numbered_gpu(8), numbered_gpu(9)}, milliseconds(1));
  REQUIRE(launch.ranks.size() == 3);
  for (int rank = 0; rank < 3; ++rank) {
    const RankLaunch& own = launch.ranks[static_cast<std::size_t>(rank)];
    CHECK(own.request.rank == rank);
    CHECK(own.request.inject.has_value() == (rank == 1));
    CHECK(own.folder == "/run/attempt/rank-" + std::to_string(rank));
    CHECK(own.environment.at("CUDA_VISIBLE_DEVICES") == "GPU-" + std::to_string(7 + rank));
    CHECK(own.environment.at("CUDA_DEVICE_ORDER") == "PCI_BUS_ID");
    CHECK(own.environment.at("RANK") == std::to_string(rank));
    CHECK(own.environment.at("LOCAL_RANK") == std::to_string(rank));
    CHECK(own.environment.at("WORLD_SIZE") == "3");
    CHECK(own.environment.at("LOCAL_WORLD_SIZE") == "3");
    CHECK(own.environment.at("MASTER_PORT") == launch.ranks[0].environment.at("MASTER_PORT"));
  }
}

TEST_CASE("one process of a probe of what is between GPUs sees all of them, in their order", "[exec][gpu]") {
  CellRequest request = sample_cell("aaa", "stack-a").request;
  request.device = "sm_90";
  request.workload = {"", "base", 0, 0, "device_peer", 5};
  const LaunchRequest launch =
      launch_request(request, "/run/attempt", kLaunchedWorker, {numbered_gpu(8), numbered_gpu(7)}, milliseconds(1));
  REQUIRE(launch.ranks.size() == 1);
  CHECK(launch.ranks[0].environment.at("CUDA_VISIBLE_DEVICES") == "GPU-8,GPU-7");
}

TEST_CASE("as many GPUs as the ranks take, or none, are launched with; of more the last are left alone",
          "[exec][gpu]") {
  CellRequest request = sample_cell("aaa", "stack-a").request;
  request.device = "sm_90";
  request.world_size = 2;
  const auto launch = [&](const std::vector<GpuFacts>& gpus) {
    return launch_request(request, "/run/attempt", kLaunchedWorker, gpus, milliseconds(1)).ranks;
  };
  CHECK(launch({}).size() == 2);
  CHECK(launch({numbered_gpu(1), numbered_gpu(2)}).size() == 2);
  CHECK_THROWS_AS(launch({numbered_gpu(1)}), std::invalid_argument);
  const auto ranks = launch({numbered_gpu(1), numbered_gpu(2), numbered_gpu(3)});  // a segment of fewer ranks
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].environment.at("CUDA_VISIBLE_DEVICES") == "GPU-1");
  CHECK(ranks[1].environment.at("CUDA_VISIBLE_DEVICES") == "GPU-2");
}

TEST_CASE("variables of ranks are those of torchrun, and none for a process that is alone", "[exec][ranks]") {
  CellRequest request = sample_cell("aaa", "stack-a").request;
  CHECK(rank_environment(request, {"127.0.0.1", 1'234}).empty());
  request.world_size = 2;
  request.rank = 1;
  CHECK(rank_environment(request, {"127.0.0.1", 1'234}) ==
        std::map<std::string, std::string>{{"RANK", "1"},
                                           {"LOCAL_RANK", "1"},
                                           {"WORLD_SIZE", "2"},
                                           {"LOCAL_WORLD_SIZE", "2"},
                                           {"MASTER_ADDR", "127.0.0.1"},
                                           {"MASTER_PORT", "1234"}});
  const auto joined = rank_environment(request, {"example", 29'500, true});
  CHECK(joined.at("MASTER_ADDR") == "example");
  CHECK(joined.at("MASTER_PORT") == "29500");
  CHECK(joined.at("TORCHELASTIC_USE_AGENT_STORE") == "True");
}

TEST_CASE("a meeting point of an outer launcher is every rank's, else a free port of this attempt", "[exec][ranks]") {
  CellRequest request = sample_cell("aaa", "stack-a").request;
  request.world_size = 2;
  const LaunchRequest given =
      launch_request(request, "/run/attempt", kLaunchedWorker, {}, milliseconds(1), {"example", 29'500});
  for (const RankLaunch& rank : given.ranks) {
    CHECK(rank.environment.at("MASTER_ADDR") == "example");
    CHECK(rank.environment.at("MASTER_PORT") == "29500");
  }
  const LaunchRequest chosen = launch_request(request, "/run/attempt", kLaunchedWorker, {}, milliseconds(1));
  CHECK(chosen.ranks[0].environment.at("MASTER_ADDR") == "127.0.0.1");
  CHECK(std::stoi(chosen.ranks[0].environment.at("MASTER_PORT")) > 0);
}

}  // namespace
}  // namespace reprobench
