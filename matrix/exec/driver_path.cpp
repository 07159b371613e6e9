#include "matrix/exec/driver_path.hpp"

#include "matrix/host/driver_folder.hpp"

namespace reprobench {

void add_driver_path(std::map<std::string, std::string>& environment) {
  const std::string driver = driver_folder();
  if (driver.empty()) return;
  std::string& path = environment["LD_LIBRARY_PATH"];
  path += (path.empty() ? "" : ":") + driver;
}

}  // namespace reprobench
