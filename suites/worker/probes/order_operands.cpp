#include "suites/worker/probes/order_operands.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include "matrix/orders/order_replay.hpp"
#include "models/initial_values.hpp"
#include "suites/worker/probes/operand_elements.hpp"
#include "suites/worker/probes/single_call.hpp"

namespace reprobench {
namespace {

bool is_pure(const std::vector<std::int64_t>& factors, std::size_t axis) {
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if ((factors[i] != 0) != (i == axis)) return false;
  }
  return axis < factors.size();
}

bool is_zero(const std::vector<std::int64_t>& factors) {
  return std::ranges::all_of(factors, [](std::int64_t factor) { return factor == 0; });
}

// Whether elements along this axis of the output have none of the operand's elements in common.
bool is_disjoint_along(const Operand& operand, std::size_t axis) {
  return std::ranges::any_of(operand.axes, [&](const OperandAxis& one) {
    return is_pure(one.of_output, axis) && is_zero(one.of_term) && one.divisor == 1;
  });
}

// The operand's axis that follows this summed axis and nothing else; -1: none does.
std::int64_t axis_of_sum(const Operand& operand, std::size_t summed) {
  for (std::size_t i = 0; i < operand.axes.size(); ++i) {
    const OperandAxis& axis = operand.axes[i];
    if (is_pure(axis.of_term, summed) && is_zero(axis.of_output) && axis.divisor == 1 && axis.offset == 0) {
      return static_cast<std::int64_t>(i);
    }
  }
  return -1;
}

std::vector<std::int64_t> operand_sizes(const Operand& operand) {
  std::vector<std::int64_t> sizes;
  for (const OperandAxis& axis : operand.axes) sizes.push_back(axis.size);
  return sizes;
}

constexpr std::int64_t kTermsToReplay = 1 << 17;   // of one round, of which there are dozens
constexpr std::int64_t kTermsToPrepare = 1 << 22;  // of all rows that are asked in one call
constexpr double kOffWhole = 0.01;                 // far above the rounding of a mean's count, far below one half

}  // namespace

struct OrderOperands::State {
  const SingleCall& call;
  const SumLayout& layout;
  std::string output;
  std::vector<at::Tensor> tensors;
  at::Tensor made;
  OrderNumbers numbers{};
  OrderNumbers result_numbers{};
  std::vector<double> left, right, bias;  // of the last draw
  // Terms that were taken, as both types that sums are held in.
  std::vector<float> left_fp32, right_fp32;
  std::vector<double> left_fp64, right_fp64;
  mutable std::vector<float> partial_fp32;
  mutable std::vector<double> partial_fp64;
  std::int64_t taken = -1;
  // What the operands are filled for.
  std::optional<Question::Kind> prepared;
  std::vector<std::int64_t> rows;
  std::vector<std::vector<std::int64_t>> places;  // by row
  bool varies_right = false;
  double rest = 0;  // of terms that no question is about
  mutable std::vector<SumTerm> terms;

  State(const SingleCall& of, const SumLayout& as, std::string name)
      : call(of), layout(as), output(std::move(name)), tensors(of.blank_tensors()) {
    at::ScalarType type = at::kFloat;
    for (const at::Tensor& tensor : tensors) {
      if (tensor.is_floating_point()) type = tensor.scalar_type();
    }
    if (seed_is_asked()) tensors.push_back(at::zeros(operand_sizes(layout.left), type));
    numbers = order_numbers(tensor_of(layout.left));
    made = call.run_on(tensors, output);
    result_numbers = order_numbers(made);
  }

  bool seed_is_asked() const { return layout.left.tensor == static_cast<int>(tensors.size()); }
  bool is_fp64() const { return tensors[static_cast<std::size_t>(layout.left.tensor)].scalar_type() == at::kDouble; }
  const at::Tensor& tensor_of(const Operand& operand) const {
    return tensors[static_cast<std::size_t>(operand.tensor)];
  }

  void read_values(const std::vector<at::Tensor>& from) {
    const auto values = [&](const Operand& operand) {
      return plain_values(from.at(static_cast<std::size_t>(operand.tensor)));
    };
    left = values(layout.left);
    right = layout.right ? values(*layout.right) : std::vector<double>();
    bias = layout.bias ? values(*layout.bias) : std::vector<double>();
  }

