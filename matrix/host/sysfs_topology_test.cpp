// The topology of machines made of files, and of GPUs that the fake libnvidia-ml plays.
#include "matrix/host/sysfs_topology.hpp"

#include <fstream>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/host/device_pairs.hpp"
#include "matrix/host/fake_nvml_scene.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kG0 = "0000:03:00.0";  // beside kG1 under one switch
constexpr const char* kG1 = "0000:04:00.0";
constexpr const char* kG2 = "0000:83:00.0";  // on the other node
constexpr const char* kG3 = "0000:93:00.0";  // there, under another host bridge

// Two nodes: a switch with two GPUs and a NIC on the first, two GPUs below two host bridges on the second.
class Machine {
 public:
  Machine() {
    file("devices/system/node/node0/cpulist", "0-15");
    file("devices/system/node/node0/distance", "10 21");
    file("devices/system/node/node1/cpulist", "16-31");
    file("devices/system/node/node1/distance", "21 10");
    const std::string uplink = "pci0000:00/0000:00:01.0";
    const std::string hub = uplink + "/0000:01:00.0";
    for (const std::string& bridge : {uplink, hub, hub + "/0000:02:00.0", hub + "/0000:02:01.0"})
      device(bridge, 0x06, 0);
    device(hub + "/0000:02:00.0/" + kG0, 0x03, 0);
    device(hub + "/0000:02:01.0/" + kG1, 0x03, 0);
    device(uplink + "/0000:05:00.0", 0x02, 0);
    device("pci0000:80/0000:80:01.0", 0x06, 1);
    device(std::string("pci0000:80/0000:80:01.0/") + kG2, 0x03, 1);
    device("pci0000:90/0000:90:01.0", 0x06, 1);
    device(std::string("pci0000:90/0000:90:01.0/") + kG3, 0x03, 1);
  }

  void file(const std::string& path, const std::string& text) const {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << "\n";
  }
  void set(const std::string& address, const std::string& name, const std::string& text) const {
    file("bus/pci/devices/" + address + "/" + name, text);
  }
  Topology topology(const GpuLinkInventory& links = {"no NVML", {}, {}}) const { return read_topology(root, links); }

  TemporaryFolder place;
  fs::path root = place.path;

 private:
  void device(const std::string& path, int pci_class, int node) const {
    const std::string folder = "devices/" + path;
    file(folder + "/class", pci_class == 3 ? "0x030200" : pci_class == 2 ? "0x020700" : "0x060400");
    file(folder + "/vendor", pci_class == 3 ? "0x10de" : "0x15b3");
    file(folder + "/numa_node", std::to_string(node));
    for (const char* which : {"current", "max"}) {
      file(folder + "/" + which + "_link_speed", "16.0 GT/s PCIe");
      file(folder + "/" + which + "_link_width", "16");
    }
    fs::create_directories(root / "bus/pci/devices");
    fs::create_directory_symlink("../../../" + folder, root / "bus/pci/devices" / fs::path(path).filename());
  }
};

DevicePair pair_of(const Topology& topology, const std::string& a, const std::string& b) {
  for (const DevicePair& pair : topology.pairs) {
    if (pair.first == a && pair.second == b) return pair;
  }
  throw std::runtime_error("no pair " + a + " " + b);
}

const PciDevice& device_of(const Topology& topology, const std::string& address) {
  return *std::ranges::find(topology.devices, address, &PciDevice::address);
}

TEST_CASE("how close two devices are follows from the bridges between them", "[host]") {
  const Machine machine;
  const Topology topology = machine.topology();
  CHECK(topology.devices.size() == 5);  // bridges are no devices of the map
  CHECK(pair_of(topology, kG0, kG1).relation == "PIX");
  CHECK(pair_of(topology, kG0, "0000:05:00.0").relation == "PXB");
  CHECK(pair_of(topology, kG2, kG3).relation == "NODE");
  CHECK(pair_of(topology, kG0, kG2).relation == "SYS");
  CHECK(topology.pairs.size() == 10);
  CHECK(topology.numa_nodes.at(1).cpus == "16-31");
  CHECK(topology.numa_nodes.at(1).distances == std::vector<std::int64_t>{21, 10});
  machine.set(kG2, "numa_node", "-1");
  const DevicePair unknown = pair_of(machine.topology(), kG2, kG3);
  CHECK(unknown.relation.empty());
  CHECK_FALSE(unknown.bytes_per_s);
  CHECK(unknown.problem == "two host bridges, and the firmware tells no NUMA node of one of the devices");
}

