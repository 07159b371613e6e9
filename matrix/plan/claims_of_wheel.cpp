#include "matrix/plan/claim_rules.hpp"
#include "matrix/plan/dotted_version.hpp"

namespace reprobench {
namespace {

using Texts = std::vector<std::string>;

std::string releases_of(const std::string& claim, const CompatFacts& facts) {
  const auto numbers = version_numbers(claim);
  const std::string line = fmt::format("{}.{}", numbers[0], numbers.size() > 1 ? numbers[1] : 0);
  Texts of_line;
  for (const std::string& release : facts.torch_releases) {
    if (version_names(line, release)) of_line.push_back(release);
  }
  return fmt::format("{}", fmt::join(of_line, ", "));
}

ClaimFinding torch_unknown(const StatedClaims& claims, const CompatFacts& facts) {
  Texts lines;
  for (const WheelFacts& row : facts.wheels) lines.push_back(row.torch);
  std::ranges::sort(lines, &version_less);
  return ToldClaim("wheel", Holds::unknown, fmt::format("the facts have no wheel of torch {}", claims["torch"]))
      .instead(lines.empty() ? "" : fmt::format("they know torch {} to {}", lines.front(), lines.back()));
}

// Where a CUDA variant ended, for a wheel that there is not.
std::string ended(const std::string& cuda, const CompatFacts& facts, ToldClaim& finding) {
  for (const ChannelEnd& end : facts.channel_ends) {
    if (!end.channel.starts_with("cu") || !version_names(claimed_cuda(end.channel), cuda)) continue;
    finding.by(end.evidence);
    return fmt::format("; CUDA {} ended with torch {}", claimed_cuda(end.channel), end.last_torch);
  }
  return "";
}

std::optional<ClaimFinding> wheel_of_torch(const StatedClaims& claims, const ClaimedWheels& wheels,
                                           const CompatFacts& facts) {
  if (!claims.has("torch") || claims.channel != "wheel") return std::nullopt;
  if (wheels.line.empty()) return torch_unknown(claims, facts);
  const std::string existing = joined(wheels.line, [](const WheelFacts& row) { return claimed_cuda(row.variant); });
  const std::string released = wheels.line.front().released;
  if (!claims.has("cuda") || !whole_version(claims["cuda"])) {
    const Holds holds = claims.has("cuda") || !is_release(claims["torch"], facts) ? Holds::unknown : Holds::yes;
    return ToldClaim("wheel", holds, fmt::format("torch {} exists with CUDA {}", claims["torch"], existing))
        .by(wheels.line);
  }
  if (wheels.with_cuda.empty()) {
    ToldClaim finding("wheel", Holds::no,
                      fmt::format("torch {} never shipped with CUDA {}", claims["torch"], claims["cuda"]));
    finding.by(wheels.line);
    return finding.instead(fmt::format("it exists with CUDA {}{}", existing, ended(claims["cuda"], facts, finding)));
  }
  if (!is_release(claims["torch"], facts)) {
    return ToldClaim("wheel", Holds::unknown,
                     fmt::format("the index offered no torch {} when it was asked", claims["torch"]))
        .by(facts.torch_releases_evidence)
        .instead(fmt::format("it offered {}", releases_of(claims["torch"], facts)));
  }
  return ToldClaim(
             "wheel", Holds::yes,
             fmt::format("torch {} ships a wheel with CUDA {}{}", claims["torch"],
                         joined(wheels.with_cuda, [](const WheelFacts& row) { return claimed_cuda(row.variant); }),
                         released.empty() ? "" : fmt::format("; the release is of {}", released)))
      .by(wheels.with_cuda);
}

// Claimed to its third number: 12.8.0 where the wheel was built with 12.8.1.
std::optional<ClaimFinding> toolkit_finding(const StatedClaims& claims, const ClaimedWheels& wheels) {
  if (wheels.with_cuda.empty() || !claims.has("cuda") || version_numbers(claims["cuda"]).size() < 3) {
    return std::nullopt;
  }
  std::vector<Holds> answers;
  for (const WheelFacts& row : wheels.with_cuda) answers.push_back(is_claimed(claims["cuda"], row.cuda_toolkit));
  const std::string known = joined(wheels.with_cuda, [](const WheelFacts& row) {
    return row.cuda_toolkit.empty() ? "one that is not verified" : row.cuda_toolkit;
  });
  return ToldClaim("toolkit", in_any(answers),
                   fmt::format("the wheel was built with the toolkit {}, and {} is claimed", known, claims["cuda"]))
      .by(wheels.with_cuda);
}

// Releases of torch that carry what this one does not.
std::string wheels_with(const WheelComponent& component, const std::string& claim, const CompatFacts& facts) {
  const auto listed = [&](const std::string& wanted) {
    Texts names;
    for (const WheelFacts& row : facts.wheels) {
      if (component.holds(wanted, row) == Holds::yes) names.push_back(row.torch);
    }
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (names.empty()) return std::string();
    const std::string releases =
        names.size() == 1 ? names.front() : fmt::format("{} to {}", names.front(), names.back());
    return fmt::format("{} {} is in wheels of torch {}", component.shown, wanted, releases);
  };
  // A prefix that every wheel has says nothing.
  const auto is_everywhere = [&](const std::string& wanted) {
    return std::ranges::all_of(facts.wheels,
                               [&](const WheelFacts& row) { return component.holds(wanted, row) != Holds::no; });
  };
  if (const std::string exact = listed(claim); !exact.empty()) return exact;
  std::string shorter = claim;
  while (shorter.find('.') != std::string::npos) {
    shorter.resize(shorter.rfind('.'));
    const std::string found = is_everywhere(shorter) ? "" : listed(shorter);
    if (!found.empty()) return fmt::format("no wheel has {} {}; {}", component.shown, claim, found);
  }
  return fmt::format("no wheel has {} {}", component.shown, claim);
}

// "9.10.2.21 (cu126, cu128), 9.13.0.50 (cu130)"
std::string carried(const WheelComponent& component, const WheelRows& rows) {
  std::vector<std::pair<std::string, Texts>> by_fact;  // in the order of the rows
  for (const WheelFacts& row : rows) {
    std::string fact = component.fact(row);
    if (fact.empty()) fact = "one that is not verified";
    const auto found = std::ranges::find(by_fact, fact, &std::pair<std::string, Texts>::first);
    Texts& wheels = found == by_fact.end() ? by_fact.emplace_back(fact, Texts()).second : found->second;
    wheels.push_back(row.torch == rows.front().torch ? row.variant : wheel_name(row));
  }
  Texts texts;
  for (const auto& [fact, wheels] : by_fact) texts.push_back(fmt::format("{} ({})", fact, fmt::join(wheels, ", ")));
  return fmt::format("wheels of torch {} have {}", rows.front().torch, fmt::join(texts, ", "));
}

void add_components(const StatedClaims& claims, const ClaimedWheels& wheels, const CompatFacts& facts,
                    std::vector<ClaimFinding>& findings) {
  const WheelRows& asked = rows_of_host(wheels);
  const WheelRows& of_cuda = wheels.with_cuda.empty() ? wheels.line : wheels.with_cuda;
  for (const WheelComponent& component : wheel_components()) {
    if (!claims.has(component.name) || asked.empty()) continue;
    const std::string& claim = claims[component.name];
    // Without one wheel that has all, each is told by itself.
    std::vector<Holds> answers;
    for (const WheelFacts& row : asked) answers.push_back(component.holds(claim, row));
    const Holds holds = in_any(answers);
    const WheelRows& told = holds == Holds::yes ? asked : of_cuda;
    ToldClaim finding(component.name, holds,
                      fmt::format("{} {} is claimed; {}", component.shown, claim, carried(component, told)));
    finding.by(told);
    if (holds == Holds::no) finding.instead(wheels_with(component, claim, facts));
    findings.push_back(finding);
  }
}

// Without torch: which releases have this CUDA.
std::optional<ClaimFinding> wheels_of_cuda(const StatedClaims& claims, const CompatFacts& facts) {
  if (claims.has("torch") || !claims.has("cuda") || claims.channel != "wheel" || !whole_version(claims["cuda"])) {
    return std::nullopt;
  }
  WheelRows rows;
  for (const WheelFacts& row : facts.wheels) {
    const std::string cuda = claimed_cuda(row.variant);
    if (version_names(claims["cuda"], cuda) || version_names(cuda, claims["cuda"])) rows.push_back(row);
  }
  if (rows.empty()) {
    return ToldClaim("wheel", Holds::unknown, fmt::format("no wheel of torch with CUDA {} is known", claims["cuda"]));
  }
  return ToldClaim("wheel", Holds::yes,
                   fmt::format("CUDA {} is in wheels of torch {}", claims["cuda"],
                               joined(rows, [](const WheelFacts& row) { return row.torch; })))
      .by(rows);
}

// ">=11.0 <=11.8" is "11.0 to 11.8".
std::string range_text(const std::string& range) {
  const std::size_t blank = range.find(" <=");
  if (!range.starts_with(">=") || blank == std::string::npos) return range;
  return range.substr(2, blank - 2) + " to " + range.substr(blank + 3);
}

// A release of cuDNN or NCCL against CUDA and GPU, where no wheel is known to carry it.
void library(const StatedClaims& claims, const char* name, const char* shown, const std::vector<LibraryFacts>& known,
             std::vector<ClaimFinding>& findings) {
  const bool is_in_wheel = std::ranges::any_of(
      findings, [&](const ClaimFinding& finding) { return finding.rule == name && finding.holds == Holds::yes; });
  if (!claims.has(name) || is_in_wheel || !whole_version(claims[name])) return;
  std::vector<LibraryFacts> meant;
  for (const LibraryFacts& row : known) {
    if (version_names(claims[name], row.version) || version_names(row.version, claims[name])) meant.push_back(row);
  }
  if (meant.empty() || !claims.has("cuda")) return;
  std::vector<Holds> answers;
  for (const LibraryFacts& row : meant) {
    std::vector<Holds> of_row;
    for (const std::string& range : row.cuda) of_row.push_back(held(VersionRange::parse(range).match(claims["cuda"])));
    answers.push_back(of_row.empty() ? Holds::unknown : in_any(of_row));
  }
  const auto told = [&](const LibraryFacts& row) {
    if (row.cuda.empty()) return fmt::format("for which CUDA {} {} was built is not verified", shown, row.version);
    return fmt::format("NVIDIA built {} {} for CUDA {}{}", shown, row.version, joined(row.cuda, &range_text),
                       row.note.empty() ? "" : fmt::format(" ({})", row.note));
  };
  ToldClaim finding(fmt::format("{}-cuda", name).c_str(), in_any(answers), joined(meant, told));
  for (const LibraryFacts& row : meant) finding.by(row.evidence);
  findings.push_back(finding);
}

}  // namespace

void check_wheels(const StatedClaims& claims, const ClaimedWheels& wheels, const CompatFacts& facts,
                  std::vector<ClaimFinding>& findings) {
  for (auto& finding :
       {wheel_of_torch(claims, wheels, facts), wheels_of_cuda(claims, facts), toolkit_finding(claims, wheels)}) {
    if (finding) findings.push_back(*finding);
  }
  add_components(claims, wheels, facts, findings);
}

void check_libraries(const StatedClaims& claims, const CompatFacts& facts, std::vector<ClaimFinding>& findings) {
  library(claims, "cudnn", "cuDNN", facts.cudnn, findings);
  library(claims, "nccl", "NCCL", facts.nccl, findings);
}

}  // namespace reprobench
