// The document `lint`: the findings about a DeepSpeed configuration, how much of it was judged, and its memory needs.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"
#include "matrix/lint/environment_facts.hpp"
#include "matrix/lint/memory_estimate.hpp"
#include "matrix/lint/rule.hpp"
#include "matrix/lint/value_standing.hpp"

namespace reprobench {

template <>
struct Description<LintFinding> {
  static constexpr About about = About::part("lint_finding");
  static void fields(auto& field, LintFinding& finding) {
    field("code", finding.code, rule::not_empty);
    field("severity", finding.severity);
    field("line", finding.mark.line, rule::at_least(0).says("0: the environment, not the file."));
    field("column", finding.mark.column, rule::at_least(0));
    field("what", finding.what, rule::not_empty);
    field("remedy", finding.remedy);
  }
};

template <>
struct Description<MemoryItem> {
  static constexpr About about = About::part("lint_memory_item");
  static void fields(auto& field, MemoryItem& item) {
    field("name", item.name);
    field("formula", item.formula);
    field("bytes", item.bytes, rule::at_least(0));
  }
};

template <>
struct Description<MemoryNeed> {
  static constexpr About about = About::part("lint_memory_need", "Of one GPU, or of one host.");
  static void fields(auto& field, MemoryNeed& need) {
    field("states", need.states);
    field("buffers", need.buffers);
    field("estimator_bytes", need.estimator_bytes, rule::at_least(0).says("DeepSpeed's own estimate; 0: it has none."));
    field("least_bytes", need.least_bytes, rule::at_least(0).says("The states alone: a lower bound."));
    field("likely_bytes", need.likely_bytes, rule::at_least(0).says("With buffers; activations are in neither."));
    field("limit_bytes", need.limit_bytes, "What there is; null: not known.");
    field("limit_source", need.limit_source);
  }
};

template <>
struct Description<MemoryEstimate> {
  static constexpr About about = About::part("lint_memory");
  static void fields(auto& field, MemoryEstimate& memory) {
    field("unknown", memory.unknown, "Why there is no estimate; empty: there is one.");
    field("parameters", memory.parameters, rule::at_least(0));
    field("ranks", memory.ranks, rule::at_least(0));
    field("ranks_per_host", memory.ranks_per_host, rule::at_least(0));
    field("stage", memory.stage, rule::between(0, 3));
    field("element_bytes", memory.element_bytes, rule::at_least(0));
    field("gpu", memory.gpu);
    field("host", memory.host);
    field("nvme_bytes", memory.nvme_bytes, rule::at_least(0).says("On the offload folders of one host."));
    field("assumptions", memory.assumptions);
  }
};

template <>
struct Description<EnvironmentFact> {
  static constexpr About about = About::part("lint_environment", "What was seen of this machine.");
  static void fields(auto& field, EnvironmentFact& fact) {
    field("name", fact.name);
    field("value", fact.value);
  }
};

template <>
struct Description<LintCoverage> {
  static constexpr About about = About::part("lint_coverage", "How many values of the file were judged, and why not.");
  static void fields(auto& field, LintCoverage& coverage) {
    field("values", coverage.values, rule::at_least(0));
    field("judged", coverage.judged, rule::at_least(0));
    field("automatic", coverage.automatic, rule::at_least(0));
    field("unmodelled", coverage.unmodelled, rule::at_least(0));
    field("unknown", coverage.unknown, rule::at_least(0));
    field("ignored", coverage.ignored, rule::at_least(0));
    field("malformed", coverage.malformed, rule::at_least(0));
    field.hold(coverage.values == coverage.judged + coverage.automatic + coverage.unmodelled + coverage.unknown +
                                      coverage.ignored + coverage.malformed,
               "every value is judged or counted as not judged");
  }
};

// The first word that applies. `clean` is said only if every value, the memory and the GPUs of this host were judged.
enum class LintWord { errors, warnings, not_all_judged, notes, clean };
template <>
struct Words<LintWord> {
  static constexpr std::array<std::string_view, 5> table = {"errors", "warnings", "not all judged", "notes", "clean"};
};

struct LintDocument {
  std::string file;
  LintWord word = LintWord::clean;
  std::string summary;
  std::int64_t errors = 0;
  std::int64_t warnings = 0;
  std::int64_t notes = 0;
  LintCoverage coverage;
  std::vector<LintFinding> findings;
  MemoryEstimate memory;
  std::vector<EnvironmentFact> environment;
};
template <>
struct Description<LintDocument> {
  static constexpr About about = About::document("lint", "reprobench lint DS_CONFIG.json --json");
  static void fields(auto& field, LintDocument& document) {
    field("file", document.file);
    field("word", document.word);
    field("summary", document.summary);
    field("errors", document.errors, rule::at_least(0));
    field("warnings", document.warnings, rule::at_least(0));
    field("notes", document.notes, rule::at_least(0));
    field("coverage", document.coverage);
    field("findings", document.findings, "In file order, those about the environment last.");
    field("memory", document.memory);
    field("environment", document.environment);
  }
};

}  // namespace reprobench
