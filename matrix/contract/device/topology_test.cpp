#include "matrix/contract/device/topology.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

DevicePair pair_of(const std::string& first, const std::string& second, std::optional<std::int64_t> bytes_per_s) {
  return {first,
          second,
          "NODE",
          std::nullopt,
          "",
          bytes_per_s,
          bytes_per_s ? "the way from " + first + " to " + second : "",
          bytes_per_s ? "" : "not told"};
}

const std::string kA = "0000:3b:00.0";
const std::string kB = "0000:5e:00.0";
const std::string kC = "0000:af:00.0";

Topology three_gpus() {
  Topology topology;
  topology.pairs = {pair_of(kA, kB, 300'000'000'000), pair_of(kA, kC, 25'000'000'000), pair_of(kB, kC, 26'000'000'000)};
  return topology;
}

TEST_CASE("a device is named as the kernel names it, and what is no address is nothing", "[contract][topology]") {
  CHECK(pci_address("00000000:3B:00.0") == "0000:3b:00.0");
  CHECK(pci_address("0000:3b:00.0") == "0000:3b:00.0");
  CHECK(pci_address("00000001:AF:00.1") == "0001:af:00.1");
  CHECK(pci_address("").empty());
  CHECK(pci_address("3B:00.0").empty());
  CHECK(pci_address("00000000:3B:00").empty());
}

TEST_CASE("a pair is found from either end", "[contract][topology]") {
  const Topology topology = three_gpus();
  CHECK(pair_between(topology, kA, kC) == &topology.pairs[1]);
  CHECK(pair_between(topology, kC, kA) == &topology.pairs[1]);
  CHECK(pair_between(topology, kA, kA) == nullptr);
  CHECK(pair_between(topology, kA, "0000:ff:00.0") == nullptr);
}

TEST_CASE("of several GPUs the slowest link counts", "[contract][topology]") {
  const Topology topology = three_gpus();
  const auto of = [&](const std::vector<std::string>& addresses) { return slowest_link(topology, addresses); };
  CHECK(of({kA, kB})->gb_per_s == 300);
  CHECK(of({kB, kA})->formula == "the way from " + kA + " to " + kB);
  CHECK(of({kA, kB, kC})->gb_per_s == 25);
  CHECK(of({kC, kB, kA})->formula == "the way from " + kA + " to " + kC);
  CHECK_FALSE(of({kA}));
  CHECK_FALSE(of({}));
}

TEST_CASE("a peak that is not known may be the least, so there is none", "[contract][topology]") {
  Topology topology = three_gpus();
  topology.pairs[2] = pair_of(kB, kC, std::nullopt);
  CHECK_FALSE(slowest_link(topology, std::vector{kA, kB, kC}));
  CHECK(slowest_link(topology, std::vector{kA, kB}));
  CHECK_FALSE(slowest_link(topology, std::vector{kA, std::string("0000:ff:00.0")}));
}

}  // namespace
}  // namespace reprobench
