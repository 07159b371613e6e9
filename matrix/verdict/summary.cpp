#include "matrix/verdict/summary.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace reprobench {
namespace {

constexpr Outcome kOutcomes[] = {Outcome::passed,  Outcome::failed,  Outcome::inconclusive,
                                 Outcome::errored, Outcome::skipped, Outcome::unfinished};

const CellVerdict* first_with(const RunVerdict& verdict, Outcome outcome) {
  const auto found = std::find_if(verdict.cells.begin(), verdict.cells.end(),
                                  [&](const CellVerdict& cell) { return cell.outcome == outcome; });
  return found == verdict.cells.end() ? nullptr : &*found;
}

const CellVerdict* skipped_required(const RunVerdict& verdict) {
  const auto found = std::find_if(verdict.cells.begin(), verdict.cells.end(), [](const CellVerdict& cell) {
    return cell.required && cell.outcome == Outcome::skipped;
  });
  return found == verdict.cells.end() ? nullptr : &*found;
}

// "3 failed, 1 inconclusive": the outcomes that occur, worst first.
std::string counted(const std::map<std::string, int>& totals, std::initializer_list<Outcome> outcomes) {
  std::string text;
  for (const Outcome outcome : outcomes) {
    const std::string word(to_string(outcome));
    const int count = totals.at(word);
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word);
  }
  return text;
}

void conclude(RunVerdict& verdict, const char* word, ExitCode code, std::string sentence) {
  verdict.word = word;
  verdict.exit_code = code;
  verdict.sentence = std::move(sentence);
}

}  // namespace

void summarise(RunVerdict& verdict) {
  auto& totals = verdict.totals;
  totals = {{"planned", static_cast<int>(verdict.cells.size())}};
  for (const Outcome outcome : kOutcomes) totals[std::string(to_string(outcome))] = 0;
  for (const CellVerdict& cell : verdict.cells) ++totals[std::string(to_string(cell.outcome))];

  const std::string& name = verdict.matrix;
  const int ran = totals["planned"] - totals["skipped"];
  const std::string rest =
      counted(totals, {Outcome::errored, Outcome::inconclusive, Outcome::unfinished, Outcome::passed});
  const std::string coverage =
      totals["skipped"] > 0 ? fmt::format("; {} of {} planned cells were skipped", totals["skipped"], totals["planned"])
                            : "";
  const auto worst = [](const CellVerdict& cell) { return fmt::format("{}: {}", cell.slug, cell.sentence); };

  if (verdict.info.interrupted) {
    return conclude(verdict, "interrupted", ExitCode::interrupted,
                    fmt::format("{} UNDECIDED: the run was interrupted; {} failed{}{}{}", name, totals["failed"],
                                rest.empty() ? "" : ", ", rest, coverage));
  }
  if (ran == 0) {
    return conclude(verdict, "nothing_ran", ExitCode::nothing_ran,
                    fmt::format("{} UNDECIDED: nothing ran{}", name,
                                verdict.cells.empty() ? "; the selection is empty" : coverage));
  }
  if (const CellVerdict* failed = first_with(verdict, Outcome::failed)) {
    return conclude(verdict, "failed", ExitCode::failed,
                    fmt::format("{} NOT qualified: {} of {} cells that ran failed{}{}{}. First: {}", name,
                                totals["failed"], ran, rest.empty() ? "" : ", ", rest, coverage, worst(*failed)));
  }
  for (const Outcome outcome : {Outcome::errored, Outcome::inconclusive, Outcome::unfinished}) {
    if (const CellVerdict* open = first_with(verdict, outcome)) {
      return conclude(verdict, "undecided", ExitCode::undecided,
                      fmt::format("{} UNDECIDED: no cell failed, but {}{}. First: {}", name,
                                  counted(totals, {Outcome::errored, Outcome::inconclusive, Outcome::unfinished}),
                                  coverage, worst(*open)));
    }
  }
  if (const CellVerdict* required = skipped_required(verdict)) {
    return conclude(
        verdict, "undecided", ExitCode::undecided,
        fmt::format("{} UNDECIDED: a required cell was skipped{}. First: {}", name, coverage, worst(*required)));
  }
  conclude(verdict, "passed", ExitCode::passed,
           fmt::format("{} qualified: all {} cells that ran passed{}", name, ran, coverage));
}

}  // namespace reprobench
