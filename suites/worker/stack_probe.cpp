#include "suites/worker/stack_probe.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <torch/version.h>

#include "matrix/base/elf_library.hpp"
#include "matrix/contract/device/host_facts.hpp"
#include "matrix/contract/installed_libraries.hpp"
#include "suites/worker/knobs/float32_precision.hpp"
#include "suites/worker/mapped_libraries.hpp"
#include "suites/worker/process_facts.hpp"

namespace reprobench {
namespace {

// Read once: the text does not change while the process lives.
const std::string& configuration() {
  static const std::string kText = at::show_config();
  return kText;
}

// Result of a version function of a library that is mapped already; 0 if it lacks the function.
template <class... Out>
int ask_version(const std::string& path, const char* function) {
  void* library = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  int version = 0;
  void* symbol = dlsym(library, function);
  if (symbol != nullptr) {
    if constexpr (sizeof...(Out) == 0) {
      version = static_cast<int>(reinterpret_cast<std::size_t (*)()>(symbol)());
    } else {
      reinterpret_cast<int (*)(Out...)>(symbol)(&version);
    }
  }
  dlclose(library);
  return version;
}

std::string dotted(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

// CUDA packs 12.8 as 12080.
std::string cuda_version(const std::string& path) {
  const int version = ask_version<int*>(path, "cudaRuntimeGetVersion");
  return version == 0 ? "" : std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// cuDNN packs 8.9.2 as 8902 and, since 9, 9.10.2 as 91002.
std::string cudnn_version(const std::string& path) {
  const int version = ask_version(path, "cudnnGetVersion");
  if (version == 0) return "";
  const int major = version >= 10000 ? 10000 : 1000;
  return dotted(version / major, version % major / 100, version % 100);
}

// NCCL packs 2.27.5 as 22705.
std::string nccl_version(const std::string& path) {
  const int version = ask_version<int*>(path, "ncclGetVersion");
  return version == 0 ? "" : dotted(version / 10000, version % 10000 / 100, version % 100);
}

// "2024.2" of "Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 ...".
std::string mkl_version() {
  const std::string text = config_value(configuration(), "Math Kernel Library Version ");
  return text.substr(0, text.find('-'));
}

// A BLAS inside libtorch_cpu, or the file behind the distribution's libblas.so.3, whose alternatives share that name.
std::string blas_provider(const std::string& blas_path) {
  if (!mkl_version().empty()) return "mkl";
  std::error_code error;
  const std::string resolved = std::filesystem::canonical(blas_path, error).string();
  for (const char* provider : {"openblas", "blis", "atlas", "mkl"}) {
    if (resolved.find(provider) != std::string::npos) return provider;
  }
  return resolved.find("/blas/libblas") != std::string::npos ? "netlib" : "unknown";
}

// "v3.7.1" of "Intel(R) MKL-DNN v3.7.1 (Git Hash ...)"; Debian's build reports it the same way.
std::string onednn_version() {
  const std::string text = config_value(configuration(), "MKL-DNN v");
  return text.substr(0, text.find(' '));
}

// The library's own version: its file name carries no more than the ABI's.
std::string openblas_version(const std::string& path) {
  void* library = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return "";
  void* symbol = dlsym(library, "openblas_get_config");
  const std::string text = symbol == nullptr ? "" : reinterpret_cast<const char* (*)()>(symbol)();
  dlclose(library);
  return text;
}

std::vector<ComponentVersion> probe_components(const std::vector<std::string>& mapped, const std::string& provider) {
  const std::string& config = configuration();
  const std::string torch = find_mapped(mapped, "libtorch_cpu.so");
  const std::string cudart = find_mapped(mapped, "libcudart.so");
  const std::string cudnn = find_mapped(mapped, "libcudnn.so");
  const std::string nccl = find_mapped(mapped, "libnccl.so");
  const bool blas_inside = provider == "mkl";
  const std::string blas = blas_inside ? torch : find_mapped(mapped, "libblas.so");
  std::string openmp = find_mapped(mapped, "libgomp");
  if (openmp.empty()) openmp = find_mapped(mapped, "libomp");
  if (openmp.empty()) openmp = find_mapped(mapped, "libiomp5");
  return {{"torch", TORCH_VERSION, loaded_torch_version(), torch},
          {"cuda", config_value(config, "CUDA_VERSION="), cuda_version(cudart), cudart},
          {"cudnn", config_value(config, "CUDNN_VERSION="), cudnn_version(cudnn), cudnn},
          {"nccl", "", nccl_version(nccl), nccl},
          {"blas", config_value(config, "BLAS_INFO="), blas_inside ? mkl_version() : openblas_version(blas), blas},
          {"onednn", "", onednn_version(), onednn_version().empty() ? "" : torch},
          {"openmp", "", config_value(config, "OpenMP "), openmp}};
}

// The folder of the stack that this worker was built for, with a slash: a torch of another stack is outside it. A
// worker that lies elsewhere has that of the torch that it loaded; empty for a stack of the system.
std::string stack_folder(const std::vector<std::string>& mapped) {
  std::error_code error;
  const auto keyed = std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  if (keyed.filename() == "workers") return keyed.parent_path().string() + "/";
  const std::string torch = find_mapped(mapped, "libtorch_cpu.so");
  const auto site = torch.rfind("/site/torch/lib/");
  return site == std::string::npos ? "" : torch.substr(0, site + 1);
}

std::string relative_to(const std::string& folder, const std::string& path) {
  return !folder.empty() && path.starts_with(folder) ? path.substr(folder.size()) : path;
}

// The words of a file without its line breaks; empty if there is no such file.
std::string words_of_file(const char* path) {
  std::ifstream file(path);
  std::string words;
  for (std::string word; file >> word;) words += (words.empty() ? "" : " ") + word;
  return words;
}

std::map<std::string, std::string> set_variables() {
  // MALLOC_PERTURB_ is left out on purpose: poisoned and clean runs must have equal fingerprints and equal bits. So is
  // CUDA_VISIBLE_DEVICES: two cards of one model are one kind of device.
  static constexpr const char* kAllowed[] = {"CUBLAS_WORKSPACE_CONFIG",
                                             "CUDA_MODULE_LOADING",
                                             "DISABLE_ADDMM_CUDA_LT",
                                             "LD_AUDIT",
                                             "LD_PRELOAD",
                                             "MALLOC_ARENA_MAX",
                                             "MALLOC_MMAP_THRESHOLD_",
                                             "MALLOC_TOP_PAD_",
                                             "MALLOC_TRIM_THRESHOLD_",
                                             "MKL_CBWR",
                                             "MKL_DYNAMIC",
                                             "MKL_NUM_THREADS",
                                             "NCCL_ALGO",
                                             "NCCL_BUFFSIZE",
                                             "NCCL_MAX_NCHANNELS",
                                             "NCCL_MIN_NCHANNELS",
                                             "NCCL_NTHREADS",
                                             "NCCL_NVLS_ENABLE",
                                             "NCCL_P2P_DISABLE",
                                             "NCCL_PROTO",
                                             "NCCL_SHM_DISABLE",
                                             "NVIDIA_TF32_OVERRIDE",
                                             "OMP_DYNAMIC",
                                             "OMP_NUM_THREADS",
                                             "OMP_WAIT_POLICY",
                                             "OPENBLAS_NUM_THREADS",
                                             "PYTORCH_CUDA_ALLOC_CONF",
                                             "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
                                             "TORCH_BLAS_PREFER_CUBLASLT",
                                             "TORCH_CUDNN_USE_HEURISTIC_MODE_B"};
  std::map<std::string, std::string> result;
  const auto take = [&result](const char* name) {
    if (const char* value = std::getenv(name)) result[name] = value;
  };
  take(kCpuClass);
  std::ranges::for_each(kCpuLimits, take);
  std::ranges::for_each(kAllowed, take);
  if (std::string libraries = words_of_file(kSystemPreload); !libraries.empty()) {
    result[kSystemPreload] = std::move(libraries);
  }
  return result;
}

template <class Context>
void add_newer_flags(Context& context, std::map<std::string, std::string>& flags) {
  const auto word = [](bool on) { return on ? "on" : "off"; };
  if constexpr (requires { context.deterministicFillUninitializedMemory(); }) {
    flags["deterministic_fill_uninitialized_memory"] = word(context.deterministicFillUninitializedMemory());
  }
  if constexpr (requires { context.deterministicMkldnn(); }) {
    flags["deterministic_onednn"] = word(context.deterministicMkldnn());
  }
}

std::map<std::string, std::string> resolved_flags() {
  at::Context& context = at::globalContext();
  const auto word = [](bool on) { return on ? "on" : "off"; };
  std::map<std::string, std::string> flags{
      {"deterministic_algorithms", word(context.deterministicAlgorithms())},
      {"deterministic_algorithms_warn_only", word(context.deterministicAlgorithmsWarnOnly())},
      {"deterministic_cudnn", word(context.deterministicCuDNN())},
      {"benchmark_cudnn", word(context.benchmarkCuDNN())},
      {"float32_matmul", float32_precision("matmul")},
      {"float32_conv", float32_precision("conv")},
      {"onednn", word(context.userEnabledMkldnn())}};
  add_newer_flags(context, flags);
  return flags;
}

}  // namespace

std::string config_value(const std::string& config, const std::string& key) {
  const auto found = config.find(key);
  if (found == std::string::npos) return "";
  const auto begin = found + key.size();
  std::string value = config.substr(begin, config.find_first_of(",(\n", begin) - begin);
  value.erase(value.find_last_not_of(' ') + 1);
  return value;
}

std::string loaded_torch_version() { return config_value(configuration(), "TORCH_VERSION="); }

std::string loaded_blas() { return blas_provider(find_mapped(mapped_shared_objects(), "libblas.so")); }

std::string cpu_capability() { return config_value(configuration(), "CPU capability usage: "); }

Fingerprint probe_stack() {
  const std::vector<std::string> mapped = mapped_shared_objects();
  const std::string folder = stack_folder(mapped);
  Fingerprint fingerprint;
  fingerprint.blas_provider = blas_provider(find_mapped(mapped, "libblas.so"));
  fingerprint.components = probe_components(mapped, fingerprint.blas_provider);
  for (ComponentVersion& component : fingerprint.components) component.path = relative_to(folder, component.path);
  for (const std::string& path : mapped) {
    if (!is_stack_library(path) && is_of_the_host(path)) continue;
    const std::optional<ElfLibrary> library = read_elf_library(path);
    fingerprint.libraries.push_back({relative_to(folder, path), library ? library->build_id : ""});
  }
  fingerprint.compiler = "g++ " __VERSION__;
  fingerprint.cxx11_abi = _GLIBCXX_USE_CXX11_ABI;
  fingerprint.cpu_model = cpu_model();
  fingerprint.cpu_capability = cpu_capability();
  fingerprint.threads = at::get_num_threads();
  fingerprint.interop_threads = at::get_num_interop_threads();
  fingerprint.flags = resolved_flags();
  fingerprint.environment = set_variables();
  return fingerprint;
}

}  // namespace reprobench