  void take_existing(std::int64_t element) const {
    layout.terms_of(element, terms);
    std::erase_if(terms, [](const SumTerm& term) { return term.left < 0; });
  }

  // Where the terms of each row lie in the operand that questions vary, and what all others hold meanwhile.
  void prepare(Question::Kind kind, const std::vector<std::int64_t>& of_rows) {
    if (prepared == kind && rows == of_rows) return;
    prepared = kind;
    rows = of_rows;
    varies_right = varied().is_right;
    places.assign(rows.size(), {});
    for (std::size_t row = 0; row < rows.size(); ++row) {
      take_existing(rows[row]);
      for (const SumTerm& term : terms) places[row].push_back(varies_right ? term.right : term.left);
    }
    const bool is_outside = kind == Question::Kind::outside;
    if (layout.right) tensor_of(varies_right ? layout.left : *layout.right).fill_(is_outside ? 1.0 : numbers.tiny);
    rest = is_outside && terms_of_a_row() <= result_numbers.largest ? numbers.one : 0;
    tensor_of(varies_right ? *layout.right : layout.left).fill_(rest);
    if (layout.bias) tensor_of(*layout.bias).fill_(rest);
  }

  std::int32_t terms_of_a_row() const {
    return static_cast<std::int32_t>(places.front().size()) + (layout.bias ? 1 : 0);
  }

  // `plain` is what the bias takes, which has no factor.
  void put(std::size_t row, std::int32_t term, double value, double plain) {
    const auto& of_row = places[row];
    if (term < static_cast<std::int32_t>(of_row.size())) {
      set_element(tensor_of(varies_right ? *layout.right : layout.left), of_row[static_cast<std::size_t>(term)], value);
    } else {
      set_element(tensor_of(*layout.bias), layout.bias_of(rows[row]), plain);
    }
  }

  void put_ones(std::size_t count, std::int32_t from, std::int32_t to, double one) {
    for (std::size_t row = 0; row < count; ++row) {
      for (std::int32_t term = from; term < to; ++term) put(row, term, one, one);
    }
  }

  void put_pair(const Question& question, std::size_t row) {
    const bool is_outside = question.kind == Question::Kind::outside;
    const double value = is_outside ? numbers.huge : numbers.tiny;
    const double square = numbers.tiny * numbers.tiny;
    const double rounded = is_fp64() ? square : static_cast<double>(static_cast<float>(square));
    const double plain = is_outside ? numbers.huge : rounded;
    put(row, question.first, value, plain);
    put(row, question.second, -value, -plain);
  }

  void take_back(const Question& question, std::size_t row, bool in_parts) {
    const double value = in_parts ? 0 : rest;
    put(row, question.first, value, value);
    put(row, question.second, value, value);
  }

  // A mean divides, and rounds once more.
  double as_count(double made_of_it) const {
    const double count = made_of_it / numbers.one * static_cast<double>(layout.divisor);
    const double whole = std::round(count);
    return layout.divisor != 1 && std::abs(count - whole) <= kOffWhole ? whole : count;
  }

  // Which operand a question varies: the one that elements along some axis do not share. `axis`: that one.
  struct Varied {
    bool is_right = false;
    std::optional<std::size_t> axis;
  };
  Varied varied() const {
    Varied best;
    std::int64_t most = 1;
    for (std::size_t axis = 0; axis < layout.shape.size(); ++axis) {
      if (layout.shape[axis] <= most || (layout.bias && !is_disjoint_along(*layout.bias, axis))) continue;
      for (const bool is_right : {false, true}) {
        if (is_right && !layout.right) continue;
        if (!is_disjoint_along(is_right ? *layout.right : layout.left, axis)) continue;
        best = {is_right, axis};
        most = layout.shape[axis];
      }
    }
    return best;
  }
};

OrderOperands::OrderOperands(const SingleCall& call, const SumLayout& layout, std::string output)
    : state_(std::make_unique<State>(call, layout, std::move(output))) {}

OrderOperands::~OrderOperands() = default;

bool OrderOperands::has_rounded_products() const { return state_->numbers.tiny != 0; }

