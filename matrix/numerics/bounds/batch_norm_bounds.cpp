#include <charconv>
#include <cmath>

#include "matrix/numerics/bounds/operator_bounds.hpp"

namespace reprobench {
namespace {

// Places of native_batch_norm(x, weight, bias, running mean, running variance, true, momentum, eps), and of what it
// makes: y, mean, 1/sigma, and the two running ones, which it fills. batch_norm takes the same, and whether cuDNN may
// compute it. It makes y and fills the running ones.
enum Input { kX, kWeight, kBias, kOldMean, kOldVariance, kInputs };
enum Output { kY, kMean, kInverse, kNewMean, kNewVariance };
enum WholeOutput { kWholeY, kWholeNewMean, kWholeNewVariance };

// "true, 0.1 (0x3fb999999999999a), 1e-05 (0x3ee4f8b588e368f1)": momentum and epsilon.
struct Constants {
  double momentum = 0;
  double epsilon = 0;
  bool is_known = false;
};

Constants constants_of(const std::string& text) {
  constexpr std::string_view kTraining = "true, ";
  if (!text.starts_with(kTraining)) return {};
  Constants constants;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data() + kTraining.size(), end, constants.momentum);
  const auto comma = text.find(", ", kTraining.size());
  if (first.ec != std::errc() || comma == std::string::npos) return {};
  constants.is_known = std::from_chars(text.data() + comma + 2, end, constants.epsilon).ec == std::errc();
  return constants;
}

// The numbers of one channel, the second dimension.
struct Channels {
  std::size_t count = 0;
  std::size_t inner = 1;  // numbers of a channel that lie side by side
  std::size_t size = 0;   // of one channel

  std::size_t of(std::size_t place) const { return place / inner % count; }
};

Channels channels_of(const CapturedCall& captured, std::size_t numbers) {
  const TensorView* x = captured.tensor("input", kX);
  if (x == nullptr || x->shape.size() < 2 || x->shape[1] <= 0) return {};
  Channels channels{static_cast<std::size_t>(x->shape[1])};
  for (std::size_t i = 2; i < x->shape.size(); ++i) channels.inner *= static_cast<std::size_t>(x->shape[i]);
  channels.size = numbers / channels.count;
  return channels;
}

// The running statistic that the call makes from its own one and the old running one, with four roundings. `own_errors`
// are the errors of its own statistics; how far these are from fp64 is tested where they are outputs.
Doubles running_bound(const CapturedCall& captured, double momentum, const Doubles& old, const Doubles& own,
                      const Doubles& own_errors) {
  Doubles bound;
  for (std::size_t i = 0; i < captured.exact.size(); ++i) {
    const double kept = (1 - momentum) * old[i];
    const double added = momentum * own[i];
    bound.push_back(gamma_n(3) * (std::abs(kept) + std::abs(added)) + std::abs(momentum) * own_errors[i] +
                    std::abs(kept + added - captured.exact[i]));
  }
  return bound;
}

Doubles running_mean(const CapturedCall& captured, const Constants& constants) {
  const Doubles own = captured.values("output", kMean);
  const Doubles old = captured.values("input", kOldMean);
  if (own.size() != captured.exact.size() || old.size() != own.size()) return {};
  return running_bound(captured, constants.momentum, old, own, Doubles(own.size(), 0));
}

// Unbiased: of N numbers by N - 1.
Doubles running_variance(const CapturedCall& captured, const Constants& constants, std::size_t count) {
  const Doubles inverse = captured.values("output", kInverse);
  const Doubles old = captured.values("input", kOldVariance);
  if (inverse.size() != captured.exact.size() || old.size() != inverse.size() || count < 2) return {};
  const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
  Doubles own;
  Doubles errors;
  for (const double r : inverse) {
    own.push_back((1 / (r * r) - constants.epsilon) * unbiased);
    errors.push_back(gamma_n(2 * (2 * kFunctionUlps + 1)) / (r * r) * unbiased);
  }
  return running_bound(captured, constants.momentum, old, own, errors);
}

struct ChannelSums {
  double mean = 0;
  double mean_size = 0;    // of |x|
  double mean_square = 0;  // of x^2
};

std::vector<ChannelSums> channel_sums(const Doubles& x, const Channels& channels) {
  std::vector<ChannelSums> sums(channels.count);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ChannelSums& of = sums[channels.of(i)];
    of.mean += x[i] / static_cast<double>(channels.size);
    of.mean_size += std::abs(x[i]) / static_cast<double>(channels.size);
    of.mean_square += x[i] * x[i] / static_cast<double>(channels.size);
  }
  return sums;
}

// Of each channel, in fp64, and by how much the call's own statistics may be off.
struct Statistics {
  Doubles mean;
  Doubles inverse;  // 1/sigma
  Doubles of_mean;
  Doubles of_variance;
  Doubles of_inverse;  // relative
};

