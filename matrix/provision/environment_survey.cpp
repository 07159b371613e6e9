#include "matrix/provision/environment_survey.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/provision/cuda_headers.hpp"
#include "matrix/provision/library_name.hpp"
#include "matrix/provision/package_metadata.hpp"
#include "matrix/provision/sha256.hpp"
#include "matrix/provision/torch_release.hpp"
#include "matrix/provision/version_header.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

// The parts of PyTorch whose needs are asked for. libtorch_python is none of a C++ program.
constexpr std::array<const char*, 2> kCpuParts = {"libtorch_cpu.so", "libc10.so"};
constexpr std::array<const char*, 4> kGpuParts = {"libtorch_cuda.so", "libc10_cuda.so", "libtorch_cuda_linalg.so",
                                                  "libcaffe2_nvrtc.so"};

// Libraries that load others of their folder by name when they are used.
struct Companions {
  std::string_view of, beginning;
};
constexpr std::array<Companions, 2> kCompanions = {
    {{"libcudnn.so", "libcudnn_"}, {"libnvrtc.so", "libnvrtc-builtins."}}};

// The driver's, which no environment has.
constexpr std::array<std::string_view, 2> kDriverLibraries = {"libcuda.so", "libnvidia-ml.so"};

// Libraries that can change bits or speed, by the beginning of the name. The C and C++ runtime is the host's.
constexpr std::array<std::string_view, 10> kNvidiaLibraries = {
    "libcuda", "libcudnn", "libcublas", "libcuf", "libcurand", "libcus", "libcup", "libcut", "libnv", "libnccl"};
constexpr std::array<std::string_view, 12> kOtherLibraries = {"libtorch",  "libc10",      "libcaffe2", "libblas",
                                                              "liblapack", "libopenblas", "libblis",   "libatlas",
                                                              "libmkl",    "libgomp",     "libomp",    "libiomp5"};

// The driver is the host's: with it in the identity, another driver would make the same environment another stack.
bool is_numeric(std::string_view library) {
  if (begins_with_one_of(library, kDriverLibraries)) return false;
  return begins_with_one_of(library, kNvidiaLibraries) || begins_with_one_of(library, kOtherLibraries);
}

// Reads one environment piece by piece; the order of the calls in survey_environment() counts.
class Surveyor {
 public:
  Surveyor(const TorchPlace& place, const LoaderFolders& folders, bool with_gpu,
           const std::vector<std::string>& given_headers)
      : place_(place),
        folders_(folders),
        with_gpu_(with_gpu),
        given_headers_(given_headers),
        packages_(read_package_metadata(place.site)),
        release_(read_torch_release(place)) {
    survey_.include_dirs = {place.include, (fs::path(place.include) / "torch/csrc/api/include").string()};
    survey_.library_dirs = {place.lib};
    // As the worker is linked: the folder of PyTorch is part of its DT_RPATH.
    folders_.of_program.insert(folders_.of_program.begin(), place.lib);
  }

  void check_packages() {
    append(find_package_problems(packages_, place_, release_));
    append(find_python_problems(place_));
  }

  void check_release() {
    if (release_.compiled.empty() || !fs::exists(fs::path(place_.include) / "ATen/ATen.h")) {
      fail(fmt::format("the C++ headers of PyTorch are missing: no {} in {}",
                       release_.compiled.empty() ? "torch/version.h" : "ATen/ATen.h", place_.include),
           place_.site.empty()
               ? "install its development package (Debian: libtorch-dev), or the whole archive of LibTorch"
               : reinstallation(place_, release_.declared));
    } else if (without_local_part(release_.declared) != release_.compiled) {
      fail(fmt::format("its headers are those of PyTorch {}, and it says it is {}", release_.compiled,
                       release_.declared),
           reinstallation(place_, release_.declared));
    }
    survey_.components["torch"] = release_.declared;
    survey_.cxx_standard = release_.cxx_standard;
    survey_.cxx11_abi = release_.cxx11_abi;
    const bool is_of_host =
        std::find(folders_.of_host.begin(), folders_.of_host.end(), place_.lib) != folders_.of_host.end();
    if (fs::exists(fs::path(place_.lib) / "libc.so.6") && !is_of_host) {
      fail(fmt::format("{} holds a C library too, which programs of this host cannot mix with their own", place_.lib),
           fmt::format("adopt it from inside that root: chroot {}, then `reprobench stack adopt --prefix /`",
                       place_.prefix));
    }
  }

