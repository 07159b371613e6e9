// Installed stacks of wheels in miniature, whose libraries are linked as the real ones are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "matrix/provision/environment_fixture.hpp"
#include "matrix/provision/hybrid/hybrid_site.hpp"
#include "matrix/provision/hybrid/hybrid_stack.hpp"

namespace reprobench::test {

struct PackagedFile {
  std::string package;  // "nvidia-cudnn-cu12"
  std::string path;     // below site/
};

// A store with stacks of torch, OpenMP and the libraries that each test adds.
class StackHome {
 public:
  std::filesystem::path path() const { return folder_.path; }
  std::filesystem::path site(const std::string& stack) const { return folder_.path / folder_of(stack) / "site"; }
  static std::string folder_of(const std::string& stack) { return stack + "-0123456789ab"; }

  // A library in a stack, with its package's RECORD and the stack's manifest.
  void add_library(const std::string& stack, const std::string& package, const std::string& path,
                   const LinkedLibrary& library, const std::string& code = "") {
    const std::filesystem::path source = folder_.path / "code.c";
    write_file(source, code + "\n");
    link_library(site(stack) / path, library, source.string());
    add(stack, package, path);
  }
  void add_file(const std::string& stack, const std::string& package, const std::string& path,
                const std::string& text) {
    write_file(site(stack) / path, text);
    add(stack, package, path);
  }

  // A torch that needs OpenMP under that file name, and CUDA's runtime.
  void add_stack(const std::string& stack, const std::string& openmp_file = "libgomp.so.1",
                 const std::string& cudart = "libcudart.so.12", const std::string& cudart_code = "void cudaMalloc() {}",
                 const std::string& torch_code = "extern void cudaMalloc(); void run() { cudaMalloc(); }") {
    add_library(stack, "torch", "torch/lib/" + openmp_file, {"libgomp.so.1", {}, "", false, id_of(stack, "1")});
    add_library(stack, "torch", "torch/lib/libtorch_cpu.so",
                {"libtorch_cpu.so", {openmp_file, cudart}, "$ORIGIN", false, id_of(stack, "2")}, torch_code);
    add_library(stack, "nvidia-cuda-runtime-cu12", "nvidia/cuda_runtime/lib/" + cudart,
                {cudart, {}, "", false, id_of(stack, "3")}, cudart_code);
    add_file(stack, "torch", "torch/include/version.h", "// of " + stack);
  }

  SiteSource source(const std::string& stack) const { return site_source(folder_.path / folder_of(stack)); }

  static std::string id_of(const std::string& stack, const std::string& number) {
    return "0x" + sha256_of_text(stack).substr(0, 7) + number;
  }

 private:
  void add(const std::string& stack, const std::string& package, const std::string& path) {
    files_[stack][package].push_back(path);
    StackManifest manifest;
    manifest.name = stack;
    manifest.digest = "0123456789ab";
    for (const auto& [name, paths] : files_[stack]) {
      std::string folder = name;
      for (char& c : folder) c = c == '-' ? '_' : c;
      const std::string info = folder + "-1.0.dist-info/";
      write_file(site(stack) / info / "METADATA", "Name: " + name + "\nVersion: 1.0\n");
      std::string record = info + "RECORD,,\n" + info + "METADATA,,\n";
      for (const std::string& file : paths) {
        record += file + ",,\n";
        if (file.find(".so") == std::string::npos) continue;
        manifest.files.push_back({file, static_cast<std::int64_t>(std::filesystem::file_size(site(stack) / file)),
                                  sha256_of_file(site(stack) / file)});
      }
      write_file(site(stack) / info / "RECORD", record);
    }
    write_manifest(folder_.path / folder_of(stack), manifest);
  }

  TemporaryFolder folder_;
  std::map<std::string, std::map<std::string, std::vector<std::string>>> files_;
};

}  // namespace reprobench::test
