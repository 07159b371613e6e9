#include "matrix/cli/text/comparison_text.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "matrix/base/number.hpp"
#include "matrix/base/plain_text.hpp"
#include "matrix/cli/text/text_table.hpp"

namespace reprobench {
namespace {

constexpr const char* kLabelled = "  <11 <";
constexpr std::size_t kTensorsShown = 5;
constexpr std::size_t kSourcesShown = 8;
constexpr std::size_t kImplementationsShown = 4;

// `bits`: 16 hex digits.
std::string bits_text(ElementType type, double value, const std::string& bits) {
  const std::string digits = bits.substr(16 - 2 * element_bytes(type));
  return is_floating(type) || !std::isnan(value) ? fmt::format("{:.9g} (0x{})", value, digits)
                                                 : fmt::format("0x{}", digits);
}

void add_element(TextTable& table, const ElementFinding& finding) {
  const std::string apart = distance_text(finding.ulp, finding.distance_rms);
  const std::string most = distance_text(finding.max_ulp, finding.max_distance_rms);
  table.say("element", "{} [{}], index {} in block {}: {} against {}{}", finding.tensor,
            fmt::join(finding.shape, " x "), finding.index, finding.block,
            bits_text(finding.type, finding.measured, finding.measured_bits),
            bits_text(finding.type, finding.expected, finding.expected_bits), apart.empty() ? "" : ", " + apart);
  table.say("", "{} of {} elements differ{}", finding.differing, finding.count,
            most.empty() ? "" : ", by up to " + most);
}

void add_call(TextTable& table, const OperatorDivergence& divergence) {
  const OperatorRecord& call = divergence.measured;
  table.say("operator", "{} in the {} of `{}`, call {} of step {}; all {} inputs agree", call.name, call.pass,
            call.module.empty() ? "-" : call.module, call.index, call.step, call.inputs.size());
  for (const OperatorTensor& input : call.inputs) {
    if (input.digest.empty()) continue;
    table.say("", "input {} [{}]  {}", input.dtype, fmt::join(input.shape, " x "), input.digest);
  }
  table.say("", "output       {} against {}", call.outputs[divergence.output].digest,
            divergence.expected.outputs[divergence.output].digest);
  if (divergence.constants_differ) {
    table.say("", "its constants differ: {} against {}", call.constants, divergence.expected.constants);
  }
  if (divergence.calls_unmatched > 0) {
    table.say("", "{} calls have no partner: the releases take different operators", divergence.calls_unmatched);
  }
}

void add_subgraph(TextTable& table, std::string_view side, const OperatorSubgraph& subgraph) {
  TextTable calls("  <11 <9 <");
  if (subgraph.calls.empty()) {
    calls.row("", side,
              subgraph.not_on_record ? "no call on record: what makes the value is no operator"
                                     : "nothing: the value passes as it is");
  }
  for (const OperatorRecord& call : subgraph.calls) {
    std::vector<std::string> made;
    for (const OperatorTensor& output : call.outputs) {
      made.push_back(fmt::format("{} [{}]", output.dtype, fmt::join(output.shape, " x ")));
    }
    calls.row("", side,
              fmt::format("{} in the {} of `{}`, call {}{}; makes {}", call.name, call.pass,
                          call.module.empty() ? "-" : call.module, call.index,
                          call.constants.empty() ? "" : ", constants " + call.constants, fmt::join(made, ", ")));
    side = "";
  }
  table.lines(calls.text());
}

void add_region(TextTable& table, const OperatorRegion& region) {
  const std::size_t ours = region.measured.calls.size();
  const std::size_t theirs = region.expected.calls.size();
  table.say("operators", "{} call{} against {} take equal values and give different ones", ours, ours == 1 ? "" : "s",
            theirs);
  add_subgraph(table, "measured", region.measured);
  add_subgraph(table, "expected", region.expected);
  const std::string kind = difference_in_kind(region);
  if (!kind.empty()) table.row("", kind);
}

void add_budget(TextTable& table, const Explanation& explanation) {
  if (!explanation.budget) {
    if (!explanation.no_budget.empty()) table.say("fp64", "not judged: {}", explanation.no_budget);
    return;
  }
  const OperatorBudget& budget = *explanation.budget;
  table.say("fp64", "error against fp64 of the same inputs: measured {:.2e}, expected {:.2e}; {:.2e} apart{}",
            budget.measured_error_rel, budget.expected_error_rel, budget.distance_rel,
            budget.amplification
                ? fmt::format("; a change of its inputs comes out {:.2g} times as large", *budget.amplification)
                : "");
  if (budget.forms_apart_rel) {
    table.say("", "what the two sides ask for, in fp64, is {:.2e} apart", *budget.forms_apart_rel);
  }
  for (const auto& [side, error] : {std::pair("measured", &budget.measured), std::pair("expected", &budget.expected)}) {
    if (!*error) continue;
    const LocalError& local = **error;
    table.row("", local.of_bound ? fmt::format("{} side: up to {:.3g} of the bound of its rounding ({})", side,
                                               *local.of_bound, local.source)
                                 : fmt::format("{} side: {}", side, local.no_bound));
  }
}

std::string ratio_text(const LockstepTensor& tensor) {
  const std::string pooled =
      tensor.pooled ? fmt::format(", pooled E {:.3f} (bound {:.3f})", tensor.pooled->ratio, tensor.pooled->bound) : "";
  return fmt::format("E {:.3g} (bound {:g}){}", tensor.error_ratio, tensor.error_ratio_bound, pooled);
}

void add_lockstep(TextTable& table, const Explanation& explanation) {
  const Lockstep& lockstep = *explanation.lockstep;
  table.say("lockstep", "{} (state after step {}, {} batches): {}", to_string(lockstep.word),
            explanation.lockstep_state.value_or(0), lockstep.batches, lockstep.sentence);
  TextTable tensors("  <11 <10 <34 <");
  for (std::size_t i = 0; i < std::min(kTensorsShown, lockstep.tensors.size()); ++i) {
    const LockstepTensor& tensor = lockstep.tensors[i];
    tensors.row("", to_string(tensor.word), tensor.name, ratio_text(tensor));
  }
  table.lines(tensors.text());
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
void add_further(TextTable& table, const Explanation& explanation) {
  std::vector<const FurtherSource*> sources;
  for (const FurtherSource& source : explanation.further_sources) sources.push_back(&source);
  std::stable_sort(sources.begin(), sources.end(), [](const FurtherSource* a, const FurtherSource* b) {
    const auto is_rounding = [](const FurtherSource* source) {
      return source->diagnosis.word == ExplainedWord::rounding;
    };
    return is_rounding(a) < is_rounding(b);
  });
  std::set<std::string> told;  // one cause makes many sources, of which each would say the same
  table.list(
      "beside it", sources, [&](const FurtherSource* source) { return source_text(*source, told); }, kSourcesShown);
  if (explanation.calls_apart > 0) {
    table.say("", "{} call{} of that step take{} values that differ already: not judged", explanation.calls_apart,
              explanation.calls_apart == 1 ? "" : "s", explanation.calls_apart == 1 ? "s" : "");
  }
}

void add_explanation(TextTable& table, const Explanation& explanation) {
  if (explanation.diagnosis) {
    table.say("judged", "{}: {}", to_string(explanation.diagnosis->word), explanation.diagnosis->sentence);
  }
  if (explanation.call) add_call(table, *explanation.call);
  if (explanation.region) add_region(table, *explanation.region);
  if (explanation.diverging_operators.size() > 1) {
    table.say("", "operators of that step with equal inputs and other outputs: {}",
              fmt::join(explanation.diverging_operators, ", "));
  }
  if (explanation.element) add_element(table, *explanation.element);
  if (explanation.module) {
    table.say("module", "{}: {}", to_string(explanation.module->word), explanation.module->sentence);
  }
  add_budget(table, explanation);
  add_further(table, explanation);
  if (explanation.lockstep) add_lockstep(table, explanation);
  if (explanation.lockstep_again) table.say("again", "{}", explanation.lockstep_again->sentence);
  for (const auto& [state, word, sentence] : explanation.lockstep_states) {
    table.say("", "after step {}: {}, {}", state, to_string(word), sentence);
  }
  for (const LaterStep& later : explanation.later_steps) {
    table.say("later", "step {}: {}, {}", later.step, to_string(later.word), later.sentence);
  }
  table.row("suspect", explanation.suspect.sentence);
  for (const std::string& note : explanation.notes) table.row("note", note);
}

// What the traces show of how the difference grows.
void add_growth(TextTable& table, const CellComparison& comparison) {
  if (comparison.over_bound) {
    const OverBound& over = *comparison.over_bound;
    table.say("over bound", "first at step {}: {} `{}` is {:.3g} away, the bound is {:.3g}", over.step,
              to_string(over.role), over.tensor, over.distance_rel, over.bound_rel);
  }
  for (const EventFlips& flips : comparison.events) {
    table.say("flips", "{} `{}`: about {} elements at step {}, {} steps with flips", flips.steers ? "mask" : "choice",
              flips.event, flips.flips, flips.first_step, flips.steps_with_flips);
  }
  if (comparison.split) {
    const LossSplit& split = *comparison.split;
    table.say("loss", "splits at step {}: {:.2g} apart, {:.2g} before{}", split.step, split.distance_rel,
              split.before_rel, split.event.empty() ? "" : fmt::format("; mask `{}` flipped there", split.event));
  }
  if (comparison.trajectory) {
    const TrajectoryJudgement& judged = *comparison.trajectory;
    table.say("trajectory", "{}: {}", judged.word, judged.sentence);
    if (judged.growth) {
      table.say("", "grows as step^{:.2f}, doubling every {:.3g} steps", judged.growth->alpha,
                judged.growth->doubling_steps);
    }
  }
  if (comparison.equivalence) table.row("loss curves", comparison.equivalence->sentence);
}

Style style_of(Match word) {
  if (word == Match::equal) return Style::green;
  return word == Match::differs ? Style::yellow : Style::cyan;
}

std::string tensor_text(const TensorComparison& tensor) {
  if (tensor.match == Match::not_comparable) {
    return "not comparable: " + tensor.reason;
  }
  const SnapshotPair& first = *tensor.first;
  const auto shown = [&](const SnapshotElement& element) {
    return tensor.rel_l2 ? fmt::format("{:.9g} (0x{})", *number_from_json(element.value), element.bits)
                         : "0x" + element.bits;
  };
  return fmt::format("{} of {} differ, relative L2 {:.3g}; first at {}: {} against {}{}", *tensor.differing,
                     *tensor.elements, tensor.rel_l2.value_or(0), first.index, shown(first.measured),
                     shown(first.reference), first.ulp ? ", " + distance_text(first.ulp, first.distance_rms) : "");
}

std::string changes_text(const CellComparison& comparison) {
  TextTable table(kLabelled);
  for (const SideDifference& difference : comparison.differences) table.row("changed", change_text(difference));
  return table.text();
}

// Beside the libraries that changed: what they did otherwise. Where one side tells nothing that is said; what is not
// known of an operation that changed stands with it.
void add_implementations(TextTable& table, const CellComparison& comparison) {
  if (!comparison.implementations) return;
  const ImplementationChanges& changes = *comparison.implementations;
  for (std::size_t i = 0; i < std::min(kImplementationsShown, changes.changed.size()); ++i) {
    table.row("done by", plain_line(change_text(changes.changed[i])));
  }
  if (changes.changed.size() > kImplementationsShown) {
    table.say("", "and {} more operations that other code computed", changes.changed.size() - kImplementationsShown);
  }
  for (const std::string& sentence : changes.incomplete) table.row("done by", plain_line(sentence));
}

std::string pair_text(const CellComparison& comparison, const std::string& changes, const Terminal& terminal) {
  TextTable table(kLabelled);
  table.line("{} against {}: {}", comparison.measured_name, comparison.expected_name, comparison.workload);
  table.row(terminal.paint(to_string(comparison.word), style_of(comparison.word)), plain_line(comparison.sentence));
  if (comparison.trace.first) {
    table.say("steps", "{} of {} differ", comparison.trace.steps_differing, comparison.trace.steps_compared);
  }
  for (const CellRatio& ratio : comparison.ratios) {
    table.say(ratio.metric.substr(0, ratio.metric.find('.')), "{}: {}", ratio.metric, ratio.sentence);
  }
  table.lines(changes);
  add_implementations(table, comparison);
  add_growth(table, comparison);
  if (comparison.explanation) add_explanation(table, *comparison.explanation);
  return table.text();
}

}  // namespace

ExitCode exit_code_of(Match word) {
  if (word == Match::equal) return ExitCode::passed;
  return word == Match::differs ? ExitCode::failed : ExitCode::undecided;
}

std::string to_text(const SnapshotComparison& comparison) {
  TextTable table("  <34 <");
  table.line("{}", plain_line(comparison.sentence));
  for (const TensorComparison& tensor : comparison.tensors) {
    if (tensor.match != Match::equal) table.row(plain_line(tensor.name), plain_line(tensor_text(tensor)));
  }
  for (const std::string& name : comparison.missing) table.row(plain_line(name), "only in B");
  for (const std::string& name : comparison.extra) table.row(plain_line(name), "only in A");
  return table.text();
}

std::string to_text(const CellComparison& comparison, const Terminal& terminal) {
  return pair_text(comparison, changes_text(comparison), terminal);
}

std::string PairsText::next(const CellComparison& comparison, const Terminal& terminal) {
  std::string changes = changes_text(comparison);
  const auto [first, is_new] = first_with_.try_emplace(changes, comparison.measured_name);
  if (!is_new && !changes.empty()) changes = TextTable(kLabelled).say("changed", "as in {}", first->second).text();
  return pair_text(comparison, changes, terminal);
}

}  // namespace reprobench
