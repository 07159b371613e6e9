// What surrounds the GPUs of a host, read from programs, variables and folders that this test made.
#include "matrix/cli/doctor/gpu_situation_probe.hpp"

#include "ci/catch.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"
#include "matrix/host/library_load.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

GpuInventory inventory_of(const std::string& driver) {
  GpuInventory inventory;
  inventory.driver = driver;
  return inventory;
}

TEST_CASE("without a driver nothing is looked at", "[cli][doctor]") {
  const SmallProject project;
  const TemporaryVariable visible("CUDA_VISIBLE_DEVICES", "0");
  const GpuSituation situation = probe_gpus(project.project(), inventory_of(""));
  CHECK(situation.stacks.empty());
  CHECK(situation.shm_bytes == -1);
  CHECK_FALSE(situation.visible_devices);
  CHECK_FALSE(situation.toolkit);
}

TEST_CASE("stacks with CUDA stand with their toolkit, as the facts know it or as declared", "[cli][doctor]") {
  const SmallProject project;
  project.add_stack("cpu",
                    "schema: 1\nname: cpu\nsummary: s\nsource: system\ncomponents: {torch: \"1.13.1\"}\ncxx11_abi: 1\n"
                    "cxx_standard: 17\nsystem: {package: p, package_version: \"1.13.1\", include_dirs: [/no], "
                    "library_dirs: [/no]}\n");
  std::string unknown = small_stack("unknown", "2.9.0");
  unknown.replace(unknown.find("+cu128"), 6, "+cu127");
  unknown.replace(unknown.find("\"12.8\""), 6, "\"12.7\"");
  project.add_stack("unknown", unknown);
  const GpuSituation situation = probe_gpus(project.project(), inventory_of("580.1"));
  std::vector<std::string> seen;
  for (const CudaStack& stack : situation.stacks) seen.push_back(stack.name + " " + stack.cuda + " " + stack.toolkit);
  CHECK(seen == std::vector<std::string>{"new 12.8 12.8.1", "old 12.8 12.8.1", "unknown 12.7 12.7"});
  CHECK(situation.inventory.driver == "580.1");
  CHECK_FALSE(situation.facts.wheels.empty());
}

TEST_CASE("the container toolkit is the one on PATH", "[cli][doctor]") {
  const SmallProject project;
  const std::string path = std::getenv("PATH");
  {
    const TemporaryVariable none("PATH", (project / "none").string());
    CHECK_FALSE(probe_gpus(project.project(), inventory_of("580.1")).toolkit);
  }
  written_file(project / "bin/nvidia-ctk", "#!/bin/sh\n[ \"$1\" = --version ] && echo NVIDIA CTK version 1.17.8-x\n",
               true);
  const TemporaryVariable with("PATH", (project / "bin").string() + ":" + path);
  const auto toolkit = probe_gpus(project.project(), inventory_of("580.1")).toolkit;
  REQUIRE(toolkit);
  CHECK(toolkit->version == "1.17.8");
}

// As much of a library as is looked at.
const std::string kLibrary =
    "\x7f"
    "ELF\x02";

std::vector<std::string> paths_below(const std::vector<LoaderLibrary>& libraries, const fs::path& folder) {
  std::vector<std::string> paths;
  for (const LoaderLibrary& library : libraries) {
    if (library.path.starts_with(folder.string()))
      paths.push_back(library.name + " " + library.path.substr(folder.string().size()));
  }
  return paths;
}

