// A Python environment with a PyTorch in miniature: libraries without content, linked as the real ones are.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "matrix/provision/environment_survey.hpp"
#include "matrix/provision/provision_fixture.hpp"

namespace reprobench::test {

struct LinkedLibrary {
  std::string soname;
  std::vector<std::string> needed{};  // sonames
  std::string rpath{};                // DT_RPATH; with `as_runpath` DT_RUNPATH
  bool as_runpath = false;
  std::string build_id = "0x0001";  // or "none"
};

// The linker needs to see the needed libraries, under the names that they will have.
inline void link_library(const std::filesystem::path& path, const LinkedLibrary& library,
                         const std::string& source = "/dev/null", const std::string& options = "-x c") {
  const TemporaryFolder stubs;
  std::string needed;
  for (const std::string& name : library.needed) {
    const std::string stub = (stubs.path / name).string();
    REQUIRE(std::system(
                fmt::format("c++ -shared -nostdlib -x c /dev/null -o {0} -Wl,-soname,{1}", stub, name).c_str()) == 0);
    needed += " " + stub;
  }
  std::filesystem::create_directories(path.parent_path());
  const std::string rpath = library.rpath.empty() ? "" : fmt::format("'-Wl,-rpath,{}'", library.rpath);
  const std::string command = fmt::format(
      "c++ -shared -fPIC -nostdlib {} {} -x none -o {} -Wl,-soname,{} -Wl,--build-id={} {} {} -Wl,--no-as-needed {}",
      options, source, path.string(), library.soname, library.build_id,
      library.as_runpath ? "-Wl,--enable-new-dtags" : "-Wl,--disable-new-dtags", rpath, needed);
  REQUIRE(std::system(command.c_str()) == 0);
}

// PyTorch 9.8.7+cu128 for Python 3.12 with its CUDA part, cuDNN 9.10.2 and the headers of both.
class FakeEnvironment {
 public:
  FakeEnvironment() {
    static const TemporaryFolder first;  // linked once, copied for every test
    if (!std::filesystem::exists(first.path / "lib")) make(first.path);
    std::filesystem::copy(first.path, root(), std::filesystem::copy_options::recursive);
  }

  std::filesystem::path root() const { return folder_.path / "env"; }
  std::filesystem::path site() const { return root() / "lib/python3.12/site-packages"; }
  std::filesystem::path torch() const { return site() / "torch"; }
  std::filesystem::path nvidia() const { return site() / "nvidia"; }

  TorchPlace place() const { return torch_in_folder(torch()); }
  EnvironmentSurvey survey(bool with_gpu = false, const std::vector<std::string>& of_host = {}) const {
    return survey_environment(place(), {.of_program = {}, .of_host = of_host}, with_gpu);
  }
  // Every problem as a line, the fatal ones with `FAIL ` before them.
  std::string problems(bool with_gpu = false, const std::vector<std::string>& of_host = {}) const {
    std::string text;
    for (const EnvironmentProblem& problem : survey(with_gpu, of_host).problems) {
      text += (problem.is_fatal ? "FAIL " : "") + problem.text + "\n";
    }
    return text;
  }

  void add_metadata(const std::string& name, const std::string& version, const std::string& requirements = "") const {
    write_metadata(site(), name, version, requirements);
  }
  static void write_torch_header(const std::filesystem::path& torch, int major, int minor, int patch) {
    write_file(
        torch / "include/torch/version.h",
        fmt::format("#define TORCH_VERSION_MAJOR {}\n#define TORCH_VERSION_MINOR {}\n#define TORCH_VERSION_PATCH {}\n",
                    major, minor, patch));
  }

 private:
  static void write_metadata(const std::filesystem::path& site, const std::string& name, const std::string& version,
                             const std::string& requirements) {
    std::string folder = name;
    for (char& c : folder) c = c == '-' ? '_' : c;
    write_file(site / fmt::format("{}-{}.dist-info/METADATA", folder, version),
               fmt::format("Metadata-Version: 2.1\nName: {}\nVersion: {}\n{}\nVersion: not this one\n", name, version,
                           requirements));
  }

  static void make(const std::filesystem::path& root) {
    const std::filesystem::path site = root / "lib/python3.12/site-packages";
    const std::filesystem::path torch = site / "torch";
    const std::filesystem::path nvidia = site / "nvidia";
    const std::string rpath = "$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN/../../nvidia/cuda_runtime/lib:$ORIGIN";
    write_file(torch / "__init__.py", "");
    write_file(torch / "version.py",
               "from typing import Optional\n__all__ = ['__version__']\n__version__ = '9.8.7+cu128'\n"
               "debug = False\ncuda: Optional[str] = '12.8'\n");
    write_file(torch / "_C.cpython-312-x86_64-linux-gnu.so", "");
    write_file(torch / "include/ATen/ATen.h", "");
    write_torch_header(torch, 9, 8, 7);
    write_file(root / "c10.cpp", "#include <string>\nnamespace c10 { void warn(const std::string&) {} }\n");
    link_library(torch / "lib/libc10.so", {"libc10.so", {}, rpath}, (root / "c10.cpp").string(), "");
    link_library(torch / "lib/libtorch_cpu.so", {"libtorch_cpu.so", {"libc10.so", "libcudart.so.12"}, rpath});
    link_library(torch / "lib/libtorch_cuda.so",
                 {"libtorch_cuda.so", {"libcudart.so.12", "libcudnn.so.9", "libcuda.so.1"}, rpath});
    link_library(nvidia / "cuda_runtime/lib/libcudart.so.12", {"libcudart.so.12", {}, "", false, "0x000c"});
    link_library(nvidia / "cudnn/lib/libcudnn.so.9", {"libcudnn.so.9", {}, "$ORIGIN", true});
    link_library(nvidia / "cudnn/lib/libcudnn_ops.so.9", {"libcudnn_ops.so.9"});
    write_file(nvidia / "cuda_runtime/include/cuda_runtime_api.h", "#define CUDART_VERSION  12080\n");
    for (const char* header : {"crt/host_defines.h", "nv/target", "cublas_v2.h", "cusparse.h", "cusolverDn.h"}) {
      write_file(nvidia / "cuda_runtime/include" / header, "");
    }
    write_metadata(site, "torch", "9.8.7",
                   "Requires-Dist: nvidia-cudnn-cu12==9.10.2.21; platform_system == \"Linux\"\n"
                   "Requires-Dist: nvidia-cuda-runtime-cu12==12.8.90; platform_system == \"Linux\"\n");
    write_metadata(site, "nvidia-cudnn-cu12", "9.10.2.21", "");
    write_metadata(site, "nvidia-cuda-runtime-cu12", "12.8.90", "");
  }

  TemporaryFolder folder_;
};

}  // namespace reprobench::test