std::int64_t OrderOperands::terms_at(std::int64_t element) const {
  state_->take_existing(element);
  return static_cast<std::int64_t>(state_->terms.size()) + (state_->layout.bias ? 1 : 0);
}

std::vector<std::int64_t> OrderOperands::independent_of(std::int64_t element) const {
  std::vector<std::int64_t> rows = {element};
  const State::Varied varied = state_->varied();
  if (!varied.axis) return rows;
  const auto& shape = state_->layout.shape;
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > *varied.axis + 1;) stride *= shape[axis];
  const std::int64_t size = std::min(
      shape[*varied.axis], std::max<std::int64_t>(1, kTermsToPrepare / std::max<std::int64_t>(1, terms_at(element))));
  const std::int64_t place = element / stride % shape[*varied.axis];
  for (std::int64_t other = 0; other < size; ++other) {
    if (other != place) rows.push_back(element + (other - place) * stride);
  }
  return rows;
}

std::vector<double> OrderOperands::answers(std::span<const Question> questions, const std::vector<std::int64_t>& rows) {
  State& state = *state_;
  const Question::Kind kind = questions.front().kind;
  state.prepare(kind, rows);
  const std::int32_t terms = state.terms_of_a_row();
  const std::int32_t part = std::min<std::int32_t>(terms, state.result_numbers.largest);
  const bool in_parts = kind == Question::Kind::outside && part < terms;
  std::vector<double> answers(questions.size(), 0);
  for (std::int32_t from = 0; from < (in_parts ? terms : 1); from += part) {
    const std::int32_t to = std::min(terms, from + part);
    if (in_parts) state.put_ones(questions.size(), from, to, state.numbers.one);
    for (std::size_t row = 0; row < questions.size(); ++row) state.put_pair(questions[row], row);
    const at::Tensor made = state.call.run_on(state.tensors, state.output);
    for (std::size_t row = 0; row < questions.size(); ++row) {
      answers[row] += element_of(made, rows[row]);
      state.take_back(questions[row], row, in_parts);
    }
    if (in_parts) state.put_ones(questions.size(), from, to, 0);
  }
  if (kind == Question::Kind::outside) {
    for (double& answer : answers) answer = state.as_count(answer);
  }
  return answers;
}

std::vector<std::int64_t> OrderOperands::elements_to_check(std::int64_t first) const {
  const SumLayout& layout = state_->layout;
  const std::int64_t all = layout.elements();
  const std::int64_t most = std::max<std::int64_t>(64, kTermsToReplay / std::max<std::int64_t>(1, layout.most_terms()));
  std::vector<std::int64_t> chosen = {first};
  if (all <= most) {
    for (std::int64_t element = 0; element < all; ++element) chosen.push_back(element);
  } else {
    std::int64_t stride = 1;
    for (std::size_t axis = layout.shape.size(); axis-- > 0;) {
      const std::int64_t size = layout.shape[axis];
      const std::int64_t place = first / stride % size;
      const std::int64_t step = std::max<std::int64_t>(1, size / 12);
      const auto at = [&](std::int64_t other) { chosen.push_back(first + (other - place) * stride); };
      for (std::int64_t other = 0; other < size; other += step) at(other);
      for (std::int64_t other = std::max<std::int64_t>(0, size - 4); other < size; ++other) at(other);
      stride *= size;
    }
    chosen.push_back(0);
    chosen.push_back(all - 1);
    while (static_cast<std::int64_t>(chosen.size()) < most) {
      const PhiloxBlock drawn = keyed_block(0, 0, 0, chosen.size());
      const std::uint64_t number = (static_cast<std::uint64_t>(drawn.word[0]) << 32) | drawn.word[1];
      chosen.push_back(static_cast<std::int64_t>(number % static_cast<std::uint64_t>(all)));
    }
  }
  std::sort(chosen.begin() + 1, chosen.end());
  chosen.erase(std::unique(chosen.begin() + 1, chosen.end()), chosen.end());
  const auto again = std::find(chosen.begin() + 1, chosen.end(), first);
  if (again != chosen.end()) chosen.erase(again);
  return chosen;
}

