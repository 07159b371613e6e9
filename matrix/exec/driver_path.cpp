#include "matrix/exec/driver_path.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/exec/enclosure/spine.hpp"
#include "matrix/host/driver_folder.hpp"

namespace reprobench {

void add_driver_path(std::map<std::string, std::string>& environment, const std::optional<Enclosure>& enclosure) {
  const std::string driver = enclosure ? "" : driver_folder();
  const std::string inside = enclosure && !enclosure->gpu.libraries.empty() ? kDriverPlace : "";
  if (driver.empty() && inside.empty()) return;
  std::string& path = environment["LD_LIBRARY_PATH"];
  std::vector<std::string> folders = {inside, path, driver};
  std::erase(folders, "");
  path = fmt::format("{}", fmt::join(folders, ":"));
}

GpuFiles gpu_files_of_host(std::vector<std::string> library_folders) {
  library_folders.insert(library_folders.begin(), driver_folder());
  return gpu_files(library_folders);
}

}  // namespace reprobench
