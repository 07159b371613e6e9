#include "matrix/host/gpu_reading.hpp"

#include <algorithm>
#include <future>
#include <memory>

#include "matrix/host/detached_thread.hpp"

namespace reprobench {
namespace {

using nvml::Device;
using nvml::Functions;
using MaybeNumber = std::optional<std::int64_t>;

// Queries share one shape: a function that may be missing, a device, up to two selectors, and one number out.
template <class Number>
MaybeNumber ask(nvml::Return (*function)(Device, Number*), Device device) {
  Number number{};
  if (function == nullptr || function(device, &number) != nvml::kSuccess) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

template <class Number>
MaybeNumber ask(nvml::Return (*function)(Device, unsigned, Number*), Device device, unsigned what) {
  Number number{};
  if (function == nullptr || function(device, what, &number) != nvml::kSuccess) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

MaybeNumber uncorrected_errors(const Functions& library, Device device, unsigned counter) {
  nvml::Count count = 0;
  if (library.ecc_errors == nullptr ||
      library.ecc_errors(device, nvml::kUncorrected, counter, &count) != nvml::kSuccess) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(count);
}

MaybeNumber current_of(nvml::Return (*function)(Device, unsigned*, unsigned*), Device device) {
  unsigned current = 0;
  unsigned pending = 0;
  if (function == nullptr || function(device, &current, &pending) != nvml::kSuccess) return std::nullopt;
  return current;
}

MaybeNumber violation_ns(const Functions& library, Device device, unsigned policy) {
  nvml::Violation violation{};
  if (library.violation == nullptr || library.violation(device, policy, &violation) != nvml::kSuccess)
    return std::nullopt;
  return static_cast<std::int64_t>(violation.violation_time);
}

MaybeNumber used_bytes(const Functions& library, Device device) {
  nvml::Memory memory{};
  if (library.memory(device, &memory) != nvml::kSuccess || memory.used > memory.total) return std::nullopt;
  return static_cast<std::int64_t>(memory.used);
}

MaybeNumber utilisation(const Functions& library, Device device) {
  nvml::Utilisation utilisation{};
  if (library.utilisation == nullptr || library.utilisation(device, &utilisation) != nvml::kSuccess)
    return std::nullopt;
  return utilisation.gpu;
}

struct Query {
  Quantity quantity;
  MaybeNumber (*read)(const Functions& library, Device device);
};

// clang-format off
constexpr Query kQueries[] = {
    {Quantity::sm_clock_mhz,         [](const Functions& n, Device d) { return ask(n.clock, d, nvml::kClockSm); }},
    {Quantity::memory_clock_mhz,     [](const Functions& n, Device d) { return ask(n.clock, d, nvml::kClockMemory); }},
    {Quantity::temperature_c,        [](const Functions& n, Device d) { return ask(n.temperature, d, nvml::kSensorGpu); }},
    {Quantity::power_mw,             [](const Functions& n, Device d) { return ask(n.power, d); }},
    {Quantity::power_limit_mw,       [](const Functions& n, Device d) { return ask(n.power_limit, d); }},
    {Quantity::energy_mj,            [](const Functions& n, Device d) { return ask(n.energy, d); }},
    {Quantity::utilisation_percent,  &utilisation},
    {Quantity::memory_used_bytes,    &used_bytes},
    {Quantity::power_violation_ns,   [](const Functions& n, Device d) { return violation_ns(n, d, nvml::kPolicyPower); }},
    {Quantity::thermal_violation_ns, [](const Functions& n, Device d) { return violation_ns(n, d, nvml::kPolicyThermal); }},
    {Quantity::ecc_uncorrected,      [](const Functions& n, Device d) { return uncorrected_errors(n, d, nvml::kCounterVolatile); }},
    {Quantity::ecc_uncorrected_ever, [](const Functions& n, Device d) { return uncorrected_errors(n, d, nvml::kCounterAggregate); }},
    {Quantity::pcie_generation,      [](const Functions& n, Device d) { return ask(n.pcie_generation, d); }},
    {Quantity::pcie_lanes,           [](const Functions& n, Device d) { return ask(n.pcie_width, d); }},
    {Quantity::clock_events,         [](const Functions& n, Device d) { return ask(n.clock_events, d); }},
};
// clang-format on
static_assert(std::size(kQueries) + 1 == kQuantities);  // a process's memory comes with the process

template <class Record>
std::optional<std::vector<ComputeProcess>> processes_by(nvml::Return (*function)(Device, unsigned*, Record*),
                                                        Device device) {
  std::vector<Record> processes(64);
  for (int tries = 0; tries < 4; ++tries) {
    auto count = static_cast<unsigned>(processes.size());
    const nvml::Return result = function(device, &count, processes.data());
    if (result == nvml::kInsufficientSize) {
      processes.resize(processes.size() * 4);
      continue;
    }
    if (result != nvml::kSuccess || count > processes.size()) return std::nullopt;
    std::vector<ComputeProcess> found;
    for (unsigned i = 0; i < count; ++i) {
      const nvml::Count bytes = processes[i].used_memory;
      found.push_back({processes[i].pid,
                       bytes == nvml::kNotAvailable ? std::nullopt : MaybeNumber(static_cast<std::int64_t>(bytes))});
    }
    return found;
  }
  return std::nullopt;
}

std::string on_or_off(MaybeNumber mode) {
  if (!mode) return "";
  return *mode == 0 ? "off" : *mode == 1 ? "on" : "";
}

std::string compute_mode_word(MaybeNumber mode) {
  constexpr const char* kModes[] = {"default", "exclusive_thread", "prohibited", "exclusive_process"};
  return mode && *mode < 4 ? kModes[*mode] : "";
}

std::string text_of(nvml::Return (*function)(Device, char*, unsigned), Device device) {
  char text[nvml::kTextLength + 1] = {};
  if (function == nullptr || function(device, text, nvml::kTextLength) != nvml::kSuccess) return "";
  return text;
}

int active_nvlinks(const Functions& library, Device device) {
  int active = 0;
  for (unsigned link = 0; link < nvml::kNvLinks; ++link) {
    if (ask(library.nvlink_state, device, link).value_or(0) == 1) ++active;
  }
  return active;
}

void add_details(const Functions& library, Device device, GpuFacts& gpu) {
  gpu.uuid = text_of(library.uuid, device);
  gpu.pci_bus_id = pci_bus_id(library, device);
  gpu.cuda_cores = ask(library.cuda_cores, device).value_or(0);
  gpu.max_sm_clock_mhz = ask(library.max_clock, device, nvml::kClockSm).value_or(0);
  gpu.max_memory_clock_mhz = ask(library.max_clock, device, nvml::kClockMemory).value_or(0);
  gpu.application_sm_clock_mhz = ask(library.application_clock, device, nvml::kClockSm).value_or(0);
  gpu.power_limit_mw = ask(library.power_limit, device).value_or(0);
  gpu.ecc = on_or_off(current_of(library.ecc_mode, device));
  gpu.mig = on_or_off(current_of(library.mig_mode, device));
  gpu.persistence = on_or_off(ask(library.persistence_mode, device));
  gpu.compute_mode = compute_mode_word(ask(library.compute_mode, device));
  gpu.max_pcie_generation = ask(library.max_pcie_generation, device).value_or(0);
  gpu.max_pcie_lanes = ask(library.max_pcie_width, device).value_or(0);
  gpu.nvlinks_active = active_nvlinks(library, device);
}

void add_gpu(const Functions& library, unsigned index, GpuInventory& inventory) {
  Device device = nullptr;
  int major = 0;
  int minor = 0;
  nvml::Memory memory{};
  if (library.device_by_index(index, &device) != nvml::kSuccess) return;
  GpuFacts gpu;
  gpu.name = text_of(library.name, device);
  if (gpu.name.empty() || library.compute_capability(device, &major, &minor) != nvml::kSuccess ||
      library.memory(device, &memory) != nvml::kSuccess) {
    return;
  }
  gpu.compute_capability = std::to_string(major) + "." + std::to_string(minor);
  gpu.memory_bytes = static_cast<std::int64_t>(memory.total);
  add_details(library, device, gpu);
  inventory.gpus.push_back(std::move(gpu));
  inventory.now.push_back(read_quantities(library, device));
  std::vector<std::int64_t>& pids = inventory.pids.emplace_back();
  for (const ComputeProcess& process : compute_processes(library, device).value_or(std::vector<ComputeProcess>{})) {
    pids.push_back(process.pid);
  }
}

}  // namespace

std::string pci_bus_id(const Functions& functions, Device device) {
  nvml::Pci pci{};
  if (functions.pci == nullptr || functions.pci(device, &pci) != nvml::kSuccess) return "";
  return {pci.bus_id, std::find(pci.bus_id, pci.bus_id + sizeof pci.bus_id, '\0')};
}

Quantities read_quantities(const Functions& functions, Device device) {
  Quantities values;
  for (const Query& query : kQueries) {
    const MaybeNumber value = query.read(functions, device);
    const bool plausible = value && *value >= 0 && *value <= info_of(query.quantity).largest;
    if (plausible) values[static_cast<std::size_t>(query.quantity)] = value;
  }
  return values;
}

std::optional<std::vector<ComputeProcess>> compute_processes(const Functions& functions, Device device) {
  if (functions.processes != nullptr) return processes_by(functions.processes, device);
  if (functions.processes_v1 != nullptr) return processes_by(functions.processes_v1, device);
  return std::nullopt;
}

GpuInventory read_gpus(const Functions& functions) {
  GpuInventory inventory;
  if (functions.init() != nvml::kSuccess) return inventory;
  char driver[nvml::kTextLength + 1] = {};
  if (functions.driver_version(driver, nvml::kTextLength) == nvml::kSuccess) inventory.driver = driver;
  int cuda = 0;
  if (functions.cuda_version != nullptr && functions.cuda_version(&cuda) == nvml::kSuccess && cuda > 0) {
    inventory.driver_cuda = std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
  }
  unsigned count = 0;
  if (functions.device_count(&count) != nvml::kSuccess) count = 0;
  for (unsigned index = 0; index < count; ++index) add_gpu(functions, index, inventory);
  functions.shutdown();
  return inventory;
}

GpuInventory detect_gpus(const std::string& library_path, std::chrono::milliseconds patience) {
  // The thread is left behind if it does not come back; it owns all it touches.
  auto promise = std::make_shared<std::promise<GpuInventory>>();
  auto answer = promise->get_future();
  start_detached([promise, library_path] {
    const auto library = NvmlLibrary::open(library_path);
    if (!library) {
      GpuInventory none;
      none.links.problem = kNoDriver;
      return promise->set_value(std::move(none));
    }
    GpuInventory inventory = read_gpus(library->functions());
    inventory.absent = library->absent();
    inventory.links = read_gpu_links(library->functions());
    promise->set_value(std::move(inventory));
  });
  if (answer.wait_for(patience) == std::future_status::ready) return answer.get();
  GpuInventory none;
  none.links.problem = kNoAnswer;
  return none;
}

}  // namespace reprobench
