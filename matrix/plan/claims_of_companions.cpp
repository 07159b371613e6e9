#include "matrix/plan/claim_rules.hpp"
#include "matrix/plan/dotted_version.hpp"
#include "matrix/plan/version_range.hpp"

namespace reprobench {
namespace {

// `wanted` is one release, or from one on: ">=2.14.0".
Holds is_wanted(const std::string& torch, const std::string& wanted) {
  return wanted.starts_with(">=") ? held(VersionRange::parse(wanted).match(torch)) : is_claimed(torch, wanted);
}

std::string releases_for(const std::string& torch, const TorchCompanion& companion) {
  std::vector<std::string> releases;
  for (const auto& [release, wanted] : companion.torch_of) {
    if (is_wanted(torch, wanted) == Holds::yes) releases.push_back(release);
  }
  if (releases.empty()) return fmt::format("no release of {} is for torch {}", companion.package, torch);
  std::ranges::sort(releases, &version_less);
  return fmt::format("for torch {} it is {} {}", torch, companion.package, fmt::join(releases, ", "));
}

ClaimFinding built_for(const StatedClaims& claims, const TorchCompanion& companion) {
  const std::string& claimed = claims[companion.package];
  std::vector<std::string> wanted;
  std::vector<Holds> answers;
  for (const auto& [release, torch] : companion.torch_of) {
    if (!version_names(claimed, release)) continue;
    wanted.push_back(torch);
    if (claims.has("torch")) answers.push_back(is_wanted(claims["torch"], torch));
  }
  const char* const rule = companion.package.c_str();
  if (wanted.empty()) {
    ToldClaim finding(rule, Holds::unknown, fmt::format("the facts have no {} {}", companion.package, claimed));
    if (claims.has("torch")) finding.instead(releases_for(claims["torch"], companion));
    return finding.by(companion.evidence);
  }
  const std::string sentence =
      fmt::format("{} {} is built for torch {}", companion.package, claimed, fmt::join(wanted, ", "));
  const Holds holds = answers.empty() ? Holds::yes : in_any(answers);
  ToldClaim finding(rule, holds, sentence);
  if (holds == Holds::no) finding.instead(releases_for(claims["torch"], companion));
  return finding.by(companion.evidence);
}

}  // namespace

void check_companions(const StatedClaims& claims, const CompatFacts& facts, std::vector<ClaimFinding>& findings) {
  for (const TorchCompanion& companion : facts.companions) {
    if (claims.has(companion.package)) findings.push_back(built_for(claims, companion));
  }
}

}  // namespace reprobench
