#include "matrix/lint/lint.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/lint/value_standing.hpp"

namespace reprobench {
namespace {

std::string counted(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

bool memory_is_judged(const MemoryEstimate& memory) {
  return memory.unknown.empty() && memory.gpu.limit_bytes && memory.host.limit_bytes;
}

bool gpus_are_seen(const LintSituation& situation) { return !situation.host || !situation.host->gpus.empty(); }

std::string not_judged(const LintDocument& document, const LintSituation& situation) {
  const LintCoverage& c = document.coverage;
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, what));
  };
  add(c.automatic, "\"auto\"");
  add(c.unmodelled, "not modelled");
  add(c.unknown, "unknown");
  add(c.ignored, "ignored as asked");
  add(c.malformed, "of another type");
  if (!memory_is_judged(document.memory)) parts.emplace_back("memory");
  if (!gpus_are_seen(situation)) parts.emplace_back("the GPUs of this host");
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

LintWord word_of(const LintDocument& document, const LintSituation& situation) {
  const bool judged_all = document.coverage.judged == document.coverage.values && memory_is_judged(document.memory) &&
                          gpus_are_seen(situation);
  if (document.errors > 0) return LintWord::errors;
  if (document.warnings > 0) return LintWord::warnings;
  if (!judged_all) return LintWord::not_all_judged;
  return document.notes > 0 ? LintWord::notes : LintWord::clean;
}

std::string summary_of(const LintDocument& document, const LintSituation& situation) {
  const LintCoverage& c = document.coverage;
  const std::string judged = fmt::format("judged {} of {}", c.judged, counted(c.values, "value"));
  if (document.word == LintWord::clean) return fmt::format("clean: {} and the memory of the model states", judged);
  return fmt::format("{}, {}, {}; {}; not judged: {}", counted(document.errors, "error"),
                     counted(document.warnings, "warning"), counted(document.notes, "note"), judged,
                     not_judged(document, situation));
}

std::tuple<int, int> file_order(const LintFinding& finding) {
  const int line = finding.mark.line == 0 ? std::numeric_limits<int>::max() : finding.mark.line;
  return {line, finding.mark.column};
}

}  // namespace

std::vector<std::string> offload_paths(const DeepSpeedConfig& config) {
  std::vector<std::string> paths;
  for (const std::string_view section : {kOffloadOptimizer, kOffloadParam}) {
    const auto path = config.text(std::string(section) + ".nvme_path");
    if (path) paths.push_back(*path);
  }
  return paths;
}

LintDocument lint(const DeepSpeedConfig& config, const std::string& file, const LintSituation& situation) {
  const DeepSpeedSettings settings = settings_of(config);
  LintDocument document;
  document.file = file;
  document.memory = estimate_memory(config, settings, situation);
  const LintSubject subject{config, settings, situation, document.memory};
  for (const LintRule* rule : lint_rules()) {
    LintFindings findings(*rule, document.findings);
    rule->check(subject, findings);
  }
  std::stable_sort(document.findings.begin(), document.findings.end(),
                   [](const LintFinding& a, const LintFinding& b) { return file_order(a) < file_order(b); });
  for (const LintFinding& finding : document.findings) {
    std::int64_t& count = finding.severity == Severity::error     ? document.errors
                          : finding.severity == Severity::warning ? document.warnings
                                                                  : document.notes;
    ++count;
  }
  document.environment = environment_facts(situation);
  document.coverage = coverage_of_values(config, situation);
  document.word = word_of(document, situation);
  document.summary = summary_of(document, situation);
  return document;
}

std::string rule_page() {
  std::string page = "| code | severity | finds | what to do | source |\n| --- | --- | --- | --- | --- |\n";
  for (const LintRule* rule : lint_rules()) {
    page += fmt::format("| {} | {} | {} | {} | {} |\n", rule->code, to_string(rule->severity), rule->title,
                        rule->remedy, rule->source);
  }
  return page;
}

}  // namespace reprobench
