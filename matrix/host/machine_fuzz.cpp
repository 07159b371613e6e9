// What a machine says of itself, from bytes: NCCL's log, and entries of sysfs as lines `PATH TEXT` or `PATH -> TARGET`.
// ci/fuzz.sh builds and runs it. A finding becomes a test of nccl_log_test.cpp or sysfs_topology_test.cpp.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "ci/temporary.hpp"
#include "matrix/contract/device/nccl_facts.hpp"
#include "matrix/contract/device/nccl_log.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/host/host_text.hpp"
#include "matrix/host/sysfs_topology.hpp"

namespace {

namespace fs = std::filesystem;

// Empty before each input.
struct Sysfs {
  void clear() const {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }

  // An entry that cannot be there, such as one below a file, is left out. None leads out of the folder.
  void add(const std::string& line) const {
    const std::size_t space = line.find(' ');
    const std::string path = line.substr(0, space);
    const std::string text = space == std::string::npos ? "" : line.substr(space + 1);
    const fs::path relative = fs::path(path).lexically_normal();
    if (relative.empty() || relative.is_absolute() || *relative.begin() == "..") return;
    if (path.find('\0') != std::string::npos) return;
    std::error_code error;
    fs::create_directories((root / relative).parent_path(), error);
    if (text.starts_with("-> ") && text.find("/../../../../") == std::string::npos && text[3] != '/') {
      fs::create_symlink(text.substr(3), root / relative, error);
    } else {
      std::ofstream(root / relative) << text << "\n";
    }
  }

  reprobench::TemporaryFolder folder;
  fs::path root = folder.path;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (text.find("NCCL") != std::string::npos) {
    reprobench::written(reprobench::nccl_facts_in(text)).dump();
    reprobench::choices_in(text);
    for (const char* collective : {"all_reduce", "all_gather", "broadcast"}) {
      nlohmann::json(reprobench::nccl_algorithm(text, collective)).dump();
    }
    return 0;
  }
  static const Sysfs sysfs;
  sysfs.clear();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) sysfs.add(line);
  reprobench::cpu_text(text);
  reprobench::os_name(text);
  try {
    reprobench::written(reprobench::read_topology(sysfs.root, {"no NVML", {}, {}})).dump();
  } catch (const fs::filesystem_error&) {
    // A link that leads to itself, or a name that is too long: such a machine cannot be looked at.
  }
  return 0;
}
