#include "matrix/cli/verdict_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/cli/progress.hpp"

namespace reprobench {
namespace {

constexpr Outcome kOpen[] = {Outcome::failed, Outcome::errored, Outcome::inconclusive, Outcome::unfinished};
constexpr int kMostListed = 20;

std::string upper(std::string_view word) {
  std::string text(word);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string open_cell(const CellVerdict& cell, const std::string& run_folder, const Terminal& terminal) {
  std::string text = fmt::format(
      "{}  {} · {}\n", terminal.paint(fmt::format("{:<12}", upper(to_string(cell.outcome))), style_of(cell.outcome)),
      cell.slug, cell.reason);
  text += fmt::format("              {}\n", printable(cell.sentence));
  for (const AttemptSummary& attempt : cell.attempts) {
    if (!attempt.injected.empty())
      text += fmt::format("              planted in repeat {}: {}\n", attempt.repeat, attempt.injected);
  }
  text += fmt::format("              {}\n", cell.reproduce);
  if (!cell.attempts.empty()) {
    text += fmt::format("              logs {}/{}\n", run_folder, cell.attempts.back().folder);
  }
  return text;
}

std::string gains(const RunVerdict& verdict) {
  std::string text;
  for (const CellVerdict& cell : verdict.cells) {
    for (const CheckResult& check : cell.checks) {
      if (check.gain) text += fmt::format("gain          {} · {}: {}\n", cell.slug, check.metric, check.sentence);
    }
  }
  return text;
}

std::string findings(const RunVerdict& verdict) {
  std::string text;
  for (const StackEnvironment& environment : verdict.environments) {
    for (const std::string& finding : environment.findings) {
      text += fmt::format("finding       {}: {}\n", environment.stack, printable(finding));
    }
  }
  return text;
}

}  // namespace

std::string verdict_text(const RunVerdict& verdict, const std::string& run_folder, const Terminal& terminal) {
  std::string text;
  int listed = 0;
  int open = 0;
  for (const Outcome outcome : kOpen) {
    for (const CellVerdict& cell : verdict.cells) {
      if (cell.outcome != outcome || (outcome == Outcome::unfinished && cell.attempts.empty())) continue;
      if (++open > kMostListed) continue;
      text += open_cell(cell, run_folder, terminal);
      ++listed;
    }
  }
  if (open > listed) text += fmt::format("              and {} more; see verdict.json\n", open - listed);
  text += gains(verdict) + findings(verdict);

  const auto& totals = verdict.totals;
  text += fmt::format("Summary [{}] {} planned:", duration_text(std::chrono::nanoseconds(verdict.info.duration_ns)),
                      totals.at("planned"));
  for (const Outcome outcome : {Outcome::passed, Outcome::failed, Outcome::inconclusive, Outcome::errored,
                                Outcome::unfinished, Outcome::skipped}) {
    const int count = totals.at(std::string(to_string(outcome)));
    if (count == 0) continue;
    text += " " + terminal.paint(fmt::format("{} {}", count, to_string(outcome)), style_of(outcome)) + ",";
  }
  text.back() = '\n';
  const Style style = verdict.word == "passed" ? Style::green : verdict.word == "failed" ? Style::red : Style::yellow;
  text += fmt::format("{} (exit {})\n{}\n", terminal.paint("Verdict " + upper(verdict.word), style),
                      static_cast<int>(verdict.exit_code), printable(verdict.sentence));
  return text;
}

}  // namespace reprobench