TEST_CASE("libraries on LD_LIBRARY_PATH come folder by folder, each file once, by the names that programs load",
          "[cli][doctor]") {
  const SmallProject project;
  for (const char* name : {"a/libcuda.so.1", "a/libcudart.so.12", "a/libcudart.so.12.8.90", "a/libother.so.1",
                           "a/libcuda.so", "b/libcudart.so.11.0", "b/libcudart.so.13"}) {
    written_file(project / name, kLibrary);
  }
  written_file(project / "32/libcuda.so.1",
               "\x7f"
               "ELF\x01");
  written_file(project / "32/libcudart.so.12", "");
  fs::create_symlink(project / "a/libcuda.so.1", project / "b/libcuda.so.1");
  fs::create_symlink(project / "b/gone", project / "b/libcudart.so.9");
  const std::string in = (project / "").string();
  const TemporaryVariable setting("LD_LIBRARY_PATH", in + "32:" + in + "b:/no/such/folder:" + in + "a");
  const auto libraries = probe_gpus(project.project(), inventory_of("580.1")).libraries;
  CHECK(paths_below(libraries, project / "") == std::vector<std::string>{"libcuda.so.1 b/libcuda.so.1",
                                                                         "libcudart.so.13 b/libcudart.so.13",
                                                                         "libcudart.so.12 a/libcudart.so.12"});
}

TEST_CASE("whether the driver's library can be loaded is what the loader says", "[cli][doctor]") {
  const SmallProject project;
  const GpuSituation situation = probe_gpus(project.project(), inventory_of("580.1"));
  const LibraryLoad driver = try_to_load("libcuda.so.1");
  CHECK(situation.driver_load_problem == driver.problem);
  if (driver.path.empty()) return;
  REQUIRE_FALSE(situation.libraries.empty());
  CHECK(situation.libraries.front().path == driver.path);
}

TEST_CASE("the shared memory is that of /dev/shm, and the visible devices those of the variable", "[cli][doctor]") {
  const SmallProject project;
  {
    const TemporaryVariable visible("CUDA_VISIBLE_DEVICES", "1,0");
    CHECK(probe_gpus(project.project(), inventory_of("580.1")).visible_devices == "1,0");
  }
  const TemporaryVariable none("CUDA_VISIBLE_DEVICES", std::nullopt);
  const GpuSituation situation = probe_gpus(project.project(), inventory_of("580.1"));
  CHECK_FALSE(situation.visible_devices);
  const fs::space_info space = fs::exists("/dev/shm") ? fs::space("/dev/shm") : fs::space_info{0, 0, 0};
  if (fs::exists("/dev/shm")) CHECK(situation.shm_bytes == static_cast<std::int64_t>(space.capacity));
}

TEST_CASE("what the programs print is read word by word", "[cli][doctor]") {
  CHECK(toolkit_version("NVIDIA Container Toolkit CLI version 1.20.0-rc.1\ncommit: abc\n") == "1.20.0");
  CHECK(toolkit_version("version 1.2").compare("1.2") == 0);
  CHECK(toolkit_version("version").empty());
  CHECK(toolkit_version("1.2").empty());
  CHECK(toolkit_mode("[nvidia-container-runtime]\n  mode = \"cdi\"\n") == "cdi");
  CHECK(toolkit_mode("mode = \"cdi\"\n").empty());
  CHECK(toolkit_mode("[nvidia-container-runtime]\n[other]\nmode = \"cdi\"\n").empty());
  CHECK(toolkit_mode("[other]\nmode=\"a\"\n[nvidia-container-runtime]\n#mode=\"b\"\n\tmode = \"legacy\"\r\n") ==
        "legacy");
  const auto cached = cached_libraries(
      "2 libs found in cache\n\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/libcuda.so.1\n"
      "\tlibcuda.so.1 (libc6) => /usr/lib32/libcuda.so.1\n\tlibcudart.so.12 (libc6,x86-64) => /opt/libcudart.so.12\n"
      "\tlibm.so.6 (libc6,x86-64) => /usr/lib/libm.so.6\n");
  REQUIRE(cached.size() == 2);
  CHECK(cached[0].name == "libcuda.so.1");
  CHECK(cached[0].path == "/usr/lib/libcuda.so.1");
  CHECK(cached[1].name == "libcudart.so.12");
  CHECK(cached[1].path == "/opt/libcudart.so.12");
}

}  // namespace
}  // namespace reprobench
