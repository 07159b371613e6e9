#include "matrix/cli/text/component_alone_text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace reprobench {
namespace {

constexpr std::size_t kMostLoaded = 12;

std::string pair_text(const PairEffect& effect) {
  std::string text = effect.first_difference.empty() ? "equal bits" : "bits differ in " + effect.first_difference;
  if (effect.time) {
    text +=
        fmt::format("; step time x{:.3f} [{:.3f}, {:.3f}]", effect.time->ratio, effect.time->low, effect.time->high);
  }
  return text;
}

// "explains the difference", "leaves it open"
std::string word_text(AloneWord word, const std::string& what) {
  switch (word) {
    case AloneWord::explains:
      return "explains " + what;
    case AloneWord::in_part:
      return "explains part of " + what;
    case AloneWord::in_excess:
      return fmt::format("does more than {}, and the rest works against it", what);
    case AloneWord::not_it:
      return "does not explain " + what;
    case AloneWord::nothing:
      return "has nothing to explain in " + what;
    case AloneWord::undecided:
      break;
  }
  return "is not decided on for " + what;
}

std::string conclusion(const ComponentAlone& answer) {
  if (!answer.time) return word_text(answer.bits, "the bits");
  if (answer.bits == *answer.time) return word_text(answer.bits, "the bits and the time");
  return fmt::format("{} and {}", word_text(answer.bits, "the bits"), word_text(*answer.time, "the time"));
}

std::string alone_row(const std::string& what, const std::string& text) {
  return fmt::format("  {:<13}{}\n", what, text);
}

}  // namespace

std::string component_alone_sentence(const ComponentAlone& answer) {
  if (!answer.problem.empty()) return fmt::format("{} alone: not known: {}.", answer.component, answer.problem);
  return fmt::format("{0} alone: {1}. A against B: {2}. So {0} {3}.", answer.component, pair_text(*answer.alone),
                     pair_text(*answer.whole), conclusion(answer));
}

std::string component_alone_text(const ComponentAlone& answer) {
  std::string text =
      fmt::format("{}: A is {}, B is {}\n{}\n", answer.workload, answer.measured, answer.expected, answer.sentence);
  if (answer.rest) text += alone_row("the rest", fmt::format("{} against B: {}", answer.mix, pair_text(*answer.rest)));
  const std::size_t shown = std::min(answer.loaded.size(), kMostLoaded);
  for (std::size_t i = 0; i < shown; ++i) {
    text +=
        alone_row(i == 0 ? "loaded" : "", fmt::format("{}: {}", answer.loaded[i].what, sides_text(answer.loaded[i])));
  }
  if (shown < answer.loaded.size()) {
    text += alone_row("", fmt::format("and {} more (--json has all)", answer.loaded.size() - shown));
  }
  for (const std::string& command : answer.commands) {
    text += alone_row(&command == &answer.commands.front() ? "made by" : "", command);
  }
  if (answer.alone && answer.alone->time && answer.margin && answer.confidence) {
    text +=
        alone_row("times", fmt::format("A by the other, of {} processes each; less than {:.3g} % is no difference; the "
                                       "intervals hold together with a confidence of {:.0f} %",
                                       answer.alone->time->pairs, *answer.margin * 100, *answer.confidence * 100));
  }
  return text;
}

}  // namespace reprobench
