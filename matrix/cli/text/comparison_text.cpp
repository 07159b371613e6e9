#include "matrix/cli/text/comparison_text.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "matrix/base/number.hpp"
#include "matrix/base/plain_text.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kTensorsShown = 5;
constexpr std::size_t kSourcesShown = 8;
constexpr std::size_t kImplementationsShown = 4;

// A longer label than the column is wide still ends in a space.
std::string line(std::string_view label, const std::string& text) { return fmt::format("  {:<11} {}\n", label, text); }

// `bits`: 16 hex digits.
std::string bits_text(ElementType type, double value, const std::string& bits) {
  const std::string digits = bits.substr(16 - 2 * element_bytes(type));
  return is_floating(type) || !std::isnan(value) ? fmt::format("{:.9g} (0x{})", value, digits)
                                                 : fmt::format("0x{}", digits);
}

std::string element_text(const ElementFinding& finding) {
  const std::string apart = distance_text(finding.ulp, finding.distance_rms);
  const std::string most = distance_text(finding.max_ulp, finding.max_distance_rms);
  std::string text = line(
      "element",
      fmt::format("{} [{}], index {} in block {}: {} against {}{}", finding.tensor, fmt::join(finding.shape, " x "),
                  finding.index, finding.block, bits_text(finding.type, finding.measured, finding.measured_bits),
                  bits_text(finding.type, finding.expected, finding.expected_bits), apart.empty() ? "" : ", " + apart));
  text += line("", fmt::format("{} of {} elements differ{}", finding.differing, finding.count,
                               most.empty() ? "" : ", by up to " + most));
  return text;
}

std::string call_text(const OperatorDivergence& divergence) {
  const OperatorRecord& call = divergence.measured;
  std::string text = line(
      "operator", fmt::format("{} in the {} of `{}`, call {} of step {}; all {} inputs agree", call.name, call.pass,
                              call.module.empty() ? "-" : call.module, call.index, call.step, call.inputs.size()));
  for (const OperatorTensor& input : call.inputs) {
    if (input.digest.empty()) continue;
    text += line("", fmt::format("input {} [{}]  {}", input.dtype, fmt::join(input.shape, " x "), input.digest));
  }
  text += line("", fmt::format("output       {} against {}", call.outputs[divergence.output].digest,
                               divergence.expected.outputs[divergence.output].digest));
  if (divergence.constants_differ) {
    text += line("", fmt::format("its constants differ: {} against {}", call.constants, divergence.expected.constants));
  }
  if (divergence.calls_unmatched > 0) {
    text += line(
        "", fmt::format("{} calls have no partner: the releases take different operators", divergence.calls_unmatched));
  }
  return text;
}

std::string subgraph_text(std::string_view side, const OperatorSubgraph& subgraph) {
  if (subgraph.calls.empty()) {
    const char* const made = subgraph.not_on_record ? "no call on record: what makes the value is no operator"
                                                    : "nothing: the value passes as it is";
    return line("", fmt::format("{:<9} {}", side, made));
  }
  std::string text;
  for (const OperatorRecord& call : subgraph.calls) {
    std::vector<std::string> made;
    for (const OperatorTensor& output : call.outputs) {
      made.push_back(fmt::format("{} [{}]", output.dtype, fmt::join(output.shape, " x ")));
    }
    text += line("", fmt::format("{:<9} {} in the {} of `{}`, call {}{}; makes {}", side, call.name, call.pass,
                                 call.module.empty() ? "-" : call.module, call.index,
                                 call.constants.empty() ? "" : ", constants " + call.constants, fmt::join(made, ", ")));
    side = "";
  }
  return text;
}

std::string region_text(const OperatorRegion& region) {
  const std::size_t ours = region.measured.calls.size();
  const std::size_t theirs = region.expected.calls.size();
  std::string text = line("operators", fmt::format("{} call{} against {} make other values of equal ones", ours,
                                                   ours == 1 ? "" : "s", theirs));
  text += subgraph_text("measured", region.measured) + subgraph_text("expected", region.expected);
  const std::string kind = difference_in_kind(region);
  return kind.empty() ? text : text + line("", kind);
}

