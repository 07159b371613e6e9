// The files of this host that a program needs to use a GPU, for a program that sees nothing else of the host.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace reprobench {

struct GpuFiles {
  std::vector<std::filesystem::path> devices;    // nodes, and folders of nodes, of NVIDIA's driver
  std::vector<std::filesystem::path> libraries;  // of the driver, for computing and NVML, under each name they have
  bool operator==(const GpuFiles&) const = default;
};

// `library_folders` are those of the loader, in its order; the first that holds a libcuda.so.1 of this host has the
// driver. Nothing where there are no devices or no driver. Nothing is opened but the headers of libraries.
GpuFiles gpu_files(const std::vector<std::string>& library_folders, const std::filesystem::path& dev = "/dev");

}  // namespace reprobench
