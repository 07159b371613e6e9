#include "matrix/cli/text/verdict_text.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/text/progress.hpp"
#include "matrix/cli/text/text_table.hpp"
#include "matrix/cli/verbs/store_option.hpp"

namespace reprobench {
namespace {

constexpr Outcome kOpen[] = {Outcome::failed, Outcome::errored, Outcome::inconclusive, Outcome::unfinished};
constexpr int kMostListed = 20;
constexpr int kMostOfAMetric = 3;

std::string upper(std::string_view word) {
  std::string text(word);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string labelled(std::string_view label, const std::string& text) {
  return TextTable("<12  ~").row(label, plain_line(text)).text();
}

// A command is never broken, so that it can be copied.
std::string unbroken(std::string_view label, const std::string& text) {
  return TextTable("<12  <").row(label, text).text();
}

std::string open_cell(const CellVerdict& cell, const std::string& run_folder, const Terminal& terminal,
                      const std::string& store) {
  std::string text = unbroken(terminal.paint(upper(to_string(cell.outcome)), style_of(cell.outcome)),
                              fmt::format("{} · {}", cell.slug, cell.reason));
  text += labelled("", cell.sentence);
  for (const AttemptSummary& attempt : cell.attempts) {
    if (!attempt.injected.empty()) {
      text += labelled("", fmt::format("planted in repeat {}: {}", attempt.repeat, attempt.injected));
    }
  }
  if (!cell.next.empty()) text += unbroken("  next", in_store(plain_line(cell.next), store));
  text += unbroken("  again", in_store(cell.reproduce, store));
  if (!cell.log_folder.empty()) text += unbroken("  logs", fmt::format("{}/{}", run_folder, cell.log_folder));
  return text;
}

std::string open_cells(const RunVerdict& verdict, const std::string& run_folder, const Terminal& terminal,
                       const std::string& store) {
  std::string text;
  int open = 0;
  for (const Outcome outcome : kOpen) {
    for (const CellVerdict& cell : verdict.cells) {
      if (cell.outcome != outcome || (outcome == Outcome::unfinished && cell.attempts.empty())) continue;
      if (++open <= kMostListed) text += open_cell(cell, run_folder, terminal, store);
    }
  }
  if (open > kMostListed) text += labelled("", fmt::format("and {} more; see verdict.json", open - kMostListed));
  return text;
}

// Stacks with a required cell; none: every stack is as much as any other.
std::set<std::string> required_stacks(const RunVerdict& verdict) {
  std::set<std::string> stacks;
  for (const CellVerdict& cell : verdict.cells) {
    if (cell.required && cell.coordinates.contains("stack")) stacks.insert(cell.coordinates.at("stack"));
  }
  return stacks;
}

// One line a check that `holds`, at most three of a metric: a matrix in which a hundred cells differ from their
// reference says so once. Those of stacks of which nothing is required are counted under the others.
template <class Predicate, class Line>
std::string checks_where(const RunVerdict& verdict, const char* label, Predicate holds, Line line) {
  struct OfMetric {
    std::string metric;
    std::string lines;
    int found = 0;
    int of_context = 0;
  };
  const std::set<std::string> required = required_stacks(verdict);
  std::vector<OfMetric> metrics;
  for (const CellVerdict& cell : verdict.cells) {
    const auto stack = cell.coordinates.find("stack");
    const bool is_context = !required.empty() && stack != cell.coordinates.end() && !required.contains(stack->second);
    for (const CheckResult& check : cell.checks) {
      if (!holds(check)) continue;
      auto of = std::ranges::find(metrics, check.metric, &OfMetric::metric);
      if (of == metrics.end()) of = metrics.insert(of, {check.metric, "", 0, 0});
      if (is_context) {
        ++of->of_context;
        continue;
      }
      if (++of->found <= kMostOfAMetric) of->lines += labelled(label, line(cell, check));
    }
  }
  std::string text;
  for (const OfMetric& of : metrics) {
    text += of.lines;
    const int more = of.found - kMostOfAMetric;
    if (more > 0) text += labelled("", fmt::format("and {} more of {}; see verdict.json", more, of.metric));
    if (of.of_context == 0) continue;
    text +=
        labelled(of.found > 0 ? "" : label,
                 fmt::format("{} of {} on stacks that nothing requires; see verdict.json", of.of_context, of.metric));
  }
  return text;
}

// What decides nothing and yet is worse than its bound, with the line that disarmed it.
std::string recorded_over(const RunVerdict& verdict) {
  return checks_where(
      verdict, "over",
      [](const CheckResult& check) { return check.gate == Gate::record_only && check.status == CheckStatus::failed; },
      [](const CellVerdict& cell, const CheckResult& check) {
        return fmt::format("{} · {}: {}; only recorded: {}", cell.slug, check.metric, check.sentence,
                           check.gate_origin);
      });
}

std::string gains(const RunVerdict& verdict) {
  return checks_where(
      verdict, "gain", [](const CheckResult& check) { return check.gain; },
      [](const CellVerdict& cell, const CheckResult& check) {
        return fmt::format("{} · {}: {}{}", cell.slug, check.metric, check.sentence,
                           check.gate == Gate::record_only ? "; only recorded" : "");
      });
}

std::string findings(const RunVerdict& verdict) {
  std::string text;
  for (const StackEnvironment& environment : verdict.environments) {
    for (const std::string& finding : environment.findings) {
      text += labelled("finding", fmt::format("{}: {}", environment.stack, finding));
    }
  }
  return text;
}

Style style_of_word(const std::string& word) {
  if (word == "failed") return Style::red;
  if (word == "passed") return Style::green;
  return word == "recorded" || word == "not_checked" ? Style::plain : Style::yellow;
}

std::string dimensions(const RunVerdict& verdict, const Terminal& terminal) {
  std::string text;
  std::vector<std::string> unchecked;
  for (const DimensionSummary& summary : verdict.dimensions) {
    if (summary.word == "not_checked") {
      unchecked.emplace_back(to_string(summary.dimension));
      continue;
    }
    const std::string word = terminal.paint(upper(summary.word), style_of_word(summary.word));
    text += labelled(to_string(summary.dimension), fmt::format("{}: {}", word, summary.sentence));
  }
  if (!unchecked.empty()) text += labelled("not checked", fmt::format("{}", fmt::join(unchecked, ", ")));
  return text;
}

std::string summary_line(const RunVerdict& verdict, const Terminal& terminal) {
  const auto& totals = verdict.totals;
  std::string text = fmt::format(
      "Summary [{}] {} planned:", duration_text(std::chrono::nanoseconds(verdict.info.duration_ns)), totals.planned);
  for (const Outcome outcome : {Outcome::passed, Outcome::failed, Outcome::inconclusive, Outcome::errored,
                                Outcome::unfinished, Outcome::recorded, Outcome::skipped}) {
    const int count = totals[outcome];
    if (count == 0) continue;
    text += " " + terminal.paint(fmt::format("{} {}", count, to_string(outcome)), style_of(outcome)) + ",";
  }
  text.back() = '\n';
  return text;
}

}  // namespace

std::string drill_text(const std::vector<std::string>& planted) {
  if (planted.empty()) return "";
  return labelled("DRILL",
                  fmt::format("planted: {}; whatever comes out, this run qualifies nothing", fmt::join(planted, "; ")));
}

std::string verdict_text(const RunVerdict& verdict, const std::string& run_folder, const Terminal& terminal,
                         const std::string& before, const std::string& store) {
  return drill_text(verdict.planted) + before + open_cells(verdict, run_folder, terminal, store) +
         recorded_over(verdict) + gains(verdict) + findings(verdict) + dimensions(verdict, terminal) +
         summary_line(verdict, terminal) +
         fmt::format("{} (exit {})\n{}\n",
                     terminal.paint("Verdict " + upper(verdict.word), style_of_word(verdict.word)),
                     static_cast<int>(verdict.exit_code), wrapped(plain_line(verdict.sentence), 0, 0));
}

}  // namespace reprobench
