// What a machine is: facts a plan is resolved against, never choices. This one's are found out by matrix/host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/gpu_facts.hpp"
#include "matrix/contract/topology.hpp"

namespace reprobench {

struct HostFacts {
  std::string host_name;
  std::string os;  // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;
  std::string glibc;         // "2.36"
  std::string architecture;  // "x86_64"
  std::string cpu_model;
  std::vector<std::string> cpu_isa;  // subset of "avx2", "avx512"
  int cores = 1;                     // this process may use
  std::int64_t memory_bytes = 0;
  std::string driver;       // "570.124.06"; empty without an NVIDIA driver
  std::string driver_cuda;  // "12.8": the newest CUDA that driver knows
  std::vector<GpuFacts> gpus;
  std::optional<Topology> topology;  // nothing: of a build that did not ask
};

template <>
struct Description<HostFacts> {
  static constexpr About about = About::part("host", "The machine the plan was made for.");
  static void fields(auto& field, HostFacts& host) {
    field("host_name", host.host_name);
    field("os", host.os);
    field("kernel", host.kernel);
    field("glibc", host.glibc);
    field("architecture", host.architecture);
    field("cpu_model", host.cpu_model);
    field("cpu_isa", host.cpu_isa);
    field("cores", host.cores, rule::at_least(1));
    field("memory_bytes", host.memory_bytes, rule::at_least(0));
    field("driver", host.driver, "Empty without an NVIDIA driver.");
    field.since(1, "driver_cuda", host.driver_cuda, "The newest CUDA that driver knows.");
    field("gpus", host.gpus);
    field.optional("topology", host.topology, "How its devices hang together; absent: made before that was asked.");
  }
};

nlohmann::json to_json(const HostFacts& host);

// Throws ContractError naming the field.
HostFacts host_facts_from_json(const nlohmann::json& json);

}  // namespace reprobench
