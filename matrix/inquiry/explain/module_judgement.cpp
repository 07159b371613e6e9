#include "matrix/inquiry/explain/module_judgement.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/inquiry/explain/source_diagnosis.hpp"
#include "matrix/inquiry/explain/source_judgement.hpp"

namespace reprobench {
namespace {

// An error below this is as good as none: a quarter of the unit of fp32.
constexpr double kNoErrorRel = 0x1p-26;

bool is_backward_node(const OperatorRecord& call) { return !call.name.starts_with("aten::"); }

bool makes_values(const OperatorRecord& call) {
  return std::ranges::any_of(call.outputs, [](const OperatorTensor& output) { return !output.digest.empty(); });
}

// Of every value that the call makes, the one nearest to its bound.
void take_call(const CapturedModuleCall& captured, const CellRequest& request, ModuleSide& side) {
  const OperatorRecord& call = *captured.call;
  for (std::size_t output = 0; output < call.outputs.size(); ++output) {
    if (call.outputs[output].digest.empty()) continue;
    const auto error = local_error(call, output, captured.file.tensors(), local_settings(request));
    if (!error || !error->of_bound) {
      const auto reason = captured.file.metadata().find("fp64");
      const std::string no_fp64 = reason == captured.file.metadata().end() ? "has no fp64 form" : reason->second;
      if (side.no_bound.empty()) {
        side.no_bound = error ? error->no_bound : fmt::format("output {} of {}: {}", output, call.name, no_fp64);
      }
    } else if (!side.of_bound || !(*error->of_bound <= *side.of_bound)) {
      side.of_bound = error->of_bound;
      side.call = call.name;
      side.source = error->source;
    }
  }
}

std::string in_common(const std::string& a, const std::string& b) {
  const auto whole = [](const std::string& name, std::size_t size) { return size == name.size() || name[size] == '.'; };
  std::size_t size = 0;
  for (std::size_t i = 1; i <= std::min(a.size(), b.size()) && a.compare(0, i, b, 0, i) == 0; ++i) {
    if (whole(a, i) && whole(b, i)) size = i;
  }
  return a.substr(0, size);
}

std::string place_of(const ModuleJudgement& judged) {
  return fmt::format("{} ({})", judged.module.empty() ? "calls of no module" : fmt::format("`{}`", judged.module),
                     judged.pass);
}

std::string beyond_text(const ModuleJudgement& judged) {
  std::vector<std::string> sides;
  for (const auto& [name, side] : {std::pair("measured", &judged.measured), std::pair("expected", &judged.expected)}) {
    if (!is_beyond(*side)) continue;
    sides.push_back(fmt::format("{} on the {} side by {:.3g} times the bound ({})", side->call, name, *side->of_bound,
                                side->source));
  }
  return fmt::format("off by more than it can round: {}", fmt::join(sides, ", "));
}

std::string no_bound_text(const ModuleJudgement& judged) {
  std::vector<std::string> sides;
  for (const auto& [name, side] : {std::pair("measured", &judged.measured), std::pair("expected", &judged.expected)}) {
    if (!side->no_bound.empty()) sides.push_back(fmt::format("{} ({} side)", side->no_bound, name));
  }
  return fmt::format("no bound: {}", fmt::join(sides, ", "));
}

struct Farther {
  bool is_measured = false;
  double factor = 1;
};

// Nothing: the two sides are about as far from fp64.
std::optional<Farther> farther_of(const OperatorBudget& budget) {
  const double ours = std::max(budget.measured_error_rel, kNoErrorRel);
  const double theirs = std::max(budget.expected_error_rel, kNoErrorRel);
  const double factor = std::max(ours, theirs) / std::min(ours, theirs);
  if (!(factor >= kFartherFactor)) return std::nullopt;
  return Farther{ours > theirs, factor};
}

}  // namespace

std::vector<const OperatorRecord*> module_calls(const OperatorSubgraph& subgraph) {
  std::vector<const OperatorRecord*> calls;
  for (const OperatorRecord& call : subgraph.calls) {
    if (!is_backward_node(call) && makes_values(call)) calls.push_back(&call);
  }
  return calls;
}

ModuleSide judge_module_side(const OperatorSubgraph& subgraph, const CellRequest& request,
                             const std::vector<CapturedModuleCall>& captured, const std::string& not_captured) {
  ModuleSide side;
  side.calls = static_cast<std::int64_t>(module_calls(subgraph).size());
  side.no_bound = not_captured;
  for (const OperatorRecord& call : subgraph.calls) {
    if (is_backward_node(call)) side.no_bound = fmt::format("{} cannot be called by itself", call.name);
  }
  if (side.no_bound.empty() && side.calls == 0 && !subgraph.calls.empty()) {
    side.no_bound = fmt::format("what {} made is not on record", names_of(subgraph, 4));
  }
  for (const CapturedModuleCall& call : captured) take_call(call, request, side);
  return side;
}

void judge_module(DifferenceSource& source, ModuleSide measured, ModuleSide expected) {
  const OperatorRegion& region = source.region.value();
  ModuleJudgement& judged = source.module.emplace();
  judged.module = module_of(region);
  judged.pass = (region.measured.calls.empty() ? region.expected : region.measured).calls.front().pass;
  judged.measured = std::move(measured);
  judged.expected = std::move(expected);
  std::string why;
  if (const std::string other = other_question(source); !other.empty()) {
    judged.word = ExplainedWord::another_computation;
    why = other;
  } else if (is_beyond(judged.measured) || is_beyond(judged.expected)) {
    judged.word = ExplainedWord::defect;
    why = beyond_text(judged);
  } else if (!is_within(judged.measured) || !is_within(judged.expected)) {
    why = no_bound_text(judged);
  } else if (!source.budget || !source.budget->forms_apart_rel) {
    why = "what the two sides ask for is not known in fp64";
    if (!source.no_budget.empty()) why += ": " + source.no_budget;
  } else {
    judged.word = ExplainedWord::rounding;
    why = within_text(judged);
  }
  judged.sentence = fmt::format("{}: {}", place_of(judged), why);
  if (!source.budget) return;
  if (const auto farther = farther_of(*source.budget)) {
    judged.farther = kSides[farther->is_measured ? 0 : 1];
    judged.farther_factor = farther->factor;
    judged.sentence += "; " + farther_side(*source.budget);
  }
}

std::string module_of(const OperatorRegion& region) {
  std::vector<std::string> modules;
  for (const OperatorSubgraph* subgraph : {&region.expected, &region.measured}) {
    for (const OperatorRecord& call : subgraph->calls) {
      if (!call.module.empty()) modules.push_back(call.module);
    }
  }
  if (modules.empty()) return "";
  std::string common = modules.front();
  for (const std::string& module : modules) common = in_common(common, module);
  return common.empty() ? modules.back() : common;
}

std::string other_question(const DifferenceSource& source) {
  if (source.region) {
    const std::string kind = difference_in_kind(*source.region);
    if (!kind.empty()) return kind;
  }
  const auto& budget = source.budget;
  if (budget && !source.gradients_deny_it && budget->forms_apart_rel && !(*budget->forms_apart_rel <= kSameFormRel)) {
    return fmt::format("in fp64, on equal values, the two sides are {:.2e} apart", *budget->forms_apart_rel);
  }
  return "";
}

std::string farther_side(const OperatorBudget& budget) {
  const auto farther = farther_of(budget);
  if (!farther) return "";
  const char* const far = farther->is_measured ? "measured" : "expected";
  const char* const near = farther->is_measured ? "expected" : "measured";
  return fmt::format("the {} side is {:.3g} times as far from fp64 as the {} one", far, farther->factor, near);
}

bool is_beyond(const ModuleSide& side) { return side.of_bound && !(*side.of_bound <= 1); }

bool is_within(const ModuleSide& side) { return side.no_bound.empty() && !is_beyond(side); }

std::string within_text(const ModuleJudgement& judged) {
  if (!is_within(judged.measured) || !is_within(judged.expected)) return "";
  const auto side = [](const char* name, const ModuleSide& of) {
    if (of.calls == 0) return fmt::format("none on the {} side", name);
    return fmt::format("{} on the {} side, up to {:.2g} of it{}", of.calls, name, of.of_bound.value_or(0),
                       of.calls > 1 && !of.call.empty() ? " in " + of.call : "");
  };
  return fmt::format(
      "every call stays within its bound, {} and {}, and in fp64, on equal values, the two subgraphs "
      "make the same",
      side("measured", judged.measured), side("expected", judged.expected));
}

}  // namespace reprobench
