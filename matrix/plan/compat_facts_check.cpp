#include "matrix/plan/compat_facts_check.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "matrix/base/contract_error.hpp"
#include "matrix/plan/dotted_version.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kConfidences[] = {"V", "I", "R"};

[[noreturn]] void refuse(const std::string& sentence) { throw ContractError("compat-facts: " + sentence); }

std::string named(const WheelFacts& wheel) { return fmt::format("torch {} {}", wheel.torch, wheel.variant); }

void check_evidence(const CompatFacts& facts, const std::string& row, const Evidence& evidence) {
  if (evidence.sources.empty()) refuse(row + " has no source");
  for (const std::string& key : evidence.sources) {
    if (!facts.sources.contains(key)) refuse(fmt::format("{} has the source {}, which `sources` lacks", row, key));
  }
  if (std::ranges::find(kConfidences, evidence.confidence) == std::end(kConfidences)) {
    refuse(fmt::format("{} has the confidence `{}`, which is none of V, I and R", row, evidence.confidence));
  }
}

void check_all_evidence(const CompatFacts& facts) {
  for (const WheelFacts& wheel : facts.wheels) check_evidence(facts, named(wheel), wheel.evidence);
  for (const auto& [toolkit, evidence] : facts.toolkit_evidence) check_evidence(facts, "toolkit " + toolkit, evidence);
  for (const auto& [major, evidence] : facts.floor_evidence) {
    check_evidence(facts, fmt::format("the floor of CUDA {}", major), evidence);
  }
  for (const ArchitectureEnd& end : facts.architecture_ends) check_evidence(facts, end.name, end.evidence);
  for (const ArchitectureStart& start : facts.architecture_starts) check_evidence(facts, start.name, start.evidence);
  for (const ChannelEnd& end : facts.channel_ends) check_evidence(facts, "channel " + end.channel, end.evidence);
  for (const ChannelDifference& row : facts.channel_differences) check_evidence(facts, row.sentence, row.evidence);
  for (const DockerTags& tags : facts.docker_tags) check_evidence(facts, "docker tags of " + tags.torch, tags.evidence);
  for (const TorchCompanion& row : facts.companions) check_evidence(facts, row.package, row.evidence);
  for (const PatchDifference& row : facts.patch_differences) check_evidence(facts, "torch " + row.torch, row.evidence);
  for (const LibraryFacts& row : facts.cudnn) check_evidence(facts, "cuDNN " + row.version, row.evidence);
  for (const LibraryFacts& row : facts.nccl) check_evidence(facts, "NCCL " + row.version, row.evidence);
  for (const KnownDefect& row : facts.known_defects) check_evidence(facts, "known defect " + row.id, row.evidence);
  check_evidence(facts, "`torch_releases`", facts.torch_releases_evidence);
  check_evidence(facts, "`forward_compat`", facts.forward_evidence);
}

// "12.8.1" belongs to "cu128".
std::string variant_of(const std::string& toolkit) {
  const auto numbers = version_numbers(toolkit);
  return numbers.size() < 2 ? "" : fmt::format("cu{}{}", numbers[0], numbers[1]);
}

void check_wheel(const WheelFacts& wheel) {
  if (!wheel.cuda_toolkit.empty() && variant_of(wheel.cuda_toolkit) != wheel.variant) {
    refuse(fmt::format("{} has the toolkit {}, which is {}", named(wheel), wheel.cuda_toolkit,
                       variant_of(wheel.cuda_toolkit)));
  }
  if (version_less(wheel.python_max, wheel.python_min)) {
    refuse(fmt::format("{} has Python {} to {}", named(wheel), wheel.python_min, wheel.python_max));
  }
  if (wheel.cxx11_abi < -1 || wheel.cxx11_abi > 1) refuse(named(wheel) + " has a cxx11_abi that is neither 0 nor 1");
}

// What all variants of one release have in common.
void check_line(const WheelFacts& one, const WheelFacts& other) {
  if (one.variant == other.variant) refuse(named(one) + " has two rows");
  const auto refuse_if_different = [&](const char* what, const auto& a, const auto& b) {
    if (a != b) refuse(fmt::format("{} and {} differ in `{}`: {} and {}", named(one), named(other), what, a, b));
  };
  refuse_if_different("released", one.released, other.released);
  refuse_if_different("python", one.python_min, other.python_min);
  refuse_if_different("python", one.python_max, other.python_max);
  refuse_if_different("cxx_standard", one.cxx_standard, other.cxx_standard);
}

void check_wheels(const CompatFacts& facts) {
  for (auto wheel = facts.wheels.begin(); wheel != facts.wheels.end(); ++wheel) {
    check_wheel(*wheel);
    for (auto other = facts.wheels.begin(); other != wheel; ++other) {
      if (other->torch == wheel->torch) check_line(*other, *wheel);
    }
    for (const ChannelEnd& end : facts.channel_ends) {
      if (end.channel == wheel->variant && version_less(end.last_torch, wheel->torch)) {
        refuse(fmt::format("{} has a row, and {} ended with torch {}", named(*wheel), end.channel, end.last_torch));
      }
    }
  }
}

