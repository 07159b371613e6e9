#include "matrix/plan/claim_rules.hpp"
#include "matrix/plan/dotted_version.hpp"

namespace reprobench {
namespace {

ClaimFinding docker_tag(const StatedClaims& claims, const CompatFacts& facts) {
  for (const DockerTags& tags : facts.docker_tags) {
    if (!claims.has("torch") || !is_release(claims["torch"], facts)) break;
    if (!version_names(tags.torch, claims["torch"]) && !version_names(claims["torch"], tags.torch)) continue;
    const std::string existing = fmt::format("the tags of torch {} have CUDA {} with cuDNN {}", tags.torch,
                                             fmt::join(tags.cuda, ", "), tags.cudnn);
    std::vector<Holds> answers;
    if (claims.has("cuda")) {
      std::vector<Holds> of_cuda;
      for (const std::string& cuda : tags.cuda) of_cuda.push_back(is_claimed(claims["cuda"], cuda));
      answers.push_back(in_any(of_cuda));
    }
    if (claims.has("cudnn")) answers.push_back(is_claimed(claims["cudnn"], tags.cudnn));
    const bool is_wrong = std::ranges::find(answers, Holds::no) != answers.end();
    const Holds holds = is_wrong                                          ? Holds::no
                        : answers.empty() || all_are(answers, Holds::yes) ? Holds::yes
                                                                          : Holds::unknown;
    return ToldClaim("channel", holds, existing).by(tags.evidence);
  }
  return ToldClaim("channel", Holds::unknown, "the facts do not know the tags of this release");
}

}  // namespace

// What comes by another way than a wheel.
void check_channel(const StatedClaims& claims, const CompatFacts& facts, std::vector<ClaimFinding>& findings) {
  if (claims.channel == "wheel") return;
  const auto end = std::ranges::find(facts.channel_ends, claims.channel, &ChannelEnd::channel);
  if (claims.channel == "docker") {
    findings.push_back(docker_tag(claims, facts));
  } else if (end != facts.channel_ends.end() && claims.has("torch")) {
    const Within match = VersionRange::parse("<=" + end->last_torch).match(claims["torch"]);
    findings.push_back(ToldClaim("channel", match == Within::no ? Holds::no : Holds::unknown,
                                 fmt::format("torch {} was the last by {}; which came before is not in the facts",
                                             end->last_torch, claims.channel))
                           .by(end->evidence));
  }
  const bool is_more_claimed = std::ranges::any_of(claims.of, [](const auto& claim) {
    static constexpr std::string_view kOfTags[] = {"torch", "cuda", "cudnn", "channel"};
    return std::ranges::find(kOfTags, claim.first) == std::end(kOfTags);
  });
  if (claims.channel == "docker" && !is_more_claimed) return;
  ToldClaim finding("channel-content", Holds::unknown,
                    fmt::format("what comes by {} is not in the facts", claims.channel));
  for (const ChannelDifference& difference : facts.channel_differences) {
    if (std::ranges::find(difference.channels, claims.channel) == difference.channels.end()) continue;
    finding = ToldClaim("channel-content", Holds::unknown,
                        fmt::format("what comes by {} is no wheel: {}", claims.channel, difference.sentence));
    finding.by(difference.evidence);
  }
  findings.push_back(finding);
}

}  // namespace reprobench
