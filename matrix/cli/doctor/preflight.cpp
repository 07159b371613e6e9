#include "matrix/cli/doctor/preflight.hpp"

#include <fstream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "matrix/cli/doctor/gpu_situation_probe.hpp"
#include "matrix/cli/text/stack_answer_text.hpp"
#include "matrix/contract/device/device_class.hpp"
#include "matrix/exec/python.hpp"
#include "matrix/exec/subprocess.hpp"
#include "matrix/host/cpu_limits.hpp"
#include "matrix/host/detect_host.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using Lines = PreflightLines;

constexpr double kGigabyte = 1e9;

struct Preflight {
  const Project& project;
  GpuInventory gpus;
  HostFacts host;
};

void check_host(const Preflight& preflight, Lines& lines) {
  const HostFacts& host = preflight.host;
  lines.push_back(cpu_line(host, set_cpu_limits()));
  lines.push_back({Finding::ok, "host",
                   fmt::format("{}, kernel {}, glibc {}, {} cores", host.os, host.kernel, host.glibc, host.cores), ""});
  lines.push_back(memory_line(host.memory_bytes));
}

void check_gpu(const Preflight& preflight, Lines& lines) {
  for (PreflightLine& line : check_gpus(probe_gpus(preflight.project, preflight.gpus))) {
    lines.push_back(std::move(line));
  }
}

void check_store(const Preflight& preflight, Lines& lines) {
  fs::path existing = preflight.project.store();
  while (!fs::exists(existing) && existing.has_parent_path()) existing = existing.parent_path();
  if (access(existing.c_str(), W_OK) != 0) {
    lines.push_back(
        {Finding::fail, "store", existing.string() + " cannot be written", "choose another folder with --store"});
    return;
  }
  lines.push_back(store_line(preflight.project.store(), fs::space(existing).available));
}

void check_tools(const Preflight&, Lines& lines) {
  for (const char* tool : {"c++", "cmake", "ninja"}) {
    const std::string path = find_in_path(tool);
    lines.push_back({path.empty() ? Finding::fail : Finding::ok, tool, path.empty() ? "not on PATH" : path,
                     path.empty() ? "stacks cannot be installed without it; ci/quickstart.sh installs it" : ""});
  }
  for (const char* module : {"pip", "jinja2"}) {
    const std::string python = find_python_with(module);
    lines.push_back({python.empty() ? Finding::fail : Finding::ok, std::string("python ") + module,
                     python.empty() ? "no python3 has it" : python,
                     python.empty() ? fmt::format("install python3-{}, or set REPROBENCH_PYTHON", module) : ""});
  }
}

void check_governor(const Preflight&, Lines& lines) {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  std::string governor;
  if (file >> governor) lines.push_back(governor_line(governor));
}

void check_stacks(const Preflight& preflight, Lines& lines) {
  const StackStore store = preflight.project.stack_store();
  const StackFiles files = preflight.project.stack_files();
  const CompatFacts facts = preflight.project.facts();
  std::set<std::string> devices = {kCpu.text()};
  for (const GpuFacts& gpu : preflight.host.gpus) {
    const auto of_gpu = DeviceClass::of_capability(gpu.compute_capability);
    if (of_gpu) devices.insert(of_gpu->text());
  }
  for (const auto& [name, error] : files.broken) {
    lines.push_back({Finding::fail, name, error.what(), "repair the file; only what names this stack stops"});
  }
  for (const auto& [name, spec] : files.stacks) {
    const std::string problem = store.system_problem(spec);
    if (!problem.empty()) {
      lines.push_back({Finding::warn, name, problem, "its cells will be skipped"});
      continue;
    }
    const InstalledStack stack = store.find(spec);
    if (!stack.complete || stack.worker.empty()) {
      lines.push_back({Finding::warn, name, stack.complete ? "worker not built for these sources" : "not installed",
                       "reprobench stack install " + name});
      continue;
    }
    const Capability capability = store.describe(stack);
    const Fingerprint& fingerprint = capability.fingerprint;
    const auto findings = find_disagreements(spec, capability, stack.folder);
    for (const auto& [text, is_settled] : findings) {
      lines.push_back({is_settled ? Finding::warn : Finding::fail, name, text,
                       is_settled ? "nothing: its package is the declared one" : "reprobench stack verify " + name});
    }
    if (fingerprint.blas_provider == "netlib") {
      lines.push_back({Finding::warn, name,
                       "its BLAS is netlib's reference code, 30 to 60 times slower than an optimised one",
                       "install libopenblas0; until then its throughput is not judged"});
      continue;
    }
    for (PreflightLine& line : defect_lines(spec, devices, facts, fingerprint)) lines.push_back(std::move(line));
    if (!findings.empty()) continue;
    lines.push_back(
        {Finding::ok, name, fmt::format("torch {}, BLAS {}", capability.torch_version, fingerprint.blas_provider), ""});
  }
}

