#include "matrix/cli/text/component_alone_text.hpp"

#include <fmt/format.h>

#include "matrix/cli/text/bisect_text.hpp"
#include "matrix/cli/text/text_table.hpp"
#include "matrix/numerics/steps/implementation_changes.hpp"

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

}  // namespace

std::string component_alone_sentence(const ComponentAlone& answer) {
  if (!answer.problem.empty()) return fmt::format("{} alone: not known: {}.", answer.component, answer.problem);
  return fmt::format("{0} alone: {1}. A against B: {2}. So {0} {3}.", answer.component, pair_text(*answer.alone),
                     pair_text(*answer.whole), conclusion(answer));
}

std::string component_alone_text(const ComponentAlone& answer) {
  TextTable table(kBisectLayout);
  table.line("{}: A is {}, B is {}", answer.workload, answer.measured, answer.expected);
  table.line("{}", answer.sentence);
  if (answer.rest) table.say("the rest", "{} against B: {}", answer.mix, pair_text(*answer.rest));
  table.list("loaded", answer.loaded, change_text, kMostLoaded, "more (--json has all)");
  table.list("made by", answer.commands);
  if (answer.alone && answer.alone->time && answer.margin && answer.confidence) {
    table.say("times",
              "A by the other, of {} processes each; less than {:.3g} % is no difference; the "
              "intervals hold together with a confidence of {:.0f} %",
              answer.alone->time->pairs, *answer.margin * 100, *answer.confidence * 100);
  }
  return table.text();
}

}  // namespace reprobench