void OrderOperands::draw(std::uint64_t seed, std::int64_t round, bool cancels) {
  State& state = *state_;
  const SumLayout& layout = state.layout;
  const auto fill = [&](const Operand& operand, const char* name, double scale) {
    const at::Tensor& tensor = state.tensor_of(operand);
    tensor.copy_(random_operand(tensor, seed, "order#" + std::to_string(round) + name, !cancels).mul_(scale));
  };
  fill(layout.left, "#left", 1);
  if (layout.right) fill(*layout.right, "#right", 1);
  if (layout.bias) fill(*layout.bias, "#bias", cancels ? 0x1p-12 : 1);
  for (std::size_t summed = 0; cancels && summed < layout.sums.size(); ++summed) {
    const std::int64_t half = layout.sums[summed] / 2;
    const std::int64_t of_left = axis_of_sum(layout.left, summed);
    const std::int64_t of_right = layout.right ? axis_of_sum(*layout.right, summed) : 0;
    if (half == 0 || of_left < 0 || of_right < 0) continue;
    const at::Tensor left = state.tensor_of(layout.left).view(operand_sizes(layout.left));
    left.narrow(of_left, half, half).copy_(left.narrow(of_left, 0, half).neg());
    left.narrow(of_left, 2 * half, layout.sums[summed] - 2 * half).fill_(0);
    if (layout.right) {
      const at::Tensor right = state.tensor_of(*layout.right).view(operand_sizes(*layout.right));
      right.narrow(of_right, half, half).copy_(right.narrow(of_right, 0, half));
    }
    break;
  }
  state.prepared.reset();
  state.made = state.call.run_on(state.tensors, state.output);
  state.read_values(state.tensors);
}

void OrderOperands::take_recorded(const std::vector<at::Tensor>& tensors, const at::Tensor& made) {
  state_->made = made.to(at::kCPU);
  state_->read_values(tensors);
}

bool OrderOperands::take_terms(std::int64_t element, std::int64_t terms) {
  State& state = *state_;
  const SumLayout& layout = state.layout;
  layout.terms_of(element, state.terms);
  const std::int64_t plain = layout.bias ? 1 : 0;
  if (terms != static_cast<std::int64_t>(state.terms.size()) + plain) {
    std::erase_if(state.terms, [](const SumTerm& term) { return term.left < 0; });
    if (terms != static_cast<std::int64_t>(state.terms.size()) + plain) return false;
  }
  const auto take = [&](auto& left, auto& right) {
    left.clear();
    right.clear();
    using Value = typename std::remove_reference_t<decltype(left)>::value_type;
    for (const SumTerm& term : state.terms) {
      const bool exists = term.left >= 0;
      left.push_back(exists ? static_cast<Value>(state.left[static_cast<std::size_t>(term.left)]) : Value{0});
      if (layout.right)
        right.push_back(exists ? static_cast<Value>(state.right[static_cast<std::size_t>(term.right)]) : Value{0});
    }
    if (plain == 1) {
      left.push_back(static_cast<Value>(state.bias[static_cast<std::size_t>(layout.bias_of(element))]));
      if (layout.right) right.push_back(Value{1});
    }
  };
  if (state.is_fp64()) {
    take(state.left_fp64, state.right_fp64);
  } else {
    take(state.left_fp32, state.right_fp32);
  }
  state.taken = element;
  return true;
}

bool OrderOperands::replays(const SummationTree& order, SumEnd end) const {
  const State& state = *state_;
  const double made = element_of(state.made, state.taken);
  const std::int64_t plain_from = static_cast<std::int64_t>(state.terms.size());
  double again = 0;
  if (state.is_fp64()) {
    again = sum_in_order<double>(
        order, {state.left_fp64, state.right_fp64, plain_from, end, static_cast<double>(state.layout.divisor)},
        state.partial_fp64);
  } else {
    const float sum = sum_in_order<float>(
        order, {state.left_fp32, state.right_fp32, plain_from, end, static_cast<float>(state.layout.divisor)},
        state.partial_fp32);
    again = sum;
    if (state.made.scalar_type() == at::kBFloat16) again = c10::BFloat16(sum);
    if (state.made.scalar_type() == at::kHalf) again = c10::Half(sum);
  }
  return again == made || (std::isnan(again) && std::isnan(made));
}

}  // namespace reprobench
