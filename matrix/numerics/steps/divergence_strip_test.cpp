#include "matrix/numerics/steps/divergence_strip.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ci/catch.hpp"
#include "matrix/numerics/steps/drifting_runs.hpp"

namespace reprobench {
namespace {

TEST_CASE("a strip marks the first role that differs in each module and step", "[strip]") {
  const auto strip = divergence_strip(drifting::run(1e-6), drifting::run(0), 1);
  REQUIRE(strip.steps.size() == drifting::kSteps);
  REQUIRE(strip.rows.size() == 2);
  CHECK(strip.rows[0].module == "fc1");
  CHECK(strip.rows[0].marks == "dppppppppp");
  CHECK(strip.rows[1].module == "relu_active");
  CHECK(strip.rows[1].marks == std::string(drifting::kSteps, '.'));
  CHECK(divergence_strip(drifting::run(0, 6), drifting::run(0), 6).rows[1].marks == ".....mmmmm");
}

TEST_CASE("a strip's rows are modules in the order of what they make, each marked by what diverges there first",
          "[strip]") {
  const auto step_of = [](const std::string& bits) {
    Trace trace;
    trace.tensors.push_back({1, false, {}});
    for (const auto& [name, role] : std::vector<std::pair<std::string, TensorRole>>{
             {"head.weight", TensorRole::parameter},
             {"bn.running_mean", TensorRole::buffer},
             {"fc", TensorRole::forward_output},
             {"head", TensorRole::forward_output},
             {"head.weight", TensorRole::parameter_gradient},
             {"fc.bias.exp_avg", TensorRole::optimizer_state},
         }) {
      trace.tensors[0].tensors.push_back({name, role, "float32", {1}, bits + name, std::nullopt});
    }
    return trace;
  };
  Trace ours = step_of("same ");
  const auto rows = [&] {
    std::vector<std::string> told;
    for (const StripRow& row : divergence_strip(ours, step_of("same "), 1).rows) told.push_back(row.module + row.marks);
    return told;
  };
  CHECK(rows() == std::vector<std::string>{"bn.", "fc.", "head."});
  ours.tensors[0].tensors[5].digest = "other";
  CHECK(rows() == std::vector<std::string>{"bn.", "fcs", "head."});
  ours = step_of("other ");
  CHECK(rows() == std::vector<std::string>{"bnb", "fcf", "headp"});
}

TEST_CASE("a strip begins eight steps before the first that differs and has 64 at most", "[strip]") {
  Trace ours;
  Trace theirs;
  for (int step = 1; step <= 100; ++step) {
    for (Trace* trace : {&ours, &theirs}) {
      TensorsRecord record;
      record.step = step;
      record.tensors = {
          drifting::tensor("fc1.weight", TensorRole::parameter, trace == &ours && step >= 20 ? 1 : 0),
          drifting::tensor("fc1.weight.exp_avg", TensorRole::optimizer_state, trace == &ours && step >= 21 ? 1 : 0),
          drifting::tensor("fc2", TensorRole::forward_output, 0),
          drifting::tensor("fc1", TensorRole::forward_output, 0)};
      trace->tensors.push_back(record);
    }
  }
  const DivergenceStrip strip = divergence_strip(ours, theirs, 20);
  REQUIRE(strip.steps.size() == kStripSteps);
  CHECK(strip.steps.front() == 12);
  CHECK(strip.steps.back() == 75);
  REQUIRE(strip.rows.size() == 2);
  CHECK(strip.rows[0].module == "fc2");  // the order of the outputs
  CHECK(strip.rows[1].module == "fc1");
  CHECK(strip.rows[1].marks.substr(0, 10) == "........pp");
  CHECK(strip.rows[0].marks == std::string(kStripSteps, '.'));
}

TEST_CASE("every role has a mark of its own, masks and choices one", "[strip]") {
  std::string marks;
  for (const TensorRole role :
       {TensorRole::input, TensorRole::parameter, TensorRole::forward_output, TensorRole::mask, TensorRole::choice,
        TensorRole::loss, TensorRole::grad_output, TensorRole::parameter_gradient, TensorRole::optimizer_state,
        TensorRole::buffer, TensorRole::scaler_state}) {
    marks += strip_mark(role);
  }
  CHECK(marks == "ipfmmlgdsbc");
}

}  // namespace
}  // namespace reprobench
