// The forward pass of a batch normalisation, and the running statistics that it fills.
#include <cmath>

#include "ci/catch.hpp"
#include "matrix/numerics/bounds/captured_call_fixture.hpp"

namespace reprobench {
namespace {

// What it makes, in the arithmetic of T.
template <class T>
struct NormResults {
  std::vector<T> y, mean, inverse, new_mean, new_variance;
};

constexpr std::size_t kBatch = 8;
constexpr std::size_t kChannels = 4;
constexpr std::size_t kInner = 32;
constexpr std::size_t kOfChannel = kBatch * kInner;

std::size_t place(std::size_t channel, std::size_t i) {
  return (i / kInner * kChannels + channel) * kInner + i % kInner;
}

struct NormFault {
  bool is_biased = false;
  double momentum = 0.1;
  double scale = 1;  // of y and of the statistics of the batch
};

template <class T>
NormResults<T> normalised_batch(const std::vector<T>& x, const std::vector<T>& weight, const std::vector<T>& bias,
                                const std::vector<T>& old_mean, const std::vector<T>& old_variance, NormFault fault) {
  NormResults<T> made;
  made.y.resize(x.size());
  const T count = static_cast<T>(kOfChannel);
  const T momentum = static_cast<T>(fault.momentum);
  for (std::size_t c = 0; c < kChannels; ++c) {
    T sum = 0;
    for (std::size_t i = 0; i < kOfChannel; ++i) sum += x[place(c, i)];
    const T mean = sum / count;
    T squares = 0;
    for (std::size_t i = 0; i < kOfChannel; ++i) squares += (x[place(c, i)] - mean) * (x[place(c, i)] - mean);
    const T inverse = 1 / std::sqrt(squares / count + static_cast<T>(1e-5));
    const T scale = static_cast<T>(fault.scale);
    made.mean.push_back(mean * scale);
    made.inverse.push_back(inverse * scale);
    const T alpha = inverse * weight[c];
    const T beta = bias[c] - mean * alpha;
    for (std::size_t i = 0; i < kOfChannel; ++i) made.y[place(c, i)] = (x[place(c, i)] * alpha + beta) * scale;
    made.new_mean.push_back(momentum * mean + (1 - momentum) * old_mean[c]);
    made.new_variance.push_back(momentum * squares / (count - (fault.is_biased ? 0 : 1)) +
                                (1 - momentum) * old_variance[c]);
  }
  return made;
}

constexpr const char* kConstants = "true, 0.1 (0x3fb999999999999a), 1e-05 (0x3ee4f8b588e368f1)";

// What a call takes, makes, and would make in fp64.
struct NormCall {
  explicit NormCall(NormFault fault) {
    for (float& value : x) value += 1.5F;
    made = normalised_batch<float>(x, inputs[0], inputs[1], inputs[2], inputs[3], fault);
    exact = normalised_batch<double>(as<double>(x), as<double>(inputs[0]), as<double>(inputs[1]), as<double>(inputs[2]),
                                     as<double>(inputs[3]), {});
  }
  // With x, the inputs up to that one, and y.
  Capture capture(const std::string& name, const char* constants, std::size_t last_input) const {
    Capture capture(name, constants);
    capture.single("input.0", kShape, x);
    for (std::size_t i = 1; i <= last_input; ++i) {
      capture.single("input." + std::to_string(i), {kChannels}, inputs[i - 1]);
    }
    capture.single("output.0", kShape, made.y).exact("fp64.0", kShape, exact.y);
    return capture;
  }

