#include "matrix/host/gpu_files.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "matrix/host/driver_folder.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

// What the NVIDIA Container Toolkit hands into a container that asks for the capabilities `compute` and `utility`. What
// only draws is left out.
constexpr std::array<std::string_view, 10> kDriverLibraries = {
    "libcuda.so",           "libcudadebugger.so",  "libnvidia-ml.so",
    "libnvidia-cfg.so",     "libnvidia-nvvm.so",   "libnvidia-ptxjitcompiler.so",
    "libnvidia-gpucomp.so", "libnvidia-opencl.so", "libnvidia-allocator.so",
    "libnvidia-pkcs11.so"};

// /dev/nvidia0, nvidiactl, nvidia-uvm, nvidia-caps/: modeset is for displays.
bool is_device(std::string_view name) { return name.starts_with("nvidia") && name != "nvidia-modeset"; }

bool is_of_driver(std::string_view name) {
  return std::ranges::any_of(kDriverLibraries, [&](std::string_view library) { return name.starts_with(library); });
}

// Those of a folder whose names are accepted, in the order of their names.
std::vector<fs::path> entries(const fs::path& folder, bool (*accepts)(std::string_view)) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (accepts(entry->path().filename().string())) found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

GpuFiles gpu_files(const std::vector<std::string>& library_folders, const fs::path& dev) {
  GpuFiles files;
  files.devices = entries(dev, &is_device);
  const auto driver = std::ranges::find_if(library_folders, [](const std::string& folder) {
    return !folder.empty() && is_library_of_host(fs::path(folder) / "libcuda.so.1");
  });
  if (driver != library_folders.end()) files.libraries = entries(*driver, &is_of_driver);
  // A link that leads nowhere, or another architecture's library, would be no library inside either.
  std::erase_if(files.libraries, [](const fs::path& library) { return !is_library_of_host(library); });
  if (files.devices.empty() || files.libraries.empty()) return {};
  return files;
}

}  // namespace reprobench
