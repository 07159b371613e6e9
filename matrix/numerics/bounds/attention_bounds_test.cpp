// Attention as libraries carry it out, in fp32 against fp64: with all keys at once, or in blocks of them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include "ci/catch.hpp"
#include "matrix/numerics/bounds/captured_call_fixture.hpp"

namespace reprobench {
namespace {

constexpr const char* kPlain = "none, 0 (0x0000000000000000), false, none, false";
constexpr const char* kCausal = "none, 0 (0x0000000000000000), true, none, false";
constexpr const char* kForward = "aten::scaled_dot_product_attention";
constexpr const char* kForCpu = "aten::_scaled_dot_product_flash_attention_for_cpu";
constexpr const char* kForCpuBackward = "aten::_scaled_dot_product_flash_attention_for_cpu_backward";

// q, k and v of one sample: queries' heads, keys' heads, queries, keys, width.
struct Case {
  std::size_t heads = 2;
  std::size_t key_heads = 2;
  std::size_t queries = 70;
  std::size_t keys = 70;
  std::size_t width = 16;
  bool is_causal = true;
  double scale = 0.25;
  Singles q = numbers(heads * queries * width, 1);
  Singles k = numbers(key_heads * keys * width, 2);
  Singles v = numbers(key_heads * keys * width, 3);
  Singles g = numbers(heads * queries * width, 4);

  Shape of_queries() const { return shape(heads, queries); }
  Shape of_keys() const { return shape(key_heads, keys); }
  std::size_t allowed(std::size_t query) const { return is_causal ? std::min(query + 1, keys) : keys; }

