#include "models/layers/rotary.hpp"

#include <cmath>

#include "models/learning_rate.hpp"

namespace reprobench {
namespace {

constexpr double kPi = 0x1.921fb54442d18p+1;

double power(double base, std::int64_t exponent) {
  double result = 1;
  for (std::int64_t i = 0; i < exponent; ++i) result *= base;
  return result;
}

// By halving the interval until no number lies between its ends.
double root(double value, std::int64_t degree) {
  double low = 1;
  double high = value;
  for (double middle = low + (high - low) / 2; middle > low && middle < high; middle = low + (high - low) / 2) {
    (power(middle, degree) > value ? high : low) = middle;
  }
  return low;
}

double scaled(double frequency, const RotaryScaling& scaling) {
  if (scaling.factor == 1) return frequency;
  const double turns = scaling.first_context * frequency / (2 * kPi);  // over the first context
  if (turns > scaling.most_turns) return frequency;
  if (turns < scaling.least_turns) return frequency / scaling.factor;
  const double share = (turns - scaling.least_turns) / (scaling.most_turns - scaling.least_turns);
  return (1 - share) * frequency / scaling.factor + share * frequency;
}

double cosine(double half_turns) {
  const double within = half_turns - 2 * std::floor(half_turns / 2);  // [0, 2)
  return cosine_of_half_turns(within <= 1 ? within : 2 - within);
}

}  // namespace

std::vector<double> rotary_frequencies(const Rotary& rotary) {
  const double ratio = root(rotary.base, rotary.head_width / 2);
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < rotary.head_width / 2; ++i) {
    frequencies.push_back(scaled(1 / power(ratio, i), rotary.scaling));
  }
  return frequencies;
}

RotaryTables rotary_tables(const Rotary& rotary, std::int64_t positions) {
  const std::vector<double> frequencies = rotary_frequencies(rotary);
  RotaryTables tables;
  for (std::int64_t position = 0; position < positions; ++position) {
    for (const double frequency : frequencies) {
      const double half_turns = static_cast<double>(position) * frequency / kPi;
      tables.cosines.push_back(static_cast<float>(cosine(half_turns)));
      tables.sines.push_back(static_cast<float>(cosine(half_turns - 0.5)));
    }
  }
  return tables;
}

}  // namespace reprobench