  inline static const Shape kShape{kBatch, kChannels, kInner};
  Singles x = numbers(kBatch * kChannels * kInner, 21);
  Singles inputs[4] = {{1, 0.5F, 2, 1}, {0, 0.25F, -1, 3}, {0, 1, 2, -1}, {1, 1.5F, 0.75F, 2}};
  NormResults<float> made;
  NormResults<double> exact;
};

void add_channels(Capture& capture, const char* number, const Singles& ours, const Exact& theirs) {
  capture.single(std::string("output.") + number, {kChannels}, ours);
  capture.exact(std::string("fp64.") + number, {kChannels}, theirs);
}

std::optional<LocalError> norm_error(std::size_t output, NormFault fault, const char* constants = kConstants,
                                     std::size_t last_input = 4) {
  const NormCall call(fault);
  Capture capture = call.capture("aten::native_batch_norm", constants, last_input);
  add_channels(capture, "1", call.made.mean, call.exact.mean);
  add_channels(capture, "2", call.made.inverse, call.exact.inverse);
  add_channels(capture, "3", call.made.new_mean, call.exact.new_mean);
  add_channels(capture, "4", call.made.new_variance, call.exact.new_variance);
  return capture.error(output);
}

double norm_bound_share(std::size_t output, NormFault fault) { return norm_error(output, fault)->of_bound.value(); }

TEST_CASE("what a batch normalisation makes and fills stays within its bounds", "[local]") {
  for (const std::size_t output : {0, 1, 2, 3, 4}) {
    CAPTURE(output);
    CHECK(norm_bound_share(output, {}) < 1);
    CHECK(norm_bound_share(output, {}) > 0.0001);
  }
}

TEST_CASE("statistics and a result that are off by a hundredth are beyond their bounds", "[local]") {
  for (const std::size_t output : {0, 1, 2}) {
    CAPTURE(output);
    CHECK(norm_bound_share(output, {false, 0.1, 1.01}) > 1);
  }
}

TEST_CASE("a variance by N and not N - 1, and another momentum, are beyond the bound of what they fill", "[local]") {
  CHECK(norm_bound_share(4, {true, 0.1, 1}) > 100);
  CHECK(norm_bound_share(3, {true, 0.1, 1}) < 1);
  CHECK(norm_bound_share(3, {false, 0.1001, 1}) > 10);
  CHECK(norm_bound_share(4, {false, 0.1001, 1}) > 10);
  for (const std::size_t output : {0, 1, 2}) CHECK(norm_bound_share(output, {true, 0.2, 1}) < 1);
}

TEST_CASE("a batch normalisation by running statistics, or without weights, has no bound", "[local]") {
  for (const std::size_t output : {0, 1, 2, 3, 4}) {
    CAPTURE(output);
    CHECK(norm_error(output, {})->of_bound);
    CHECK_FALSE(norm_error(output, {}, "false, 0.1, 1e-05")->of_bound);
    CHECK_FALSE(norm_error(output, {}, "true, none, 1e-05")->of_bound);
    CHECK_FALSE(norm_error(output, {}, "true, 0.1")->of_bound);
    CHECK_FALSE(norm_error(output, {}, kConstants, 2)->of_bound);
  }
}

// As a model calls it: y, and the running statistics that it fills.
std::optional<LocalError> whole_error(std::size_t output, NormFault fault, const char* constants,
                                      std::size_t last_input = 4, float added = 0) {
  NormCall call(fault);
  for (float& value : call.made.y) value += added;
  Capture capture = call.capture("aten::batch_norm", constants, last_input);
  add_channels(capture, "1", call.made.new_mean, call.exact.new_mean);
  add_channels(capture, "2", call.made.new_variance, call.exact.new_variance);
  return capture.error(output);
}

constexpr const char* kWholeConstants = "true, 0.1 (0x3fb999999999999a), 1e-05 (0x3ee4f8b588e368f1), true";

TEST_CASE("a batch normalisation as a model calls it has the bounds of the call within it", "[local]") {
  const auto share = [](std::size_t output, NormFault fault) {
    return whole_error(output, fault, kWholeConstants)->of_bound.value();
  };
  for (const std::size_t output : {0, 1, 2}) {
    CAPTURE(output);
    CHECK(share(output, {}) < 1);
    CHECK(share(output, {}) > 0.0001);
    CHECK_FALSE(whole_error(output, {}, "false, 0.1, 1e-05, true")->of_bound);
    CHECK_FALSE(whole_error(output, {}, kWholeConstants, 2)->of_bound);
  }
  CHECK(share(0, {false, 0.1, 1.001}) > 1);
  CHECK(whole_error(0, {}, kWholeConstants, 4, 1e-3F)->of_bound.value() > 1);
  CHECK(share(0, {true, 0.2, 1}) < 1);
  CHECK(share(1, {false, 0.1001, 1}) > 1);
  CHECK(share(2, {false, 0.1001, 1}) > 1);
  CHECK(share(2, {true, 0.1, 1}) > 1);
  CHECK(share(1, {true, 0.1, 1}) < 1);
}

TEST_CASE("running statistics of an input that is not on record, or has no channels, have no bound", "[local]") {
  // All that they are made from is there: the old ones, and those of the batch.
  const auto has_bound = [](std::size_t output, const Shape& shape) {
    Capture capture("aten::native_batch_norm", kConstants);
    if (!shape.empty()) capture.single("input.0", shape, {1, -1, 2, 0});
    const std::string place = std::to_string(output);
    for (const char* input : {"input.1", "input.2", "input.3", "input.4"}) capture.single(input, {2}, {1, 1});
    capture.single("output.1", {2}, {0, 1}).single("output.2", {2}, {1, 1});
    capture.single("output." + place, {2}, {1, 1}).exact("fp64." + place, {2}, {1, 1});
    return capture.error(output)->of_bound.has_value();
  };
  for (const std::size_t output : {3, 4}) {
    CAPTURE(output);
    CHECK(has_bound(output, {2, 2}));
    CHECK_FALSE(has_bound(output, {}));
    CHECK_FALSE(has_bound(output, {4}));
  }
}

}  // namespace
}  // namespace reprobench
