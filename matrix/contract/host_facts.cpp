#include "matrix/contract/host_facts.hpp"

#include "matrix/contract/json_field.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr const char* kHostDocument = "host";

// Absent from documents that were written before the field was.
template <class T>
T if_present(const json& object, const char* key, T unknown) {
  return object.contains(key) ? required<T>(kHostDocument, object, key) : unknown;
}

json to_json(const GpuFacts& gpu) {
  return {{"name", gpu.name},
          {"compute_capability", gpu.compute_capability},
          {"memory_bytes", gpu.memory_bytes},
          {"uuid", gpu.uuid},
          {"pci_bus_id", gpu.pci_bus_id},
          {"cuda_cores", gpu.cuda_cores},
          {"max_sm_clock_mhz", gpu.max_sm_clock_mhz},
          {"max_memory_clock_mhz", gpu.max_memory_clock_mhz},
          {"application_sm_clock_mhz", gpu.application_sm_clock_mhz},
          {"power_limit_mw", gpu.power_limit_mw},
          {"ecc", gpu.ecc},
          {"mig", gpu.mig},
          {"persistence", gpu.persistence},
          {"compute_mode", gpu.compute_mode},
          {"max_pcie_generation", gpu.max_pcie_generation},
          {"max_pcie_lanes", gpu.max_pcie_lanes},
          {"nvlinks_active", gpu.nvlinks_active}};
}

GpuFacts gpu_facts_from_json(const json& object) {
  GpuFacts gpu;
  gpu.name = required<std::string>(kHostDocument, object, "name");
  gpu.compute_capability = required<std::string>(kHostDocument, object, "compute_capability");
  gpu.memory_bytes = required<std::int64_t>(kHostDocument, object, "memory_bytes");
  const auto text = [&](const char* key) { return if_present<std::string>(object, key, ""); };
  const auto number = [&](const char* key) { return if_present<std::int64_t>(object, key, 0); };
  gpu.uuid = text("uuid");
  gpu.pci_bus_id = text("pci_bus_id");
  gpu.cuda_cores = number("cuda_cores");
  gpu.max_sm_clock_mhz = number("max_sm_clock_mhz");
  gpu.max_memory_clock_mhz = number("max_memory_clock_mhz");
  gpu.application_sm_clock_mhz = number("application_sm_clock_mhz");
  gpu.power_limit_mw = number("power_limit_mw");
  gpu.ecc = text("ecc");
  gpu.mig = text("mig");
  gpu.persistence = text("persistence");
  gpu.compute_mode = text("compute_mode");
  gpu.max_pcie_generation = number("max_pcie_generation");
  gpu.max_pcie_lanes = number("max_pcie_lanes");
  gpu.nvlinks_active = number("nvlinks_active");
  return gpu;
}

}  // namespace

json to_json(const HostFacts& host) {
  json gpus = json::array();
  for (const GpuFacts& gpu : host.gpus) gpus.push_back(to_json(gpu));
  return {{"host_name", host.host_name},
          {"os", host.os},
          {"kernel", host.kernel},
          {"glibc", host.glibc},
          {"architecture", host.architecture},
          {"cpu_model", host.cpu_model},
          {"cpu_isa", host.cpu_isa},
          {"cores", host.cores},
          {"memory_bytes", host.memory_bytes},
          {"driver", host.driver},
          {"driver_cuda", host.driver_cuda},
          {"gpus", std::move(gpus)}};
}

HostFacts host_facts_from_json(const json& object) {
  const auto text = [&](const char* key) { return required<std::string>(kHostDocument, object, key); };
  HostFacts host;
  host.host_name = text("host_name");
  host.os = text("os");
  host.kernel = text("kernel");
  host.glibc = text("glibc");
  host.architecture = text("architecture");
  host.cpu_model = text("cpu_model");
  host.cpu_isa = required<std::vector<std::string>>(kHostDocument, object, "cpu_isa");
  host.cores = required<int>(kHostDocument, object, "cores");
  host.memory_bytes = required<std::int64_t>(kHostDocument, object, "memory_bytes");
  host.driver = text("driver");
  host.driver_cuda = if_present<std::string>(object, "driver_cuda", "");
  for (const json& gpu : required<json>(kHostDocument, object, "gpus")) {
    host.gpus.push_back(gpu_facts_from_json(gpu));
  }
  return host;
}

}  // namespace reprobench