// A toolkit has no kernels for an architecture that CUDA has dropped.
void check_kernels(const CompatFacts& facts) {
  for (const WheelFacts& wheel : facts.wheels) {
    for (const ArchitectureEnd& end : facts.architecture_ends) {
      if (wheel.cuda_toolkit.empty() || version_names(end.last_cuda, wheel.cuda_toolkit) ||
          version_less(wheel.cuda_toolkit, end.last_cuda)) {
        continue;
      }
      for (const std::string& capability : end.compute_capabilities) {
        if (std::ranges::find(wheel.kernels_of, capability) == wheel.kernels_of.end()) continue;
        refuse(fmt::format("{} has kernels for {}, and CUDA {} was the last with {}", named(wheel), capability,
                           end.last_cuda, end.name));
      }
    }
  }
}

// A wheel's cuDNN was built for the wheel's CUDA. NCCL may be torch's own build, so NVIDIA's builds say nothing of it.
void check_cudnn(const CompatFacts& facts, const WheelFacts& wheel) {
  if (wheel.cudnn.empty() || wheel.cuda_toolkit.empty()) return;
  for (const LibraryFacts& cudnn : facts.cudnn) {
    if (!version_names(cudnn.version, wheel.cudnn) || cudnn.cuda.empty()) continue;
    const bool is_built = std::ranges::any_of(cudnn.cuda, [&](const std::string& range) {
      return VersionRange::parse(range).match(wheel.cuda_toolkit) != Within::no;
    });
    if (!is_built) refuse(fmt::format("{} has cuDNN {}, which was not built for its CUDA", named(wheel), wheel.cudnn));
  }
}

// Newer toolkits never install an older driver.
void check_drivers(const CompatFacts& facts) {
  std::vector<std::pair<std::string, std::string>> toolkits(facts.toolkit_driver.begin(), facts.toolkit_driver.end());
  std::ranges::sort(toolkits, [](const auto& a, const auto& b) { return version_less(a.first, b.first); });
  for (std::size_t i = 1; i < toolkits.size(); ++i) {
    const auto& [older, older_driver] = toolkits[i - 1];
    const auto& [newer, newer_driver] = toolkits[i];
    if (!version_less(newer_driver, older_driver)) continue;
    refuse(fmt::format("toolkit {} has driver {}, and the older {} has {}", newer, newer_driver, older, older_driver));
  }
  for (auto floor = facts.driver_floor.begin(); floor != facts.driver_floor.end(); ++floor) {
    const auto next = std::next(floor);
    if (next != facts.driver_floor.end() && !version_less(floor->second, next->second)) {
      refuse(fmt::format("CUDA {} has the floor {}, and CUDA {} has {}", floor->first, floor->second, next->first,
                         next->second));
    }
  }
}

void check_companions(const CompatFacts& facts) {
  for (const TorchCompanion& companion : facts.companions) {
    for (const auto& [release, torch] : companion.torch_of) {
      const std::string release_of_torch = torch.starts_with(">=") ? torch.substr(2) : torch;
      const auto is_it = [&](const std::string& known) { return version_names(release_of_torch, known); };
      if (std::ranges::any_of(facts.torch_releases, is_it)) continue;
      refuse(fmt::format("{} {} asks for torch {}, which `torch_releases` lacks", companion.package, release, torch));
    }
  }
}

template <class Rows, class Name>
void check_named_once(const Rows& rows, const char* what, Name name_of) {
  std::set<std::string> seen;
  for (const auto& row : rows) {
    if (!seen.insert(name_of(row)).second) refuse(fmt::format("{} {} has two rows", what, name_of(row)));
  }
}

}  // namespace

void check_compat_facts(const CompatFacts& facts) {
  check_all_evidence(facts);
  check_wheels(facts);
  check_kernels(facts);
  for (const WheelFacts& wheel : facts.wheels) check_cudnn(facts, wheel);
  for (const PatchDifference& row : facts.patch_differences) {
    if (row.component != "cudnn" && row.component != "nccl") {
      refuse(fmt::format("torch {} differs in `{}`, which is neither cudnn nor nccl", row.torch, row.component));
    }
  }
  check_drivers(facts);
  check_companions(facts);
  const auto version_of = [](const LibraryFacts& row) { return row.version; };
  check_named_once(facts.cudnn, "cuDNN", version_of);
  check_named_once(facts.nccl, "NCCL", version_of);
  check_named_once(facts.known_defects, "known defect", [](const KnownDefect& row) { return row.id; });
  check_named_once(facts.device_peaks, "GPU", [](const DevicePeaks& row) { return row.device_name; });
  check_named_once(facts.channel_ends, "channel", [](const ChannelEnd& row) { return row.channel; });
  check_named_once(facts.companions, "companion", [](const TorchCompanion& row) { return row.package; });
  check_named_once(facts.docker_tags, "docker tags of", [](const DockerTags& row) { return row.torch; });
  std::set<std::string> capabilities;
  for (const ArchitectureEnd& end : facts.architecture_ends) {
    for (const std::string& capability : end.compute_capabilities) {
      if (!capabilities.insert(capability).second) refuse("compute capability " + capability + " ends twice");
    }
  }
}

}  // namespace reprobench
