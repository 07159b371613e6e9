// Attention as LibTorch's kernel for CPUs carries it out in 16 bits: everything in fp32 but for what it stores, which
// is the weights and their gradients before they are multiplied, and sums after each block of queries.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "ci/catch.hpp"
#include "matrix/numerics/bounds/captured_call_fixture.hpp"

namespace reprobench::sixteen_bit_attention {
namespace {

constexpr const char* kForward = "aten::_scaled_dot_product_flash_attention_for_cpu";
constexpr const char* kBackward = "aten::_scaled_dot_product_flash_attention_for_cpu_backward";
constexpr const char* kCausal = "0 (0x0000000000000000), true, none, none";
constexpr std::size_t kQueries = 80;
constexpr std::size_t kWidth = 16;
constexpr std::size_t kNever = 1000;

// What a kernel may do otherwise than LibTorch's.
struct Kernel {
  bool stores_weights = true;
  bool stores_scores = false;        // before their softmax
  bool stores_each_sum = false;      // after every key forward, every query backward
  bool stores_twice = false;         // what is multiplied: by way of a value between
  double exponential = 0;            // what every second one is off by
  double scale = 0.25;               // of scores
  std::size_t without_key = kNever;  // which is left out of every sum
  bool takes_off_the_output = true;  // sum g o, of the gradient of a weight
  std::size_t block_of_queries = 32;
};

// Of one head.
struct Case {
  Half half;
  Singles q, k, v, g;

  explicit Case(const Half& of, unsigned seed = 1)
      : half(of), q(held(seed)), k(held(seed + 1)), v(held(seed + 2)), g(held(seed + 3)) {}

