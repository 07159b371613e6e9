#include "matrix/numerics/calls/non_finite_origin.hpp"

#include <vector>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

OperatorRecord call(std::int64_t index, const std::string& name, std::int64_t in, std::int64_t out) {
  OperatorRecord record;
  record.index = index;
  record.name = name;
  record.inputs = {{"float32", {4}, "d", in}};
  record.outputs = {{"float32", {4}, "d", out}};
  return record;
}

TEST_CASE("the origin is the first call that makes what is not finite out of finite inputs", "[origin]") {
  const std::vector<OperatorRecord> healthy{call(0, "aten::mm", 0, 0), call(1, "aten::exp", 0, 0)};
  const std::vector<OperatorRecord> sick{call(0, "aten::mm", 0, 0), call(1, "aten::exp", 0, 2),
                                         call(2, "aten::sum", 2, 1)};
  const auto origin = non_finite_origin(sick, healthy);
  REQUIRE(origin);
  CHECK(origin->call.name == "aten::exp");
  CHECK(origin->made_here);
}

TEST_CASE("an attention mask's minus infinity is what it always is", "[origin]") {
  const std::vector<OperatorRecord> healthy{call(0, "aten::masked_fill", 0, 6), call(1, "aten::softmax", 6, 0),
                                            call(2, "aten::log", 0, 0)};
  auto sick = healthy;
  CHECK_FALSE(non_finite_origin(sick, healthy));
  sick[2].outputs.front().not_finite = 1;
  CHECK(non_finite_origin(sick, healthy)->call.name == "aten::log");
}

TEST_CASE("a call is held against the one of its own place and name on the other side", "[origin]") {
  const auto sick = call(2, "aten::exp", 0, 3);
  const auto is_origin = [&](std::vector<OperatorRecord> healthy) {
    return non_finite_origin(std::vector{sick}, healthy).has_value();
  };
  CHECK_FALSE(is_origin({call(2, "aten::exp", 0, 3)}));
  CHECK_FALSE(is_origin({call(2, "aten::exp", 0, 9)}));
  CHECK(is_origin({call(2, "aten::exp", 0, 2)}));
  CHECK(is_origin({call(3, "aten::exp", 0, 3)}));
  CHECK(is_origin({call(1, "aten::exp", 0, 3)}));
  CHECK(is_origin({call(2, "aten::log", 0, 3)}));
  CHECK(is_origin({call(2, "aten::abs", 0, 3)}));
  CHECK_FALSE(is_origin({call(1, "aten::exp", 0, 0), call(2, "aten::exp", 0, 3), call(3, "aten::exp", 0, 0)}));
}

TEST_CASE("the first of several tensors with more that is not finite is named, inputs before outputs", "[origin]") {
  const OperatorRecord healthy = [] {
    OperatorRecord record = call(0, "aten::f", 1, 1);
    for (auto* tensors : {&record.inputs, &record.outputs}) tensors->resize(3, tensors->front());
    return record;
  }();
  const auto origin = [&](std::vector<std::int64_t> inputs, std::vector<std::int64_t> outputs) {
    OperatorRecord sick = healthy;
    sick.inputs.resize(inputs.size(), sick.inputs.front());
    sick.outputs.resize(outputs.size(), sick.outputs.front());
    for (std::size_t i = 0; i < inputs.size(); ++i) sick.inputs[i].not_finite = inputs[i];
    for (std::size_t i = 0; i < outputs.size(); ++i) sick.outputs[i].not_finite = outputs[i];
    const auto found = non_finite_origin(std::vector{sick}, std::vector{healthy});
    return found ? std::pair(static_cast<int>(found->output), found->made_here) : std::pair(-1, false);
  };
  CHECK(origin({1, 1, 1}, {1, 1, 1}) == std::pair(-1, false));
  CHECK(origin({0, 1, 2}, {2, 2, 2}) == std::pair(2, false));
  CHECK(origin({2, 2, 2}, {1, 1, 1}) == std::pair(0, false));
  CHECK(origin({1, 1, 1}, {1, 2, 2}) == std::pair(1, true));
  CHECK(origin({1, 1, 1, 0}, {1, 1, 1, 1}) == std::pair(3, true));  // the other side has no fourth one
}

TEST_CASE("a call that the other side did not make is no origin while what it makes is finite", "[origin]") {
  const std::vector<OperatorRecord> alone{call(0, "aten::new", 0, 0), call(1, "aten::log", 0, 1)};
  CHECK(non_finite_origin(alone, {})->call.name == "aten::log");
  CHECK_FALSE(non_finite_origin(std::span(alone).first(1), {}));
}

TEST_CASE("what was not finite before any operator has no maker", "[origin]") {
  const std::vector<OperatorRecord> healthy{call(0, "aten::mm", 0, 0)};
  const auto origin = non_finite_origin(std::vector<OperatorRecord>{call(0, "aten::mm", 1, 4)}, healthy);
  REQUIRE(origin);
  CHECK_FALSE(origin->made_here);
}

}  // namespace
}  // namespace reprobench
