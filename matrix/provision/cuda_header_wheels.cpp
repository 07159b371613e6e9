#include "matrix/provision/cuda_header_wheels.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/provision/cuda_headers.hpp"
#include "matrix/provision/library_name.hpp"
#include "matrix/provision/lock_file.hpp"
#include "matrix/provision/sha256.hpp"
#include "matrix/provision/store_folders.hpp"
#include "matrix/provision/wheel_fetch.hpp"
#include "matrix/provision/wheel_unpack.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFolderDigits = 12;

// What PyTorch's own wheels do not ask for, or not in every release: the compiler's headers and those of C++. A wheel
// of a library that an image lacks is not fetched for its headers, as the image has no such library either.
constexpr std::array<std::string_view, 4> kHeaderWheels = {"nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-cuda-cccl",
                                                           "nvidia-cuda-runtime"};

struct HeaderWheels {
  std::vector<LockedWheel> wheels;
  std::string python;
};

// A lock that cannot be read is no reason to stop: another stack may be locked for the same CUDA.
std::vector<LockedWheel> lock_of(const StackSpec& stack) {
  try {
    return read_lock(stack);
  } catch (const SpecError&) {
    return {};
  }
}

// Of the first stack, by its name, that was locked for `cuda`.
HeaderWheels header_wheels(const std::string& cuda, const std::map<std::string, StackSpec>& stacks) {
  for (const auto& [name, stack] : stacks) {
    const auto of_stack = stack.components.find("cuda");
    if (stack.source != StackSource::wheel || of_stack == stack.components.end() || of_stack->second != cuda) continue;
    HeaderWheels found{lock_of(stack), stack.python};
    std::erase_if(found.wheels,
                  [](const LockedWheel& wheel) { return !begins_with_one_of(wheel.distribution, kHeaderWheels); });
    if (!found.wheels.empty()) return found;
  }
  return {};
}

std::string names_of(const std::vector<LockedWheel>& wheels) {
  std::vector<std::string> names;
  for (const LockedWheel& wheel : wheels) names.push_back(wheel.distribution + " " + wheel.version);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string digest_of(const std::vector<LockedWheel>& wheels) {
  std::string text;
  for (const LockedWheel& wheel : wheels) text += wheel.sha256 + "\n";
  return sha256_of_text(text).substr(0, kFolderDigits);
}

// Folders of a site that hold headers: nvidia/cuda_nvcc/include, of CUDA 13 nvidia/cu13/include with cccl/ in it.
std::vector<std::string> include_folders(const fs::path& site) {
  std::vector<std::string> folders;
  for (const auto& package : fs::directory_iterator(site / "nvidia")) {
    const fs::path include = package.path() / "include";
    for (const fs::path& folder : {include, include / "cccl"}) {
      if (fs::is_directory(folder)) folders.push_back(folder.string());
    }
  }
  std::ranges::sort(folders);
  return folders;
}

// Renamed into place once it is whole.
void unpack_headers(const HeaderWheels& found, const fs::path& place, const fs::path& home, const fs::path& shepherd,
                    const PhaseSink& progress) {
  const std::string name = place.filename().string();
  const StackLock lock(home, "cuda-headers-" + name, progress);
  if (fs::exists(place)) return;
  const ScopedFolder staging(make_staging(home, "cuda-headers-" + name));
  fetch_wheels(found.wheels, found.python, home / "downloads", staging.path(), shepherd, progress);
  const fs::path site = staging.path() / "site";
  for (const LockedWheel& wheel : found.wheels) {
    unpack_wheel(home / "downloads" / wheel.file, site,
                 [](std::string_view entry) { return entry.find("/include/") != std::string_view::npos; }, {});
  }
  fs::create_directories(place.parent_path());
  fs::rename(site, place);
}

}  // namespace

HostCudaHeaders host_cuda_headers(const std::string& cuda, const std::map<std::string, StackSpec>& stacks,
                                  const fs::path& home, const fs::path& shepherd, const PhaseSink& progress) {
  if (const CudaHeaders of_host = find_cuda_headers("", cuda, cuda_toolkit_folders()); !of_host.folders.empty()) {
    return {of_host.folders, "the toolkit in " + fs::path(of_host.folders.front()).parent_path().string()};
  }
  const HeaderWheels found = header_wheels(cuda, stacks);
  if (found.wheels.empty()) return {};
  const fs::path place = home / "cuda-headers" / fmt::format("{}-{}", cuda, digest_of(found.wheels));
  try {
    if (!fs::exists(place)) unpack_headers(found, place, home, shepherd, progress);
    return {include_folders(place), "the wheels " + names_of(found.wheels)};
  } catch (const ProvisionError& error) {
    progress(fmt::format("headers of CUDA {} cannot be fetched: {}", cuda, error.what()), -1);
  } catch (const fs::filesystem_error& error) {
    progress(fmt::format("headers of CUDA {} cannot be unpacked: {}", cuda, error.what()), -1);
  }
  return {};
}

}  // namespace reprobench
