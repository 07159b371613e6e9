#include "matrix/provision/environment_problem.hpp"

#include <array>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace reprobench {
namespace {

namespace fs = std::filesystem;

// Packages of which every variant is unpacked into one folder, so that two of them overwrite each other.
constexpr std::array<std::string_view, 4> kSharedFolderPackages = {"nvidia-cudnn-", "nvidia-nccl-", "nvidia-nvshmem-",
                                                                   "nvidia-cusparselt-"};

}  // namespace

EnvironmentProblem fatal_problem(const std::string& what, const std::string& remedy) {
  return {true, what + "; " + remedy};
}

std::string reinstallation(const TorchPlace& place, const std::string& version) {
  if (place.site.empty()) return "unpack LibTorch again, into an empty folder";
  return fmt::format("pip install --force-reinstall --no-deps torch=={}", without_local_part(version));
}

std::vector<EnvironmentProblem> find_package_problems(const std::vector<InstalledPackage>& packages,
                                                      const TorchPlace& place, const TorchRelease& release) {
  std::vector<EnvironmentProblem> problems;
  std::vector<std::string> torch_versions;
  std::map<std::string_view, std::vector<std::string>> variants;
  for (const InstalledPackage& package : packages) {
    if (package.name == "torch") torch_versions.push_back(package.version);
    for (const std::string_view beginning : kSharedFolderPackages) {
      if (package.name.starts_with(beginning)) variants[beginning].push_back(package.name + " " + package.version);
    }
  }
  if (torch_versions.size() > 1) {
    problems.push_back(fatal_problem(fmt::format("its metadata names PyTorch {}: one was installed over the other",
                                                 fmt::join(torch_versions, " and ")),
                                     "uninstall torch until pip finds none, then install one"));
  } else if (torch_versions.size() == 1 &&
             without_local_part(torch_versions[0]) != without_local_part(release.declared)) {
    problems.push_back(fatal_problem(
        fmt::format("its metadata names PyTorch {}, torch/version.py {}", torch_versions[0], release.declared),
        reinstallation(place, torch_versions[0])));
  }
  for (const auto& [beginning, names] : variants) {
    if (names.size() < 2) continue;
    problems.push_back(fatal_problem(
        fmt::format("{} are unpacked into one folder and have overwritten each other", fmt::join(names, " and ")),
        "uninstall all of them, then install the one that torch asks for: " + torch_pin(packages, beginning)));
  }
  for (const InstalledPackage& package : packages) {
    if (package.name == "torch") continue;
    const std::string pin = torch_pin(packages, package.name + "==");
    if (pin.empty() || pin == package.name + "==" + package.version) continue;
    problems.push_back(
        {false, fmt::format("{} {} is installed, and torch asks for {}", package.name, package.version, pin)});
  }
  return problems;
}

std::vector<EnvironmentProblem> find_python_problems(const TorchPlace& place) {
  std::vector<EnvironmentProblem> problems;
  if (place.python.empty() || place.site.empty()) return problems;
  const fs::path torch = fs::path(place.site) / "torch";
  std::string digits = place.python;
  std::erase(digits, '.');
  std::vector<std::string> tags;
  bool is_for_this_one = false;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(torch, error)) {
    constexpr std::string_view kExtension = "_C.cpython-";  // _C.cpython-312-x86_64-linux-gnu.so
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(kExtension)) continue;
    const std::string tag = file.substr(kExtension.size(), file.find('-', kExtension.size()) - kExtension.size());
    is_for_this_one = is_for_this_one || tag == digits;
    tags.push_back(tag);
  }
  if (!tags.empty() && !is_for_this_one) {
    problems.push_back(fatal_problem(
        fmt::format("this is a PyTorch for CPython {}, found by Python {}", fmt::join(tags, ", "), place.python),
        "PYTHONPATH or a copied folder leads one Python to the packages of another; name the Python it was installed "
        "for, "
        "or --libtorch " +
            torch.string()));
  }
  const fs::path from_prefix = fs::path(place.site).lexically_relative(place.prefix);
  if (from_prefix.empty() || *from_prefix.begin() == "..") {
    problems.push_back({false, fmt::format("the PyTorch that this Python finds lies outside its environment {}, in {}",
                                           place.prefix, place.site)});
  }
  return problems;
}

}  // namespace reprobench
