// The symbols of libnvidia-ml.so.1 that reprobench asks for, answering from the fake machine. Compiled twice: as a
// present driver's library, and with REPROBENCH_FAKE_NVML_R450 as that of an old driver, which lacks the newer names.
#include <algorithm>
#include <cstring>

#include "matrix/host/nvml_api.hpp"
#include "suites/fake_nvml/fake_machine.hpp"

namespace {

using namespace reprobench::nvml;
using reprobench::fake_nvml::Gpu;
using reprobench::fake_nvml::Machine;
using reprobench::fake_nvml::PendingXid;

Device handle_of(std::size_t index) { return reinterpret_cast<Device>(index + 1); }

// Runs `answer` on the GPU unless the script has another end in store for this call.
template <class Answer>
Return query(const char* function, Device device, Answer answer) {
  Machine& machine = Machine::instance();
  if (const int planted = machine.enter(function); planted != 0) return planted;
  const std::lock_guard lock(machine.mutex());
  const auto index = reinterpret_cast<std::size_t>(device) - 1;
  if (index >= machine.gpus().size()) return kInvalidArgument;
  const Gpu& gpu = machine.gpus()[index];
  if (gpu.is_lost) return kGpuIsLost;
  return answer(gpu);
}

// One number by its key in the script. A card whose script does not name it does not support it.
template <class Number>
Return number(const char* function, Device device, const char* key, Number* out) {
  return query(function, device, [&](const Gpu& gpu) -> Return {
    if (Machine::instance().is_garbage(function)) {
      std::memset(out, 0xff, sizeof *out);
      return kSuccess;
    }
    if (!gpu.keys.contains(key)) return kNotSupported;
    *out = gpu.keys[key].get<Number>();
    return kSuccess;
  });
}

Return text(const char* function, Device device, const char* key, char* out, unsigned length) {
  return query(function, device, [&](const Gpu& gpu) -> Return {
    const std::string value = gpu.keys.value(key, "");
    if (value.empty()) return kNotSupported;
    if (value.size() >= length) return kInsufficientSize;
    std::strcpy(out, value.c_str());
    return kSuccess;
  });
}

template <class Record>
Return processes(const char* function, Device device, unsigned* count, Record* records) {
  return query(function, device, [&](const Gpu& gpu) -> Return {
    const auto pids = gpu.keys.value("pids", std::vector<unsigned>());
    const unsigned capacity = *count;
    *count = static_cast<unsigned>(pids.size());
    if (pids.size() > capacity) return kInsufficientSize;
    for (std::size_t i = 0; i < pids.size(); ++i) {
      records[i] = {};
      records[i].pid = pids[i];
      records[i].used_memory = gpu.keys.value("process_memory_bytes", kNotAvailable);
    }
    return kSuccess;
  });
}

Return mode(const char* function, Device device, const char* key, unsigned* current, unsigned* pending) {
  *pending = 0;
  return number(function, device, key, current);
}

}  // namespace

