#include "matrix/host/gpu_files.hpp"

#include <fstream>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// A /dev and a folder of libraries, as a driver's installation leaves them.
struct DriverScene {
  DriverScene() {
    for (const char* name : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-modeset", "null", "sda"})
      write(dev() / name, "");
    fs::create_directories(dev() / "nvidia-caps");
    fs::create_directories(libraries());
    for (const char* name : {"libcuda.so", "libnvidia-ml.so", "libnvidia-ptxjitcompiler.so"}) {
      const std::string file = std::string(name) + ".580.159.04";
      write(libraries() / file, kElf64);
      fs::create_symlink(file, libraries() / (std::string(name) + ".1"));
    }
    for (const char* name : {"libc.so.6", "libnvidia-glcore.so.580.159.04", "libcudart.so.12"})
      write(libraries() / name, kElf64);
  }

  static void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  fs::path dev() const { return folder.path / "dev"; }
  fs::path libraries() const { return folder.path / "lib"; }
  GpuFiles files(const std::vector<std::string>& before = {}) const {
    std::vector<std::string> folders = before;
    folders.push_back(libraries().string());
    return gpu_files(folders, dev());
  }

  const std::string kElf64 =
      "\x7f"
      "ELF\x02\x01\x01";
  TemporaryFolder folder;
};

Names names_of(const std::vector<fs::path>& paths) {
  Names names;
  for (const fs::path& path : paths) names.push_back(path.filename().string());
  return names;
}

TEST_CASE("a GPU needs its device nodes and those of the driver's libraries that compute, by all their names",
          "[host]") {
  const DriverScene scene;
  CHECK(names_of(scene.files().devices) == Names{"nvidia-caps", "nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl"});
  CHECK(names_of(scene.files().libraries) == Names{"libcuda.so.1", "libcuda.so.580.159.04", "libnvidia-ml.so.1",
                                                   "libnvidia-ml.so.580.159.04", "libnvidia-ptxjitcompiler.so.1",
                                                   "libnvidia-ptxjitcompiler.so.580.159.04"});
}

TEST_CASE("the driver is where the loader finds its libcuda first, and a stub or a 32-bit library is none", "[host]") {
  const DriverScene scene;
  const fs::path other = scene.folder.path / "other";
  DriverScene::write(other / "libcuda.so.1", "");  // as a container build leaves it
  CHECK(names_of(scene.files({other.string()}).libraries).size() == 6);
  DriverScene::write(other / "libcuda.so.1",
                     "\x7f"
                     "ELF\x01\x01\x01");
  CHECK(names_of(scene.files({"", other.string()}).libraries).size() == 6);
  DriverScene::write(other / "libcuda.so.1", scene.kElf64);
  CHECK(scene.files({other.string()}).libraries == std::vector<fs::path>{other / "libcuda.so.1"});
  fs::create_symlink("nowhere", other / "libnvidia-ml.so.1");
  CHECK(scene.files({other.string()}).libraries.size() == 1);
}

TEST_CASE("without devices, or without a driver, nothing is handed in", "[host]") {
  const DriverScene scene;
  CHECK(gpu_files({scene.libraries().string()}, scene.folder.path / "nowhere") == GpuFiles{});
  CHECK(gpu_files({(scene.folder.path / "nowhere").string()}, scene.dev()) == GpuFiles{});
  CHECK(gpu_files({}, scene.dev()) == GpuFiles{});
}

}  // namespace
}  // namespace reprobench
