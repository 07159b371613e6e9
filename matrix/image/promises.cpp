#include "matrix/image/promises.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/plan/known_defects.hpp"
#include "matrix/plan/stack_claims.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kMostCombinations = 64;

bool is_claimable(const std::string& component) {
  const auto known = claimable_components();
  return std::any_of(known.begin(), known.end(), [&](const auto& row) { return row.name == component; });
}

// Every way to choose one version a component; "any" chooses none. At most kMostCombinations, so that a long list of
// choices is judged in part rather than for ever; a part that is not contradicted already ends the question.
std::vector<StackClaims> combinations(const std::vector<ImageClaim>& claims) {
  std::vector<StackClaims> all{{}};
  for (const ImageClaim& claim : claims) {
    if (!is_claimable(claim.component)) continue;
    std::vector<StackClaims> wider;
    for (const StackClaims& chosen : all) {
      for (std::string choice : claim.choices) {
        if (wider.size() >= kMostCombinations) break;
        StackClaims with = chosen;
        if (choice.starts_with(">=")) choice.erase(0, 2);
        if (choice != "any") with[claim.component] = choice;
        wider.push_back(std::move(with));
      }
    }
    all = std::move(wider);
  }
  return all;
}

}  // namespace

std::vector<ImageFinding> find_never_released(const std::string& where, const std::vector<ImageClaim>& claims,
                                              const CompatFacts& facts) {
  std::vector<ImageFinding> findings;
  std::set<std::string> said;
  for (const StackClaims& chosen : combinations(claims)) {
    const std::vector<ClaimFinding> judged = check_stack_claims(chosen, facts);
    if (overall_of(judged) != StackExists::contradicted) return {};
    for (const ClaimFinding& finding : judged) {
      if (finding.holds != Holds::no || !said.insert(finding.sentence).second) continue;
      findings.push_back({FindingSeverity::fail, "never-released", "",
                          fmt::format("{}: {}{}{} ({})", where, finding.sentence, finding.instead.empty() ? "" : "; ",
                                      finding.instead, fmt::join(finding.sources, ", "))});
    }
  }
  return findings;
}

std::vector<ImageFinding> find_known_defects(const ImageSoftware& software, const CompatFacts& facts) {
  std::map<std::string, std::string> versions;
  for (const auto& [component, found] : software.components) versions[component] = found.version;
  std::vector<ImageFinding> findings;
  for (const KnownDefect& defect : known_defects_of(facts.known_defects, versions).apply) {
    findings.push_back(
        {FindingSeverity::warn, "known-defect", "",
         fmt::format("{}: {} ({})", defect.id, defect.sentence, fmt::join(defect.evidence.sources, ", "))});
  }
  return findings;
}

}  // namespace reprobench
