#include "matrix/cli/doctor/gpu_situation_probe.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <sys/statvfs.h>

#include "matrix/exec/subprocess.hpp"
#include "matrix/host/driver_folder.hpp"
#include "matrix/host/library_load.hpp"
#include "matrix/plan/compat_rules.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{5};
constexpr const char* kDriverLibrary = "libcuda.so.1";

bool is_of_interest(const std::string& name) { return name == kDriverLibrary || name.rfind("libcudart.so.", 0) == 0; }

std::string output_of(std::vector<std::string> command) {
  SubprocessOptions options;
  options.command = std::move(command);
  options.timeout = kPatience;
  return run_subprocess(options).out;
}

std::vector<CudaStack> cuda_stacks(const Project& project, const CompatFacts& facts) {
  std::vector<CudaStack> stacks;
  for (const auto& [name, spec] : project.stacks()) {
    const auto cuda = spec.components.find("cuda");
    if (cuda == spec.components.end()) continue;
    const TorchBuild build = torch_build(spec);
    const WheelFacts* wheel = facts.find_wheel(build.line, build.variant);
    const bool known = wheel != nullptr && !wheel->cuda_toolkit.empty();
    stacks.push_back({name, cuda->second, known ? wheel->cuda_toolkit : cuda->second});
  }
  return stacks;
}

std::optional<ContainerToolkit> container_toolkit() {
  const std::string program = find_in_path("nvidia-ctk");
  if (program.empty()) return std::nullopt;
  std::ifstream config("/etc/nvidia-container-runtime/config.toml");
  std::ostringstream text;
  text << config.rdbuf();
  return ContainerToolkit{toolkit_version(output_of({program, "--version"})), toolkit_mode(text.str())};
}

// LD_LIBRARY_PATH comes before the cache, as it does for the loader.
std::vector<LoaderLibrary> in_library_path() {
  std::vector<LoaderLibrary> found;
  const char* path = std::getenv("LD_LIBRARY_PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code ignored;
    std::vector<LoaderLibrary> here;
    for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, ignored)) {
      const std::string name = entry.path().filename().string();
      const bool is_soname = std::count(name.begin(), name.end(), '.') == 2;
      if (!is_of_interest(name) || !is_soname || !is_library_of_host(entry.path())) continue;
      here.push_back({name, entry.path().string()});
    }
    std::sort(here.begin(), here.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    found.insert(found.end(), here.begin(), here.end());
  }
  return found;
}

// The driver's that was loaded first, wherever it was found; then all that the loader could find.
std::vector<LoaderLibrary> loader_libraries(const std::string& loaded_driver) {
  std::vector<LoaderLibrary> found = in_library_path();
  if (!loaded_driver.empty()) found.insert(found.begin(), {kDriverLibrary, loaded_driver});
  for (const char* program : {"/sbin/ldconfig", "/usr/sbin/ldconfig"}) {
    if (!fs::exists(program)) continue;
    const auto cached = cached_libraries(output_of({program, "-p"}));
    found.insert(found.end(), cached.begin(), cached.end());
    break;
  }
  std::set<fs::path> seen;
  std::erase_if(found, [&](const LoaderLibrary& library) {
    std::error_code error;
    const fs::path file = fs::canonical(library.path, error);
    return error || !seen.insert(file).second;
  });
  return found;
}

std::int64_t dev_shm_bytes() {
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) != 0) return -1;
  return static_cast<std::int64_t>(status.f_blocks) * static_cast<std::int64_t>(status.f_frsize);
}

}  // namespace

std::string toolkit_version(const std::string& output) {
  std::istringstream words(output);
  for (std::string word; words >> word;) {
    if (word != "version" || !(words >> word)) continue;
    return word.substr(0, word.find_first_not_of("0123456789."));
  }
  return "";
}

std::string toolkit_mode(const std::string& config) {
  std::istringstream lines(config);
  bool in_section = false;
  for (std::string line; std::getline(lines, line);) {
    std::erase_if(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    if (!line.empty() && line.front() == '[') in_section = line == "[nvidia-container-runtime]";
    if (!in_section || line.rfind("mode=\"", 0) != 0) continue;
    const std::size_t begin = line.find('"') + 1;
    return line.substr(begin, line.find('"', begin) - begin);
  }
  return "";
}

std::vector<LoaderLibrary> cached_libraries(const std::string& ldconfig_output) {
  std::vector<LoaderLibrary> found;
  std::istringstream lines(ldconfig_output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t arrow = line.find(" => ");
    if (arrow == std::string::npos || line.find("x86-64") == std::string::npos) continue;
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (is_of_interest(name)) found.push_back({name, line.substr(arrow + 4)});
  }
  return found;
}

GpuSituation probe_gpus(const Project& project, const GpuInventory& inventory) {
  GpuSituation situation;
  situation.inventory = inventory;
  if (inventory.driver.empty()) return situation;
  situation.facts = project.facts();
  situation.stacks = cuda_stacks(project, situation.facts);
  situation.toolkit = container_toolkit();
  LibraryLoad driver = try_to_load(kDriverLibrary);
  situation.libraries = loader_libraries(driver.path);
  situation.driver_load_problem = std::move(driver.problem);
  situation.shm_bytes = dev_shm_bytes();
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) situation.visible_devices = visible;
  return situation;
}

}  // namespace reprobench
