#include "matrix/verdict/link_notes.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

constexpr const char* kNvLink = "PIX, 12 NVLinks x 25000 MB/s, from NVML: 300.0 GB/s one way";

const TelemetryGpu kGpuA{"GPU-a", "00000000:3B:00.0", "H100"};
const TelemetryGpu kGpuB{"GPU-b", "00000000:5E:00.0", "H100"};
const TelemetryGpu kGpuC{"GPU-c", "00000000:AF:00.0", "H100"};

HostFacts host_of_three() {
  HostFacts host;
  host.topology.emplace();
  host.topology->pairs = {
      {"0000:3b:00.0", "0000:5e:00.0", "PIX", 12, "", 300'000'000'000, "12 NVLinks x 25000 MB/s, from NVML", ""},
      {"0000:3b:00.0", "0000:af:00.0", "SYS", 0, "no active NVLink", 31'500'000'000, "PCIe link of 0000:3b:00.0", ""},
      {"0000:5e:00.0", "0000:af:00.0", "", std::nullopt, "", std::nullopt, "", "sysfs tells no path"}};
  return host;
}

TEST_CASE("each pair of an attempt's GPUs is named with its peak, or with why that is not known", "[verdict][links]") {
  CHECK(links_between(host_of_three(), std::vector{kGpuA, kGpuB, kGpuC}) ==
        std::vector<std::string>{std::string("0000:3b:00.0 and 0000:5e:00.0: ") + kNvLink,
                                 "0000:3b:00.0 and 0000:af:00.0: SYS, PCIe link of a GPU: 31.5 GB/s one way",
                                 "0000:5e:00.0 and 0000:af:00.0: peak not known: sysfs tells no path"});
  CHECK(links_between(host_of_three(), std::vector{kGpuA}).empty());
  CHECK(links_between(host_of_three(), {}).empty());
  HostFacts older = host_of_three();
  older.topology.reset();
  CHECK(links_between(older, std::vector{kGpuB, kGpuA}) ==
        std::vector<std::string>{"0000:5e:00.0 and 0000:3b:00.0: not on record"});
  CHECK(links_between(older, std::vector<TelemetryGpu>{{"GPU-x", "", ""}, kGpuA}) ==
        std::vector<std::string>{"GPU-x and 0000:3b:00.0: not on record"});
}

TEST_CASE("the links of a host are counted by kind", "[verdict][links]") {
  HostFacts host = host_of_three();
  for (const TelemetryGpu& gpu : {kGpuA, kGpuB, kGpuC}) {
    GpuFacts facts;
    facts.uuid = gpu.uuid;
    facts.pci_bus_id = gpu.pci_bus_id;
    host.gpus.push_back(facts);
  }
  host.topology->pairs[2] = host.topology->pairs[0];
  host.topology->pairs[2].first = "0000:af:00.0";
  CHECK(links_of(host) == std::vector<std::string>{std::string("2 pairs of GPUs ") + kNvLink,
                                                   "1 pair of GPUs SYS, PCIe link of a GPU: 31.5 GB/s one way"});
  host.gpus.resize(1);
  CHECK(links_of(host).empty());
}

TEST_CASE("who ran over other links than the first is named, wherever the GPUs were plugged in", "[verdict][links]") {
  const std::string near = std::string("0000:3b:00.0 and 0000:5e:00.0: ") + kNvLink;
  const std::string as_near = std::string("0000:af:00.0 and 0000:d8:00.0: ") + kNvLink;
  const std::string far = "0000:3b:00.0 and 0000:af:00.0: SYS, PCIe: 31.5 GB/s one way";
  CHECK(link_notes({}).empty());
  CHECK(link_notes({{"repeat 0", {near}}, {"repeat 1", {as_near}}, {"the reference's repeat 0", {near}}}).empty());
  CHECK(link_notes({{"repeat 0", {}}, {"repeat 1", {near}}, {"repeat 2", {}}}).empty());  // of one GPU, or unwatched
  const auto notes = link_notes({{"repeat 0", {near}}, {"repeat 1", {far}}, {"the reference's repeat 0", {as_near}}});
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] == "repeat 1 ran over other links than repeat 0: SYS, PCIe: 31.5 GB/s one way, where that had " +
                        std::string(kNvLink));
  CHECK(link_notes({{"repeat 0", {near}}, {"the reference's repeat 0", {far}}}).size() == 1);
}

}  // namespace
}  // namespace reprobench
