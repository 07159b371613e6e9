#include "matrix/provision/cuda_headers.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/exec/subprocess.hpp"
#include "matrix/provision/version_header.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

// A header the worker is compiled with, and the package of a Python environment that has it.
struct CudaHeader {
  const char* file;
  const char* package;
};
constexpr std::array<CudaHeader, 6> kHeaders = {
    {{"cuda_runtime_api.h", "nvidia-cuda-runtime"},
     {"crt/host_defines.h", "nvidia-cuda-crt (of CUDA 12: nvidia-cuda-nvcc-cu12)"},
     {"nv/target", "nvidia-cuda-cccl"},
     {"cublas_v2.h", "nvidia-cublas"},
     {"cusparse.h", "nvidia-cusparse"},
     {"cusolverDn.h", "nvidia-cusolver"}}};

bool is_in(const std::vector<std::string>& folders, const CudaHeader& header) {
  return std::ranges::any_of(folders,
                             [&](const std::string& folder) { return fs::exists(fs::path(folder) / header.file); });
}

std::vector<CudaHeader> missing_headers(const std::vector<std::string>& folders,
                                        const std::vector<std::string>& given) {
  std::vector<CudaHeader> missing;
  for (const CudaHeader& header : kHeaders) {
    if (std::ranges::find(given, header.file) == given.end() && !is_in(folders, header)) missing.push_back(header);
  }
  return missing;
}

// "13.0" of `#define CUDART_VERSION 13000` in the first folder that has it.
std::string version_of_headers(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    const int number = std::atoi(defined_version(fs::path(folder) / "cuda_runtime_api.h", {"CUDART_VERSION"}).c_str());
    if (number != 0) return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
  }
  return "";
}

}  // namespace

std::vector<std::string> cuda_headers_in(const std::vector<std::string>& folders) {
  std::vector<std::string> files;
  for (const CudaHeader& header : kHeaders) {
    if (is_in(folders, header)) files.emplace_back(header.file);
  }
  return files;
}

CudaHeaders find_cuda_headers(const std::string& site, const std::string& cuda,
                              const std::vector<std::string>& toolkits, const std::vector<std::string>& given) {
  CudaHeaders headers;
  std::vector<std::string> own;
  std::error_code error;
  const fs::path packages_of_site =
      site.empty() ? fs::path() : fs::path(site) / "nvidia";  // never the current folder's
  for (const auto& entry : fs::directory_iterator(packages_of_site, error)) {
    if (fs::is_directory(entry.path() / "include")) own.push_back((entry.path() / "include").string());
  }
  std::sort(own.begin(), own.end());
  if (const std::string version = version_of_headers(own); !version.empty() && version != cuda) {
    headers.problem = fmt::format("its CUDA headers are those of {}, and it was built for {}", version, cuda);
    headers.remedy = "install the packages of one CUDA alone";
    return headers;
  }
  if (missing_headers(own, given).empty()) {
    headers.folders = own;
    return headers;
  }
  std::string others;
  for (const std::string& toolkit : toolkits) {
    const std::string include = (fs::path(toolkit) / "include").string();
    const std::string version = version_of_headers({include});
    if (version.empty()) continue;
    if (version != cuda) {
      others += fmt::format("; the toolkit at {} is CUDA {}", toolkit, version);
      continue;
    }
    std::vector<std::string> all = own;
    all.push_back(include);
    if (fs::is_directory(include + "/cccl")) all.push_back(include + "/cccl");
    if (!missing_headers(all, given).empty()) continue;
    headers.folders = all;
    return headers;
  }
  std::vector<std::string> packages;
  for (const CudaHeader& header : missing_headers(own, given)) {
    headers.missing.emplace_back(header.file);
    packages.emplace_back(header.package);
  }
  headers.problem = fmt::format("headers of CUDA {} are missing: {}{}", cuda, fmt::join(headers.missing, ", "), others);
  headers.remedy = fmt::format("install {}, or set CUDA_HOME to a toolkit of CUDA {}", fmt::join(packages, ", "), cuda);
  return headers;
}

std::vector<std::string> cuda_toolkit_folders() {
  std::vector<std::string> folders;
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != '\0') folders.emplace_back(home);
  std::error_code error;
  if (const std::string nvcc = find_in_path("nvcc"); !nvcc.empty()) {
    folders.push_back(fs::canonical(nvcc, error).parent_path().parent_path().string());
  }
  folders.emplace_back("/usr/local/cuda");
  return folders;
}

}  // namespace reprobench
