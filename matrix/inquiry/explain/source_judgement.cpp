#include "matrix/inquiry/explain/source_judgement.hpp"

#include <charconv>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "matrix/base/contract_error.hpp"
#include "matrix/base/json_parse.hpp"
#include "matrix/base/number.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/numerics/bounds/accumulator.hpp"
#include "matrix/numerics/calls/operator_alignment.hpp"
#include "matrix/numerics/steps/snapshot_comparison.hpp"

namespace reprobench {
namespace {

constexpr double kMostBytes = 0x1p60;

// A worker's own text.
std::optional<double> finite_number(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

OperatorSite site_of(const OperatorRecord& call, const std::vector<OperatorRecord>& subgraph) {
  OperatorSite site{call.step, call.index};
  for (const OperatorRecord& before : subgraph) site.subgraph.push_back(before.index);
  return site;
}

// Both sides' values of one tensor, and what each asks for in fp64.
struct Weighed {
  const TensorView* ours;
  const TensorView* theirs;
  const TensorView* our_exact;
  const TensorView* their_exact;
};

bool is_exact_form(const TensorView* exact, const TensorView* value) {
  return exact != nullptr && exact->dtype == "F64" && exact->shape == value->shape;
}

// A text that is no order says nothing, as none does.
std::optional<CallOrder> captured_order(const SafetensorsFile& file, std::size_t output) {
  const auto text = file.metadata().find(fmt::format("order.{}", output));
  if (text == file.metadata().end()) return std::nullopt;
  try {
    return read_document<CallOrder>(json_or_discarded(text->second));
  } catch (const ContractError&) {
    return std::nullopt;
  }
}

class SourceJudge {
 public:
  SourceJudge(DifferenceSource& source, const CellRequest& measured, const CellRequest& expected,
              const SafetensorsFile& ours, const SafetensorsFile& theirs)
      : source_(source), measured_(measured), expected_(expected), ours_(ours), theirs_(theirs) {}

  // What the two subgraphs made.
  void judge_outflow() {
    const OperatorSubgraph& measured = source_.region->measured;
    const OperatorSubgraph& expected = source_.region->expected;
    const auto value = [](const OperatorSubgraph& subgraph, const SafetensorsFile& file, bool is_exact) {
      const char* kind = subgraph.is_taken ? (is_exact ? "exact_input" : "input") : (is_exact ? "fp64" : "output");
      return find_tensor(file.tensors(), fmt::format("{}.{}", kind, subgraph.place));
    };
    const TensorView* a = value(measured, ours_, false);
    const TensorView* b = value(expected, theirs_, false);
    find_element(fmt::format("what {} made", names_of(measured.calls.empty() ? expected : measured, 4)), a, b);
    for (const SafetensorsFile* file : {&ours_, &theirs_}) {
      const auto problem = file->metadata().find("subgraph");
      if (problem == file->metadata().end()) continue;
      source_.no_budget = "the subgraph cannot be carried out in fp64: " + problem->second;
      return;
    }
    weigh({a, b, value(measured, ours_, true), value(expected, theirs_, true)}, {});
  }

  void judge_call(std::vector<std::string>& notes) {
    const auto find = [&](const SafetensorsFile& file, const char* kind) {
      return find_tensor(file.tensors(), fmt::format("{}.{}", kind, source_.call->output));
    };
    choose_output();
    const TensorView* a = find(ours_, "output");
    const TensorView* b = find(theirs_, "output");
    const std::string buffer = filled_buffer(*source_.call);
    find_element(fmt::format("output {} of {}{}", source_.call->output, source_.call->measured.name,
                             buffer.empty() ? "" : fmt::format(", its `{}`", buffer)),
                 a, b);
    weigh({a, b, find(ours_, "fp64"), find(theirs_, "fp64")}, theirs_.metadata());
    judge_locally();
    judge_order(a);
    if (a != nullptr && b != nullptr) note_accumulator(*a, *b, notes);
  }

 private:
  // How bad a differing output is by itself: beyond its bound by so much, not in its side's order, without a bound, or
  // within it.
  double badness_of(std::size_t output) const {
    double worst = 0;
    for (const auto& [request, call, file] : {std::tuple(&measured_, &source_.call->measured, &ours_),
                                              std::tuple(&expected_, &source_.call->expected, &theirs_)}) {
      const auto error = local_error(*call, output, file->tensors(), local_settings(*request));
      constexpr double kNoBound = 1;
      const double own = error && error->of_bound ? (*error->of_bound > 1 ? *error->of_bound : 0) : kNoBound;
      worst = std::max(worst, own);
    }
    constexpr double kBroken = 2;
    return broken_order(output) ? std::max(worst, kBroken) : worst;
  }

  std::optional<OrderJudgement> broken_order(std::size_t output) const {
    return judge_kept_orders({source_.call->measured, ours_, measured_}, {source_.call->expected, theirs_, expected_},
                             output);
  }

  // Of several that differ the first, unless another is worse: behind a result that rounds otherwise may stand running
  // statistics that are wrong.
  void choose_output() {
    const auto& ours = source_.call->measured.outputs;
    const auto& theirs = source_.call->expected.outputs;
    double worst = -1;
    for (std::size_t output = source_.call->output; output < std::min(ours.size(), theirs.size()); ++output) {
      if (ours[output] == theirs[output] || !has_content(ours[output]) || !has_content(theirs[output])) continue;
      const double own = badness_of(output);
      if (own <= worst) continue;
      worst = own;
      source_.call->output = output;
    }
  }

  void find_element(const std::string& name, const TensorView* a, const TensorView* b) {
    if (auto found = differing_element(name, a, b)) source_.element = std::move(found);
  }

  // Two generations of tensor cores that made the call out of equal inputs.
  void note_accumulator(const TensorView& a, const TensorView& b, std::vector<std::string>& notes) const {
    std::vector<TensorView> inputs;
    while (const TensorView* input = find_tensor(theirs_.tensors(), fmt::format("input.{}", inputs.size()))) {
      inputs.push_back(*input);
    }
    const auto side = [](const CellRequest& request) {
      return ProductSide{request.device, setting_in<&Settings::tf32>(request.knobs)};
    };
    const auto fit =
        explain_by_accumulator(source_.call->measured.name, inputs, a, side(measured_), b, side(expected_));
    if (fit) notes.push_back(fit->sentence);
  }

  void weigh(const Weighed& of, const SafetensorsMetadata& metadata) {
    if (of.ours != nullptr && of.theirs != nullptr &&
        (of.ours->dtype != of.theirs->dtype || of.ours->shape != of.theirs->shape)) {
      source_.no_budget = "the two outputs differ in type or shape";
      return;
    }
    if (of.ours == nullptr || of.theirs == nullptr || !is_exact_form(of.their_exact, of.theirs)) {
      const auto reason = metadata.find("fp64");
      source_.no_budget = reason == metadata.end() ? "the operator has no fp64 form" : reason->second;
      return;
    }
    const ElementType type = element_type_of(of.theirs->dtype);
    // Both are held against what the expected side asks for; how far the other asks for something else is said beside.
    const ErrorSums of_a = error_sums(type, of.ours->bytes, ElementType::fp64, of.their_exact->bytes);
    const ErrorSums of_b = error_sums(type, of.theirs->bytes, ElementType::fp64, of.their_exact->bytes);
    const Difference between = diff(type, of.ours->bytes, of.theirs->bytes);
    const auto relative = [&](double squares, const auto& counted) {
      return relative_distance(squares, of_b.reference_squares, counted.nan_mismatches + counted.inf_mismatches);
    };
    OperatorBudget budget;
    budget.measured_error_rel = relative(of_a.error_squares, of_a);
    budget.expected_error_rel = relative(of_b.error_squares, of_b);
    budget.distance_rel = relative(between.difference_squares, between);
    if (is_exact_form(of.our_exact, of.ours)) {
      const Difference forms = diff(ElementType::fp64, of.our_exact->bytes, of.their_exact->bytes);
      budget.forms_apart_rel = relative(forms.difference_squares, forms);
    }
    const auto amplification = metadata.find("amplification");
    if (amplification != metadata.end()) budget.amplification = finite_number(amplification->second);
    source_.budget = budget;
  }

  // Class B1: each side's call by itself.
  void judge_locally() {
    if (!source_.budget) return;
    const auto judged = [&](const CellRequest& request, const OperatorRecord& call, const SafetensorsFile& file) {
      return local_error(call, source_.call->output, file.tensors(), local_settings(request));
    };
    source_.budget->measured = judged(measured_, source_.call->measured, ours_);
    source_.budget->expected = judged(expected_, source_.call->expected, theirs_);
  }

  // In which order each side adds, as its worker read it off while it captured the call.
  void judge_order(const TensorView* output) {
    if (!source_.budget || output == nullptr) return;
    auto& order = source_.budget->order;
    order = broken_order(source_.call->output);
    if (order) return;
    const auto ours = captured_order(ours_, source_.call->output);
    const auto theirs = captured_order(theirs_, source_.call->output);
    if (!ours || !theirs) return;
    std::int64_t elements = 1;
    for (const std::int64_t extent : output->shape) elements *= extent;
    order = judge_orders(*ours, *theirs, source_.call->measured.name, elements);
    if (order->word == OrderWord::broken) order = OrderJudgement{OrderWord::unknown, "not proven: " + order->sentence};
  }

  DifferenceSource& source_;
  const CellRequest& measured_;
  const CellRequest& expected_;
  const SafetensorsFile& ours_;
  const SafetensorsFile& theirs_;
};

}  // namespace

std::pair<OperatorSite, OperatorSite> sites_of(const DifferenceSource& source) {
  if (source.call) return {site_of(source.call->measured, {}), site_of(source.call->expected, {})};
  const OperatorRegion& region = source.region.value();
  return {site_of(region.measured.at, region.measured.calls), site_of(region.expected.at, region.expected.calls)};
}

std::string operator_of(const DifferenceSource& source) {
  if (source.call) return source.call->measured.name;
  if (!source.region) return "";
  for (const OperatorSubgraph* subgraph : {&source.region->measured, &source.region->expected}) {
    if (!subgraph->calls.empty()) return subgraph->calls.back().name;
  }
  return "";
}

std::optional<OrderJudgement> judge_kept_orders(const CapturedSide& measured, const CapturedSide& expected,
                                                std::size_t output) {
  for (const auto& [side, whose] : {std::pair(&measured, "the measured"), std::pair(&expected, "the expected")}) {
    if (side->request.device != "cpu" || !is_of_torch_alone(side->call.name)) continue;
    const auto order = captured_order(side->captured, output);
    if (!order) continue;
    if (auto broken = judge_own_order(*order, side->call.name, whose)) return broken;
  }
  return std::nullopt;
}

LocalSettings local_settings(const CellRequest& request) {
  const bool is_gpu = request.device != "cpu";
  const Settings settings = settings_of(knobs_of_rank(request));
  const bool keeps_parts_in_fp32 =
      settings.reduced_reduction == PresetSwitch::off ||
      (settings.reduced_reduction == PresetSwitch::of_preset && settings.determinism == Determinism::strict);
  return {is_gpu && settings.tf32, is_gpu || !settings.onednn,
          is_gpu && !(keeps_parts_in_fp32 && !settings.fp16_accumulation), is_gpu ? 0 : settings.threads};
}

std::int64_t capture_bytes(const OperatorRecord& call) {
  constexpr double kBytesPerElement = 24;  // as it is, in fp64, and in fp64 without signs or moved
  double bytes = 0;                        // extents are a worker's word: their product may leave 64 bits
  for (const auto* tensors : {&call.inputs, &call.outputs}) {
    for (const OperatorTensor& tensor : *tensors) {
      double elements = 1;
      for (const std::int64_t extent : tensor.shape) elements *= static_cast<double>(extent);
      bytes += elements * kBytesPerElement;
    }
  }
  return static_cast<std::int64_t>(std::min(bytes, kMostBytes));
}

std::int64_t capture_bytes(const DifferenceSource& source) {
  std::vector<const OperatorRecord*> calls;
  if (source.call) {
    calls.push_back(&source.call->measured);
  } else {
    calls.push_back(&source.region.value().measured.at);
    for (const OperatorRecord& call : source.region->measured.calls) calls.push_back(&call);
  }
  double bytes = 0;
  for (const OperatorRecord* call : calls) bytes += static_cast<double>(capture_bytes(*call));
  return static_cast<std::int64_t>(std::min(bytes, kMostBytes));
}

std::optional<ElementFinding> differing_element(const std::string& name, const TensorView* a, const TensorView* b) {
  if (a == nullptr || b == nullptr || a->dtype != b->dtype || a->shape != b->shape) return std::nullopt;
  const ElementType type = element_type_of(a->dtype);
  const Difference difference = diff(type, a->bytes, b->bytes);
  if (difference.equal_bits()) return std::nullopt;
  const ElementPair& first = *difference.first;
  ElementFinding element{name,
                         a->shape,
                         type,
                         difference.count,
                         difference.differing,
                         difference.first_block,
                         first.index,
                         hex64(first.bits_a),
                         hex64(first.bits_b),
                         element_value(type, first.bits_a),
                         element_value(type, first.bits_b),
                         first.ulp,
                         difference.largest ? difference.largest->ulp : std::nullopt};
  const double rms = std::sqrt(difference.reference_squares / static_cast<double>(difference.count));
  const double apart = std::abs(element.measured - element.expected);
  if (!(rms > 0) || !std::isfinite(apart)) return element;
  element.distance_rms = apart / rms;
  element.max_distance_rms = difference.max_abs / rms;
  return element;
}

void judge_source(DifferenceSource& source, const CellRequest& measured, const CellRequest& expected,
                  const SafetensorsFile& ours, const SafetensorsFile& theirs, std::vector<std::string>& notes) {
  SourceJudge judge(source, measured, expected, ours, theirs);
  if (source.call) {
    judge.judge_call(notes);
  } else {
    judge.judge_outflow();
  }
}

}  // namespace reprobench
