#include "matrix/contract/device/topology.hpp"

#include <algorithm>
#include <cctype>

namespace reprobench {

std::string pci_address(const std::string& nvml_bus_id) {
  const std::size_t colon = nvml_bus_id.find(':');
  if (colon == std::string::npos || colon < 4 || nvml_bus_id.rfind('.') == std::string::npos) return "";
  std::string address = nvml_bus_id.substr(colon - 4);  // the domain has eight digits there and four here
  std::ranges::transform(address, address.begin(), [](unsigned char c) { return std::tolower(c); });
  return address;
}

const DevicePair* pair_between(const Topology& topology, std::string_view a, std::string_view b) {
  const auto found = std::ranges::find_if(topology.pairs, [&](const DevicePair& pair) {
    return (pair.first == a && pair.second == b) || (pair.first == b && pair.second == a);
  });
  return found == topology.pairs.end() ? nullptr : &*found;
}

std::optional<LinkPeak> slowest_link(const Topology& topology, std::span<const std::string> addresses) {
  const DevicePair* slowest = nullptr;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    for (std::size_t j = i + 1; j < addresses.size(); ++j) {
      const DevicePair* pair = pair_between(topology, addresses[i], addresses[j]);
      if (pair == nullptr || !pair->bytes_per_s) return std::nullopt;
      if (slowest == nullptr || *pair->bytes_per_s < *slowest->bytes_per_s) slowest = pair;
    }
  }
  if (slowest == nullptr) return std::nullopt;
  return LinkPeak{static_cast<double>(*slowest->bytes_per_s) / 1e9, slowest->formula};
}

}  // namespace reprobench