std::string budget_text(const Explanation& explanation) {
  if (!explanation.budget) {
    return explanation.no_budget.empty() ? "" : line("fp64", fmt::format("not judged: {}", explanation.no_budget));
  }
  const OperatorBudget& budget = *explanation.budget;
  std::string text = line(
      "fp64", fmt::format("the same inputs in fp64: off by {:.2e} here, {:.2e} there, {:.2e} between them{}",
                          budget.measured_error_rel, budget.expected_error_rel, budget.distance_rel,
                          budget.amplification ? fmt::format("; a change of its inputs comes out {:.2g} times as large",
                                                             *budget.amplification)
                                               : ""));
  if (budget.forms_apart_rel) {
    text += line("", fmt::format("what the two sides ask for, in fp64, is {:.2e} apart", *budget.forms_apart_rel));
  }
  // A proof, or why there is none, is part of what was judged.
  if (budget.order && budget.order->word == OrderWord::broken) text += line("order", budget.order->sentence);
  for (const auto& [side, error] : {std::pair("measured", &budget.measured), std::pair("expected", &budget.expected)}) {
    if (!*error) continue;
    const LocalError& local = **error;
    text += line("", local.of_bound ? fmt::format("{} side: up to {:.3g} of the bound of its rounding ({})", side,
                                                  *local.of_bound, local.source)
                                    : fmt::format("{} side: {}", side, local.no_bound));
  }
  return text;
}

std::string ratio_text(const LockstepTensor& tensor) {
  const std::string pooled =
      tensor.pooled ? fmt::format(", pooled E {:.3f} (bound {:.3f})", tensor.pooled->ratio, tensor.pooled->bound) : "";
  return fmt::format("{:<10} {:<34} E {:.3g} (bound {:g}){}", to_string(tensor.word), tensor.name, tensor.error_ratio,
                     tensor.error_ratio_bound, pooled);
}

std::string lockstep_text(const Explanation& explanation) {
  const Lockstep& lockstep = *explanation.lockstep;
  std::string text =
      line("lockstep", fmt::format("{} (state after step {}, {} batches): {}", to_string(lockstep.word),
                                   explanation.lockstep_state.value_or(0), lockstep.batches, lockstep.sentence));
  for (std::size_t i = 0; i < std::min(kTensorsShown, lockstep.tensors.size()); ++i) {
    text += line("", ratio_text(lockstep.tensors[i]));
  }
  return text;
}

std::string source_text(const FurtherSource& source, std::set<std::string>& told) {
  const auto place = [](const OperatorRecord& call) {
    return fmt::format("in the {} of `{}`, call {}", call.pass, call.module.empty() ? "-" : call.module, call.index);
  };
  std::string what;
  if (source.call) {
    what = fmt::format("{} {}", source.call->measured.name, place(source.call->measured));
  } else if (source.region) {
    const auto& ours = source.region->measured;
    const auto& theirs = source.region->expected;
    what = fmt::format("{} against {} {}", names_of(ours, 4), names_of(theirs, 4),
                       place((ours.calls.empty() ? theirs : ours).calls.front()));
  }
  if (source.on_substituted_inputs) what += ", on the values of the expected side";
  return fmt::format("{}: {}, {}", what, to_string(source.diagnosis.word),
                     told.insert(source.diagnosis.sentence).second ? source.diagnosis.sentence : "as above");
}