TEST_CASE("the peak of a PCIe pair is that of the slowest link between them", "[host]") {
  const Machine machine;
  CHECK(pair_of(machine.topology(), kG0, kG1).bytes_per_s == 31'507'692'308);  // 16e9 x 16 x 128/130 / 8
  machine.set(kG0, "current_link_speed", "2.5 GT/s PCIe");                     // idle
  CHECK(pair_of(machine.topology(), kG0, kG1).bytes_per_s == 31'507'692'308);
  machine.set(kG1, "current_link_width", "8");
  const Topology narrow = machine.topology();
  CHECK(pair_of(narrow, kG0, kG1).bytes_per_s == 15'753'846'154);
  CHECK(pair_of(narrow, kG0, kG1).formula ==
        "PCIe link of 0000:04:00.0: 16 GT/s x 8 lanes x line code / 8, from sysfs; the slowest of the way");
  CHECK(device_of(narrow, kG1).findings == std::vector<std::string>{"runs on 8 of 16 lanes"});
  CHECK(device_of(narrow, kG0).findings.empty());
  machine.set("0000:80:01.0", "current_link_width", "4");  // a bridge that only the way out of the switch takes
  CHECK(pair_of(machine.topology(), kG0, kG2).bytes_per_s == 7'876'923'077);
  CHECK(pair_of(machine.topology(), kG2, kG3).bytes_per_s == 7'876'923'077);
  CHECK(pcie_bytes_per_s(5, 1) == 5e8);
  CHECK(pcie_bytes_per_s(64, 16) == 64e9 * 16 * (242.0 / 256) / 8);
  CHECK_FALSE(pcie_bytes_per_s(7, 16));
}

TEST_CASE("what sysfs does not tell, or tells in broken words, is unknown and not guessed", "[host]") {
  const Machine machine;
  for (const char* text : {"Unknown", "", "fast", "16.0", "-1"}) {
    machine.set(kG0, "max_link_speed", text);
    const DevicePair pair = pair_of(machine.topology(), kG0, kG1);
    CHECK_FALSE(pair.bytes_per_s);
    CHECK(pair.formula.empty());
    CHECK(pair.problem == "the PCIe link of 0000:03:00.0 is unknown");
  }
  for (const char* text : {"0", "255", "16x", ""}) {
    machine.set(kG1, "current_link_width", text);
    CHECK_FALSE(device_of(machine.topology(), kG1).link_lanes);
  }
  machine.file("devices/system/node/node0/distance", "10 far");
  CHECK(machine.topology().problems.front() == "the distances of NUMA node 0 cannot be read");
  const Topology nothing = read_topology(machine.root / "none", {"no NVML", {}, {}});
  CHECK(nothing.devices.empty());
  CHECK(nothing.problems == std::vector<std::string>{"sysfs tells no NUMA nodes", "no NVML"});
}

TEST_CASE("#41: a speed that no link can have is no speed", "[host]") {
  const Machine machine;
  machine.file("class/net/eth0/speed", "9223372036854775807");
  machine.file("class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  for (const std::string number : {"nan", "inf", "1e300", "-5", "0"}) {
    machine.file("class/infiniband/mlx5_0/ports/1/rate", number + " Gb/sec (4X NDR)");
    machine.set(kG0, "max_link_speed", number + " GT/s PCIe");
    const Topology topology = machine.topology();
    CHECK(topology.ports.at(0).problem == "a virtual interface");
    CHECK(topology.ports.at(1).problem == "its rate cannot be read");
    CHECK_FALSE(device_of(topology, kG0).max_link_gt_per_s);
    CHECK_FALSE(pair_of(topology, kG0, kG1).bytes_per_s);
  }
}

TEST_CASE("#41: text and names that are not UTF-8 are still a document", "[host]") {
  const Machine machine;
  machine.file("devices/system/node/node0/cpulist", "0-15\x9f\x1b[2J");
  machine.file("class/net/eth\xff/speed", "1000");
  machine.file("bus/pci/devices/0000:05:00.\xff/class", "0x020000");
  const Topology topology = machine.topology();
  CHECK(topology.numa_nodes.at(0).cpus == "0-15??[2J");
  CHECK_NOTHROW(written(topology).dump());
}

TEST_CASE("ports tell their speed, or why they have none", "[host]") {
  const Machine machine;
  machine.file("class/net/eth0/speed", "100000");
  machine.file("class/net/lo/mtu", "65536");
  machine.file("class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)");
  machine.file("class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  machine.file("class/infiniband/mlx5_0/ports/2/rate", "10 Gb/sec (4X SDR)");
  machine.file("class/infiniband/mlx5_0/ports/2/state", "1: DOWN");
  fs::create_directory_symlink("../../../bus/pci/devices/0000:05:00.0",
                               machine.root / "class/infiniband/mlx5_0/device");
  const std::vector<NetworkPort> ports = machine.topology().ports;
  CHECK(ports.at(0).bytes_per_s == 12'500'000'000);
  CHECK(ports.at(1).problem == "a virtual interface");
  CHECK(ports.at(2).name == "mlx5_0 port 1");
  CHECK(ports.at(2).pci == "0000:05:00.0");
  CHECK(ports.at(2).bytes_per_s == 50'000'000'000);
  CHECK_FALSE(ports.at(3).bytes_per_s);
  CHECK(ports.at(3).problem == "the port is not active");
}

nlohmann::json linked_gpu(const char* address, const char* remote) {
  nlohmann::json gpu = fake_gpu(address);
  gpu.update({{"pci_bus_id", std::string("0000") + address},
              {"nvlinks_active", 4},
              {"nvlink_version", 4},
              {"nvlink_mb_per_s", 26562},
              {"p2p_nvlink", 0},
              {"nvlink_remote_pci", std::string("0000") + remote},
              {"nvlink_remote_type", 0}});
  return gpu;
}

DevicePair pair_by_nvml(const nlohmann::json& first, const nlohmann::json& second,
                        const std::string& library = FakeNvmlScene::library()) {
  const FakeNvmlScene scene(nlohmann::json{{"gpus", nlohmann::json::array({first, second})}});
  const Machine machine;
  return pair_of(machine.topology(detect_gpu_links(library)), kG0, kG1);
}

TEST_CASE("the peak of a pair with NVLinks is their number times the speed that NVML tells", "[host]") {
  const nlohmann::json first = linked_gpu(kG0, kG1);
  nlohmann::json second = linked_gpu(kG1, kG0);
  const DevicePair pair = pair_by_nvml(first, second);
  CHECK(pair.nvlinks == 4);
  CHECK(pair.bytes_per_s == 4 * std::int64_t{26'562'000'000});
  CHECK(pair.formula == "4 NVLinks x 26562 MB/s, from NVML");
  second["nvlinks_active"] = 3;
  CHECK(pair_by_nvml(first, second).bytes_per_s == 3 * std::int64_t{26'562'000'000});
}

TEST_CASE("GPUs at one NVSwitch reach each other by all their links", "[host]") {
  nlohmann::json gpus[] = {linked_gpu(kG0, "0000:aa:00.0"), linked_gpu(kG1, "0000:ab:00.0")};
  CHECK(pair_by_nvml(gpus[0], gpus[1]).nvlinks == 0);  // some other device
  CHECK(pair_by_nvml(gpus[0], gpus[1]).bytes_per_s == 31'507'692'308);
  for (nlohmann::json& gpu : gpus) gpu["nvlink_remote_type"] = 2;
  CHECK(pair_by_nvml(gpus[0], gpus[1]).bytes_per_s == 4 * std::int64_t{26'562'000'000});
}

TEST_CASE("NVLinks of unknown speed, or that the driver forbids, give no peak and no PCIe peak in its place",
          "[host]") {
  const nlohmann::json first = linked_gpu(kG0, kG1);
  nlohmann::json second = linked_gpu(kG1, kG0);
  second.erase("nvlink_mb_per_s");
  DevicePair pair = pair_by_nvml(first, second);
  CHECK_FALSE(pair.bytes_per_s);
  CHECK(pair.problem == "NVML does not tell the speed of a link");
  second = linked_gpu(kG1, kG0);
  second["p2p_nvlink"] = 4;
  pair = pair_by_nvml(first, second);
  CHECK_FALSE(pair.bytes_per_s);
  CHECK(pair.problem == "from 0000:04:00.0 to 0000:03:00.0: switched off by a driver setting");
}

TEST_CASE("without NVLink the reason stands there, and the pair's peak is that of PCIe", "[host]") {
  nlohmann::json plain = fake_gpu(kG0);
  plain["pci_bus_id"] = std::string("0000") + kG0;
  plain.erase("nvlinks_active");
  DevicePair pair = pair_by_nvml(plain, linked_gpu(kG1, kG0));
  CHECK(pair.nvlinks == 0);
  CHECK(pair.nvlink_problem == "no active NVLink");
  CHECK(pair.bytes_per_s == 31'507'692'308);
  pair = pair_by_nvml(plain, plain, "/nonexistent/libnvidia-ml.so.1");
  CHECK_FALSE(pair.nvlinks);
  CHECK(pair.nvlink_problem == "NVML cannot be opened: no NVIDIA driver");
}

}  // namespace
}  // namespace reprobench
