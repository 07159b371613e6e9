#include "matrix/verdict/link_notes.hpp"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace reprobench {
namespace {

constexpr const char* kNotOnRecord = "not on record";

// Without the addresses, so that the links of two pairs can be held against each other.
std::string kind_of(const DevicePair* pair) {
  if (pair == nullptr) return kNotOnRecord;
  const std::string relation = pair->relation.empty() ? "" : pair->relation + ", ";
  if (!pair->bytes_per_s) return fmt::format("{}peak not known: {}", relation, pair->problem);
  std::string formula = pair->formula;
  // The formula of a PCIe way names the slowest device of it.
  for (const std::string& address : {pair->first, pair->second}) {
    if (const auto at = formula.find(address); at != std::string::npos) formula.replace(at, address.size(), "a GPU");
  }
  return fmt::format("{}{}: {:.1f} GB/s one way", relation, formula, static_cast<double>(*pair->bytes_per_s) / 1e9);
}

}  // namespace

std::vector<std::string> links_between(const HostFacts& host, std::span<const TelemetryGpu> gpus) {
  std::vector<std::string> links;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (std::size_t j = i + 1; j < gpus.size(); ++j) {
      const std::string a = pci_address(gpus[i].pci_bus_id);
      const std::string b = pci_address(gpus[j].pci_bus_id);
      links.push_back(fmt::format("{} and {}: {}", a.empty() ? gpus[i].uuid : a, b.empty() ? gpus[j].uuid : b,
                                  kind_of(host.topology ? pair_between(*host.topology, a, b) : nullptr)));
    }
  }
  return links;
}

std::vector<std::string> link_kinds(const std::vector<std::string>& links) {
  std::vector<std::string> kinds;
  for (const std::string& link : links) kinds.push_back(link.substr(link.find(": ") + 2));
  return kinds;
}

std::vector<std::string> links_of(const HostFacts& host) {
  std::vector<TelemetryGpu> gpus;
  for (const GpuFacts& gpu : host.gpus) gpus.push_back({gpu.uuid, gpu.pci_bus_id, gpu.name});
  std::map<std::string, int> pairs;
  for (const std::string& kind : link_kinds(links_between(host, gpus))) ++pairs[kind];
  std::vector<std::string> texts;
  for (const auto& [kind, count] : pairs) {
    texts.push_back(fmt::format("{} pair{} of GPUs {}", count, count == 1 ? "" : "s", kind));
  }
  return texts;
}

std::vector<std::string> link_notes(const std::vector<NamedLinks>& attempts) {
  std::vector<std::string> notes;
  const NamedLinks* first = nullptr;
  for (const NamedLinks& attempt : attempts) {
    if (attempt.links.empty()) continue;
    if (first == nullptr) first = &attempt;
    const std::vector<std::string> ours = link_kinds(attempt.links);
    const std::vector<std::string> theirs = link_kinds(first->links);
    if (ours == theirs) continue;
    notes.push_back(fmt::format("{} ran over other links than {}: {}, where that had {}", attempt.who, first->who,
                                fmt::join(ours, "; "), fmt::join(theirs, "; ")));
  }
  return notes;
}

}  // namespace reprobench
