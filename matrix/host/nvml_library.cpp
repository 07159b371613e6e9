#include "matrix/host/nvml_library.hpp"

#include <cstdlib>

#include <dlfcn.h>

namespace reprobench {
namespace {

enum class Need { always, optional };

// One function: its name in the newest library first, then what older drivers call it.
struct Binding {
  Need need;
  std::vector<const char*> names;
  void (*assign)(nvml::Functions& functions, void* symbol);
};

template <auto Member>
void assign(nvml::Functions& functions, void* symbol) {
  using Pointer = std::remove_reference_t<decltype(functions.*Member)>;
  functions.*Member = reinterpret_cast<Pointer>(symbol);
}

using F = nvml::Functions;

// clang-format off
const Binding kBindings[] = {
    {Need::always,   {"nvmlInit_v2"}, &assign<&F::init>},
    {Need::always,   {"nvmlShutdown"}, &assign<&F::shutdown>},
    {Need::always,   {"nvmlSystemGetDriverVersion"}, &assign<&F::driver_version>},
    {Need::always,   {"nvmlDeviceGetCount_v2"}, &assign<&F::device_count>},
    {Need::always,   {"nvmlDeviceGetHandleByIndex_v2"}, &assign<&F::device_by_index>},
    {Need::always,   {"nvmlDeviceGetName"}, &assign<&F::name>},
    {Need::always,   {"nvmlDeviceGetCudaComputeCapability"}, &assign<&F::compute_capability>},
    {Need::always,   {"nvmlDeviceGetMemoryInfo"}, &assign<&F::memory>},
    {Need::optional, {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"}, &assign<&F::cuda_version>},
    {Need::optional, {"nvmlDeviceGetUUID"}, &assign<&F::uuid>},
    {Need::optional, {"nvmlDeviceGetPciInfo_v3"}, &assign<&F::pci>},
    {Need::optional, {"nvmlDeviceGetNumGpuCores"}, &assign<&F::cuda_cores>},
    {Need::optional, {"nvmlDeviceGetClockInfo"}, &assign<&F::clock>},
    {Need::optional, {"nvmlDeviceGetMaxClockInfo"}, &assign<&F::max_clock>},
    {Need::optional, {"nvmlDeviceGetApplicationsClock"}, &assign<&F::application_clock>},
    {Need::optional, {"nvmlDeviceGetTemperature"}, &assign<&F::temperature>},
    {Need::optional, {"nvmlDeviceGetPowerUsage"}, &assign<&F::power>},
    {Need::optional, {"nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit"}, &assign<&F::power_limit>},
    {Need::optional, {"nvmlDeviceGetTotalEnergyConsumption"}, &assign<&F::energy>},
    {Need::optional, {"nvmlDeviceGetUtilizationRates"}, &assign<&F::utilisation>},
    {Need::optional, {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}, &assign<&F::processes>},
    {Need::optional, {"nvmlDeviceGetComputeRunningProcesses"}, &assign<&F::processes_v1>},
    {Need::optional, {"nvmlDeviceGetEccMode"}, &assign<&F::ecc_mode>},
    {Need::optional, {"nvmlDeviceGetTotalEccErrors"}, &assign<&F::ecc_errors>},
    {Need::optional, {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}, &assign<&F::clock_events>},
    {Need::optional, {"nvmlDeviceGetViolationStatus"}, &assign<&F::violation>},
    {Need::optional, {"nvmlDeviceGetPersistenceMode"}, &assign<&F::persistence_mode>},
    {Need::optional, {"nvmlDeviceGetComputeMode"}, &assign<&F::compute_mode>},
    {Need::optional, {"nvmlDeviceGetMigMode"}, &assign<&F::mig_mode>},
    {Need::optional, {"nvmlDeviceGetCurrPcieLinkGeneration"}, &assign<&F::pcie_generation>},
    {Need::optional, {"nvmlDeviceGetCurrPcieLinkWidth"}, &assign<&F::pcie_width>},
    {Need::optional, {"nvmlDeviceGetMaxPcieLinkGeneration"}, &assign<&F::max_pcie_generation>},
    {Need::optional, {"nvmlDeviceGetMaxPcieLinkWidth"}, &assign<&F::max_pcie_width>},
    {Need::optional, {"nvmlDeviceGetNvLinkState"}, &assign<&F::nvlink_state>},
    {Need::optional, {"nvmlDeviceGetNvLinkVersion"}, &assign<&F::nvlink_version>},
    {Need::optional, {"nvmlDeviceGetNvLinkRemoteDeviceType"}, &assign<&F::nvlink_remote_type>},
    {Need::optional, {"nvmlDeviceGetNvLinkRemotePciInfo_v2"}, &assign<&F::nvlink_remote_pci>},
    {Need::optional, {"nvmlDeviceGetP2PStatus"}, &assign<&F::p2p_status>},
    {Need::optional, {"nvmlDeviceGetFieldValues"}, &assign<&F::field_values>},
    {Need::optional, {"nvmlEventSetCreate"}, &assign<&F::event_set_create>},
    {Need::optional, {"nvmlEventSetFree"}, &assign<&F::event_set_free>},
    {Need::optional, {"nvmlEventSetWait_v2", "nvmlEventSetWait"}, &assign<&F::event_set_wait>},
    {Need::optional, {"nvmlDeviceRegisterEvents"}, &assign<&F::register_events>},
};
// clang-format on

}  // namespace

std::string nvml_library_path() {
  const char* given = std::getenv("REPROBENCH_NVML_LIBRARY");
  return given != nullptr && *given != '\0' ? given : "libnvidia-ml.so.1";
}

std::shared_ptr<NvmlLibrary> NvmlLibrary::open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  std::shared_ptr<NvmlLibrary> library(new NvmlLibrary);
  library->handle_ = std::shared_ptr<void>(handle, [](void* opened) { dlclose(opened); });
  for (const Binding& binding : kBindings) {
    void* symbol = nullptr;
    for (const char* name : binding.names) {
      if (symbol == nullptr) symbol = dlsym(handle, name);
    }
    if (symbol != nullptr) {
      binding.assign(library->functions_, symbol);
    } else if (binding.need == Need::always) {
      return nullptr;
    } else {
      library->absent_.push_back(binding.names.front());
    }
  }
  return library;
}

}  // namespace reprobench
