#include "matrix/exec/driver_path.hpp"

#include "matrix/exec/enclosure/spine.hpp"
#include "matrix/host/driver_folder.hpp"

namespace reprobench {

void add_driver_path(std::map<std::string, std::string>& environment, const std::optional<Enclosure>& enclosure) {
  std::string driver;
  if (!enclosure) {
    driver = driver_folder();
  } else if (!enclosure->gpu.libraries.empty()) {
    driver = kDriverPlace;
  }
  if (driver.empty()) return;
  std::string& path = environment["LD_LIBRARY_PATH"];
  path += (path.empty() ? "" : ":") + driver;
}

GpuFiles gpu_files_of_host(std::vector<std::string> library_folders) {
  library_folders.insert(library_folders.begin(), driver_folder());
  return gpu_files(library_folders);
}

}  // namespace reprobench