// The mean is a sum; the variance is taken for the difference of two means, the worst way to compute it.
void add_errors(const std::vector<ChannelSums>& sums, const Channels& channels, Statistics& statistics) {
  const auto count = static_cast<double>(channels.size);
  for (std::size_t channel = 0; channel < channels.count; ++channel) {
    const ChannelSums& sum = sums[channel];
    const double inverse = statistics.inverse[channel];
    statistics.of_mean.push_back(gamma_n(count) * sum.mean_size);
    statistics.of_variance.push_back(3 * gamma_n(count + 2) * sum.mean_square);
    statistics.of_inverse.push_back(0.5 * inverse * inverse * statistics.of_variance.back() +
                                    2 * kFunctionUlps * kRoundoff);
  }
}

// The kernels make y as x a + (b - mean a) with a = w / sigma.
Doubles bound_of_y(const CapturedCall& captured, const Doubles& x, const Channels& channels,
                   const Statistics& statistics) {
  const Doubles weight = captured.values("input", kWeight);
  const Doubles bias = captured.values("input", kBias);
  if (weight.size() != channels.count || bias.size() != channels.count) return {};
  Doubles bound;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t channel = channels.of(i);
    const double mean = statistics.mean[channel];
    const double inner = gamma_n(4) * (std::abs(x[i]) + std::abs(mean)) + statistics.of_mean[channel] +
                         std::abs(x[i] - mean) * (statistics.of_inverse[channel] + kRoundoff);
    bound.push_back(std::abs(weight[channel]) * statistics.inverse[channel] * inner +
                    kRoundoff * (std::abs(bias[channel]) + std::abs(captured.exact[i])));
  }
  return bound;
}

// The input of a call in training that has all it needs; `size` is 0 where it has not.
Channels trained_channels(const CapturedCall& captured, const Constants& constants, const Doubles& x) {
  const bool has_all =
      captured.tensor("input", kOldVariance) != nullptr && captured.tensor("input", kInputs) == nullptr;
  return constants.is_known && has_all ? channels_of(captured, x.size()) : Channels{};
}

}  // namespace

Doubles batch_norm(const CapturedCall& captured) {
  const Constants constants = constants_of(captured.call.constants);
  const Doubles x = captured.values("input", kX);
  const Channels channels = trained_channels(captured, constants, x);
  if (channels.size == 0) return {};
  if (captured.output == kNewMean) return running_mean(captured, constants);
  if (captured.output == kNewVariance) return running_variance(captured, constants, channels.size);
  Statistics statistics{captured.values("fp64", kMean), captured.values("fp64", kInverse), {}, {}, {}};
  if (statistics.mean.size() != channels.count || statistics.inverse.size() != channels.count) return {};
  add_errors(channel_sums(x, channels), channels, statistics);
  if (captured.output == kY) return bound_of_y(captured, x, channels, statistics);
  Doubles bound;
  for (std::size_t channel = 0; channel < channels.count; ++channel) {
    bound.push_back(captured.output == kMean
                        ? statistics.of_mean[channel] + kRoundoff * std::abs(statistics.mean[channel])
                        : statistics.of_inverse[channel] * std::abs(statistics.inverse[channel]));
  }
  return bound;
}

// Its statistics are no outputs, so they are made here out of x.
Doubles whole_batch_norm(const CapturedCall& captured) {
  const Constants constants = constants_of(captured.call.constants);
  const Doubles x = captured.values("input", kX);
  const Channels channels = trained_channels(captured, constants, x);
  if (channels.size < 2) return {};
  const auto sums = channel_sums(x, channels);
  Doubles variance(channels.count, 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double centred = x[i] - sums[channels.of(i)].mean;
    variance[channels.of(i)] += centred * centred / static_cast<double>(channels.size);
  }
  Statistics statistics;
  for (std::size_t channel = 0; channel < channels.count; ++channel) {
    statistics.mean.push_back(sums[channel].mean);
    statistics.inverse.push_back(1 / std::sqrt(variance[channel] + constants.epsilon));
  }
  add_errors(sums, channels, statistics);
  if (captured.output == kWholeY) return bound_of_y(captured, x, channels, statistics);
  const bool is_mean = captured.output == kWholeNewMean;
  const Doubles old = captured.values("input", is_mean ? kOldMean : kOldVariance);
  if (old.size() != channels.count || captured.exact.size() != channels.count) return {};
  if (is_mean) return running_bound(captured, constants.momentum, old, statistics.mean, statistics.of_mean);
  const double unbiased = static_cast<double>(channels.size) / static_cast<double>(channels.size - 1);
  Doubles own;
  Doubles errors;
  for (std::size_t channel = 0; channel < channels.count; ++channel) {
    own.push_back(variance[channel] * unbiased);
    errors.push_back(statistics.of_variance[channel] * unbiased);
  }
  return running_bound(captured, constants.momentum, old, own, errors);
}

}  // namespace reprobench