 private:
  Shape shape(std::size_t of_heads, std::size_t length) const {
    return {1, static_cast<std::int64_t>(of_heads), static_cast<std::int64_t>(length),
            static_cast<std::int64_t>(width)};
  }
};

template <class T>
struct Made {
  std::vector<T> o, log_sum, dq, dk, dv;
};

// In blocks of so many keys; `factor` is what every weight is off by, 1 but for a defect, from the second key on.
template <class T>
Made<T> attention(const Case& of, std::size_t block, T factor = 1) {
  Made<T> made{std::vector<T>(of.q.size()), std::vector<T>(of.heads * of.queries), {}, {}, {}};
  const std::size_t D = of.width;
  for (std::size_t row = 0; row < of.heads * of.queries; ++row) {
    const std::size_t keys_head = row / of.queries / (of.heads / of.key_heads) * of.keys;
    T largest = -INFINITY;
    T sum = 0;
    T* o = made.o.data() + row * D;
    const std::size_t allowed = of.allowed(row % of.queries);
    for (std::size_t first = 0; first < allowed; first += block) {
      std::vector<T> scores;
      for (std::size_t j = first; j < std::min(allowed, first + block); ++j) {
        T score = 0;
        for (std::size_t d = 0; d < D; ++d) score += T(of.q[row * D + d]) * T(of.k[(keys_head + j) * D + d]);
        scores.push_back(score * static_cast<T>(of.scale));
      }
      const T fresh = std::max(largest, *std::max_element(scores.begin(), scores.end()));
      const T shrink = std::exp(largest - fresh);
      sum *= shrink;
      for (std::size_t d = 0; d < D; ++d) o[d] *= shrink;
      for (std::size_t j = 0; j < scores.size(); ++j) {
        const T weight = std::exp(scores[j] - fresh) * (first + j > 0 ? factor : T(1));
        sum += weight;
        for (std::size_t d = 0; d < D; ++d) o[d] += weight * T(of.v[(keys_head + first + j) * D + d]);
      }
      largest = fresh;
    }
    for (std::size_t d = 0; d < D; ++d) o[d] /= sum;
    made.log_sum[row] = largest + std::log(sum);
  }
  return made;
}

// Out of o and the logarithms of sums in fp32, as both forms take them.
template <class T>
void add_gradients(const Case& of, const Made<float>& forward, Made<T>& made, T factor = 1) {
  const std::size_t D = of.width;
  made.dq.resize(of.q.size());
  made.dk.resize(of.k.size());
  made.dv.resize(of.v.size());
  for (std::size_t row = 0; row < of.heads * of.queries; ++row) {
    const std::size_t head = row / of.queries * of.keys;
    T delta = 0;
    for (std::size_t d = 0; d < D; ++d) delta += T(of.g[row * D + d]) * T(forward.o[row * D + d]);
    for (std::size_t j = 0; j < of.allowed(row % of.queries); ++j) {
      T score = 0;
      T gradient = 0;
      for (std::size_t d = 0; d < D; ++d) {
        score += T(of.q[row * D + d]) * T(of.k[(head + j) * D + d]);
        gradient += T(of.g[row * D + d]) * T(of.v[(head + j) * D + d]);
      }
      const T p = std::exp(score * static_cast<T>(of.scale) - T(forward.log_sum[row])) * factor;
      const T of_score = p * (gradient - delta) * static_cast<T>(of.scale);
      for (std::size_t d = 0; d < D; ++d) {
        made.dv[(head + j) * D + d] += p * T(of.g[row * D + d]);
        made.dq[row * D + d] += of_score * T(of.k[(head + j) * D + d]);
        made.dk[(head + j) * D + d] += of_score * T(of.q[row * D + d]);
      }
    }
  }
}

Capture forward_capture(const Case& of, const char* name, const std::string& constants) {
  Capture capture(name, constants);
  capture.single("input.0", of.of_queries(), of.q).single("input.1", of.of_keys(), of.k);
  return capture.single("input.2", of.of_keys(), of.v);
}

double share_of_output(const Case& of, const Singles& made, const std::string& constants) {
  const Exact exact = attention<double>(of, 1000).o;
  return forward_capture(of, kForward, constants)
      .exact("fp64.0", of.of_queries(), exact)
      .single("output.0", of.of_queries(), made)
      .of_bound();
}

TEST_CASE("attention in fp32 stays within its bound, all keys at once or in blocks", "[local][attention]") {
  Case of;
  of.is_causal = GENERATE(true, false);
  const char* constants = of.is_causal ? kCausal : kPlain;
  for (const std::size_t block : {32U, 1000U}) {
    const double share = share_of_output(of, attention<float>(of, block).o, constants);
    CHECK(share > 0);
    CHECK(share < 1);
  }
}

TEST_CASE("attention with a weight off by more than it can round is beyond its bound", "[local][attention]") {
  Case of;
  CHECK(share_of_output(of, attention<float>(of, 32, 1 + 0x1p-9F).o, kCausal) > 1);
  // A key that must not be seen, and a scale that was not asked for.
  Case without_mask = of;
  without_mask.is_causal = false;
  CHECK(share_of_output(of, attention<float>(without_mask, 32).o, kCausal) > 1);
  Case scaled = of;
  scaled.scale *= 1 + 0x1p-9;
  CHECK(share_of_output(of, attention<float>(scaled, 32).o, kCausal) > 1);
}

TEST_CASE("queries' heads share the heads of keys and values", "[local][attention]") {
  Case of{.heads = 4, .key_heads = 2};
  const double share = share_of_output(of, attention<float>(of, 32).o, kCausal);
  CHECK(share > 0);
  CHECK(share < 1);
}

TEST_CASE("a scale of its own is taken by its bits", "[local][attention]") {
  Case of;
  of.scale = 0.5;
  const std::string constants = "none, 0 (0x0000000000000000), true, 0.5 (0x3fe0000000000000), false";
  CHECK(share_of_output(of, attention<float>(of, 32).o, constants) < 1);
}

TEST_CASE("one key has nothing but the roundings of its sums", "[local][attention]") {
  // p = 1 whatever the score: sums over one key in one block with three and two roundings beside, all of |v| = 2.
  Case of{.heads = 1, .key_heads = 1, .queries = 1, .keys = 1, .width = 1};
  of.v = {2};
  const Singles off = {2 + 0x1p-22F};
  const double share = 0x1p-22 / (2 * (gamma_n(1 + 1 + 3) + gamma_n(1 + 1 + 2)));
  CHECK(share_of_output(of, off, kPlain) == Approx(share).epsilon(1e-6));
  // The first query of a causal attention sees the first of its keys alone.
  Case of_two{.heads = 1, .key_heads = 1, .queries = 1, .keys = 2, .width = 1};
  of_two.v = {2, 9};
  CHECK(share_of_output(of_two, off, kCausal) == Approx(share).epsilon(1e-6));
}

TEST_CASE("two keys weigh their errors by how far their values are from the output", "[local][attention]") {
  // Scores 1 and 0 of q = 1: p = e / (e + 1) and 1 / (e + 1). Values 1 and -1.
  Case of{.heads = 1, .key_heads = 1, .queries = 1, .keys = 2, .width = 1, .is_causal = false, .scale = 1};
  of.q = {1};
  of.k = {1, 0};
  of.v = {1, -1};
  const double e = std::exp(1.0);
  const double p[] = {e / (e + 1), 1 / (e + 1)};
  const double o = p[0] - p[1];
  const double of_weights = p[0] * (gamma_n(6) + 0x1p-24 * (2 * (1 + 1) + 40)) * (1 - o) +
                            p[1] * (0 + 0x1p-24 * (2 * (0 + 1) + 40)) * (1 + o);
  const double bound = (1 + 0x1p-5) * of_weights + gamma_n(2 + 1 + 3) + gamma_n(2 + 1 + 2) * o;
  const auto made = static_cast<float>(o + 1e-4);
  CHECK(share_of_output(of, {made}, kPlain) == Approx((made - o) / bound).epsilon(1e-6));
}

TEST_CASE("the logarithm of the sum has its bound, and its scores' errors in it", "[local][attention]") {
  Case of;
  const Exact exact = attention<double>(of, 1000).log_sum;
  const Shape shape{1, 2, 70};
  const auto share = [&](const Singles& made) {
    return forward_capture(of, kForCpu, "0 (0x0000000000000000), true, none, none")
        .exact("fp64.1", shape, exact)
        .single("output.1", shape, made)
        .of_bound(1);
  };
  Singles made = attention<float>(of, 32).log_sum;
  CHECK(share(made) > 0);
  CHECK(share(made) < 1);
  made[100] += 0x1p-8F;
  CHECK(share(made) > 1);
}

TEST_CASE("gradients of attention in fp32 stay within their bounds, and defects do not", "[local][attention]") {
  Case of;
  of.is_causal = GENERATE(true, false);
  const Made<float> forward = attention<float>(of, 32);
  Made<double> exact;
  add_gradients(of, forward, exact);
  const auto share = [&](const Made<float>& made, std::size_t output) {
    Capture capture(kForCpuBackward, of.is_causal ? "0 (0x0000000000000000), true, none, none"
                                                  : "0 (0x0000000000000000), false, none, none");
    capture.single("input.0", of.of_queries(), of.g).single("input.1", of.of_queries(), of.q);
    capture.single("input.2", of.of_keys(), of.k).single("input.3", of.of_keys(), of.v);
    capture.single("input.4", of.of_queries(), forward.o).single("input.5", {1, 2, 70}, forward.log_sum);
    const Exact* exacts[] = {&exact.dq, &exact.dk, &exact.dv};
    const Singles* singles[] = {&made.dq, &made.dk, &made.dv};
    const std::string place = std::to_string(output);
    capture.exact("fp64." + place, of.of_keys(), *exacts[output]);
    return capture.single("output." + place, of.of_keys(), *singles[output]).of_bound(output);
  };
  Made<float> right;
  add_gradients(of, forward, right);
  Made<float> wrong;
  add_gradients(of, forward, wrong, 1 + 0x1p-9F);
  for (const std::size_t output : {0U, 1U, 2U}) {
    CAPTURE(output);
    CHECK(share(right, output) > 0);
    CHECK(share(right, output) < 1);
    CHECK(share(wrong, output) > 1);
  }
}

TEST_CASE("gradients of one query and one key have the roundings of their sums and of the weight",
          "[local][attention]") {
  // q = k = 1, so score and logarithm of the sum are 1 and p = 1; v = 2, o = 1, g = 3.
  const double u = 0x1p-24;
  const double second_order = 1 + 0x1p-5;
  const double weight = gamma_n(1 + 5) + u * (2 * (1 + 1) + 40);
  const double of_score = second_order * (weight * 3 + gamma_n(2) * (6 + 3) + 2 * u * (6 + 3));
  const double bounds[] = {of_score + gamma_n(4) * (3 + of_score), of_score + gamma_n(4) * (3 + of_score),
                           3 * second_order * (weight + gamma_n(4))};
  const double exact[] = {0, 0, 3};
  const Shape one{1, 1, 1, 1};
  for (std::size_t output = 0; output < 3; ++output) {
    CAPTURE(output);
    Capture capture(kForCpuBackward, "0 (0x0000000000000000), false, none, 1 (0x3ff0000000000000)");
    capture.single("input.0", one, {3}).single("input.1", one, {1}).single("input.2", one, {1});
    capture.single("input.3", one, {2}).single("input.4", one, {1}).single("input.5", {1, 1, 1}, {1});
    const auto made = static_cast<float>(exact[output] + 0x1p-12);
    const std::string place = std::to_string(output);
    capture.exact("fp64." + place, one, {exact[output]}).single("output." + place, one, {made});
    CHECK(capture.of_bound(output) == Approx(0x1p-12 / bounds[output]).epsilon(1e-6));
  }
}

TEST_CASE("attention with a mask among its tensors has no bound, whatever its constants are taken for",
          "[local][attention]") {
  // The constants of a call with a mask and without a scale are those of one without a mask in a release without
  // scales.
  const Case of;
  Capture forward = forward_capture(of, kForCpu, "0 (0x0000000000000000), true, none");
  forward.exact("fp64.0", of.of_queries(), Exact(of.q.size()))
      .single("output.0", of.of_queries(), Singles(of.q.size()));
  CHECK(forward.error()->of_bound);
  CHECK_FALSE(forward.single("input.3", {70, 70}, Singles(70 * 70)).error()->of_bound);
  const Shape one{1, 1, 1, 1};
  Capture backward(kForCpuBackward, "0 (0x0000000000000000), false, none");
  for (const char* input : {"input.0", "input.1", "input.2", "input.3", "input.4"}) backward.single(input, one, {1});
  backward.single("input.5", {1, 1, 1}, {1}).exact("fp64.0", one, {0}).single("output.0", one, {0});
  CHECK(backward.error()->of_bound);
  CHECK_FALSE(backward.single("input.6", {1, 1}, {0}).error()->of_bound);
}

TEST_CASE("attention that cannot be followed from what is on record has no bound", "[local][attention]") {
  const auto has_bound = [](const Case& of, const char* name, const std::string& constants, std::size_t output = 0) {
    const auto found = forward_capture(of, name, constants)
                           .exact("fp64." + std::to_string(output), of.of_queries(), Exact(of.q.size()))
                           .single("output." + std::to_string(output), of.of_queries(), Singles(of.q.size()))
                           .error(output);
    REQUIRE(found);
    return found->of_bound.has_value();
  };
  const Case of;
  CHECK(has_bound(of, kForward, kCausal));
  CHECK(has_bound(of, kForward, "none, 0 (0x0000000000000000), true"));  // of releases without a scale
  CHECK(has_bound(of, "aten::_scaled_dot_product_attention_math", "none, 0 (0x0000000000000000), true, none, none"));
  CHECK_FALSE(has_bound(of, "aten::_scaled_dot_product_attention_math",
                        "none, 0 (0x0000000000000000), true, none, none", 1));                // the weights
  CHECK_FALSE(has_bound(of, kForward, "0 (0x0000000000000000), true, none, false"));          // a mask of its own
  CHECK_FALSE(has_bound(of, kForward, "none, 0.1 (0x3fb999999999999a), true, none, false"));  // dropout
  CHECK_FALSE(has_bound(of, kForward, "none, 0 (0x0000000000000000), true, half"));
  CHECK_FALSE(has_bound(of, kForward, ""));
  Case wide = of;
  for (float& q : wide.q) q *= 1e4F;  // scores are off by more than a weight may be
  CHECK_FALSE(has_bound(wide, kForward, kCausal));
  CHECK_FALSE(has_bound(Case{.heads = 3, .key_heads = 2}, kForward, kCausal));
}

}  // namespace
}  // namespace reprobench
