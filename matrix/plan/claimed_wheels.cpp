#include "matrix/contract/device/device_class.hpp"
#include "matrix/plan/claim_rules.hpp"
#include "matrix/plan/dotted_version.hpp"

namespace reprobench {
namespace {

std::string python_text(const WheelFacts& row) {
  if (row.python_min.empty()) return "";
  return fmt::format("{} to {}{}", row.python_min, row.python_max,
                     row.python_experimental.empty() ? "" : fmt::format(" ({} experimental)", row.python_experimental));
}

Holds python_holds(const std::string& claim, const WheelFacts& row) {
  if (row.python_min.empty()) return Holds::unknown;
  const std::string& last = row.python_experimental.empty() ? row.python_max : row.python_experimental;
  return held(VersionRange::parse(fmt::format(">={} <={}", row.python_min, last)).match(claim));
}

constexpr WheelComponent kWheelComponents[] = {
    {"cudnn", "cuDNN", [](const WheelFacts& row) { return row.cudnn; },
     [](const std::string& claim, const WheelFacts& row) { return is_claimed(claim, row.cudnn); }},
    {"nccl", "NCCL", [](const WheelFacts& row) { return row.nccl; },
     [](const std::string& claim, const WheelFacts& row) { return is_claimed(claim, row.nccl); }},
    {"python", "Python", &python_text, &python_holds},
    {"abi", "_GLIBCXX_USE_CXX11_ABI",
     [](const WheelFacts& row) { return row.cxx11_abi < 0 ? std::string() : std::to_string(row.cxx11_abi); },
     [](const std::string& claim, const WheelFacts& row) {
       return row.cxx11_abi < 0 ? Holds::unknown : is_claimed(claim, std::to_string(row.cxx11_abi));
     }},
    {"cxx", "C++", [](const WheelFacts& row) { return row.cxx_standard == 0 ? "" : std::to_string(row.cxx_standard); },
     [](const std::string& claim, const WheelFacts& row) {
       return row.cxx_standard == 0 ? Holds::unknown : at_least(claim, std::to_string(row.cxx_standard));
     }},
};

// The rows a release can be, each with what its later releases have otherwise.
WheelRows rows_of_torch(const std::string& claim, const CompatFacts& facts) {
  WheelRows rows;
  for (const WheelFacts& row : facts.wheels) {
    if (!version_names(claim, row.torch) && !version_names(row.torch, claim)) continue;
    WheelFacts before = row;
    bool is_replaced = false;
    WheelRows later;
    for (const PatchDifference& patch : facts.patch_differences) {
      if (patch.variant != row.variant || !version_names(row.torch, patch.torch)) continue;
      const bool is_line = version_numbers(claim).size() < 3;
      if (!is_line && version_less(claim, patch.torch)) continue;
      WheelFacts patched = row;
      patched.torch = patch.torch;
      (patch.component == "nccl" ? patched.nccl : patched.cudnn) = patch.version;
      patched.evidence = patch.evidence;
      later.push_back(patched);
      is_replaced = is_replaced || !is_line;
    }
    if (!is_replaced) rows.push_back(before);
    rows.insert(rows.end(), later.begin(), later.end());
  }
  return rows;
}

}  // namespace

std::string claimed_cuda(const std::string& text) {
  if (!text.starts_with("cu") || text.size() < 5) return text;
  const std::string digits = text.substr(2);
  return digits.substr(0, digits.size() - 1) + "." + digits.back();
}

bool is_release(const std::string& claim, const CompatFacts& facts) {
  return std::ranges::any_of(facts.torch_releases,
                             [&](const std::string& release) { return version_names(claim, release); });
}

std::string wheel_name(const WheelFacts& row) { return fmt::format("torch {} {}", row.torch, row.variant); }

StatedClaims::StatedClaims(const StackClaims& claims) : of(claims) {
  if (has("channel")) channel = of.at("channel");
  if (has("cuda")) of["cuda"] = claimed_cuda(of["cuda"]);
  if (has("sm")) {
    if (const auto device = DeviceClass::parse(of["sm"])) of["sm"] = device->compute_capability();
  }
  if (!has("torch")) return;
  const std::string torch = of["torch"];
  const std::string suffix = torch.find('+') == std::string::npos ? "" : torch.substr(torch.find('+') + 1);
  if (suffix.starts_with("cu") && !has("cuda")) of["cuda"] = claimed_cuda(suffix);
  if (!whole_version(torch) && torch.find(".nv") != std::string::npos) channel = "ngc";
}

ToldClaim& ToldClaim::by(const Evidence& evidence) {
  for (const std::string& key : evidence.sources) {
    if (std::ranges::find(finding_.sources, key) == finding_.sources.end()) finding_.sources.push_back(key);
  }
  constexpr std::string_view kStrongestFirst = "VIR";
  if (finding_.confidence.empty() ||
      kStrongestFirst.find(evidence.confidence) > kStrongestFirst.find(finding_.confidence)) {
    finding_.confidence = evidence.confidence;
  }
  return *this;
}

Holds is_claimed(const std::string& claim, const std::string& fact) {
  if (fact.empty() || !whole_version(claim)) return Holds::unknown;
  if (version_names(claim, fact)) return Holds::yes;
  return version_names(fact, claim) ? Holds::unknown : Holds::no;
}

Holds held(Within match) {
  return match == Within::yes ? Holds::yes : match == Within::no ? Holds::no : Holds::unknown;
}

Holds at_least(const std::string& claim, const std::string& least) {
  return least.empty() ? Holds::unknown : held(VersionRange::parse(">=" + least).match(claim));
}

bool all_are(const std::vector<Holds>& answers, Holds wanted) {
  return !answers.empty() && std::ranges::all_of(answers, [&](Holds holds) { return holds == wanted; });
}

Holds with_each(const std::vector<Holds>& answers) {
  for (const Holds same : {Holds::yes, Holds::no, Holds::unknown}) {
    if (all_are(answers, same)) return same;
  }
  return std::ranges::find(answers, Holds::yes) == answers.end() &&
                 std::ranges::find(answers, Holds::depends) == answers.end()
             ? Holds::unknown
             : Holds::depends;
}

Holds in_any(const std::vector<Holds>& answers) {
  if (std::ranges::find(answers, Holds::yes) != answers.end()) return Holds::yes;
  return all_are(answers, Holds::no) ? Holds::no : Holds::unknown;
}

std::span<const WheelComponent> wheel_components() { return kWheelComponents; }

ClaimedWheels wheels_meant(const StatedClaims& claims, const CompatFacts& facts) {
  ClaimedWheels wheels;
  if (!claims.has("torch") || claims.channel != "wheel" || !whole_version(claims["torch"])) return wheels;
  wheels.line = rows_of_torch(claims["torch"], facts);
  for (const WheelFacts& row : wheels.line) {
    const std::string cuda = claimed_cuda(row.variant);
    if (!claims.has("cuda") || version_names(claims["cuda"], cuda) || version_names(cuda, claims["cuda"])) {
      wheels.with_cuda.push_back(row);
    }
  }
  WheelRows certain;
  for (const WheelFacts& row : wheels.with_cuda) {
    std::vector<Holds> answers;
    for (const WheelComponent& component : kWheelComponents) {
      if (claims.has(component.name)) answers.push_back(component.holds(claims[component.name], row));
    }
    if (std::ranges::find(answers, Holds::no) != answers.end()) continue;
    wheels.meant.push_back(row);
    if (answers.empty() || all_are(answers, Holds::yes)) certain.push_back(row);
  }
  wheels.is_together = wheels.with_cuda.empty() || !wheels.meant.empty();
  if (!certain.empty()) wheels.meant = certain;
  return wheels;
}

const WheelRows& rows_of_host(const ClaimedWheels& wheels) {
  if (!wheels.meant.empty()) return wheels.meant;
  return wheels.with_cuda.empty() ? wheels.line : wheels.with_cuda;
}

}  // namespace reprobench
