#include "matrix/host/driver_folder.hpp"

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace reprobench {

std::string driver_folder() {
  const char* path = std::getenv("LD_LIBRARY_PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code ignored;  // a folder that cannot be read holds nothing for us
    if (!folder.empty() && std::filesystem::exists(std::filesystem::path(folder) / "libcuda.so.1", ignored)) {
      return std::filesystem::absolute(folder).string();
    }
  }
  return "";
}

}  // namespace reprobench
