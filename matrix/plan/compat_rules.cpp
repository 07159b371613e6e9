#include "matrix/plan/compat_rules.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/contract/attempt_segment.hpp"
#include "matrix/contract/device/device_class.hpp"
#include "matrix/contract/device/device_facts.hpp"
#include "matrix/contract/exclusion.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/plan/coverage.hpp"
#include "matrix/plan/dotted_version.hpp"

namespace reprobench {
namespace {

using Finding = std::optional<std::string>;

// The first that computes in TF32 and bfloat16, and runs fused attention.
constexpr DeviceClass kSm80(8, 0);

// A matrix names no others.
DeviceClass device_of(const Situation& s) { return DeviceClass::parse(s.cell.request.device).value(); }

bool on_cpu(const Situation& s) { return !device_of(s).is_gpu(); }

const std::string& component(const Situation& s, const char* name) {
  static const std::string kNone;
  const auto found = s.stack.components.find(name);
  return found == s.stack.components.end() ? kNone : found->second;
}

bool is_default(const std::string& knob, const std::string& value) {
  const Knob* known = find_knob(knob);
  return known != nullptr && known->default_value == value;
}

int gpus_of_class(const Situation& s) {
  return static_cast<int>(std::count_if(s.host.gpus.begin(), s.host.gpus.end(), [&](const GpuFacts& gpu) {
    return DeviceClass::of_capability(gpu.compute_capability) == device_of(s) && unusable_because(gpu).empty();
  }));
}

// "cu128" -> "12.8"
std::string cuda_of_variant(const std::string& variant) {
  const std::string digits = variant.substr(2);
  return digits.size() < 2 ? digits : digits.substr(0, digits.size() - 1) + "." + digits.back();
}

bool names_cuda(const std::string& variant) { return variant.substr(0, 2) == "cu" && variant.size() > 2; }

int cuda_major(const Situation& s) {
  const auto numbers = version_numbers(component(s, "cuda"));
  return numbers.empty() ? 0 : numbers.front();
}

std::string toolkit_of(const Situation& s) {
  return s.wheel != nullptr && !s.wheel->cuda_toolkit.empty() ? s.wheel->cuda_toolkit : component(s, "cuda");
}

Finding system_stack_absent(const Situation& s) {
  if (s.availability.problem.empty()) return std::nullopt;
  return s.availability.problem;
}

// NCCL takes ranks without a common /dev/shm for those of two hosts, and would talk over the network.
Finding gpu_ranks_inside_image(const Situation& s) {
  if (s.stack.source != StackSource::image || on_cpu(s) || s.cell.request.world_size == 1) return std::nullopt;
  return fmt::format(
      "{} runs inside the image {}, where each rank has memory of its own: several GPUs would not meet as on one host",
      s.stack.name, s.stack.image);
}

Finding wheel_architecture(const Situation& s) {
  if (!s.stack.is_of_wheels() || s.host.architecture == "x86_64") return std::nullopt;
  return fmt::format("the wheels of {} are built for x86_64; this host is {}", s.stack.name, s.host.architecture);
}

Finding no_wheel(const Situation& s) {
  if (!s.stack.is_of_wheels() || s.wheel != nullptr) return std::nullopt;
  const TorchBuild build = torch_build(s.stack);
  if (!names_cuda(build.variant)) return std::nullopt;
  std::vector<std::string> existing;
  for (const std::string& variant : s.facts.variants_of(build.line)) existing.push_back(cuda_of_variant(variant));
  if (existing.empty()) return std::nullopt;
  return fmt::format("torch {} never shipped with CUDA {}; it exists with CUDA {}", build.release,
                     cuda_of_variant(build.variant), fmt::join(existing, ", "));
}

Finding unknown_release(const Situation& s) {
  if (!s.stack.is_of_wheels() || s.wheel != nullptr) return std::nullopt;
  const TorchBuild build = torch_build(s.stack);
  if (!s.facts.variants_of(build.line).empty()) return std::nullopt;
  return fmt::format("no compat facts about torch {}: its CUDA, driver and GPU requirements are not checked",
                     build.line);
}

Finding glibc_floor(const Situation& s) {
  if (s.wheel == nullptr || s.host.glibc.empty() || !version_less(s.host.glibc, s.wheel->glibc_min)) {
    return std::nullopt;
  }
  return fmt::format("glibc {} is under {}, the floor of {}", s.host.glibc, s.wheel->glibc_min, s.stack.name);
}

// The first knob that a cell on the CPU sets although it acts on a GPU alone.
Finding knob_needs_gpu(const Situation& s) {
  if (!on_cpu(s)) return std::nullopt;
  for (const auto& [name, value] : s.cell.request.knobs) {
    const Knob* knob = find_knob(name);
    if (knob != nullptr && knob->acts_on == ActsOn::gpu && knob->default_value != value) {
      return fmt::format("knob {}={} has no meaning on the CPU", name, value);
    }
  }
  return std::nullopt;
}

Finding tf32_needs_sm80(const Situation& s) {
  if (on_cpu(s) || !s.settings.tf32) return std::nullopt;
  if (device_of(s) >= kSm80) return std::nullopt;
  return fmt::format("knob tf32=on needs a GPU of class sm_80 or later, and this cell asks for {}",
                     s.cell.request.device);
}

// The floor of a precision's arithmetic: CUDA C++ Programming Guide, feature support per compute capability.
Finding bf16_needs_sm80(const Situation& s) {
  if (on_cpu(s) || s.settings.precision != Precision::bf16) return std::nullopt;
  if (device_of(s) >= kSm80) return std::nullopt;
  return fmt::format("knob precision=bf16 needs a GPU of class sm_80 or later, and this cell asks for {}",
                     s.cell.request.device);
}

// LibTorch throws "No available kernel" where the one backend that is allowed cannot do it.
Finding fused_attention(const Situation& s) {
  const AttentionBackend backend = s.settings.attention;
  if (on_cpu(s) || (backend != AttentionBackend::flash && backend != AttentionBackend::cudnn)) return std::nullopt;
  if (s.settings.precision != Precision::bf16 && s.settings.precision != Precision::fp16) {
    return fmt::format("knob {} is for 16-bit numbers on a GPU, and precision is {}",
                       words_of<&Settings::attention>(s.settings), precision_text(s.cell.request));
  }
  if (device_of(s) < kSm80) {
    return fmt::format("knob {} needs a GPU of class sm_80 or later, and this cell asks for {}",
                       words_of<&Settings::attention>(s.settings), s.cell.request.device);
  }
  if (backend == AttentionBackend::cudnn && s.settings.determinism == Determinism::strict) {
    return "knob attention=cudnn is not deterministic in backward, and determinism=strict refuses it";
  }
  return std::nullopt;
}

Finding no_package(const Situation& s) {
  const WorkloadRequest& workload = s.cell.request.workload;
  if (workload.probe != kPackageProbe || !workload.package_file.empty()) return std::nullopt;
  return "the probe `package` runs an AOTInductor package of yours: `--package FILE.pt2`, or `package: FILE.pt2` in "
         "the matrix or in a suite";
}

Finding cpu_isa(const Situation& s) {
  if (s.settings.cpu_isa != CpuIsa::avx2 && s.settings.cpu_isa != CpuIsa::avx512) return std::nullopt;
  const std::string wanted = text_of<&Settings::cpu_isa>(s.settings.cpu_isa);
  const auto& has = s.host.cpu_isa;
  if (std::find(has.begin(), has.end(), wanted) != has.end()) return std::nullopt;
  return fmt::format("knob cpu_isa={} needs instructions this CPU lacks; {} has {}", wanted, s.host.cpu_model,
                     has.empty() ? std::string("neither avx2 nor avx512") : fmt::format("{}", fmt::join(has, ", ")));
}

Finding more_threads_than_cores(const Situation& s) {
  const std::int64_t wanted = s.settings.threads;
  if (wanted <= s.host.cores) return std::nullopt;
  return fmt::format("{} threads on {} cores", wanted, s.host.cores);
}

DeviceCoverage coverage(const Situation& s) { return coverage_on(s.cell.request.device, s.stack, s.wheel, s.facts); }

// PTX is compiled by the driver, which must be at least as new as the toolkit that made it. Without a driver the rule
// on device classes decides.
bool driver_compiles_ptx(const Situation& s, const std::string& needed) {
  return s.host.driver.empty() || needed.empty() || !version_less(s.host.driver, needed);
}

Finding no_kernel_image(const Situation& s) {
  if (on_cpu(s)) return std::nullopt;
  if (component(s, "cuda").empty()) {
    return fmt::format("{} has no CUDA, so no kernels for {}", s.stack.name, s.cell.request.device);
  }
  if (s.wheel == nullptr || s.wheel->kernels_of.empty()) return std::nullopt;
  const std::string capability = device_of(s).compute_capability();
  const DeviceCoverage found = coverage(s);
  if (found.compute == Coverage::native) return std::nullopt;
  if (found.compute == Coverage::ptx && driver_compiles_ptx(s, found.driver_at_least)) return std::nullopt;
  return fmt::format("the torch {} {} wheel has no kernels for compute capability {}; it has them for {}",
                     s.wheel->torch, s.wheel->variant, capability, fmt::join(s.wheel->kernels_of, " "));
}

Finding no_collective_kernel(const Situation& s) {
  if (on_cpu(s) || s.cell.request.world_size <= 1 || coverage(s).compute != Coverage::ptx) return std::nullopt;
  return fmt::format("{} reaches {} through PTX alone, and NCCL carries none: compute runs there, collectives do not",
                     s.stack.name, s.cell.request.device);
}

Finding kernels_not_verified(const Situation& s) {
  if (on_cpu(s) || s.wheel == nullptr || !s.wheel->kernels_of.empty()) return std::nullopt;
  return fmt::format("which GPUs the torch {} {} wheel has kernels for is not verified", s.wheel->torch,
                     s.wheel->variant);
}

Finding device_class_missing(const Situation& s) {
  if (on_cpu(s) || gpus_of_class(s) > 0) return std::nullopt;
  std::vector<std::string> present;
  for (const GpuFacts& gpu : s.host.gpus) {
    const std::string unusable = unusable_because(gpu);
    present.push_back(fmt::format("{} ({}{}{})", device_class(gpu.compute_capability), gpu.name,
                                  unusable.empty() ? "" : "; ", unusable));
  }
  if (present.empty()) return fmt::format("needs a GPU of class {}, this host has none", s.cell.request.device);
  return fmt::format("needs a GPU of class {}, this host has {}", s.cell.request.device, fmt::join(present, ", "));
}

// Each process has GPUs of its own: ranks one each, a probe of what is between GPUs all of them.
Finding too_few_devices(const Situation& s) {
  const CellRequest& request = s.cell.request;
  const int wanted = gpus_of(request);
  const int present = on_cpu(s) ? 0 : gpus_of_class(s);
  if (present == 0 || present >= wanted) return std::nullopt;
  const int ranks = most_ranks_of(request);
  const std::string whose = ranks > 1 ? fmt::format("{} for each of {} ranks", gpus_of_rank(request), ranks)
                                      : fmt::format("{} measures between them", request.workload.name());
  return fmt::format("needs {} GPUs of class {} ({}), and of those that this host has {} may be used", wanted,
                     request.device, whose, present);
}

Finding no_peer(const Situation& s) {
  const ProbeInfo* probe = find_probe(s.cell.request.workload.probe);
  if (probe == nullptr || probe->devices <= 1 || !on_cpu(s)) return std::nullopt;
  return fmt::format("{} measures between {} devices of one process, and a CPU has no peer",
                     s.cell.request.workload.name(), probe->devices);
}

Finding world_size(const Situation& s) {
  const int ranks = most_ranks_of(s.cell.request);
  const WorkloadRequest& workload = s.cell.request.workload;
  const ProbeInfo* probe = find_probe(workload.probe);
  const bool is_of_ranks = probe != nullptr && probe->of_ranks;
  if (ranks <= 1) {
    if (!is_of_ranks) return std::nullopt;
    return fmt::format("{} measures what passes between ranks, and world_size is 1", workload.probe);
  }
  if (workload.is_probe() && !is_of_ranks) {
    return fmt::format("{} has one rank, and world_size is {}", workload.probe, ranks);
  }
  return std::nullopt;
}

// Settings that the worker would refuse together, on the ranks that begin or on those that resume.
Finding excluded_settings(const Situation& s) {
  const CellRequest& request = s.cell.request;
  if (const auto exclusion = exclusion_of(request, s.settings)) return exclusion->sentence;
  if (segments_of(request).size() == 1) return std::nullopt;
  const CellRequest resumed =
      request_of_segment(request, AttemptSegment::resumed, {});  // on other ranks it accumulates
  const auto exclusion = exclusion_of(resumed, settings_of(resumed.knobs));
  return exclusion ? Finding(exclusion->sentence) : std::nullopt;
}

// Ranks or replicas, and accumulation, cut a batch into equal micro-batches.
Finding micro_batches(const Situation& s) {
  const CellRequest& request = s.cell.request;
  const std::int64_t count = micro_batches_of(request);
  if (request.workload.is_probe() || request.workload.batch_size % count == 0) return std::nullopt;
  return fmt::format("a batch of {} makes no {} equal micro-batches (world_size {}, {}accumulate {})",
                     request.workload.batch_size, count, request.world_size,
                     s.settings.replicas == 1 ? "" : fmt::format("replicas {}, ", s.settings.replicas),
                     s.settings.accumulate);
}

// A training that goes on with other ranks does the same micro-batches.
Finding resumed_micro_batches(const Situation& s) {
  const CellRequest& request = s.cell.request;
  if (resumed_accumulate(request)) return std::nullopt;
  const std::int64_t count = micro_batches_of(request);
  return fmt::format(
      "{} micro-batches (world_size {}, accumulate {}) are not to be shared out evenly among the {} ranks "
      "that resume them (resume_world_size)",
      count, request.world_size, count / request.world_size, request.workload.resume_world_size);
}

Finding driver_floor(const Situation& s) {
  if (on_cpu(s) || s.host.driver.empty()) return std::nullopt;
  const auto floor = s.facts.driver_floor.find(cuda_major(s));
  if (floor == s.facts.driver_floor.end() || !version_less(s.host.driver, floor->second)) return std::nullopt;
  return fmt::format("driver {} is under {}, the floor of CUDA {}", s.host.driver, floor->second, floor->first);
}

Finding driver_branch_end(const Situation& s) {
  if (on_cpu(s) || s.host.driver.empty()) return std::nullopt;
  const std::string capability = device_of(s).compute_capability();
  const auto branch = version_numbers(s.host.driver);
  for (const ArchitectureEnd& end : s.facts.architecture_ends) {
    const auto& ended = end.compute_capabilities;
    const bool concerns = std::find(ended.begin(), ended.end(), capability) != ended.end();
    if (concerns && !branch.empty() && branch.front() > end.last_driver_branch) {
      return fmt::format("driver {} no longer knows {} ({}): R{} was its last branch", s.host.driver,
                         s.cell.request.device, end.name, end.last_driver_branch);
    }
  }
  return std::nullopt;
}

Finding minor_version(const Situation& s) {
  if (on_cpu(s) || s.host.driver.empty()) return std::nullopt;
  const std::string toolkit = toolkit_of(s);
  const std::string needed = s.facts.driver_of_toolkit(toolkit);
  if (needed.empty() || !version_less(s.host.driver, needed)) return std::nullopt;
  return fmt::format("driver {} is under toolkit {}'s {}: minor-version mode, no PTX of this toolkit can be compiled",
                     s.host.driver, toolkit, needed);
}

Finding component_contradiction(const Situation& s) {
  if (s.wheel == nullptr) return std::nullopt;
  std::vector<std::string> contradictions;
  const auto compare = [&](const char* name, const char* shown, const std::string& fact) {
    const std::string& declared = component(s, name);
    // A fact of fewer parts is verified to there.
    if (declared.empty() || fact.empty() || version_names(declared, fact) || version_names(fact, declared)) return;
    contradictions.push_back(fmt::format("{} {} where the torch {} {} wheel has {}", shown, declared, s.wheel->torch,
                                         s.wheel->variant, fact));
  };
  compare("cudnn", "cuDNN", s.wheel->cudnn);
  compare("nccl", "NCCL", s.wheel->nccl);
  if (s.wheel->cxx11_abi >= 0 && s.wheel->cxx11_abi != s.stack.cxx11_abi) {
    contradictions.push_back(fmt::format("cxx11_abi {} where the wheel has {}", s.stack.cxx11_abi, s.wheel->cxx11_abi));
  }
  if (contradictions.empty()) return std::nullopt;
  return fmt::format("{} declares {}", s.stack.name, fmt::join(contradictions, "; "));
}

// What the stack's worker said when it was built. A library that was missing then may be there now, so the cell runs,
// and the worker has the last word.
Finding knob_support(const Situation& s) {
  for (const auto& [name, value] : s.cell.request.knobs) {
    const auto support = std::ranges::find(s.availability.knobs, name, &KnobSupport::name);
    if (support == s.availability.knobs.end() || support->reason.empty() || is_default(name, value)) continue;
    if (std::ranges::find(support->values, value) != support->values.end()) continue;
    return fmt::format("the worker of {} will refuse knob {}={}, as it stood when it was built: {}", s.stack.name, name,
                       value, support->reason);
  }
  return std::nullopt;
}

constexpr Reason kNote;

// What no host can change comes first, then what this host lacks.
constexpr CompatRule kRules[] = {
    {"no-wheel", &no_wheel},
    {"no-kernel-image", &no_kernel_image},
    {"no-collective-kernel", &no_collective_kernel},
    {"knob-needs-gpu", &knob_needs_gpu},
    {"tf32-needs-sm80", &tf32_needs_sm80},
    {"bf16-needs-sm80", &bf16_needs_sm80},
    {"fused-attention", &fused_attention},
    {"no-peer", &no_peer},
    {"no-package", &no_package},
    {"device-class", &device_class_missing},
    {"world-size", &gpu_ranks_inside_image},
    {"device-count", &too_few_devices},
    {"world-size", &world_size},
    {"excluded-settings", &excluded_settings},
    {"micro-batches", &micro_batches},
    {"resumed-micro-batches", &resumed_micro_batches},
    {"driver-floor", &driver_floor},
    {"driver-branch-end", &driver_branch_end},
    {"cpu-isa", &cpu_isa},
    {"wheel-architecture", &wheel_architecture},
    {"glibc-floor", &glibc_floor},
    {"system-stack-absent", &system_stack_absent},
    {kNote, &component_contradiction},
    {kNote, &knob_support},
    {kNote, &more_threads_than_cores},
    {kNote, &minor_version},
    {kNote, &kernels_not_verified},
    {kNote, &unknown_release},
};

}  // namespace

std::span<const CompatRule> compat_rules() { return kRules; }

TorchBuild torch_build(const StackSpec& stack) {
  const auto torch = stack.components.find("torch");
  if (torch == stack.components.end()) return {};
  const std::string& text = torch->second;
  const std::size_t plus = text.find('+');
  TorchBuild build;
  build.release = text.substr(0, plus);
  if (plus != std::string::npos) build.variant = text.substr(plus + 1);
  const auto numbers = version_numbers(build.release);
  if (numbers.size() >= 2) build.line = fmt::format("{}.{}", numbers[0], numbers[1]);
  return build;
}

}  // namespace reprobench
