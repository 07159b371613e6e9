// What connects the GPUs of an attempt, by the topology of the host it ran on: numbers of cells of several GPUs are
// comparable only over like links.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "matrix/contract/device/host_facts.hpp"
#include "matrix/contract/device/telemetry.hpp"

namespace reprobench {

// Of each pair, "0000:3b:00.0 and 0000:5e:00.0: PIX, 12 NVLinks x 25000 MB/s, from NVML: 300.0 GB/s one way"; "...:
// PIX, peak not known: NVML does not tell the speed of a link". Empty for one GPU.
std::vector<std::string> links_between(const HostFacts& host, std::span<const TelemetryGpu> gpus);

// Those without the addresses, so that the links of two attempts can be held against each other.
std::vector<std::string> link_kinds(const std::vector<std::string>& links);

// The same of all GPUs of a host, without their addresses: how many pairs are connected so. Empty for fewer than two.
std::vector<std::string> links_of(const HostFacts& host);

// Of an attempt, as links_between gives them.
struct NamedLinks {
  std::string who;  // "repeat 0"
  std::vector<std::string> links;
};

// Whoever ran over other links than the first that ran over any, whatever the addresses: "repeat 2 ran over other links
// than repeat 0: PHB, ..., where that had PIX, ...". Numbers of the two are of two machines.
std::vector<std::string> link_notes(const std::vector<NamedLinks>& attempts);

}  // namespace reprobench