extern "C" {

Return nvmlInit_v2() {
  Machine& machine = Machine::instance();
  machine.load_script();
  if (const int planted = machine.enter("nvmlInit_v2"); planted != 0) return planted;
  return machine.driver().empty() ? kDriverNotLoaded : kSuccess;
}
Return nvmlShutdown() { return kSuccess; }
Return nvmlSystemGetDriverVersion(char* out, unsigned length) {
  const std::string& driver = Machine::instance().driver();
  if (driver.size() >= length) return kInsufficientSize;
  std::strcpy(out, driver.c_str());
  return kSuccess;
}
Return nvmlSystemGetCudaDriverVersion(int* version) {
  *version = Machine::instance().cuda();
  return kSuccess;
}
Return nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(Machine::instance().gpus().size());
  return kSuccess;
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  *device = handle_of(index);
  return query("nvmlDeviceGetHandleByIndex_v2", *device, [](const Gpu&) { return kSuccess; });
}
Return nvmlDeviceGetName(Device device, char* out, unsigned length) {
  return text("nvmlDeviceGetName", device, "name", out, length);
}
Return nvmlDeviceGetUUID(Device device, char* out, unsigned length) {
  return text("nvmlDeviceGetUUID", device, "uuid", out, length);
}
Return nvmlDeviceGetPciInfo_v3(Device device, Pci* pci) {
  *pci = {};
  return text("nvmlDeviceGetPciInfo_v3", device, "pci_bus_id", pci->bus_id, sizeof pci->bus_id);
}
Return nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  return query("nvmlDeviceGetCudaComputeCapability", device, [&](const Gpu& gpu) {
    *major = gpu.keys.value("major", 9);
    *minor = gpu.keys.value("minor", 0);
    return kSuccess;
  });
}
Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  return query("nvmlDeviceGetMemoryInfo", device, [&](const Gpu& gpu) {
    memory->total = gpu.keys.value("memory_bytes", Count{85'520'809'984});
    memory->used = gpu.keys.value("memory_used_bytes", Count{0});
    memory->free = memory->total - memory->used;
    return kSuccess;
  });
}
Return nvmlDeviceGetNumGpuCores(Device device, unsigned* cores) {
  return number("nvmlDeviceGetNumGpuCores", device, "cuda_cores", cores);
}
Return nvmlDeviceGetClockInfo(Device device, unsigned type, unsigned* clock_mhz) {
  return number("nvmlDeviceGetClockInfo", device, type == kClockSm ? "sm_clock_mhz" : "memory_clock_mhz", clock_mhz);
}
Return nvmlDeviceGetMaxClockInfo(Device device, unsigned type, unsigned* clock_mhz) {
  return number("nvmlDeviceGetMaxClockInfo", device, type == kClockSm ? "max_sm_clock_mhz" : "max_memory_clock_mhz",
                clock_mhz);
}
Return nvmlDeviceGetApplicationsClock(Device device, unsigned type, unsigned* clock_mhz) {
  return number("nvmlDeviceGetApplicationsClock", device,
                type == kClockSm ? "application_sm_clock_mhz" : "application_memory_clock_mhz", clock_mhz);
}
Return nvmlDeviceGetTemperature(Device device, unsigned, unsigned* celsius) {
  return number("nvmlDeviceGetTemperature", device, "temperature_c", celsius);
}
Return nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) {
  return number("nvmlDeviceGetPowerUsage", device, "power_mw", milliwatts);
}
// A counter: from `energy_mj` on, by `energy_mw` as long as the script is in use.
Return nvmlDeviceGetTotalEnergyConsumption(Device device, Count* millijoules) {
  Count grown_mj = 0;
  const Return result = query("nvmlDeviceGetTotalEnergyConsumption", device, [&](const Gpu& gpu) {
    grown_mj = static_cast<Count>(gpu.keys.value("energy_mw", 0.0) * Machine::instance().age_s());
    return kSuccess;
  });
  if (result != kSuccess) return result;
  const Return counted = number("nvmlDeviceGetTotalEnergyConsumption", device, "energy_mj", millijoules);
  if (counted == kSuccess) *millijoules += grown_mj;
  return counted;
}
Return nvmlDeviceGetUtilizationRates(Device device, Utilisation* utilisation) {
  utilisation->memory = 0;
  return number("nvmlDeviceGetUtilizationRates", device, "utilisation_percent", &utilisation->gpu);
}
Return nvmlDeviceGetEccMode(Device device, unsigned* current, unsigned* pending) {
  return mode("nvmlDeviceGetEccMode", device, "ecc", current, pending);
}
Return nvmlDeviceGetTotalEccErrors(Device device, unsigned type, unsigned counter, Count* count) {
  if (type != kUncorrected) return kNotSupported;
  return number("nvmlDeviceGetTotalEccErrors", device,
                counter == kCounterVolatile ? "ecc_uncorrected" : "ecc_uncorrected_ever", count);
}
Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device, Count* reasons) {
  return number("nvmlDeviceGetCurrentClocksThrottleReasons", device, "clock_events", reasons);
}
Return nvmlDeviceGetViolationStatus(Device device, unsigned policy, Violation* violation) {
  violation->reference_time = 0;
  return number("nvmlDeviceGetViolationStatus", device,
                policy == kPolicyThermal ? "thermal_violation_ns" : "power_violation_ns", &violation->violation_time);
}
Return nvmlDeviceGetPersistenceMode(Device device, unsigned* is_on) {
  return number("nvmlDeviceGetPersistenceMode", device, "persistence", is_on);
}
Return nvmlDeviceGetComputeMode(Device device, unsigned* compute_mode) {
  return number("nvmlDeviceGetComputeMode", device, "compute_mode", compute_mode);
}
Return nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned* generation) {
  return number("nvmlDeviceGetCurrPcieLinkGeneration", device, "pcie_generation", generation);
}
Return nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned* lanes) {
  return number("nvmlDeviceGetCurrPcieLinkWidth", device, "pcie_lanes", lanes);
}
Return nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* generation) {
  return number("nvmlDeviceGetMaxPcieLinkGeneration", device, "max_pcie_generation", generation);
}
Return nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* lanes) {
  return number("nvmlDeviceGetMaxPcieLinkWidth", device, "max_pcie_lanes", lanes);
}
Return nvmlDeviceGetNvLinkState(Device device, unsigned link, unsigned* is_active) {
  return query("nvmlDeviceGetNvLinkState", device, [&](const Gpu& gpu) -> Return {
    if (!gpu.keys.contains("nvlinks_active")) return kNotSupported;
    *is_active = link < gpu.keys["nvlinks_active"].get<unsigned>() ? 1 : 0;
    return kSuccess;
  });
}
Return nvmlDeviceGetNvLinkVersion(Device device, unsigned, unsigned* version) {
  return number("nvmlDeviceGetNvLinkVersion", device, "nvlink_version", version);
}
Return nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned, unsigned* type) {
  return number("nvmlDeviceGetNvLinkRemoteDeviceType", device, "nvlink_remote_type", type);
}
Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned, Pci* pci) {
  *pci = {};
  return text("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, "nvlink_remote_pci", pci->bus_id, sizeof pci->bus_id);
}
Return nvmlDeviceGetP2PStatus(Device device, Device, unsigned what, unsigned* status) {
  if (what != kP2pNvLink) return kInvalidArgument;
  return number("nvmlDeviceGetP2PStatus", device, "p2p_nvlink", status);
}
Return nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
  if (count != 1 || values->field != kFieldNvLinkSpeed) return kInvalidArgument;
  unsigned speed = 0;
  values->result = number("nvmlDeviceGetFieldValues", device, "nvlink_mb_per_s", &speed);
  values->type = kValueUnsigned;
  values->number = 0xabcd'0000'0000ULL + speed;  // as a driver leaves it: only the first bytes are the value
  return kSuccess;
}
Return nvmlEventSetCreate(EventSet* set) {
  *set = &Machine::instance();
  return Machine::instance().enter("nvmlEventSetCreate");
}
Return nvmlEventSetFree(EventSet) { return kSuccess; }
Return nvmlDeviceRegisterEvents(Device device, Count, EventSet) {
  return query("nvmlDeviceRegisterEvents", device, [](const Gpu&) { return kSuccess; });
}

