// Attention by its definition, and calls of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "matrix/orders/formed_output_fixture.hpp"

namespace reprobench::test {

// One sample of `heads` heads, of which `group` share keys and values.
struct Sizes {
  static constexpr const char* kForward = "_scaled_dot_product_flash_attention_for_cpu";

  std::int64_t heads, queries, keys, width;
  std::int64_t group = 1;

  std::string tensor(std::int64_t rows) const { return fmt_tensor({1, heads, rows, width}); }
  std::string forward(bool is_causal) const {
    return std::string(kForward) + "(" + tensor(queries) + ", " + tensor(keys) + ", " + tensor(keys) + ", 0.0, " +
           (is_causal ? "true)" : "false)");
  }
  std::string backward(bool is_causal) const {
    return std::string(kForward) + "_backward(" + tensor(queries) + ", " + tensor(queries) + ", " + tensor(keys) +
           ", " + tensor(keys) + ", " + tensor(queries) + ", " + fmt_tensor({1, heads, queries}) + ", 0.0, " +
           (is_causal ? "true)" : "false)");
  }
  // By the operator that chooses an implementation.
  std::string chosen(bool is_causal) const {
    const std::string of_keys = fmt_tensor({1, heads / group, keys, width});
    return "scaled_dot_product_attention(" + tensor(queries) + ", " + of_keys + ", " + of_keys + ", none, 0.0, " +
           (is_causal ? "true" : "false") + (group > 1 ? ", enable_gqa=true)" : ")");
  }

 private:
  static std::string fmt_tensor(const std::vector<std::int64_t>& shape) {
    std::string text = "f32[";
    for (const std::int64_t size : shape) text += (text.back() == '[' ? "" : ", ") + std::to_string(size);
    return text + "]";
  }
};

// By the definition, in fp64.
struct Exact {
  std::vector<double> y, log_sums, dq, dk, dv;

  Exact(const Sizes& at, bool is_causal, const std::vector<float>& q, const std::vector<float>& k,
        const std::vector<float>& v, const std::vector<float>& dy)
      : y(q.size()),
        log_sums(static_cast<std::size_t>(at.heads * at.queries)),
        dq(q.size()),
        dk(k.size()),
        dv(v.size()) {
    const double scale = 1 / std::sqrt(static_cast<double>(at.width));
    const auto size = static_cast<std::size_t>(at.width);
    for (std::int64_t row = 0; row < at.heads * at.queries; ++row) {
      const std::size_t of_q = static_cast<std::size_t>(row) * size;
      const auto of_key = [&](std::int64_t key) {
        return static_cast<std::size_t>((row / at.queries / at.group * at.keys + key) * at.width);
      };
      const auto dot = [&](const auto& a, std::size_t from, const auto& b, std::size_t to) {
        double sum = 0;
        for (std::size_t i = 0; i < size; ++i) sum += static_cast<double>(a[from + i]) * b[to + i];
        return sum;
      };
      const std::int64_t seen = is_causal ? std::min(at.keys, row % at.queries + 1) : at.keys;
      std::vector<double> weights;
      double sum = 0;
      for (std::int64_t key = 0; key < seen; ++key) {
        weights.push_back(std::exp(scale * dot(q, of_q, k, of_key(key))));
        sum += weights.back();
      }
      log_sums[static_cast<std::size_t>(row)] = std::log(sum);
      for (std::int64_t key = 0; key < seen; ++key) {
        weights[static_cast<std::size_t>(key)] /= sum;
        for (std::size_t i = 0; i < size; ++i)
          y[of_q + i] += weights[static_cast<std::size_t>(key)] * v[of_key(key) + i];
      }
      const double dy_y = dot(dy, of_q, y, of_q);
      for (std::int64_t key = 0; key < seen; ++key) {
        const double weight = weights[static_cast<std::size_t>(key)];
        const double of_score = scale * weight * (dot(dy, of_q, v, of_key(key)) - dy_y);
        for (std::size_t i = 0; i < size; ++i) {
          dq[of_q + i] += of_score * k[of_key(key) + i];
          dk[of_key(key) + i] += of_score * q[of_q + i];
          dv[of_key(key) + i] += weight * dy[of_q + i];
        }
      }
    }
  }
};

inline void every_form_is_near(const FormedOutput& output, const FormedOutput::Tensors& tensors,
                               const std::vector<double>& exact, std::size_t step) {
  REQUIRE(static_cast<std::size_t>(output.elements()) == exact.size());
  for (std::size_t form = 0; form < output.forms(); form += step) {
    CAPTURE(output.text(form));
    const std::vector<float> made = made_by(output, form, tensors);
    double farthest = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) farthest = std::max(farthest, std::abs(made[i] - exact[i]));
    CHECK(farthest < 2e-5);
  }
}

inline std::vector<float> as_floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

}  // namespace reprobench::test
