#include "matrix/plan/stack_claims.hpp"

#include "matrix/plan/claim_rules.hpp"
#include "matrix/plan/dotted_version.hpp"

namespace reprobench {
namespace {

using Texts = std::vector<std::string>;

constexpr ClaimableComponent kClaimable[] = {
    {"torch", "2.9 or 2.9.0+cu128", "release of torch"},
    {"cuda", "12.8, 12.8.1 or cu128", "CUDA that it was built with"},
    {"cudnn", "9.10.2.21", "cuDNN"},
    {"nccl", "2.27.5", "NCCL"},
    {"torchvision", "0.24.0", "torchvision"},
    {"torchaudio", "2.9.0", "torchaudio"},
    {"python", "3.12", "Python"},
    {"abi", "1", "_GLIBCXX_USE_CXX11_ABI"},
    {"cxx", "17", "C++ standard"},
    {"driver", "570.124.06", "NVIDIA driver"},
    {"sm", "9.0", "compute capability of the GPU"},
    {"glibc", "2.36", "glibc of the host"},
    {"channel", "wheel", "where torch comes from: wheel, zip, docker, conda or ngc"},
};
constexpr std::string_view kTorchChannels[] = {"wheel", "zip", "docker", "conda", "ngc"};

void unknown_components(const StatedClaims& claims, std::vector<ClaimFinding>& findings) {
  for (const auto& [name, version] : claims.of) {
    if (std::ranges::find(kClaimable, name, &ClaimableComponent::name) != std::end(kClaimable)) continue;
    findings.push_back(
        ToldClaim("no-facts", Holds::unknown, fmt::format("the facts have no rows of {} {}", name, version)));
  }
}

// Every claim is looked at by some rule; one that none could look at is not known.
void unasked(const StatedClaims& claims, std::vector<ClaimFinding>& findings) {
  struct Asked {
    const char* name;
    Texts by;  // rules
  };
  static const Asked kAsked[] = {
      {"torch", {"wheel", "channel", "channel-content"}},
      {"cuda", {"wheel", "channel", "channel-content", "cudnn-cuda", "nccl-cuda"}},
      {"cudnn", {"cudnn", "cudnn-cuda", "channel"}},
      {"nccl", {"nccl", "nccl-cuda"}},
      {"torchvision", {"torchvision"}},
      {"torchaudio", {"torchaudio"}},
      {"python", {"python"}},
      {"abi", {"abi"}},
      {"cxx", {"cxx"}},
      {"driver", {"driver", "gpu-driver"}},
      {"sm", {"kernels", "gpu-cuda", "gpu-driver"}},
      {"glibc", {"glibc"}},
  };
  std::vector<ClaimFinding> open;
  for (const Asked& asked : kAsked) {
    const bool is_asked = std::ranges::any_of(
        findings, [&](const ClaimFinding& one) { return std::ranges::find(asked.by, one.rule) != asked.by.end(); });
    if (!claims.has(asked.name) || is_asked) continue;
    open.push_back(
        ToldClaim(asked.name, Holds::unknown,
                  fmt::format("nothing is known that {} {} could be held against", asked.name, claims[asked.name])));
  }
  findings.insert(findings.end(), open.begin(), open.end());
}

// A torch between releases, 2.9.0a0, may have what is known of the release and may not.
DefectsOfStack defects_without_wheel(const StatedClaims& claims, const CompatFacts& facts) {
  StackClaims components = claims.of;
  const bool is_release = !claims.has("torch") || whole_version(claims["torch"]);
  const auto numbers = is_release ? std::vector<int>() : version_numbers(claims["torch"]);
  if (numbers.size() >= 2) components["torch"] = fmt::format("{}.{}", numbers[0], numbers[1]);
  const DefectsOfStack of_release = known_defects_of(facts.known_defects, components);
  DefectsOfStack found;
  found.may_apply = of_release.may_apply;
  for (const KnownDefect& defect : of_release.apply) {
    const bool is_open = !is_release && defect.components.contains("torch");
    (is_open ? found.may_apply : found.apply).push_back(defect);
  }
  return found;
}

}  // namespace

std::span<const ClaimableComponent> claimable_components() { return kClaimable; }

std::span<const std::string_view> torch_channels() { return kTorchChannels; }

std::vector<ClaimFinding> check_stack_claims(const StackClaims& stated, const CompatFacts& facts) {
  const StatedClaims claims(stated);
  const ClaimedWheels wheels = wheels_meant(claims, facts);
  std::vector<ClaimFinding> findings;
  check_channel(claims, facts, findings);
  check_wheels(claims, wheels, facts, findings);
  check_libraries(claims, facts, findings);
  check_companions(claims, facts, findings);
  check_host(claims, wheels, facts, findings);
  unasked(claims, findings);
  unknown_components(claims, findings);
  return findings;
}

StackExists overall_of(std::span<const ClaimFinding> findings) {
  if (std::ranges::any_of(findings, [](const ClaimFinding& one) { return one.holds == Holds::no; })) {
    return StackExists::contradicted;
  }
  const bool all_hold = std::ranges::all_of(findings, [](const ClaimFinding& one) { return one.holds == Holds::yes; });
  return !findings.empty() && all_hold ? StackExists::exists : StackExists::unknown;
}

DefectsOfStack known_defects_of_claims(const StackClaims& stated, const CompatFacts& facts) {
  const StatedClaims claims(stated);
  const ClaimedWheels wheels = wheels_meant(claims, facts);
  std::vector<DefectsOfStack> of_wheels;
  for (const WheelFacts& row : wheels.meant) {
    StackClaims components = claims.of;
    components.try_emplace("cuda", claimed_cuda(row.variant));
    if (!row.cudnn.empty()) components.try_emplace("cudnn", row.cudnn);
    if (!row.nccl.empty()) components.try_emplace("nccl", row.nccl);
    of_wheels.push_back(known_defects_of(facts.known_defects, components));
  }
  if (of_wheels.empty()) return defects_without_wheel(claims, facts);
  DefectsOfStack found;
  for (const KnownDefect& defect : facts.known_defects) {
    const auto in = [&](const std::vector<KnownDefect>& list) {
      return std::ranges::find(list, defect.id, &KnownDefect::id) != list.end();
    };
    const auto applying = std::ranges::count_if(of_wheels, [&](const DefectsOfStack& one) { return in(one.apply); });
    const bool is_open = std::ranges::any_of(of_wheels, [&](const DefectsOfStack& one) { return in(one.may_apply); });
    if (applying == std::ssize(of_wheels)) {
      found.apply.push_back(defect);
    } else if (applying > 0 || is_open) {
      found.may_apply.push_back(defect);
    }
  }
  return found;
}

}  // namespace reprobench