Return nvmlEventSetWait(EventSet, Event* event, unsigned timeout_ms) {
  Machine& machine = Machine::instance();
  if (const int planted = machine.enter("nvmlEventSetWait"); planted != 0) return planted;
  PendingXid xid;
  const int result = machine.wait_for_xid(xid, std::chrono::milliseconds(timeout_ms));
  if (result == kSuccess) *event = {handle_of(xid.gpu), kEventXid, xid.number, 0xffffffff, 0xffffffff};
  return result;
}

Return nvmlDeviceGetComputeRunningProcesses(Device device, unsigned* count, ProcessV1* records) {
  return processes("nvmlDeviceGetComputeRunningProcesses", device, count, records);
}

#ifdef REPROBENCH_FAKE_NVML_R450
Return nvmlDeviceGetPowerManagementLimit(Device device, unsigned* milliwatts) {
  return number("nvmlDeviceGetPowerManagementLimit", device, "power_limit_mw", milliwatts);
}
#else
Return nvmlSystemGetCudaDriverVersion_v2(int* version) { return nvmlSystemGetCudaDriverVersion(version); }
Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, Process* records) {
  return processes("nvmlDeviceGetComputeRunningProcesses_v3", device, count, records);
}
Return nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* milliwatts) {
  return number("nvmlDeviceGetEnforcedPowerLimit", device, "power_limit_mw", milliwatts);
}
Return nvmlDeviceGetCurrentClocksEventReasons(Device device, Count* reasons) {
  return number("nvmlDeviceGetCurrentClocksEventReasons", device, "clock_events", reasons);
}
Return nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  return mode("nvmlDeviceGetMigMode", device, "mig", current, pending);
}
Return nvmlEventSetWait_v2(EventSet set, Event* event, unsigned timeout_ms) {
  return nvmlEventSetWait(set, event, timeout_ms);
}
#endif

}  // extern "C"
