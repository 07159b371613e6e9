// A question about a stack, as people type it, and the whole answer: `reprobench explain stack 'torch=2.9 cuda=11.8'`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "matrix/contract/document/description.hpp"
#include "matrix/plan/stack_claims.hpp"

namespace reprobench {

// Words `NAME=VERSION` between blanks. A version has any number of parts, `8.x` is `8`, and `NAME>=VERSION` asks about
// the lowest version that it allows. Throws UsageError for an unknown component, with the nearest name, for one that is
// asked twice, and for text that is no version.
StackClaims parse_stack_question(const std::string& question);

struct ShownDefect {
  std::string id;
  DefectEffect effect = DefectEffect::numerics;
  std::string operation;
  std::string dtype;
  std::string sentence;
  std::vector<std::string> sources;
  std::string confidence;
};

struct StackAnswer {
  StackClaims claims;
  StackExists overall = StackExists::unknown;
  std::vector<ClaimFinding> findings;
  std::vector<ShownDefect> defects;
  std::vector<ShownDefect> possible_defects;
  std::map<std::string, std::string> sources;  // of the keys above: where to find it again
};

StackAnswer answer_stack_question(const StackClaims& claims, const CompatFacts& facts);

template <>
struct Description<ClaimFinding> {
  static constexpr About about = About::part("finding");
  static void fields(auto& field, ClaimFinding& finding) {
    field("rule", finding.rule, rule::not_empty);
    field("holds", finding.holds, "`depends`: on what the question leaves open.");
    field("sentence", finding.sentence, rule::not_empty);
    field("instead", finding.instead, "What exists instead; empty where nothing has to.");
    field("sources", finding.sources, "Keys of `sources`.");
    field("confidence", finding.confidence, "V read or measured, I inferred, R to be checked on a device, or empty.");
  }
};

template <>
struct Description<ShownDefect> {
  static constexpr About about = About::part("known_defect");
  static void fields(auto& field, ShownDefect& defect) {
    field("id", defect.id, rule::not_empty);
    field("effect", defect.effect);
    field("operation", defect.operation);
    field("dtype", defect.dtype, "Empty: no matter which, or not told.");
    field("sentence", defect.sentence);
    field("sources", defect.sources, "Keys of `sources`.");
    field("confidence", defect.confidence);
  }
};

template <>
struct Description<StackAnswer> {
  static constexpr About about = About::document("stack_answer", "reprobench explain stack QUESTION --json");
  static void fields(auto& field, StackAnswer& answer) {
    field("claims", answer.claims, "Version by component, as asked.");
    field("overall", answer.overall, "`exists` if every finding holds, `contradicted` if one does not.");
    field("findings", answer.findings);
    field("defects", answer.defects, "Known of every stack that fits the question.");
    field("possible_defects", answer.possible_defects,
          "Known of some of them, or of versions that are not known here.");
    field("sources", answer.sources, "Where to find again what a key stands for.");
  }
};

}  // namespace reprobench
