#include "matrix/plan/compat_rules.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace reprobench {
namespace {

constexpr std::string_view kDevicePrefix = "sm_";

bool wants_gpu(const Cell& cell) { return cell.request.device.starts_with(kDevicePrefix); }

// "sm_90" -> "9.0", "sm_120" -> "12.0"
std::string capability_of_class(const std::string& device) {
  std::string digits = device.substr(kDevicePrefix.size());
  digits.insert(digits.size() - 1, ".");
  return digits;
}

std::string component(const StackSpec& stack, const char* name) {
  const auto found = stack.components.find(name);
  return found == stack.components.end() ? "" : found->second;
}

// "2.9.0+cu128" -> {"2.9.0", "cu128"}; the variant is empty for a build without CUDA.
std::pair<std::string, std::string> torch_release(const StackSpec& stack) {
  const std::string version = component(stack, "torch");
  const auto plus = version.find('+');
  if (plus == std::string::npos) return {version, ""};
  return {version.substr(0, plus), version.substr(plus + 1)};
}

bool is_release_of(const std::string& version, const std::string& series) {
  return version == series || version.starts_with(series + ".");
}

const TorchWheel* find_wheel(const CompatFacts& facts, const StackSpec& stack) {
  const auto [release, variant] = torch_release(stack);
  const auto found = std::find_if(facts.torch_wheels.begin(), facts.torch_wheels.end(), [&](const TorchWheel& wheel) {
    return is_release_of(release, wheel.torch) && wheel.variant == variant;
  });
  return found == facts.torch_wheels.end() ? nullptr : &*found;
}

// "cu118" -> "11.8", "cu130" -> "13.0"
std::string cuda_of_variant(const std::string& variant) {
  if (variant.size() < 4 || !variant.starts_with("cu")) return variant;
  return variant.substr(2, variant.size() - 3) + "." + variant.back();
}

std::string gpus_of(const HostFacts& host) {
  std::vector<std::string> names;
  for (const GpuFacts& gpu : host.gpus) names.push_back(fmt::format("{} ({})", gpu.name, gpu.compute_capability));
  return names.empty() ? "this host has none" : fmt::format("this host has {}", fmt::join(names, ", "));
}

RuleResult system_stack_absent(const RuleInput& input) { return {input.availability.problem, ""}; }

RuleResult no_wheel(const RuleInput& input) {
  if (input.stack.source != StackSource::wheel || find_wheel(input.facts, input.stack) != nullptr) return {};
  const auto [release, variant] = torch_release(input.stack);
  std::vector<std::string> shipped;
  for (const TorchWheel& wheel : input.facts.torch_wheels) {
    if (is_release_of(release, wheel.torch)) shipped.push_back(cuda_of_variant(wheel.variant));
  }
  if (shipped.empty()) return {fmt::format("no wheel of torch {} is known", release), ""};
  return {fmt::format("torch {} never shipped with CUDA {}, it exists with {}", release, cuda_of_variant(variant),
                      fmt::join(shipped, ", ")),
          ""};
}

RuleResult no_cuda_in_stack(const RuleInput& input) {
  if (!wants_gpu(input.cell) || !component(input.stack, "cuda").empty()) return {};
  return {fmt::format("{} has no CUDA; it runs on the CPU only", input.stack.name), ""};
}

RuleResult device_class(const RuleInput& input) {
  if (!wants_gpu(input.cell)) return {};
  const std::string wanted = capability_of_class(input.cell.request.device);
  const auto has_class = [&](const GpuFacts& gpu) { return gpu.compute_capability == wanted; };
  if (std::any_of(input.host.gpus.begin(), input.host.gpus.end(), has_class)) return {};
  return {fmt::format("needs a GPU of class {}, {}", input.cell.request.device, gpus_of(input.host)), ""};
}

RuleResult driver_floor(const RuleInput& input) {
  const std::string cuda = component(input.stack, "cuda");
  if (!wants_gpu(input.cell) || cuda.empty() || input.host.driver.empty()) return {};
  const int major = std::stoi(cuda);
  const auto floor = input.facts.driver_floor.find(major);
  if (floor == input.facts.driver_floor.end()) {
    return {"", fmt::format("the lowest driver of CUDA {} is not known; driver {} was not checked", major,
                            input.host.driver)};
  }
  if (compare_versions(input.host.driver, floor->second) < 0) {
    return {fmt::format("driver {} is under {}, the floor of CUDA {}", input.host.driver, floor->second, major), ""};
  }
  const TorchWheel* wheel = find_wheel(input.facts, input.stack);
  const auto own =
      wheel == nullptr ? input.facts.toolkit_driver.end() : input.facts.toolkit_driver.find(wheel->cuda_toolkit);
  if (own != input.facts.toolkit_driver.end() && compare_versions(input.host.driver, own->second) < 0) {
    return {"",
            fmt::format("driver {} is under {}, the driver of toolkit {}: minor-version mode, no PTX of this toolkit",
                        input.host.driver, own->second, own->first)};
  }
  return {};
}

RuleResult driver_branch_end(const RuleInput& input) {
  if (!wants_gpu(input.cell) || input.host.driver.empty()) return {};
  const std::string capability = capability_of_class(input.cell.request.device);
  const int branch = std::stoi(input.host.driver);
  for (const ArchitectureEnd& end : input.facts.architecture_ends) {
    const bool covers = compare_versions(capability, end.compute_capability_min) >= 0 &&
                        compare_versions(capability, end.compute_capability_max) <= 0;
    if (!covers || end.last_driver_branch == 0 || branch <= end.last_driver_branch) continue;
    return {fmt::format("driver {} no longer serves {}; R{} was the last branch that did", input.host.driver,
                        end.architecture, end.last_driver_branch),
            ""};
  }
  return {};
}

// A cubin runs on devices of its own major and the same or a higher minor; PTX is compiled for any later device.
bool covers(const std::string& built_for, const std::string& capability) {
  const auto plus = built_for.find("+PTX");
  const std::string base = built_for.substr(0, plus);
  if (plus != std::string::npos && compare_versions(base, capability) <= 0) return true;
  return std::stoi(base) == std::stoi(capability) && compare_versions(base, capability) <= 0;
}

RuleResult no_kernel_image(const RuleInput& input) {
  const TorchWheel* wheel = find_wheel(input.facts, input.stack);
  if (!wants_gpu(input.cell) || wheel == nullptr) return {};
  const std::string capability = capability_of_class(input.cell.request.device);
  if (wheel->sm.empty()) {
    return {"",
            fmt::format("which architectures torch {}+{} was built for is not known", wheel->torch, wheel->variant)};
  }
  const bool covered = std::any_of(wheel->sm.begin(), wheel->sm.end(),
                                   [&](const std::string& built_for) { return covers(built_for, capability); });
  if (covered) return {};
  return {fmt::format("torch {}+{} has no kernel image for compute capability {}; it was built for {}", wheel->torch,
                      wheel->variant, capability, fmt::join(wheel->sm, " ")),
          ""};
}

RuleResult host_glibc(const RuleInput& input) {
  const TorchWheel* wheel = find_wheel(input.facts, input.stack);
  if (wheel == nullptr || wheel->glibc_min.empty() || compare_versions(input.host.glibc, wheel->glibc_min) >= 0)
    return {};
  return {fmt::format("glibc {} is under {}, the lowest torch {}+{} runs with", input.host.glibc, wheel->glibc_min,
                      wheel->torch, wheel->variant),
          ""};
}

RuleResult host_architecture(const RuleInput& input) {
  if (input.stack.source != StackSource::wheel || input.host.architecture == "x86_64") return {};
  return {fmt::format("the wheels of {} are for x86_64, this host is {}", input.stack.name, input.host.architecture),
          ""};
}

std::string knob_value(const Cell& cell, const char* name) {
  const auto found = cell.request.knobs.find(name);
  return found == cell.request.knobs.end() ? "" : found->second;
}

RuleResult cpu_isa(const RuleInput& input) {
  const std::string wanted = knob_value(input.cell, "cpu_isa");
  if (wanted != "avx2" && wanted != "avx512") return {};
  const auto& isa = input.host.cpu_isa;
  if (std::find(isa.begin(), isa.end(), wanted) != isa.end()) return {};
  return {fmt::format("cpu_isa {} is not supported by {}, which has {}", wanted, input.host.cpu_model,
                      isa.empty() ? "neither avx2 nor avx512" : fmt::format("{}", fmt::join(isa, ", "))),
          ""};
}

RuleResult threads(const RuleInput& input) {
  const std::string wanted = knob_value(input.cell, "threads");
  if (wanted.empty() || std::stoi(wanted) <= input.host.cores) return {};
  return {"", fmt::format("{} threads on {} cores", wanted, input.host.cores)};
}

RuleResult tf32_needs_gpu(const RuleInput& input) {
  if (knob_value(input.cell, "tf32") != "on" || wants_gpu(input.cell)) return {};
  return {fmt::format("tf32 is a mode of GPU tensor cores, the cell runs on {}", input.cell.request.device), ""};
}

RuleResult world_size(const RuleInput& input) {
  const int ranks = input.cell.request.world_size;
  if (ranks <= 1) return {};
  if (!wants_gpu(input.cell))
    return {fmt::format("{} ranks: the workers of this build run one rank on a CPU", ranks), ""};
  const int gpus = static_cast<int>(input.host.gpus.size());
  return gpus >= ranks ? RuleResult{}
                       : RuleResult{fmt::format("{} ranks need {} GPUs, this host has {}", ranks, ranks, gpus), ""};
}

// Facts are about what the wheel carries; a stack file that says otherwise is a finding about the file.
RuleResult component_contradiction(const RuleInput& input) {
  const TorchWheel* wheel = find_wheel(input.facts, input.stack);
  if (wheel == nullptr) return {};
  for (const auto& [name, fact] : {std::pair{"cudnn", wheel->cudnn}, std::pair{"nccl", wheel->nccl}}) {
    const std::string declared = component(input.stack, name);
    if (declared.empty() || fact.empty() || is_release_of(fact, declared)) continue;
    return {"", fmt::format("{} declares {} {}, the wheel of torch {}+{} carries {}", input.stack.name, name, declared,
                            wheel->torch, wheel->variant, fact)};
  }
  return {};
}

constexpr CompatRule kRules[] = {
    {"system-stack-absent", &system_stack_absent},
    {"no-wheel", &no_wheel},
    {"host-architecture", &host_architecture},
    {"host-glibc", &host_glibc},
    {"no-cuda-in-stack", &no_cuda_in_stack},
    {"device-class", &device_class},
    {"driver-floor", &driver_floor},
    {"driver-branch-end", &driver_branch_end},
    {"no-kernel-image", &no_kernel_image},
    {"cpu-isa", &cpu_isa},
    {"threads", &threads},
    {"tf32-needs-gpu", &tf32_needs_gpu},
    {"world-size", &world_size},
    {"component-contradiction", &component_contradiction},
};

}  // namespace

std::span<const CompatRule> compat_rules() { return kRules; }

}  // namespace reprobench