  void read_cpu_part() {
    const LibrarySearch search = look_for(kCpuParts);
    for (const std::string& path : search.damaged) {
      fail(fmt::format("{} is no library for x86-64: cut off, or of another architecture", path),
           reinstallation(place_, release_.declared));
    }
    for (const MissingLibrary& missing : search.missing) {
      fail(fmt::format("{} is nowhere, and {} needs it", missing.name, fs::path(missing.needed_by).filename().string()),
           provider_of(missing.name));
    }
    for (const FoundLibrary& library : search.found) {
      const bool is_torch = library.name.starts_with("libtorch") || library.name.starts_with("libc10");
      if (!is_torch || fs::path(library.path).parent_path() == place_.lib) continue;
      fail(fmt::format("{} would be taken from another PyTorch, {}", library.name, library.path),
           reinstallation(place_, release_.declared));
    }
    add(search);
  }

  void read_gpu_part() {
    if (!fs::exists(fs::path(place_.lib) / kGpuParts[0])) {
      const std::string build =
          release_.cuda.empty() ? "this PyTorch is built without CUDA" : "the CUDA part of this PyTorch is not there";
      no_gpu(build + ": cells for a GPU cannot run on it", "install its build for CUDA, a version that ends in +cuNNN");
      return;
    }
    const LibrarySearch search = look_for(kGpuParts);
    if (!is_gpu_part_whole(search)) return;
    report_second_copies(search);
    report_libraries_of_host(search);
    add(search);
    if (take_cuda_headers()) add_cuda_versions();
  }

  EnvironmentSurvey finish() {
    std::set<std::string> known(survey_.library_dirs.begin(), survey_.library_dirs.end());
    const std::set<std::string> of_host(folders_.of_host.begin(), folders_.of_host.end());
    for (const FoundLibrary& library : survey_.loaded) {
      survey_.libraries[library.name] = library_identity(library.path);
      // The kernel names a mapped file without the links that led to it.
      std::string folder = fs::canonical(library.path).parent_path().string();
      if (of_host.count(folder) == 0 && known.insert(folder).second) survey_.library_dirs.push_back(folder);
    }
    return std::move(survey_);
  }

 private:
  void append(const std::vector<EnvironmentProblem>& problems) {
    survey_.problems.insert(survey_.problems.end(), problems.begin(), problems.end());
  }

  bool is_gpu_part_whole(const LibrarySearch& search) {
    std::vector<std::string> missing;
    std::set<std::string> remedies;
    for (const MissingLibrary& library : search.missing) {
      if (begins_with_one_of(library.name, kDriverLibraries)) continue;
      missing.push_back(library.name);
      remedies.insert(provider_of(library.name));
    }
    for (const std::string& path : search.damaged) missing.push_back(path + " (damaged)");
    if (!missing.empty()) {
      no_gpu(fmt::format("its CUDA part cannot be loaded: {} not found", fmt::join(missing, ", ")),
             fmt::format("{}", fmt::join(remedies, "; ")));
      return false;
    }
    const bool has_runtime = std::any_of(search.found.begin(), search.found.end(), [](const FoundLibrary& library) {
      return library.name.starts_with("libcudart.so.");
    });
    if (!has_runtime) {
      no_gpu("it carries its CUDA runtime under a name of its own, to which a worker cannot be linked",
             "use a PyTorch of release 2.1 or later for CUDA 12 or later");
    }
    return has_runtime;
  }

  // An environment of packages brings its own; what comes from the host instead may be of another CUDA.
  void report_libraries_of_host(const LibrarySearch& search) {
    std::vector<std::string> names;
    for (const FoundLibrary& library : search.found) {
      if (begins_with_one_of(library.name, kDriverLibraries)) continue;
      if (begins_with_one_of(library.name, kNvidiaLibraries) && !lies_below(library.path, place_.site)) {
        names.push_back(library.path);
      }
    }
    if (place_.site.empty() || names.empty()) return;
    note(fmt::format("the environment lacks libraries that the host would give: {}", fmt::join(names, ", ")));
  }

  void fail(const std::string& what, const std::string& remedy) {
    survey_.problems.push_back(fatal_problem(what, remedy));
  }
  void note(const std::string& what) { survey_.problems.push_back({false, what}); }
  void no_gpu(const std::string& what, const std::string& remedy) {
    survey_.problems.push_back({with_gpu_, what + "; " + remedy});
  }

  // The package that would bring the library.
  std::string provider_of(const std::string& library) const {
    if (library.starts_with("libtorch") || library.starts_with("libc10"))
      return reinstallation(place_, release_.declared);
    if (const std::string pin = pin_of_library(packages_, library); !pin.empty()) return "pip install " + pin;
    return place_.site.empty() ? "install the package of this host that has it"
                               : fmt::format("pip install torch=={}, which asks for what it needs",
                                             without_local_part(release_.declared));
  }

