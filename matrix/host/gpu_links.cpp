#include "matrix/host/gpu_links.hpp"

#include <algorithm>
#include <future>
#include <memory>

#include <fmt/format.h>

#include "matrix/contract/device/topology.hpp"
#include "matrix/host/detached_thread.hpp"
#include "matrix/host/gpu_reading.hpp"

namespace reprobench {
namespace {

using nvml::Device;
using nvml::Functions;

std::optional<std::int64_t> common_speed(const Functions& library, Device device) {
  nvml::FieldValue value{};
  value.field = nvml::kFieldNvLinkSpeed;
  if (library.field_values == nullptr || library.field_values(device, 1, &value) != nvml::kSuccess) return std::nullopt;
  if (value.result != nvml::kSuccess || value.type != nvml::kValueUnsigned || value.number == 0) return std::nullopt;
  return static_cast<unsigned>(value.number);
}

NvLink link_of(const Functions& library, Device device, unsigned index) {
  NvLink link;
  unsigned version = 0;
  if (library.nvlink_version != nullptr && library.nvlink_version(device, index, &version) == nvml::kSuccess) {
    link.version = version;
  }
  unsigned type = 0;
  if (library.nvlink_remote_type != nullptr && library.nvlink_remote_type(device, index, &type) == nvml::kSuccess) {
    link.remote_is_switch = type == nvml::kRemoteSwitch;
  }
  nvml::Pci remote{};
  if (library.nvlink_remote_pci != nullptr && library.nvlink_remote_pci(device, index, &remote) == nvml::kSuccess) {
    link.remote_pci =
        pci_address({remote.bus_id, std::find(remote.bus_id, remote.bus_id + sizeof remote.bus_id, '\0')});
  }
  return link;
}

GpuLinks links_of(const Functions& library, Device device) {
  GpuLinks gpu;
  gpu.pci = pci_address(pci_bus_id(library, device));
  if (library.nvlink_state == nullptr) gpu.problem = "this driver's NVML has no nvmlDeviceGetNvLinkState";
  for (unsigned index = 0; gpu.problem.empty() && index < nvml::kNvLinks; ++index) {
    unsigned is_active = 0;
    const nvml::Return result = library.nvlink_state(device, index, &is_active);
    // A card with 12 links answers the 13th with "invalid argument"; one without any with "not supported".
    if (result == nvml::kNotSupported || result == nvml::kInvalidArgument) continue;
    if (result != nvml::kSuccess) gpu.problem = fmt::format("NVML fails on NVLink {} with error {}", index, result);
    if (result == nvml::kSuccess && is_active == 1) gpu.active.push_back(link_of(library, device, index));
  }
  gpu.link_mb_per_s = common_speed(library, device);
  return gpu;
}

std::string access_text(const Functions& library, Device from, Device to) {
  constexpr const char* kTexts[] = {"ok",
                                    "the chipset does not support it",
                                    "a GPU does not support it",
                                    "the I/O hub does not support it",
                                    "switched off by a driver setting",
                                    "not supported"};
  if (library.p2p_status == nullptr) return "this driver's NVML has no nvmlDeviceGetP2PStatus";
  unsigned status = 0;
  if (const nvml::Return result = library.p2p_status(from, to, nvml::kP2pNvLink, &status); result != nvml::kSuccess) {
    return fmt::format("nvmlDeviceGetP2PStatus fails with error {}", result);
  }
  return status < std::size(kTexts) ? kTexts[status] : fmt::format("unknown status {}", status);
}

}  // namespace

GpuLinkInventory read_gpu_links(const Functions& functions) {
  GpuLinkInventory inventory;
  if (const nvml::Return result = functions.init(); result != nvml::kSuccess) {
    inventory.problem = fmt::format("NVML does not start: error {}", result);
    return inventory;
  }
  unsigned count = 0;
  if (functions.device_count(&count) != nvml::kSuccess) inventory.problem = "NVML does not count the GPUs";
  std::vector<Device> devices;
  for (unsigned index = 0; index < count; ++index) {
    Device device = nullptr;
    if (functions.device_by_index(index, &device) != nvml::kSuccess) continue;
    devices.push_back(device);
    inventory.gpus.push_back(links_of(functions, device));
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = 0; j < devices.size(); ++j) {
      if (i == j) continue;
      inventory.nvlink_access[{inventory.gpus[i].pci, inventory.gpus[j].pci}] =
          access_text(functions, devices[i], devices[j]);
    }
  }
  functions.shutdown();
  return inventory;
}

GpuLinkInventory detect_gpu_links(const std::string& library_path, std::chrono::milliseconds patience) {
  // The thread is left behind if it does not come back; it owns all it touches.
  auto promise = std::make_shared<std::promise<GpuLinkInventory>>();
  auto answer = promise->get_future();
  start_detached([promise, library_path] {
    const auto library = NvmlLibrary::open(library_path);
    promise->set_value(library ? read_gpu_links(library->functions()) : GpuLinkInventory{kNoDriver, {}, {}});
  });
  if (answer.wait_for(patience) == std::future_status::ready) return answer.get();
  return {kNoAnswer, {}, {}};
}

}  // namespace reprobench
