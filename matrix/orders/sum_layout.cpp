#include "matrix/orders/sum_layout.hpp"

#include <functional>
#include <numeric>

namespace reprobench {
namespace {

// Row-major element of the operand, or -1 where there is none.
std::int64_t element_at(const Operand& operand, const std::vector<std::int64_t>& output,
                        const std::vector<std::int64_t>& term) {
  std::int64_t element = 0;
  for (const OperandAxis& axis : operand.axes) {
    std::int64_t place = axis.offset;
    for (std::size_t i = 0; i < axis.of_output.size(); ++i) place += axis.of_output[i] * output[i];
    for (std::size_t i = 0; i < axis.of_term.size(); ++i) place += axis.of_term[i] * term[i];
    if (place < 0 || place % axis.divisor != 0) return -1;
    place /= axis.divisor;
    if (place >= axis.size) return -1;
    element = element * axis.size + place;
  }
  return element;
}

std::vector<std::int64_t> places_of(std::int64_t element, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> places(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    places[i] = element % shape[i];
    element /= shape[i];
  }
  return places;
}

// To the next place, the last axis fastest. False after the last one.
bool advance(std::vector<std::int64_t>& places, const std::vector<std::int64_t>& sizes) {
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (++places[i] < sizes[i]) return true;
    places[i] = 0;
  }
  return false;
}

}  // namespace

std::int64_t product_of(const std::vector<std::int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t Operand::elements() const {
  std::int64_t count = 1;
  for (const OperandAxis& axis : axes) count *= axis.size;
  return count;
}

std::int64_t SumLayout::elements() const { return product_of(shape); }

std::int64_t SumLayout::most_terms() const { return product_of(sums); }

void SumLayout::terms_of(std::int64_t element, std::vector<SumTerm>& terms) const {
  terms.clear();
  if (most_terms() == 0) return;
  const std::vector<std::int64_t> output = places_of(element, shape);
  std::vector<std::int64_t> place(sums.size(), 0);
  do {
    SumTerm term{element_at(left, output, place), right ? element_at(*right, output, place) : -1};
    if (right && term.right < 0) term.left = -1;
    terms.push_back(term);
  } while (advance(place, sums));
}

std::int64_t SumLayout::bias_of(std::int64_t element) const {
  return bias ? element_at(*bias, places_of(element, shape), std::vector<std::int64_t>(sums.size(), 0)) : -1;
}

SumLayout sum_over(const std::vector<std::int64_t>& shape, const std::vector<bool>& is_summed, bool keeps, int tensor) {
  SumLayout layout;
  std::vector<std::size_t> kept;
  std::vector<std::size_t> summed;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (is_summed[i] ? summed : kept).push_back(i);
    if (is_summed[i]) layout.sums.push_back(shape[i]);
    if (!is_summed[i]) layout.shape.push_back(shape[i]);
    if (is_summed[i] && keeps) layout.shape.push_back(1);
  }
  layout.left.tensor = tensor;
  std::size_t output = 0;
  std::size_t term = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    OperandAxis axis;
    axis.size = shape[i];
    axis.of_output.assign(layout.shape.size(), 0);
    axis.of_term.assign(layout.sums.size(), 0);
    if (is_summed[i]) axis.of_term[term++] = 1;
    if (!is_summed[i]) axis.of_output[output] = 1;
    output += !is_summed[i] || keeps ? 1 : 0;
    layout.left.axes.push_back(std::move(axis));
  }
  return layout;
}

}  // namespace reprobench
