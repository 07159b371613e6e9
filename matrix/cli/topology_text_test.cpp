// `describe topology`, of this machine and of one made of files.
#include "matrix/cli/topology_text.hpp"

#include "ci/catch.hpp"
#include "matrix/cli/verb_fixture.hpp"
#include "matrix/contract/usage_error.hpp"

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