// The worst of them first: the diagnosis is about one of those.
std::string further_text(const Explanation& explanation) {
  std::vector<const FurtherSource*> sources;
  for (const FurtherSource& source : explanation.further_sources) sources.push_back(&source);
  std::stable_sort(sources.begin(), sources.end(), [](const FurtherSource* a, const FurtherSource* b) {
    const auto is_rounding = [](const FurtherSource* source) {
      return source->diagnosis.word == ExplainedWord::rounding;
    };
    return is_rounding(a) < is_rounding(b);
  });
  std::string text;
  std::set<std::string> told;  // one cause makes many sources, of which each would say the same
  for (std::size_t i = 0; i < std::min(kSourcesShown, sources.size()); ++i) {
    text += line(i == 0 ? "beside it" : "", source_text(*sources[i], told));
  }
  if (sources.size() > kSourcesShown) text += line("", fmt::format("and {} more", sources.size() - kSourcesShown));
  if (explanation.calls_apart > 0) {
    text += line(
        "", fmt::format("{} call{} of that step take{} values that differ already: not judged", explanation.calls_apart,
                        explanation.calls_apart == 1 ? "" : "s", explanation.calls_apart == 1 ? "s" : ""));
  }
  return text;
}

std::string explanation_text(const Explanation& explanation) {
  std::string text;
  if (explanation.diagnosis) {
    text +=
        line("judged", fmt::format("{}: {}", to_string(explanation.diagnosis->word), explanation.diagnosis->sentence));
  }
  if (explanation.call) text += call_text(*explanation.call);
  if (explanation.region) text += region_text(*explanation.region);
  if (explanation.diverging_operators.size() > 1) {
    text += line("", fmt::format("operators of that step with equal inputs and other outputs: {}",
                                 fmt::join(explanation.diverging_operators, ", ")));
  }
  if (explanation.element) text += element_text(*explanation.element);
  if (explanation.module) {
    text += line("module", fmt::format("{}: {}", to_string(explanation.module->word), explanation.module->sentence));
  }
  text += budget_text(explanation) + further_text(explanation);
  if (explanation.lockstep) text += lockstep_text(explanation);
  for (const auto& [state, word, sentence] : explanation.lockstep_states) {
    text += line("", fmt::format("after step {}: {}, {}", state, to_string(word), sentence));
  }
  for (const LaterStep& later : explanation.later_steps) {
    text += line("later", fmt::format("step {}: {}, {}", later.step, to_string(later.word), later.sentence));
  }
  text += line("suspect", explanation.suspect.sentence);
  for (const std::string& note : explanation.notes) text += line("note", note);
  return text;
}

// What the traces show of how the difference grows.
std::string growth_text(const CellComparison& comparison) {
  std::string text;
  if (comparison.over_bound) {
    const OverBound& over = *comparison.over_bound;
    text += line("over bound", fmt::format("first at step {}: {} `{}` is {:.3g} away, the bound is {:.3g}", over.step,
                                           to_string(over.role), over.tensor, over.distance_rel, over.bound_rel));
  }
  for (const EventFlips& flips : comparison.events) {
    text += line("flips", fmt::format("{} `{}`: about {} elements at step {}, {} steps with flips",
                                      flips.steers ? "mask" : "choice", flips.event, flips.flips, flips.first_step,
                                      flips.steps_with_flips));
  }
  if (comparison.split) {
    const LossSplit& split = *comparison.split;
    text += line("loss", fmt::format("splits at step {}: {:.2g} apart, {:.2g} before{}", split.step, split.distance_rel,
                                     split.before_rel,
                                     split.event.empty() ? "" : fmt::format("; mask `{}` flipped there", split.event)));
  }
  if (comparison.trajectory) {
    const TrajectoryJudgement& judged = *comparison.trajectory;
    text += line("trajectory", fmt::format("{}: {}", judged.word, judged.sentence));
    if (judged.growth) {
      text += line("", fmt::format("grows as step^{:.2f}, doubling every {:.3g} steps", judged.growth->alpha,
                                   judged.growth->doubling_steps));
    }
  }
  if (comparison.equivalence) text += line("loss curves", comparison.equivalence->sentence);
  return text;
}

Style style_of(Match word) {
  if (word == Match::equal) return Style::green;
  return word == Match::differs ? Style::yellow : Style::cyan;
}

