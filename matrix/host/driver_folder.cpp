#include "matrix/host/driver_folder.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <elf.h>

namespace reprobench {
namespace {

namespace fs = std::filesystem;

// Those of glibc on Debian and on Fedora. Named to a worker they would come before a stack's own libraries.
constexpr std::array kDefaultFolders = {"/lib",     "/lib64",     "/lib/x86_64-linux-gnu",
                                        "/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu"};

bool is_default_folder(const fs::path& folder) {
  return std::ranges::any_of(kDefaultFolders, [&](const char* known) {
    std::error_code missing;
    return fs::equivalent(folder, known, missing);
  });
}

}  // namespace

bool is_library_of_host(const fs::path& file) {
  const std::array<char, EI_CLASS + 1> wanted = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64};
  std::array<char, EI_CLASS + 1> found{};
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) &&
         std::ifstream(file, std::ios::binary).read(found.data(), found.size()).good() && found == wanted;
}

std::string driver_folder() {
  const char* path = std::getenv("LD_LIBRARY_PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty() || !is_library_of_host(fs::path(folder) / "libcuda.so.1")) continue;
    return is_default_folder(folder) ? "" : fs::absolute(folder).string();
  }
  return "";
}

}  // namespace reprobench