  template <class Parts>
  LibrarySearch look_for(const Parts& parts) const {
    std::vector<std::string> first;
    for (const char* part : parts) {
      const fs::path path = fs::path(place_.lib) / part;
      if (fs::exists(path)) first.push_back(path.string());
    }
    LibrarySearch search = search_libraries(first, folders_);
    std::vector<std::string> companions;
    for (const FoundLibrary& library : search.found) {
      for (const Companions& companion : kCompanions) {
        if (!library.name.starts_with(companion.of)) continue;
        for (const auto& entry : fs::directory_iterator(fs::path(library.path).parent_path())) {
          const std::string name = entry.path().filename().string();
          if (name.starts_with(companion.beginning) && name.find(".so.") != std::string::npos &&
              name.find(".alt.") == std::string::npos) {
            companions.push_back(entry.path().string());
          }
        }
      }
    }
    if (companions.empty()) return search;
    std::sort(companions.begin(), companions.end());
    first.insert(first.end(), companions.begin(), companions.end());
    return search_libraries(first, folders_);
  }

  void add(const LibrarySearch& search) {
    for (const FoundLibrary& library : search.found) {
      const bool is_known = std::any_of(survey_.loaded.begin(), survey_.loaded.end(),
                                        [&](const FoundLibrary& known) { return known.name == library.name; });
      if (!is_known && is_numeric(library.name)) survey_.loaded.push_back(library);
    }
  }

  // A copy in the environment itself may be taken by a library that looks elsewhere first; those of the host are only
  // said.
  void report_second_copies(const LibrarySearch& search) {
    std::map<std::string, std::vector<std::string>> of_host;
    for (const SecondCopy& copy : search.second_copies) {
      if (!begins_with_one_of(copy.name, kNvidiaLibraries)) continue;
      if (!lies_below(copy.other, place_.site.empty() ? place_.lib : place_.site)) {
        of_host[fs::path(copy.other).parent_path().string()].push_back(copy.name);
        continue;
      }
      fail(fmt::format("there are two different {}: {} would be loaded, and {} lies behind it", copy.name, copy.taken,
                       copy.other),
           "uninstall both packages that brought them, then install the one that torch asks for");
    }
    for (const auto& [folder, names] : of_host) {
      note(fmt::format("{} has other copies of {}, which are not the ones loaded", folder, fmt::join(names, ", ")));
    }
  }

  static bool lies_below(const std::string& path, const std::string& folder) { return path.starts_with(folder + "/"); }

  bool take_cuda_headers() {
    const CudaHeaders headers =
        find_cuda_headers(place_.site, leading_numbers(release_.cuda, 2), cuda_toolkit_folders(), given_headers_);
    if (headers.folders.empty()) {
      survey_.missing_cuda_headers = headers.missing;
      survey_.cuda = leading_numbers(release_.cuda, 2);
      no_gpu(headers.problem, headers.remedy);
      return false;
    }
    survey_.include_dirs.insert(survey_.include_dirs.end(), headers.folders.begin(), headers.folders.end());
    return true;
  }

  void add_cuda_versions() {
    if (!release_.cuda.empty()) survey_.components["cuda"] = leading_numbers(release_.cuda, 2);
    add_version("cudnn", "libcudnn.so", "nvidia-cudnn-", "cudnn_version.h",
                {"CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL"});
    add_version("nccl", "libnccl.so", "nvidia-nccl-", "nccl.h", {"NCCL_MAJOR", "NCCL_MINOR", "NCCL_PATCH"});
  }

  void add_version(const std::string& component, const std::string& library, const std::string& package,
                   const std::string& header, const std::vector<std::string>& names) {
    const bool is_loaded = std::any_of(survey_.loaded.begin(), survey_.loaded.end(),
                                       [&](const FoundLibrary& found) { return found.name.starts_with(library); });
    if (!is_loaded) return;
    for (const InstalledPackage& installed : packages_) {
      if (installed.name.starts_with(package)) {
        survey_.components[component] = leading_numbers(installed.version, 3);
        return;
      }
    }
    for (const std::string& folder : survey_.include_dirs) {
      const std::string version = defined_version(fs::path(folder) / header, names);
      if (version.empty()) continue;
      survey_.components[component] = version;
      return;
    }
  }

  TorchPlace place_;
  LoaderFolders folders_;
  bool with_gpu_;
  std::vector<std::string> given_headers_;
  std::vector<InstalledPackage> packages_;
  TorchRelease release_;
  EnvironmentSurvey survey_;
};

}  // namespace

EnvironmentSurvey survey_environment(const TorchPlace& place, const LoaderFolders& folders, bool with_gpu,
                                     const std::vector<std::string>& given_headers) {
  Surveyor surveyor(place, folders, with_gpu, given_headers);
  surveyor.check_packages();
  surveyor.check_release();
  surveyor.read_cpu_part();
  surveyor.read_gpu_part();
  return surveyor.finish();
}

std::string identity_of(const std::map<std::string, std::string>& components,
                        const std::map<std::string, std::string>& libraries) {
  std::string text;
  for (const auto& [name, version] : components) text += fmt::format("{} {}\n", name, version);
  for (const auto& [name, identity] : libraries) text += fmt::format("{} {}\n", name, identity);
  return sha256_of_text(text);
}

}  // namespace reprobench
