// `describe topology`, of this machine and of one made of files.
#include "matrix/cli/text/topology_text.hpp"

#include "ci/catch.hpp"
#include "matrix/base/usage_error.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;

TEST_CASE("the topology of a copy of /sys says what it does not know, as text and as a document", "[cli]") {
  const SmallProject project;
  const std::string sysfs = (project / "sys").string();
  written_file(project / "sys/devices/system/node/node0/cpulist", "0-1\n");
  written_file(project / "sys/devices/system/node/node0/distance", "10\n");
  written_file(project / "sys/class/net/lo/mtu", "65536\n");
  const std::string log =
      written_file(project / "nccl.log", "h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n").string();
  const std::vector<std::string> words = {"topology", "--sysfs", sysfs, "--nccl-log", log};
  CHECK(said_by(&declare_describe, project.store(), words).out ==
        "numa 0  cpus 0-1  distances 10\nport lo  unknown  a virtual interface\n"
        "rank 0 to 1  peer (P2P/CUMEM)  1 channels\nunknown  a copy of /sys has no NVML\n");
  const auto document =
      nlohmann::json::parse(said_by(&declare_describe, project.store(), {"topology", "--sysfs", sysfs, "--json"}).out);
  CHECK(document.at("schema") == "reprobench/topology");
  CHECK(document.at("ports").at(0).at("bytes_per_s").is_null());
  const std::string empty = written_file(project / "empty.log", "NCCL version\n").string();
  CHECK_THAT(said_by(&declare_describe, project.store(), {"topology", "--sysfs", sysfs, "--nccl-log", empty}).out,
             Contains("names no transport; was NCCL_DEBUG=INFO set?"));
}

PlanHost host_with_link(const std::string& label, std::int64_t bytes_per_s) {
  PlanHost host{label, {"r-1"}, {}};
  for (const char* bus : {"00000000:3B:00.0", "00000000:5E:00.0"}) {
    GpuFacts gpu;
    gpu.pci_bus_id = bus;
    host.facts.gpus.push_back(gpu);
  }
  host.facts.topology.emplace();
  host.facts.topology->pairs = {{"0000:3b:00.0", "0000:5e:00.0", "PIX", 12, "", bytes_per_s, "12 NVLinks", ""}};
  return host;
}

TEST_CASE("a merge says what connects the GPUs of each host, and whether that differs", "[cli]") {
  const PlanHost a = host_with_link("a", 300'000'000'000);
  const PlanHost b = host_with_link("b", 300'000'000'000);
  const PlanHost slower = host_with_link("slower", 200'000'000'000);
  CHECK(links_text({a, b}) ==
        "links         a: 1 pair of GPUs PIX, 12 NVLinks: 300.0 GB/s one way\n"
        "links         b: 1 pair of GPUs PIX, 12 NVLinks: 300.0 GB/s one way\n");
  CHECK_THAT(links_text({a, slower}),
             Catch::EndsWith("slower: 1 pair of GPUs PIX, 12 NVLinks: 200.0 GB/s one way\n"
                             "links         differ: what passes between GPUs is not that of one machine\n"));
  PlanHost older = b;
  older.facts.topology.reset();
  CHECK_THAT(links_text({a, older}), Catch::Contains("b: 1 pair of GPUs not on record"));
  CHECK_THAT(links_text({a, older}), Catch::Contains("differ"));
  PlanHost alone = slower;
  alone.facts.gpus.pop_back();
  CHECK(links_text({alone}).empty());
  CHECK(links_text({a, alone}) == links_text({a}));
}

TEST_CASE("options of the topology are asked of nothing else, and it has no name", "[cli]") {
  const SmallProject project;
  const auto say = [&](const std::vector<std::string>& words) {
    return said_by(&declare_describe, project.store(), words);
  };
  CHECK_THROWS_AS(say({"topology", "this"}), UsageError);
  CHECK_THROWS_AS(say({"suite"}), UsageError);
  CHECK_THROWS_AS(say({"suite", "short", "--sysfs", project.root().string()}), UsageError);
}

}  // namespace
}  // namespace reprobench
