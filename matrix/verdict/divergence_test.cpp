// Where two traces diverge, of steps and tensors written down by hand.
#include "matrix/verdict/divergence.hpp"

#include <cmath>
#include <limits>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"

namespace reprobench {
namespace {

// Steps 1 to 3 with roots `r1` to `r3` and equal losses; each step and the state after the last have tensors `a`, `b`.
Trace three_steps() {
  Trace trace;
  const auto tensors = [](std::int64_t step, bool is_final) {
    const std::string at = std::to_string(step);
    return TensorsRecord{step,
                         is_final,
                         {{"a", TensorRole::parameter, "float32", {1}, "a" + at, std::nullopt},
                          {"b", TensorRole::forward_output, "float32", {1}, "b" + at, std::nullopt}}};
  };
  for (std::int64_t number = 1; number <= 3; ++number) {
    StepRecord step;
    step.step = number;
    step.loss = number;
    step.root = "r" + std::to_string(number);
    trace.tensors.push_back(tensors(number, false));
    trace.steps.push_back(step);
  }
  trace.tensors.push_back(tensors(3, true));
  return trace;
}

TEST_CASE("traces of equal steps and states diverge nowhere", "[verdict]") {
  const TraceComparison same = compare_traces(three_steps(), three_steps());
  CHECK(same.steps_compared == 3);
  CHECK(same.steps_differing == 0);
  CHECK_FALSE(same.final_state_differs);
  CHECK_FALSE(same.first);
}

TEST_CASE("every step whose root differs counts, and the first names the first tensor in order of execution",
          "[verdict]") {
  const Trace expected = three_steps();
  Trace measured = expected;
  measured.steps[1].root = measured.steps[2].root = "other";
  measured.tensors[1].tensors[1].digest = "odd";
  measured.tensors[2].tensors[0].digest = "later";
  const TraceComparison comparison = compare_traces(measured, expected);
  CHECK(comparison.steps_differing == 2);
  CHECK_FALSE(comparison.final_state_differs);
  REQUIRE(comparison.first);
  CHECK(comparison.first->step == 2);
  CHECK(comparison.first->tensor == "b");
  CHECK(comparison.first->role == "forward_output");
  CHECK(comparison.first->measured_digest == "odd");
  CHECK(comparison.first->expected_digest == "b2");
  // A tensor counts by its name and role, too.
  measured.tensors[1].tensors[0].name = "renamed";
  CHECK(compare_traces(measured, expected).first->tensor == "renamed");
  measured.tensors[1].tensors[0].name = "a";
  measured.tensors[1].tensors[0].role = TensorRole::input;
  CHECK(compare_traces(measured, expected).first->role == "input");
}

TEST_CASE("a tensor that one side alone recorded is where they diverge", "[verdict]") {
  const Trace whole = three_steps();
  Trace less = whole;
  less.steps[1].root = "other";
  less.tensors[1].tensors.pop_back();
  const auto missing_here = compare_traces(less, whole).first;
  CHECK(missing_here->tensor == "b");
  CHECK(missing_here->measured_digest.empty());
  CHECK(missing_here->expected_digest == "b2");
  const auto missing_there = compare_traces(whole, less).first;
  CHECK(missing_there->tensor == "b");
  CHECK(missing_there->role == "forward_output");
  CHECK(missing_there->measured_digest == "b2");
  CHECK(missing_there->expected_digest.empty());
}

TEST_CASE("a step with another loss counts, though its root is the same", "[verdict]") {
  const Trace expected = three_steps();
  Trace measured = expected;
  measured.steps[1].loss = 7;
  const TraceComparison comparison = compare_traces(measured, expected);
  CHECK(comparison.steps_differing == 1);
  CHECK(comparison.first->step == 2);
  CHECK(comparison.first->role == "loss");
}

TEST_CASE("without tensors a step diverges by its loss, or by its root alone", "[verdict]") {
  Trace expected = three_steps();
  expected.tensors.clear();
  Trace measured = expected;
  measured.steps[2].root = "other";
  const TraceComparison by_root = compare_traces(measured, expected);
  CHECK(by_root.first->step == 3);
  CHECK(by_root.first->tensor.empty());
  CHECK(by_root.first->role == "root");
  CHECK(by_root.first->measured_digest == "other");
  CHECK(by_root.first->expected_digest == "r3");
  measured.steps[2].loss = 7;
  CHECK(compare_traces(measured, expected).first->role == "loss");
  // Tensors of one side alone name nothing.
  CHECK(compare_traces(three_steps(), expected).steps_differing == 0);
  Trace recorded = three_steps();
  recorded.steps[2].root = "other";
  CHECK(compare_traces(recorded, expected).first->role == "root");
  CHECK(compare_traces(expected, recorded).first->role == "root");
}

TEST_CASE("the state after the last step counts beside the steps, and is named where they are equal", "[verdict]") {
  const Trace expected = three_steps();
  Trace measured = expected;
  measured.tensors[3].tensors[0].digest = "odd";
  const TraceComparison comparison = compare_traces(measured, expected);
  CHECK(comparison.steps_differing == 0);
  CHECK(comparison.final_state_differs);
  CHECK(comparison.first->step == 3);
  CHECK(comparison.first->measured_digest == "odd");
  CHECK(comparison.first->expected_digest == "a3");
  measured.steps[0].root = "other";
  CHECK(compare_traces(measured, expected).first->step == 1);
  CHECK(compare_traces(measured, expected).final_state_differs);
  CHECK_FALSE(compare_traces(Trace{}, Trace{}).first);
}

TEST_CASE("a run of no steps has the state that it began with", "[verdict]") {
  Trace expected = three_steps();
  expected.steps.clear();
  for (TensorsRecord& record : expected.tensors) record.step = record.is_final ? 0 : record.step;
  Trace measured = expected;
  CHECK_FALSE(compare_traces(measured, expected).final_state_differs);
  for (TensorsRecord& record : measured.tensors) {
    if (record.is_final) record.tensors.front().digest = "other";
  }
  CHECK(compare_traces(measured, expected).final_state_differs);
  CHECK(compare_traces(measured, expected).first);
}

TEST_CASE("a step that has no tensors on one side has no distance of gradients", "[verdict]") {
  const auto with_gradient = [](std::int64_t step, double sum, double l2 = 4) {
    Trace trace;
    TensorRecord gradient{"a", TensorRole::parameter_gradient, "float32", {1}, "", TensorSketch{}};
    gradient.sketch->l2 = l2;
    gradient.sketch->signed_sums[0] = sum;
    trace.tensors.push_back({step, false, {gradient}});
    return trace;
  };
  CHECK(*gradient_distance_rel(with_gradient(2, 3), with_gradient(2, 1), 2) == Approx(0.5));
  // Relative to the expected side.
  CHECK(*gradient_distance_rel(with_gradient(2, 3, 40), with_gradient(2, 1), 2) == Approx(0.5));
  CHECK(*gradient_distance_rel(with_gradient(2, 3), with_gradient(2, 1, 40), 2) == Approx(0.05));
  CHECK_FALSE(gradient_distance_rel(with_gradient(2, 3), with_gradient(2, 1), 1));
  CHECK_FALSE(gradient_distance_rel(with_gradient(2, 3), with_gradient(1, 1), 2));
  CHECK_FALSE(gradient_distance_rel(with_gradient(1, 3), with_gradient(2, 1), 2));
}

TEST_CASE("losses are as far apart as the worst step, relative to the expected side", "[verdict]") {
  const auto with_losses = [](const std::vector<double>& losses) {
    Trace trace;
    for (const double loss : losses) {
      trace.steps.emplace_back().loss = exact_float(loss);
      trace.steps.back().step = static_cast<std::int64_t>(trace.steps.size());
    }
    return trace;
  };
  const auto apart = [&](const std::vector<double>& measured, const std::vector<double>& expected) {
    return largest_loss_distance_rel(with_losses(measured), with_losses(expected));
  };
  CHECK(apart({1, 2, 3}, {1, 2, 3}) == 0.0);
  CHECK(*apart({2, 5, 4}, {2, 4, 4}) == Approx(0.25));
  CHECK(*apart({2, 4, 4}, {2, 5, 4}) == Approx(0.2));
  CHECK(*apart({3, 5, 4}, {2, 4, 4}) == Approx(0.5));  // the first, not the last
  CHECK(*apart({2, 5, 2}, {2, 4, 4}) == Approx(0.5));  // either direction
  CHECK(*apart({-3}, {-2}) == Approx(0.5));
  CHECK(*apart({2, 4, 9}, {2, 4}) == 0.0);  // steps of both
  CHECK(*apart({1e-300}, {0}) > 1e6);
  CHECK(apart({0}, {0}) == 0.0);
  CHECK(std::isinf(*apart({std::numeric_limits<double>::infinity(), 1}, {1, 1})));
  CHECK(std::isnan(*apart({std::nan(""), 9}, {1, 1})));
  Trace unread = with_losses({1, 1});
  unread.steps[1].loss = "no number";
  CHECK_FALSE(largest_loss_distance_rel(unread, with_losses({1, 1})));
  CHECK_FALSE(largest_loss_distance_rel(with_losses({1, 1}), unread));
}

TEST_CASE("losses of no step have no distance", "[verdict]") {
  CHECK_FALSE(largest_loss_distance_rel(Trace{}, three_steps()));
  CHECK_FALSE(largest_loss_distance_rel(three_steps(), Trace{}));
}

}  // namespace
}  // namespace reprobench