constexpr void (*kChecks[])(const Preflight&, Lines&) = {&check_host,  &check_gpu,      &check_store,
                                                         &check_tools, &check_governor, &check_stacks};

std::string listed(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> words;
  for (const auto& [name, value] : variables) words.push_back(name + "=" + value);
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

PreflightLine cpu_line(const HostFacts& host, const std::map<std::string, std::string>& set) {
  std::string text = host.cpu_model;
  if (!host.cpu_revision.empty()) text += fmt::format(" ({})", host.cpu_revision);
  text += fmt::format(": {}", host.cpu_isa.empty() ? "no avx2" : fmt::format("{}", fmt::join(host.cpu_isa, " ")));
  if (!host.cpu_limits.empty()) {
    return {Finding::warn, "cpu", fmt::format("{}; workers are held to that by {}", text, listed(host.cpu_limits)),
            fmt::format("unset {} to measure what this CPU does", kCpuClass)};
  }
  if (!set.empty()) {
    return {Finding::warn, "cpu", fmt::format("{}; {} reaches no worker", text, listed(set)),
            "the knob cpu_isa caps a training, ci/cpu_classes.sh a whole host"};
  }
  return {Finding::ok, "cpu", text, ""};
}

PreflightLines defect_lines(const StackSpec& stack, const std::set<std::string>& devices, const CompatFacts& facts,
                            const Fingerprint& fingerprint) {
  PreflightLines lines;
  for (const KnownDefect& defect : defects_on(stack, devices, facts, loaded_versions(fingerprint))) {
    std::vector<std::string> sources;
    for (const std::string& key : defect.evidence.sources) sources.push_back(facts.sources.at(key));
    lines.push_back({Finding::warn, stack.name,
                     fmt::format("known defect {} ({}): {}", defect.id, to_string(defect.effect), defect.sentence),
                     fmt::format("its source: {}", fmt::join(sources, "; "))});
  }
  return lines;
}

PreflightLine memory_line(std::int64_t memory_bytes) {
  const double memory_gb = static_cast<double>(memory_bytes) / kGigabyte;
  // A worker's translation units cost 1.3 to 1.5 GB each to compile, two at a time.
  const bool is_little = memory_gb < 4;
  return {is_little ? Finding::warn : Finding::ok, "memory", fmt::format("{:.1f} GB", memory_gb),
          is_little ? "building a worker needs about 3 GB" : ""};
}

PreflightLine store_line(const fs::path& store, std::uintmax_t free_bytes) {
  const double free_gb = static_cast<double>(free_bytes) / kGigabyte;
  // Four wheel stacks take about 0.6 GB each unpacked and their wheels 0.9 GB each.
  const bool is_little = free_gb < 8;
  return {is_little ? Finding::warn : Finding::ok, "store", fmt::format("{}, {:.0f} GB free", store.string(), free_gb),
          is_little ? "the stacks of matrix/v2.9.yaml take about 7 GB with their wheels" : ""};
}

PreflightLine governor_line(const std::string& governor) {
  const bool is_steady = governor == "performance";
  return {is_steady ? Finding::ok : Finding::warn, "cpu frequency", "governor " + governor,
          is_steady ? "" : "timings are noisier; the governor `performance` steadies them"};
}

Lines preflight(const Project& project) {
  const GpuInventory gpus = detect_gpus();
  const Preflight state{project, gpus, detect_host(gpus)};
  Lines lines;
  for (const auto check : kChecks) check(state, lines);
  return lines;
}

}  // namespace reprobench
