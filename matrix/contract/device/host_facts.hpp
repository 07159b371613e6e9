// Facts about a machine, which a plan is resolved against. They are never choices. matrix/host finds those of this
// host.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/device/gpu_facts.hpp"
#include "matrix/contract/device/topology.hpp"

namespace reprobench {

// Variables that keep libraries from instructions this CPU has. Those of a shell reach no worker unless kCpuClass is
// set. It names the class of CPU that the others make of this host (ci/cpu_classes.sh). Then all of them are facts of
// the host and part of every worker's fingerprint.
inline constexpr const char* kCpuClass = "REPROBENCH_CPU_CLASS";
inline constexpr const char* kCpuLimits[] = {
    "ATEN_CPU_CAPABILITY",     "DNNL_MAX_CPU_ISA",   "FBGEMM_ENABLE_INSTRUCTIONS", "GLIBC_TUNABLES",
    "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE"};

struct HostFacts {
  std::string host_name;
  std::string os;  // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;
  std::string glibc;         // "2.36"
  std::string architecture;  // "x86_64"
  std::string cpu_model;
  std::string cpu_revision;                       // "family 25, model 17, stepping 1, microcode 0x1000065"
  std::vector<std::string> cpu_isa;               // subset of "avx2", "avx512", "avx512_bf16", "avx512_fp16", "amx"
  std::map<std::string, std::string> cpu_limits;  // matrix/host/cpu_limits.hpp
  int cores = 1;                                  // cores that this process may use
  std::int64_t memory_bytes = 0;
  std::string driver;       // "570.124.06"; empty without an NVIDIA driver
  std::string driver_cuda;  // "12.8": the newest CUDA that this driver supports
  std::vector<GpuFacts> gpus;
  std::optional<Topology> topology;  // nothing: the facts are of a build that did not ask
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
    field.optional("cpu_revision", host.cpu_revision, "Family, model, stepping and microcode, where they can be read.");
    field("cpu_isa", host.cpu_isa);
    field.optional("cpu_limits", host.cpu_limits,
                   "Variables that make it stand for a lesser CPU; every worker has them. Absent: it is what it is.");
    field("cores", host.cores, rule::at_least(1));
    field("memory_bytes", host.memory_bytes, rule::at_least(0));
    field("driver", host.driver, "Empty without an NVIDIA driver.");
    field("driver_cuda", host.driver_cuda, "The newest CUDA that driver knows.");
    field("gpus", host.gpus);
    field.optional("topology", host.topology, "How its devices hang together; absent: made before that was asked.");
  }
};

nlohmann::json to_json(const HostFacts& host);

// Throws ContractError naming the field.
HostFacts host_facts_from_json(const nlohmann::json& json);

}  // namespace reprobench
