// The links between the GPUs of an attempt, by the topology of the host that it ran on. Figures of cells with several
// GPUs are comparable only over like links.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "matrix/contract/device/host_facts.hpp"
#include "matrix/contract/device/telemetry.hpp"

namespace reprobench {

// One line for each pair: "0000:3b:00.0 and 0000:5e:00.0: PIX, 12 NVLinks x 25000 MB/s, from NVML: 300.0 GB/s one way";
// "...: PIX, peak not known: NVML does not tell the speed of a link". Empty for one GPU.
std::vector<std::string> links_between(const HostFacts& host, std::span<const TelemetryGpu> gpus);

// The same lines without the addresses, so that the links of two attempts can be compared.
std::vector<std::string> link_kinds(const std::vector<std::string>& links);

// The same for all GPUs of a host, without their addresses, with the number of pairs that are connected so. Empty for
// fewer than two GPUs.
std::vector<std::string> links_of(const HostFacts& host);

// The links of an attempt, as links_between gives them.
struct NamedLinks {
  std::string who;  // "repeat 0"
  std::vector<std::string> links;
};

// Repeats or hosts that ran over other links than the first one did, whatever the addresses: "repeat 2 ran over other
// links than repeat 0: PHB, ..., where that had PIX, ...". Figures of the two are not of like machines.
std::vector<std::string> link_notes(const std::vector<NamedLinks>& attempts);

}  // namespace reprobench