 private:
  Singles held(unsigned seed) const {
    Singles values = numbers(kQueries * kWidth, seed);
    for (float& value : values) value = static_cast<float>(half.rounded(value));
    return values;
  }
};

template <class T>
struct Made {
  std::vector<T> o, log_sum, dq, dk, dv;
};

// In fp64 nothing is rounded to 16 bits.
template <class T>
T stored(T value, const Half& half, bool is_stored) {
  return is_stored && sizeof(T) == sizeof(float) ? static_cast<T>(half.rounded(value)) : value;
}

template <class T>
std::vector<T> scores_of(const Case& of, const Kernel& kernel, std::size_t i) {
  std::vector<T> scores;
  for (std::size_t j = 0; j <= i; ++j) {
    T score = 0;
    for (std::size_t d = 0; d < kWidth; ++d) score += T(of.q[i * kWidth + d]) * T(of.k[j * kWidth + d]);
    scores.push_back(stored(score * static_cast<T>(kernel.scale), of.half, kernel.stores_scores));
  }
  return scores;
}

template <class T>
Made<T> attention(const Case& of, const Kernel& kernel) {
  Made<T> made{std::vector<T>(of.q.size()), {}, {}, {}, {}};
  for (std::size_t i = 0; i < kQueries; ++i) {
    const std::vector<T> scores = scores_of<T>(of, kernel, i);
    const T largest = *std::max_element(scores.begin(), scores.end());
    T* o = made.o.data() + i * kWidth;
    T sum = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      if (j == kernel.without_key && i > 0) continue;
      const T weight =
          std::exp(scores[j] - largest) * static_cast<T>(1 + (j % 2 == 0 ? kernel.exponential : -kernel.exponential));
      sum += weight;
      for (std::size_t d = 0; d < kWidth; ++d) {
        o[d] += stored(weight, of.half, kernel.stores_weights) * T(of.v[j * kWidth + d]);
        o[d] = stored(o[d], of.half, kernel.stores_each_sum);
      }
    }
    for (std::size_t d = 0; d < kWidth; ++d) o[d] /= sum;
    made.log_sum.push_back(largest + std::log(sum));
  }
  return made;
}

// Out of o as it is stored, and the logarithms of sums in fp32.
template <class T>
void add_gradients(const Case& of, const Kernel& kernel, const Made<float>& forward, Made<T>& made) {
  made.dq.resize(of.q.size());
  made.dk.resize(of.k.size());
  made.dv.resize(of.v.size());
  const auto twice = [&](T value) {
    const T once = stored(value, of.half, kernel.stores_weights);
    return kernel.stores_twice ? stored(once * T(3), of.half, true) / T(3) : once;
  };
  for (std::size_t i = 0; i < kQueries; ++i) {
    const std::vector<T> scores = scores_of<T>(of, kernel, i);
    const float* g = of.g.data() + i * kWidth;
    T delta = 0;
    for (std::size_t d = 0; d < kWidth; ++d) {
      delta += T(g[d]) * static_cast<T>(of.half.rounded(forward.o[i * kWidth + d]));
    }
    for (std::size_t j = 0; j <= i; ++j) {
      if (j == kernel.without_key) continue;
      T gradient = 0;
      for (std::size_t d = 0; d < kWidth; ++d) gradient += T(g[d]) * T(of.v[j * kWidth + d]);
      const T p = std::exp(scores[j] - T(forward.log_sum[i]));
      const T of_score = twice(p * (gradient - (kernel.takes_off_the_output ? delta : T(0))));
      for (std::size_t d = 0; d < kWidth; ++d) {
        made.dv[j * kWidth + d] += twice(p) * T(g[d]);
        made.dq[i * kWidth + d] += static_cast<T>(kernel.scale) * of_score * T(of.k[j * kWidth + d]);
        made.dk[j * kWidth + d] += static_cast<T>(kernel.scale) * of_score * T(of.q[i * kWidth + d]);
      }
    }
    const std::size_t block = kernel.stores_each_sum ? 1 : kernel.block_of_queries;
    if ((i + 1) % block != 0 && i + 1 != kQueries) continue;
    for (T& value : made.dv) value = stored(value, of.half, true);
    for (T& value : made.dk) value = stored(value, of.half, true);
  }
}

constexpr std::int64_t kLength = kQueries;
const Shape kOneHead{1, 1, kLength, kWidth};

Capture with_inputs(const char* name, const Case& of, const Shape& shape = kOneHead) {
  const bool is_backward = name == kBackward;
  Capture capture(name, kCausal);
  if (is_backward) capture.halves(of.half.dtype, "input.0", shape, as<double>(of.g));
  int place = is_backward ? 1 : 0;
  for (const Singles* values : {&of.q, &of.k, &of.v}) {
    capture.halves(of.half.dtype, "input." + std::to_string(place++), shape, as<double>(*values));
  }
  return capture;
}

double share_forward(const Case& of, const Kernel& kernel) {
  const Shape shape{1, 1, kQueries, kWidth};
  return with_inputs(kForward, of)
      .exact("fp64.0", shape, attention<double>(of, {}).o)
      .halves(of.half.dtype, "output.0", shape, as<double>(attention<float>(of, kernel).o))
      .of_bound();
}

double share_of_log_sum(const Case& of, const Kernel& kernel) {
  const Shape shape{1, 1, kQueries};
  return with_inputs(kForward, of)
      .exact("fp64.1", shape, attention<double>(of, {}).log_sum)
      .single("output.1", shape, attention<float>(of, kernel).log_sum)
      .of_bound(1);
}

// What a backward pass takes of the forward one, and makes.
struct BackwardPass {
  Made<float> forward, made;
  Made<double> exact;
};

BackwardPass backward_pass(const Case& of, const Kernel& kernel) {
  BackwardPass pass{attention<float>(of, {}), {}, {}};
  add_gradients(of, {}, pass.forward, pass.exact);
  add_gradients(of, kernel, pass.forward, pass.made);
  return pass;
}

Exact shares_backward(const Case& of, const BackwardPass& pass, const Shape& shape = kOneHead) {
  Capture capture = with_inputs(kBackward, of, shape);
  capture.halves(of.half.dtype, "input.4", shape, as<double>(pass.forward.o));
  capture.single("input.5", {shape[0], shape[1], shape[2]}, pass.forward.log_sum);
  const Exact* exacts[] = {&pass.exact.dq, &pass.exact.dk, &pass.exact.dv};
  const Singles* singles[] = {&pass.made.dq, &pass.made.dk, &pass.made.dv};
  Exact shares;
  for (std::size_t output = 0; output < 3; ++output) {
    const std::string place = std::to_string(output);
    capture.exact("fp64." + place, shape, *exacts[output]);
    capture.halves(of.half.dtype, "output." + place, shape, as<double>(*singles[output]));
    shares.push_back(capture.of_bound(output));
  }
  return shares;
}

Exact shares_backward(const Case& of, const Kernel& kernel) { return shares_backward(of, backward_pass(of, kernel)); }

TEST_CASE("attention in 16 bits stays within its bound with weights that are stored, and without",
          "[local][attention]") {
  const Case of(GENERATE(kBf16, kFp16));
  CAPTURE(of.half.dtype);
  CHECK(share_forward(of, {}) < 1);
  CHECK(share_forward(of, {}) > 0.4);
  CHECK(share_forward(of, {.stores_weights = false}) < 1);
  CHECK(share_forward(of, {.exponential = 0.9 * 0x1p-13}) < 1);
}

TEST_CASE("attention in 16 bits leaves its bound with scores or each sum stored, a key left out or a scale off",
          "[local][attention]") {
  const Case of(GENERATE(kBf16, kFp16));
  CAPTURE(of.half.dtype);
  CHECK(share_forward(of, {.stores_scores = true}) > 1);
  CHECK(share_forward(of, {.stores_each_sum = true}) > 1);
  CHECK(share_forward(of, {.without_key = 40}) > 1);
  CHECK(share_forward(of, {.scale = 0.25 * (1 + 2 * of.half.roundoff)}) > 1);
}

TEST_CASE("the logarithm of a sum out of 16 bits is of fp32, with an exponential that is off by 2^-13",
          "[local][attention]") {
  const Case of(GENERATE(kBf16, kFp16));
  CAPTURE(of.half.dtype);
  CHECK(share_of_log_sum(of, {}) < 0.1);
  CHECK(share_of_log_sum(of, {.exponential = 0.9 * 0x1p-13}) < 1);
  CHECK(share_of_log_sum(of, {.exponential = 0.9 * 0x1p-13}) > 0.7);
  CHECK(share_of_log_sum(of, {.exponential = 1.5 * 0x1p-13}) > 1);
  CHECK(share_of_log_sum(of, {.stores_scores = true}) > 1);
}

TEST_CASE("gradients of attention in 16 bits stay within their bounds, stored after each block of queries",
          "[local][attention]") {
  const Case of(GENERATE(kBf16, kFp16));
  const std::size_t block = GENERATE(32U, 64U, 256U);
  CAPTURE(of.half.dtype, block);
  const Exact shares = shares_backward(of, {.block_of_queries = block});
  for (const double share : shares) {
    CHECK(share < 1);
    CHECK(share > 0.2);
  }
}

TEST_CASE("gradients of attention in 16 bits leave their bounds with a defect", "[local][attention]") {
  struct Defect {
    Kernel kernel;
    bool of_dq, of_dk, of_dv;
  };
  const Case of(GENERATE(kBf16, kFp16));
  const auto [kernel, of_dq, of_dk, of_dv] = GENERATE_COPY(
      Defect{{.stores_scores = true}, true, true, true}, Defect{{.stores_each_sum = true}, false, true, true},
      Defect{{.scale = 0.25 * (1 + 4 * of.half.roundoff)}, true, true, true},
      Defect{{.without_key = 40}, true, true, true}, Defect{{.takes_off_the_output = false}, true, true, false});
  CAPTURE(of.half.dtype, kernel.stores_scores, kernel.stores_each_sum, kernel.scale, kernel.without_key);
  const Exact shares = shares_backward(of, kernel);
  CHECK((shares[0] > 1) == of_dq);
  CHECK((shares[1] > 1) == of_dk);
  CHECK((shares[2] > 1) == of_dv);
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

TEST_CASE("each head of each sample of a batch has the bound that it has alone", "[local][attention]") {
  // Two samples of two heads. The gradients of one head are off by more than those of all others, so it gives the
  // share.
  const unsigned farthest = GENERATE(0U, 1U, 2U, 3U);
  CAPTURE(farthest);
  const Shape shape{2, 2, kLength, kWidth};
  Case all(kBf16);
  for (Singles* values : {&all.q, &all.k, &all.v, &all.g}) values->clear();
  BackwardPass passes;
  Exact alone;
  for (unsigned head = 0; head < 4; ++head) {
    const Case of(kBf16, 1 + 4 * head);
    const BackwardPass pass = backward_pass(of, {.without_key = head == farthest ? 40 : kNever});
    if (head == farthest) alone = shares_backward(of, pass);
    append(all.q, of.q), append(all.k, of.k), append(all.v, of.v), append(all.g, of.g);
    append(passes.forward.o, pass.forward.o), append(passes.forward.log_sum, pass.forward.log_sum);
    append(passes.made.dq, pass.made.dq), append(passes.made.dk, pass.made.dk), append(passes.made.dv, pass.made.dv);
    append(passes.exact.dq, pass.exact.dq), append(passes.exact.dk, pass.exact.dk);
    append(passes.exact.dv, pass.exact.dv);
  }
  const Exact together = shares_backward(all, passes, shape);
  for (std::size_t output = 0; output < 3; ++output) CHECK(together[output] == Approx(alone[output]));
}

TEST_CASE("one key and one query in 16 bits have the roundings of what is stored", "[local][attention]") {
  // p = 1, v = 2, o = 1, g = 3, q = k = 1: ds = 6 - 3 = 3, dv = 3. In bf16 p is stored, ds is, and each sum is, once.
  const double u = 0x1p-8;
  const double in_fp32 = gamma_n(1 + 5) + 0x1p-24 * (2 * (1 + 1) + 40);
  const double second_order = 1 + 0x1p-5;
  const double computed = second_order * (in_fp32 * 3 + gamma_n(2) * (6 + 3) + 2 * 0x1p-24 * (6 + 3));
  const double of_score = computed + u * (3 + computed);
  const double of_key = of_score + gamma_n(4) * (3 + of_score);
  const double of_value = 3 * second_order * (in_fp32 + gamma_n(4) + u);
  const double bounds[] = {of_key + u * (3 + of_key), of_key + u * (3 + of_key), of_value + u * (3 + of_value)};
  const Shape one{1, 1, 1, 1};
  for (std::size_t output = 0; output < 3; ++output) {
    CAPTURE(output);
    Capture capture(kBackward, "0 (0x0000000000000000), false, none, 1 (0x3ff0000000000000)");
    capture.halves("BF16", "input.0", one, {3}).halves("BF16", "input.1", one, {1}).halves("BF16", "input.2", one, {1});
    capture.halves("BF16", "input.3", one, {2}).halves("BF16", "input.4", one, {1}).single("input.5", {1, 1, 1}, {1});
    const std::string place = std::to_string(output);
    capture.exact("fp64." + place, one, {3}).halves("BF16", "output." + place, one, {3 + 0x1p-5});
    CHECK(capture.of_bound(output) == Approx(0x1p-5 / bounds[output]).epsilon(1e-9));
  }
}

TEST_CASE("a gradient of queries is stored after each 512 keys", "[local][attention]") {
  // 513 keys of score 0, with values that make each gradient of a score 1 / 4: dq is stored twice, of nothing and of
  // the last key at its end.
  const auto share = [](std::int64_t keys) {
    const auto count = static_cast<std::size_t>(keys);
    Capture capture(kBackward, "0 (0x0000000000000000), false, none, 1 (0x3ff0000000000000)");
    Exact k(count, 0);
    k.front() = 1;  // the first key alone adds to dq
    capture.halves("BF16", "input.0", {1, 1, 1, 1}, {1}).halves("BF16", "input.1", {1, 1, 1, 1}, {0});
    capture.halves("BF16", "input.2", {1, 1, keys, 1}, k).halves("BF16", "input.3", {1, 1, keys, 1}, Exact(count, 1));
    capture.halves("BF16", "input.4", {1, 1, 1, 1}, {0}).single("input.5", {1, 1, 1}, {0});
    capture.exact("fp64.0", {1, 1, 1, 1}, {1}).halves("BF16", "output.0", {1, 1, 1, 1}, {1 + 0x1p-7});
    return capture.of_bound();
  };
  CHECK(share(512) == Approx(0x1p-7 / (2 * 0x1p-8)).epsilon(0.01));  // of ds and of dq
  CHECK(share(513) == Approx(0x1p-7 / (3 * 0x1p-8)).epsilon(0.01));
}

TEST_CASE("a weight in fp16 below its normal numbers is off by half of the smallest", "[local][attention]") {
  // Scores 0 and -12: the second weighs 6e-6, times a value of 2^12.
  const auto share = [](double off) {
    const double p = std::exp(-12.0) / (1 + std::exp(-12.0));
    const double exact = p * 4096;
    const double made = exact + off;
    Capture capture(kForward, "0 (0x0000000000000000), false, none, 1 (0x3ff0000000000000)");
    capture.halves("F16", "input.0", {1, 1, 1, 1}, {1}).halves("F16", "input.1", {1, 1, 2, 1}, {0, -12});
    capture.halves("F16", "input.2", {1, 1, 2, 1}, {0, 4096}).exact("fp64.0", {1, 1, 1, 1}, {exact});
    return capture.halves("F16", "output.0", {1, 1, 1, 1}, {made}).of_bound();
  };
  CHECK(share(0x1p-25 * 4096) < 1);
  CHECK(share(0x1p-25 * 4096) > 0.7);
  CHECK(share(2 * 0x1p-25 * 4096) > 1);
}

}  // namespace
}  // namespace reprobench::sixteen_bit_attention
