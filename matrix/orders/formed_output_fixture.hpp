// Outputs that have forms, of calls that are written as in a list.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "ci/catch.hpp"
#include "matrix/orders/formed_output.hpp"
#include "matrix/orders/order_layout.hpp"

namespace reprobench::test {

inline std::shared_ptr<const FormedOutput> forms_of(const std::string& call, const std::string& output = "output.0") {
  std::string why_not;
  const auto layout = order_layout(parse_call(call), output, why_not);
  CAPTURE(call, output, why_not);
  REQUIRE(layout);
  CHECK(why_not.empty());
  return std::get<FormedLayout>(*layout).forms;
}

inline std::string why_none(const std::string& call, const std::string& output = "output.0") {
  std::string why;
  CHECK_FALSE(order_layout(parse_call(call), output, why));
  return why;
}

// Around 0, of full precision; as many as each of the call's tensors has, with the gradient that is given behind them.
inline FormedOutput::Tensors drawn(const std::string& call, const FormedOutput& output, std::int64_t round,
                                   std::int64_t given = 0) {
  std::mt19937 random(static_cast<std::uint32_t>(round) + 1);
  std::normal_distribution<float> normal;
  FormedOutput::Tensors tensors;
  std::vector<std::int64_t> sizes;
  for (const DeclaredArgument& argument : parse_call(call).arguments) {
    if (const auto* tensor = std::get_if<DeclaredTensor>(&argument.value)) sizes.push_back(product_of(tensor->shape));
  }
  if (given > 0) sizes.push_back(given);
  for (const std::int64_t size : sizes) {
    tensors.emplace_back(static_cast<std::size_t>(size));
    for (float& one : tensors.back()) one = normal(random);
  }
  output.make_kind(round, tensors);
  return tensors;
}

inline std::vector<float> made_by(const FormedOutput& output, std::size_t form, const FormedOutput::Tensors& tensors) {
  std::vector<float> all(static_cast<std::size_t>(output.elements()), -7);
  for (std::int64_t unit = 0; unit < output.units(); ++unit) {
    std::vector<FormedOutput::Value> values;
    output.compute(form, tensors, unit, values);
    for (const auto& [element, value] : values) all[static_cast<std::size_t>(element)] = value;
  }
  return all;
}

}  // namespace reprobench::test
