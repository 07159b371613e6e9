// For tests of bounds: the tensors of one call, as a worker leaves them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "ci/catch.hpp"
#include "matrix/verdict/local_error.hpp"
#include "matrix/verdict/operator_bounds.hpp"

namespace reprobench {

using Singles = std::vector<float>;
using Exact = std::vector<double>;
using Shape = std::vector<std::int64_t>;

class Capture {
 public:
  explicit Capture(const std::string& name, const std::string& constants = "") {
    call_.name = name;
    call_.constants = constants;
  }
  Capture& single(const std::string& name, const Shape& shape, const Singles& values) {
    return add(name, "F32", shape, std::as_bytes(std::span(values)));
  }
  Capture& exact(const std::string& name, const Shape& shape, const Exact& values) {
    return add(name, "F64", shape, std::as_bytes(std::span(values)));
  }
  std::optional<LocalError> error(std::size_t output = 0, const LocalSettings& settings = {}) {
    std::vector<TensorView> views;
    for (const Kept& kept : kept_) views.push_back({kept.name, kept.dtype, kept.shape, kept.bytes});
    std::sort(views.begin(), views.end(), [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
    return local_error(call_, output, views, settings);
  }
  double of_bound(std::size_t output = 0, const LocalSettings& settings = {}) {
    const auto found = error(output, settings);
    REQUIRE(found);
    INFO(found->no_bound);
    REQUIRE(found->of_bound);
    return *found->of_bound;
  }

 private:
  struct Kept {
    std::string name;
    std::string dtype;
    Shape shape;
    std::vector<std::byte> bytes;
  };
  Capture& add(const std::string& name, const std::string& dtype, const Shape& shape,
               std::span<const std::byte> bytes) {
    kept_.push_back({name, dtype, shape, {bytes.begin(), bytes.end()}});
    return *this;
  }

  OperatorRecord call_;
  std::vector<Kept> kept_;
};

template <class T>
std::vector<T> as(const Singles& values) {
  return {values.begin(), values.end()};
}

// Of which the first 64 are large.
inline Singles numbers(std::size_t count, unsigned seed = 5) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Singles values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(normal(random) * (i < 64 ? 8.0F : 1.0F));
  return values;
}

}  // namespace reprobench