std::string tensor_text(const TensorComparison& tensor) {
  if (tensor.match == Match::not_comparable) {
    return fmt::format("  {:<34} not comparable: {}", tensor.name, tensor.reason);
  }
  const SnapshotPair& first = *tensor.first;
  const auto shown = [&](const SnapshotElement& element) {
    return tensor.rel_l2 ? fmt::format("{:.9g} (0x{})", *number_from_json(element.value), element.bits)
                         : "0x" + element.bits;
  };
  return fmt::format("  {:<34} {} of {} differ, relative L2 {:.3g}; first at {}: {} against {}{}", tensor.name,
                     *tensor.differing, *tensor.elements, tensor.rel_l2.value_or(0), first.index, shown(first.measured),
                     shown(first.reference), first.ulp ? ", " + distance_text(first.ulp, first.distance_rms) : "");
}

std::string changes_text(const CellComparison& comparison) {
  std::string text;
  for (const SideDifference& difference : comparison.differences) {
    text += line("changed", fmt::format("{}: {}", difference.what, sides_text(difference)));
  }
  return text;
}

// Beside the libraries that changed: what they did otherwise. Where one side tells nothing that is said; what is not
// known of an operation that changed stands with it.
std::string implementations_text(const CellComparison& comparison) {
  if (!comparison.implementations) return "";
  const ImplementationChanges& changes = *comparison.implementations;
  std::string text;
  for (std::size_t i = 0; i < std::min(kImplementationsShown, changes.changed.size()); ++i) {
    text += line("done by", plain_line(change_text(changes.changed[i])));
  }
  if (changes.changed.size() > kImplementationsShown) {
    text += line("", fmt::format("and {} more operations that other code computed",
                                 changes.changed.size() - kImplementationsShown));
  }
  for (const std::string& sentence : changes.incomplete) text += line("done by", plain_line(sentence));
  return text;
}

std::string pair_text(const CellComparison& comparison, const std::string& changes, const Terminal& terminal) {
  std::string text =
      fmt::format("{} against {}: {}\n", comparison.measured_name, comparison.expected_name, comparison.workload);
  text += fmt::format("  {}{}\n",
                      terminal.paint(fmt::format("{:<11} ", to_string(comparison.word)), style_of(comparison.word)),
                      plain_line(comparison.sentence));
  if (comparison.trace.first) {
    text += line("steps",
                 fmt::format("{} of {} differ", comparison.trace.steps_differing, comparison.trace.steps_compared));
  }
  for (const CellRatio& ratio : comparison.ratios) {
    text += line(ratio.metric.substr(0, ratio.metric.find('.')), fmt::format("{}: {}", ratio.metric, ratio.sentence));
  }
  text += changes + implementations_text(comparison) + growth_text(comparison);
  if (comparison.explanation) text += explanation_text(*comparison.explanation);
  return text;
}

}  // namespace

ExitCode exit_code_of(Match word) {
  if (word == Match::equal) return ExitCode::passed;
  return word == Match::differs ? ExitCode::failed : ExitCode::undecided;
}

std::string to_text(const SnapshotComparison& comparison) {
  std::string text = plain_line(comparison.sentence) + "\n";
  for (const TensorComparison& tensor : comparison.tensors) {
    if (tensor.match != Match::equal) text += plain_line(tensor_text(tensor)) + "\n";
  }
  for (const std::string& name : comparison.missing) text += fmt::format("  {:<34} only in B\n", plain_line(name));
  for (const std::string& name : comparison.extra) text += fmt::format("  {:<34} only in A\n", plain_line(name));
  return text;
}

std::string to_text(const CellComparison& comparison, const Terminal& terminal) {
  return pair_text(comparison, changes_text(comparison), terminal);
}

std::string PairsText::next(const CellComparison& comparison, const Terminal& terminal) {
  std::string changes = changes_text(comparison);
  const auto [first, is_new] = first_with_.try_emplace(changes, comparison.measured_name);
  if (!is_new && !changes.empty()) changes = line("changed", fmt::format("as in {}", first->second));
  return pair_text(comparison, changes, terminal);
}

}  // namespace reprobench
