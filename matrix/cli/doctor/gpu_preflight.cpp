#include "matrix/cli/doctor/gpu_preflight.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/contract/device/clock_event.hpp"
#include "matrix/plan/dotted_version.hpp"

namespace reprobench {
namespace {

using Lines = PreflightLines;
using enum Finding;

constexpr double kBytesPerGigabyte = 1e9;
constexpr const char* kDriver = "driver";
constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

std::string short_name(const GpuSituation& situation, std::size_t i) {
  const GpuFacts& gpu = situation.inventory.gpus[i];
  return fmt::format("GPU {} ({})", i, gpu.uuid.empty() ? gpu.name : gpu.uuid);
}

// The line of a GPU, by what a function finds about it.
template <class Look>
Lines for_each_gpu(const GpuSituation& situation, Look look) {
  Lines lines;
  for (std::size_t i = 0; i < situation.inventory.gpus.size(); ++i) {
    if (auto line = look(situation.inventory.gpus[i], i)) lines.push_back(std::move(*line));
  }
  return lines;
}

using MaybeLine = std::optional<PreflightLine>;

bool is_data_center(const CompatFacts& facts, const std::string& name) {
  std::istringstream words(name);
  for (std::string word; words >> word;) {
    word = word.substr(0, word.find('-'));  // "A100-SXM4-80GB"
    if (std::find(facts.data_center_gpus.begin(), facts.data_center_gpus.end(), word) != facts.data_center_gpus.end()) {
      return true;
    }
  }
  return false;
}

int major_of(const std::string& version) {
  const auto numbers = version_numbers(version);
  return numbers.empty() ? 0 : numbers.front();
}

// Whether cuda-compat of this CUDA's major would run on this driver's branch; nothing where the facts do not say.
std::optional<bool> branch_is_listed(const CompatFacts& facts, const std::string& cuda, const std::string& driver) {
  std::optional<bool> listed;
  for (const auto& [known, branches] : facts.forward_compat) {
    if (major_of(known) != major_of(cuda)) continue;
    listed = listed.value_or(false) || std::any_of(branches.begin(), branches.end(), [&](const std::string& branch) {
               return major_of(branch) == major_of(driver) && !version_less(driver, branch);
             });
  }
  return listed;
}

PreflightLine driver_under_floor(const GpuSituation& s, const CudaStack& stack, const std::string& floor) {
  const std::string what = fmt::format("{}: driver {} is under {}, the floor of CUDA {}", stack.name,
                                       s.inventory.driver, floor, major_of(stack.cuda));
  const bool all_eligible = std::all_of(s.inventory.gpus.begin(), s.inventory.gpus.end(),
                                        [&](const GpuFacts& gpu) { return is_data_center(s.facts, gpu.name); });
  const std::string update = fmt::format("install driver {} or later", floor);
  if (!all_eligible) {
    return {fail, kDriver, what + "; forward compatibility is for data-center GPUs only", update};
  }
  const auto listed = branch_is_listed(s.facts, stack.cuda, s.inventory.driver);
  if (!listed.value_or(false)) {
    return {fail, kDriver,
            what + (listed ? fmt::format("; R{} is not among the branches of its forward compatibility",
                                         major_of(s.inventory.driver))
                           : "; no branches are known for its forward compatibility"),
            update};
  }
  std::string package = stack.cuda;
  std::replace(package.begin(), package.end(), '.', '-');
  return {warn, kDriver, what + "; forward compatibility could bridge it",
          fmt::format("{}, or cuda-compat-{} inside the image", update, package)};
}

std::vector<const LoaderLibrary*> of_name(const GpuSituation& s, const std::string& prefix) {
  std::vector<const LoaderLibrary*> found;
  for (const LoaderLibrary& library : s.libraries) {
    if (library.name.rfind(prefix, 0) == 0) found.push_back(&library);
  }
  return found;
}

std::string paths_of(const std::vector<const LoaderLibrary*>& libraries) {
  std::vector<std::string> paths;
  for (const LoaderLibrary* library : libraries) paths.push_back(library->path);
  return fmt::format("{}", fmt::join(paths, ", "));
}

}  // namespace

Lines check_nvml(const GpuSituation& s) {
  if (s.inventory.driver.empty()) return {{ok, "gpu", "no NVIDIA driver; GPU cells will be skipped", ""}};
  Lines lines;
  if (s.inventory.gpus.empty()) {
    lines.push_back({fail, "gpu", fmt::format("driver {} is loaded but no GPU answers", s.inventory.driver),
                     "look for Xid messages in the kernel log; a GPU may have fallen off the bus"});
  }
  for (const GpuFacts& gpu : s.inventory.gpus) {
    lines.push_back(
        {ok, "gpu",
         fmt::format("{}, compute capability {}, {:.0f} GB, driver {}, {}", gpu.name, gpu.compute_capability,
                     static_cast<double>(gpu.memory_bytes) / kBytesPerGigabyte, s.inventory.driver, gpu.uuid),
         ""});
  }
  if (!s.inventory.absent.empty()) {
    lines.push_back({warn, "nvml", fmt::format("this driver's library lacks {}", fmt::join(s.inventory.absent, ", ")),
                     "those readings will be absent from the telemetry"});
  }
  return lines;
}

Lines check_driver_of_stacks(const GpuSituation& s) {
  Lines lines;
  for (const CudaStack& stack : s.stacks) {
    const auto floor = s.facts.driver_floor.find(major_of(stack.cuda));
    const std::string own = s.facts.driver_of_toolkit(stack.toolkit);
    if (floor != s.facts.driver_floor.end() && version_less(s.inventory.driver, floor->second)) {
      lines.push_back(driver_under_floor(s, stack, floor->second));
    } else if (!own.empty() && version_less(s.inventory.driver, own)) {
      lines.push_back(
          {warn, kDriver,
           fmt::format("{}: driver {} is under toolkit {}'s {}: minor-version mode, no PTX of it can be compiled",
                       stack.name, s.inventory.driver, stack.toolkit, own),
           fmt::format("install driver {} or later for all features", own)});
    } else {
      lines.push_back(
          {ok, kDriver, fmt::format("{}: driver {} runs CUDA {}", stack.name, s.inventory.driver, stack.toolkit), ""});
    }
  }
  return lines;
}

Lines check_driver_branch(const GpuSituation& s) {
  return for_each_gpu(s, [&](const GpuFacts& gpu, std::size_t i) -> MaybeLine {
    for (const ArchitectureEnd& end : s.facts.architecture_ends) {
      const auto& ended = end.compute_capabilities;
      if (std::find(ended.begin(), ended.end(), gpu.compute_capability) == ended.end()) continue;
      const int branch = major_of(s.inventory.driver);
      if (branch > end.last_driver_branch) {
        return PreflightLine{fail, "driver branch",
                             fmt::format("{}: R{} no longer knows {}", short_name(s, i), branch, end.name),
                             fmt::format("install a driver of R{}, its last branch", end.last_driver_branch)};
      }
      return PreflightLine{
          warn, "driver branch",
          fmt::format("{}: R{} is the last branch for {}", short_name(s, i), end.last_driver_branch, end.name),
          "do not update beyond it; CUDA 13 stacks cannot run here"};
    }
    return std::nullopt;
  });
}

// NVIDIA's advisories for CVE-2024-0132, CVE-2025-23359, CVE-2025-23266 and CVE-2025-23267: fixed by 1.17.8. The newest
// release known here is 1.20.0.
Lines check_container_toolkit(const GpuSituation& s) {
  constexpr const char* kName = "container toolkit";
  constexpr const char* kSafe = "1.17.8";
  constexpr const char* kNewest = "1.20.0";
  if (!s.toolkit) return {{ok, kName, "nvidia-container-toolkit is not installed; only container cells need it", ""}};
  if (s.toolkit->version.empty()) {
    return {{warn, kName, "nvidia-container-toolkit does not tell its version", "nvidia-ctk --version"}};
  }
  const std::string detail = fmt::format("nvidia-container-toolkit {}, mode {}", s.toolkit->version,
                                         s.toolkit->mode.empty() ? "not configured" : s.toolkit->mode);
  if (version_less(s.toolkit->version, kSafe)) {
    return {{fail, kName, detail + ": an image can break out to the host (CVE-2025-23266 and earlier)",
             fmt::format("update it to {} or later", kNewest)}};
  }
  if (s.toolkit->mode != "cdi") {
    return {{warn, kName, detail + ": hooks run in the container's context",
             "nvidia-ctk config --in-place --set nvidia-container-runtime.mode=cdi"}};
  }
  if (version_less(s.toolkit->version, kNewest)) {
    return {{warn, kName, detail, fmt::format("{} is the newest known", kNewest)}};
  }
  return {{ok, kName, detail, ""}};
}

Lines check_persistence(const GpuSituation& s) {
  return for_each_gpu(s, [&](const GpuFacts& gpu, std::size_t i) -> MaybeLine {
    if (gpu.persistence.empty()) return std::nullopt;
    const bool on = gpu.persistence == "on";
    return PreflightLine{on ? ok : warn, "persistence",
                         fmt::format("{}: persistence mode {}", short_name(s, i), gpu.persistence),
                         on ? "" : "run nvidia-persistenced: else the driver re-initialises the GPU for every attempt"};
  });
}

Lines check_ecc(const GpuSituation& s) {
  return for_each_gpu(s, [&](const GpuFacts& gpu, std::size_t i) -> MaybeLine {
    if (gpu.ecc.empty()) return std::nullopt;
    const auto errors = s.inventory.now[i][static_cast<std::size_t>(Quantity::ecc_uncorrected)].value_or(0);
    if (errors > 0) {
      return PreflightLine{
          fail, "ecc",
          fmt::format("{}: {} uncorrected memory errors since the driver was loaded", short_name(s, i), errors),
          "take it out of service: its results cannot be trusted"};
    }
    const bool on = gpu.ecc == "on";
    return PreflightLine{on ? ok : warn, "ecc",
                         fmt::format("{}: ECC {}{}", short_name(s, i), gpu.ecc, on ? ", no uncorrected error" : ""),
                         on ? "" : "a flipped bit would look like a defect of the stack"};
  });
}

Lines check_mig(const GpuSituation& s) {
  std::size_t usable = 0;
  for (const GpuFacts& gpu : s.inventory.gpus) usable += gpu.mig == "on" ? 0 : 1;
  return for_each_gpu(s, [&](const GpuFacts& gpu, std::size_t i) -> MaybeLine {
    if (gpu.mig.empty()) return std::nullopt;
    if (gpu.mig == "off") return PreflightLine{ok, "mig", fmt::format("{}: MIG mode off", short_name(s, i)), ""};
    return PreflightLine{usable == 0 ? fail : warn, "mig",
                         fmt::format("{}: MIG mode is on; no cell is given a slice of a GPU", short_name(s, i)),
                         usable == 0 ? "no GPU is left: turn it off on one" : "cells use the other GPUs"};
  });
}

Lines check_clocks(const GpuSituation& s) {
  return for_each_gpu(s, [&](const GpuFacts& gpu, std::size_t i) -> MaybeLine {
    const Quantities& now = s.inventory.now[i];
    const auto bits = static_cast<std::uint64_t>(now[static_cast<std::size_t>(Quantity::clock_events)].value_or(0));
    if (const auto throttling = invalidating_events(bits); throttling != 0) {
      return PreflightLine{fail, "clocks",
                           fmt::format("{}: held back right now by {}", short_name(s, i),
                                       fmt::join(clock_event_words(throttling), ", ")),
                           "cool it or give it the power it needs: no time measured on it counts"};
    }
    if (gpu.max_sm_clock_mhz == 0) return std::nullopt;
    const auto current = now[static_cast<std::size_t>(Quantity::sm_clock_mhz)];
    std::string detail = fmt::format("{}: SM clock {} of {} MHz", short_name(s, i),
                                     current ? std::to_string(*current) : "unknown", gpu.max_sm_clock_mhz);
    if (gpu.application_sm_clock_mhz > 0) detail += fmt::format(", applications {}", gpu.application_sm_clock_mhz);
    const bool limited = gpu.application_sm_clock_mhz > 0 && gpu.application_sm_clock_mhz < gpu.max_sm_clock_mhz;
    return PreflightLine{limited ? warn : ok, "clocks", std::move(detail),
                         limited ? "times compare only with those taken at the same applications clock" : ""};
  });
}

// An idle link trains down in generation, never in width.
Lines check_pcie(const GpuSituation& s) {
  return for_each_gpu(s, [&](const GpuFacts& gpu, std::size_t i) -> MaybeLine {
    const auto lanes = s.inventory.now[i][static_cast<std::size_t>(Quantity::pcie_lanes)];
    if (!lanes || gpu.max_pcie_lanes == 0) return std::nullopt;
    const bool narrow = *lanes < gpu.max_pcie_lanes;
    const bool broken = *lanes * 4 <= gpu.max_pcie_lanes;
    return PreflightLine{
        broken   ? fail
        : narrow ? warn
                 : ok,
        "pcie",
        fmt::format("{}: {} of {} lanes, up to generation {}, {} NVLinks active", short_name(s, i), *lanes,
                    gpu.max_pcie_lanes, gpu.max_pcie_generation, gpu.nvlinks_active),
        narrow ? "reseat the card or use another slot: transfers run at a fraction of their rate" : ""};
  });
}

Lines check_processes(const GpuSituation& s) {
  return for_each_gpu(s, [&](const GpuFacts& gpu, std::size_t i) -> MaybeLine {
    if (gpu.compute_mode == "prohibited") {
      return PreflightLine{fail, "gpu processes", fmt::format("{}: compute mode is prohibited", short_name(s, i)),
                           "its owner must allow compute processes"};
    }
    const auto& pids = s.inventory.pids[i];
    if (pids.empty()) {
      return PreflightLine{ok, "gpu processes", fmt::format("{}: nobody else computes on it", short_name(s, i)), ""};
    }
    const std::string who = fmt::format("{}: pid {} computes on it", short_name(s, i), fmt::join(pids, ", "));
    if (gpu.compute_mode == "exclusive_process") {
      return PreflightLine{fail, "gpu processes", who + ", and its compute mode admits one process",
                           "wait for it, or run where the GPU is free"};
    }
    return PreflightLine{warn, "gpu processes", who, "throughput measured beside it is inconclusive (contended)"};
  });
}

// 64 MiB is what container engines give by default, too little for NCCL and for data loaders.
Lines check_shared_memory(const GpuSituation& s) {
  constexpr const char* kName = "/dev/shm";
  constexpr const char* kRemedy = "mount a larger one (containers: --shm-size=8g)";
  if (s.shm_bytes < 0) return {{fail, kName, "there is none", kRemedy}};
  const std::string detail = fmt::format("{} MiB", s.shm_bytes / kMebibyte);
  if (s.shm_bytes <= 64 * kMebibyte) return {{fail, kName, detail, kRemedy}};
  if (s.shm_bytes < 1024 * kMebibyte) return {{warn, kName, detail, kRemedy}};
  return {{ok, kName, detail, ""}};
}

Lines check_driver_library(const GpuSituation& s) {
  constexpr const char* kName = "libcuda";
  const auto found = of_name(s, "libcuda.so");
  if (found.empty()) {
    return {{fail, kName, "no libcuda.so.1 on the loader's path, though a driver is loaded",
             "install the driver's user-space libraries, pass them into the container, or name their folder in "
             "LD_LIBRARY_PATH"}};
  }
  if (!s.driver_load_problem.empty()) {
    return {{fail, kName, fmt::format("{}: cannot be loaded: {}", paths_of(found), s.driver_load_problem),
             "install the user-space libraries of the driver that is loaded"}};
  }
  const bool is_compat = found.front()->path.find("/compat/") != std::string::npos;
  if (found.size() == 1 && !is_compat) return {{ok, kName, found.front()->path, ""}};
  const bool eligible = std::all_of(s.inventory.gpus.begin(), s.inventory.gpus.end(),
                                    [&](const GpuFacts& gpu) { return is_data_center(s.facts, gpu.name); });
  if (is_compat && !eligible) {
    return {
        {fail, kName,
         fmt::format("{}: cuda-compat comes before the driver's own, on a GPU it does not support", paths_of(found)),
         "take the compat folder out of LD_LIBRARY_PATH and ld.so.conf"}};
  }
  return {{warn, kName,
           fmt::format("{}{}", paths_of(found),
                       is_compat ? ": cuda-compat comes before the driver's own" : ": several, the first is used"),
           "a stack then runs on another driver library than the one reported; keep one"}};
}

Lines check_cuda_runtimes(const GpuSituation& s) {
  constexpr const char* kName = "cuda runtimes";
  const auto found = of_name(s, "libcudart.so");
  if (found.empty()) return {{ok, kName, "none on the loader's path: each stack brings its own", ""}};
  std::map<std::string, std::set<std::string>> by_name;
  for (const LoaderLibrary* library : found) by_name[library->name].insert(library->path);
  const bool ambiguous =
      std::any_of(by_name.begin(), by_name.end(), [](const auto& entry) { return entry.second.size() > 1; });
  if (ambiguous) {
    return {{fail, kName, paths_of(found) + ": two files under one name",
             "remove one: which of them a program gets depends on the order of folders"}};
  }
  return {{warn, kName, paths_of(found),
           "a system stack may load it in place of its own; `reprobench stack verify` tells"}};
}

Lines check_visible_devices(const GpuSituation& s) {
  constexpr const char* kName = "visible devices";
  if (!s.visible_devices) return {{ok, kName, "CUDA_VISIBLE_DEVICES is not set", ""}};
  std::vector<std::string> unknown;
  std::istringstream words(*s.visible_devices);
  for (std::string word; std::getline(words, word, ',');) {
    const bool is_index = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    const auto& gpus = s.inventory.gpus;
    // CUDA takes any beginning of a UUID that names one GPU.
    const bool known = is_index ? word.size() < 4 && std::stoul(word) < gpus.size()
                                : word.rfind("GPU-", 0) == 0 && word.size() > 4 &&
                                      std::any_of(gpus.begin(), gpus.end(),
                                                  [&](const GpuFacts& gpu) { return gpu.uuid.rfind(word, 0) == 0; });
    if (!known) unknown.push_back(word);
  }
  if (!unknown.empty()) {
    return {{fail, kName,
             fmt::format("CUDA_VISIBLE_DEVICES names {}, which this host does not have", fmt::join(unknown, ", ")),
             "CUDA hides every GPU behind an unknown one; unset it or correct it"}};
  }
  return {{warn, kName, fmt::format("CUDA_VISIBLE_DEVICES=`{}` is set", *s.visible_devices),
           "cells get their GPU by UUID whatever it says; unset it to avoid confusion"}};
}

Lines check_gpus(const GpuSituation& situation) {
  constexpr PreflightLines (*kRows[])(const GpuSituation&) = {&check_driver_of_stacks,
                                                              &check_driver_branch,
                                                              &check_persistence,
                                                              &check_ecc,
                                                              &check_mig,
                                                              &check_clocks,
                                                              &check_pcie,
                                                              &check_processes,
                                                              &check_shared_memory,
                                                              &check_driver_library,
                                                              &check_cuda_runtimes,
                                                              &check_visible_devices,
                                                              &check_container_toolkit};
  Lines lines = check_nvml(situation);
  if (situation.inventory.driver.empty()) return lines;
  for (const auto row : kRows) {
    for (PreflightLine& line : row(situation)) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace reprobench
