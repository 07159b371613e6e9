#include "suites/worker/state/loss_scaler.hpp"

#include <cmath>
#include <limits>
#include <map>

#include <ATen/core/Tensor.h>
#include <torch/version.h>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "suites/worker/ranks/shared_training.hpp"
#include "suites/worker/record/tensor_file.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"
#include "suites/worker/train_loop.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

// Worked out by hand from the documentation of torch.amp.GradScaler.
TEST_CASE("a scale halves with each skip and doubles after so many steps without one", "[loss_scale]") {
  struct Row {
    bool is_skipped;
    ScaleState after;
  };
  const Row rows[] = {
      {false, {65536, 1}}, {false, {65536, 2}}, {false, {131072, 0}},  // the third in a row doubles it
      {true, {65536, 0}},  {true, {32768, 0}},                         // two skips, two halves
      {false, {32768, 1}}, {false, {32768, 2}}, {true, {16384, 0}},    // a skip starts the count anew
      {false, {16384, 1}}, {false, {16384, 2}}, {false, {32768, 0}},
  };
  ScaleState state;
  CHECK(state == ScaleState{65536, 0});
  for (const Row& row : rows) {
    state = after_step(state, row.is_skipped, 3);
    CHECK(state == row.after);
  }
}

TEST_CASE("a scale does not grow past the largest float", "[loss_scale]") {
  const float largest = std::ldexp(1.0F, 127);
  CHECK(after_step({largest, 0}, false, 1) == ScaleState{largest, 0});
  CHECK(after_step({largest / 2, 0}, false, 1) == ScaleState{largest, 0});
  CHECK(after_step({largest, 0}, true, 1) == ScaleState{largest / 2, 0});
}

CellRequest scaled_training(std::int64_t steps, const KnobValues& knobs) {
  CellRequest request = training_request(mlp(), steps, TraceLevel::tensor);
  request.knobs = with_defaults(knobs);
  return request;
}

struct ScaledRun : TrainingTrace {
  std::vector<double> scales() const {
    std::vector<double> scales;
    for (const StepRecord& step : steps) scales.push_back(step.loss_scale.value_or(-1));
    return scales;
  }
  std::vector<std::int64_t> skipped() const {
    std::vector<std::int64_t> skipped;
    for (const StepRecord& step : steps) {
      if (step.events.value("skipped", -1) != 0) skipped.push_back(step.step);
    }
    return skipped;
  }
  const TensorRecord& tensor(std::size_t record, TensorRole role, const std::string& name) const {
    const TensorRecord* found = find_tensor(tensors.at(record), role, name);
    if (found == nullptr) throw std::logic_error("no such tensor: " + name);
    return *found;
  }
};

ScaledRun train_scaled(const CellRequest& request) { return {train(request)}; }

RunFailure failure_of_scaled(const CellRequest& request) {
  try {
    train_scaled(request);
  } catch (const RunFailure& failure) {
    return failure;
  }
  throw std::logic_error("it ran");
}

KnobValues dynamic_scale(const std::string& growth_interval = "2000") {
  return {{"precision", "fp16"}, {"loss_scale", "dynamic"}, {"loss_scale_growth_interval", growth_interval}};
}

TEST_CASE("a dynamic scale of what is not fp16 is refused, and so is its interval without it", "[loss_scale]") {
  for (const char* precision : {"fp32", "bf16", "fp64"}) {
    const RunFailure failure =
        failure_of_scaled(scaled_training(2, {{"precision", precision}, {"loss_scale", "dynamic"}}));
    CHECK(failure.cause() == "bad_request");
    CHECK(std::string(failure.what()) ==
          std::string("loss_scale=dynamic with precision=") + precision +
              ": gradients of any other precision than fp16 reach as far down as its weights do");
  }
  const RunFailure failure = failure_of_scaled(scaled_training(2, {{"loss_scale_growth_interval", "5"}}));
  CHECK(failure.cause() == "bad_request");
  CHECK(std::string(failure.what()) ==
        "loss_scale_growth_interval=5 with loss_scale=constant: a loss scale grows with `loss_scale: dynamic` alone");
}

// An older LibTorch has no fp16 on a CPU.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)

const Injection kOverflow{"gradient_inf", 3, "fc1.weight", 300};

TEST_CASE("a gradient that overflows skips its step and halves the scale, and nothing is spoilt", "[loss_scale]") {
  CellRequest request = scaled_training(6, dynamic_scale());
  const ScaledRun clean = train_scaled(request);
  CHECK(clean.skipped().empty());
  CHECK(clean.scales() == std::vector<double>(6, 65536));
  request.inject = kOverflow;
  const ScaledRun spoilt = train_scaled(request);
  CHECK(spoilt.skipped() == std::vector<std::int64_t>{3});
  CHECK(spoilt.scales() == std::vector<double>{65536, 65536, 65536, 32768, 32768, 32768});
  CHECK(spoilt.result.workload_digest == clean.result.workload_digest);
  CHECK(spoilt.steps[1].chain == clean.steps[1].chain);
  CHECK(spoilt.steps[2].loss == clean.steps[2].loss);
  CHECK(spoilt.steps[2].chain != clean.steps[2].chain);
  CHECK(spoilt.tensor(2, TensorRole::parameter_gradient, "fc1.weight").digest !=
        clean.tensor(2, TensorRole::parameter_gradient, "fc1.weight").digest);
  for (const char* name : {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}) {
    const std::string moment = std::string(name) + ".exp_avg";
    CHECK(spoilt.tensor(3, TensorRole::parameter, name).digest == spoilt.tensor(2, TensorRole::parameter, name).digest);
    CHECK(spoilt.tensor(2, TensorRole::optimizer_state, moment).digest ==
          spoilt.tensor(1, TensorRole::optimizer_state, moment).digest);
    CHECK(spoilt.tensor(4, TensorRole::parameter, name).digest != spoilt.tensor(3, TensorRole::parameter, name).digest);
    const auto& last = spoilt.tensor(6, TensorRole::parameter, name).sketch;
    CHECK((last && last->nan_count == 0 && last->inf_count == 0));
  }
  for (const StepRecord& step : spoilt.steps) CHECK(std::isfinite(*exact_float_from_json(step.loss)));
}

TEST_CASE("with a constant scale the same overflow ends the run at the next loss", "[loss_scale]") {
  CellRequest request = scaled_training(6, {{"precision", "fp16"}});
  request.inject = kOverflow;
  const RunFailure failure = failure_of_scaled(request);
  CHECK(failure.cause() == "non_finite_loss");
  CHECK(std::string(failure.what()).ends_with("at step 4"));
}

TEST_CASE("a scale that keeps growing overflows by itself, steps back and goes on", "[loss_scale]") {
  const ScaledRun run = train_scaled(scaled_training(40, dynamic_scale("1")));
  const std::vector<std::int64_t> skipped = run.skipped();
  REQUIRE_FALSE(skipped.empty());
  CHECK(skipped.size() < 20);
  ScaleState expected;
  for (const StepRecord& step : run.steps) {
    CHECK(*step.loss_scale == expected.scale);
    expected = after_step(expected, step.events.at("skipped") == 1, 1);
    CHECK(std::isfinite(*exact_float_from_json(step.loss)));
  }
  CHECK(*exact_float_from_json(run.steps.back().loss) < 0.8 * *exact_float_from_json(run.steps.front().loss));
  CHECK(run.tensors.back().tensors.back().name == kGrowthTrackerTensor);
}

TEST_CASE("a scale in range changes no more than the last bits of a gradient", "[loss_scale]") {
  const ScaledRun dynamic = train_scaled(scaled_training(1, dynamic_scale()));
  const ScaledRun constant = train_scaled(scaled_training(1, {{"precision", "fp16"}}));
  CHECK_FALSE(constant.steps[0].loss_scale);
  CHECK_FALSE(constant.steps[0].events.contains("skipped"));
  const auto length = [](const ScaledRun& run) {
    return run.tensor(0, TensorRole::parameter_gradient, "fc1.weight").sketch->l2;
  };
  CHECK(length(dynamic) > 0);
  CHECK(length(dynamic) == Approx(length(constant)).epsilon(1e-3));
}

TEST_CASE("the way the loss is scaled is part of the work", "[loss_scale]") {
  const auto digest = [](const KnobValues& knobs) {
    return train_scaled(scaled_training(1, knobs)).result.workload_digest;
  };
  const std::string dynamic = digest(dynamic_scale());
  CHECK(dynamic != digest({{"precision", "fp16"}}));
  CHECK(dynamic != digest(dynamic_scale("7")));
  CHECK(dynamic == digest(dynamic_scale()));
}

TEST_CASE("clipping sees gradients without their scale, and leaves those of a skipped step", "[loss_scale]") {
  KnobValues knobs = dynamic_scale();
  knobs["max_grad_norm"] = "0.5";
  CellRequest request = scaled_training(4, knobs);
  request.inject = kOverflow;
  const ScaledRun run = train_scaled(request);
  const ScaledRun wide = train_scaled(scaled_training(4, {{"max_grad_norm", "0.5"}}));
  for (const std::size_t i : {0, 1}) {
    CHECK(*exact_float_from_json(run.steps[i].grad_norm) ==
          Approx(*exact_float_from_json(wide.steps[i].grad_norm)).epsilon(0.01));
    CHECK(run.steps[i].events.at("clipped") == wide.steps[i].events.at("clipped"));
  }
  CHECK(run.steps[0].events.at("clipped") == 1);
  CHECK(run.steps[2].events.at("clipped") == 0);
  CHECK(run.steps[2].grad_norm.at("value") == "inf");
  CHECK(run.skipped() == std::vector<std::int64_t>{3});
}

CellRequest with_checkpoint(CellRequest request, const std::filesystem::path& folder, std::int64_t stop_after) {
  request.checkpoint = Checkpointing{folder.string()};
  request.checkpoint->stop_after = stop_after;
  request.checkpoint->resume = stop_after == 0;
  return request;
}

TEST_CASE("a run that goes on has the scale it was stopped with, and the bits of one that never was", "[loss_scale]") {
  const CellRequest request = scaled_training(24, dynamic_scale("2"));
  const ScaledRun whole = train_scaled(request);
  REQUIRE_FALSE(whole.skipped().empty());
  for (const std::int64_t after : {3, 13, 20}) {
    const TemporaryFolder folder;
    const ScaledRun stopped = train_scaled(with_checkpoint(request, folder.path(), after));
    const ScaledRun resumed = train_scaled(with_checkpoint(request, folder.path(), 0));
    REQUIRE(resumed.steps.size() == static_cast<std::size_t>(24 - after));
    CHECK(resumed.result.chain == whole.result.chain);
    for (const StepRecord& step : resumed.steps) {
      const StepRecord& same = whole.steps[static_cast<std::size_t>(step.step - 1)];
      CHECK(step.loss_scale == same.loss_scale);
      CHECK(step.events == same.events);
      CHECK(step.chain == same.chain);
    }
  }
}

TEST_CASE("a run that goes on without its scale is another one, and what it loaded says so", "[loss_scale]") {
  for (const TraceLevel level : {TraceLevel::tensor, TraceLevel::step}) {
    CellRequest request = scaled_training(8, dynamic_scale("2"));
    request.trace = level;
    const TemporaryFolder folder;
    train_scaled(with_checkpoint(request, folder.path(), 3));
    const ScaledRun resumed = train_scaled(with_checkpoint(request, folder.path(), 0));
    request.inject = Injection{"resume_without_loss_scale", 4, "", 0};
    const ScaledRun forgetful = train_scaled(with_checkpoint(request, folder.path(), 0));
    CHECK(resumed.steps[0].loss_scale == 131072);
    CHECK(forgetful.steps[0].loss_scale == 65536);
    CHECK(forgetful.header.resumed->state != resumed.header.resumed->state);
    CHECK(forgetful.steps[0].loss == resumed.steps[0].loss);
    CHECK(forgetful.steps[0].root != resumed.steps[0].root);
  }
}

TEST_CASE("a step that is skipped leaves the optimizer's running products where they were", "[loss_scale]") {
  const auto product_after = [](std::int64_t steps, const std::optional<Injection>& fault) {
    const TemporaryFolder folder;
    CellRequest request = with_checkpoint(scaled_training(4, dynamic_scale()), folder.path(), steps);
    request.inject = fault;
    const CellResult result = train_scaled(request).result;
    return read_tensors(folder.path() / result.checkpoints->written.at(0).file).metadata.at("optimizer.beta1_power");
  };
  CHECK(product_after(3, kOverflow) == product_after(2, {}));
  CHECK(product_after(3, {}) != product_after(2, {}));
}

// Plants it in the last rank alone: of ZeRO 2 and 3 no other rank has that element.
TEST_CASE("a rank that alone has a gradient out of range makes all of them skip", "[loss_scale][ranks]") {
  Injection overflow = kOverflow;
  overflow.step = 2;
  overflow.element = 100'000;
  for (const char* zero_stage : {"0", "1", "2", "3"}) {
    for (const int ranks : {2, 4}) {
      INFO("stage " << zero_stage << " on " << ranks);
      KnobValues knobs = dynamic_scale();
      knobs["zero_stage"] = zero_stage;
      const std::vector<RankTrace> traces = train_on(ranks, 4 / ranks, kSharedMlp, overflow, knobs);
      for (const RankTrace& trace : traces) {
        REQUIRE(trace.steps.size() == 3);
        CHECK(trace.steps[0].events.at("skipped") == 0);
        CHECK(trace.steps[1].events.at("skipped") == 1);
        CHECK(trace.steps[1].loss_scale == 65536);
        CHECK(trace.steps[2].events.at("skipped") == 0);
        CHECK(trace.steps[2].loss_scale == 32768);
        CHECK(trace.steps[2].loss == traces[0].steps[2].loss);
        for (const auto& [name, digest] : trace.records[2]) {
          if (name.starts_with("parameter ")) CHECK(digest == trace.records[1].at(name));
        }
      }
    }
  }
}

TEST_CASE("a scaled loss makes the same bits in every layout", "[loss_scale][ranks]") {
  for (const KnobValues& scale : {KnobValues{{"precision", "fp16"}}, dynamic_scale("1")}) {
    KnobValues knobs = scale;
    knobs["max_grad_norm"] = "0.5";
    const RankTrace alone = train_on(1, 4, kSharedMlp, {}, knobs).front();
    for (const char* zero_stage : {"0", "1", "2", "3"}) {
      for (const int ranks : {2, 4}) {
        INFO("stage " << zero_stage << " on " << ranks);
        knobs["zero_stage"] = zero_stage;
        const std::vector<RankTrace> shared = train_on(ranks, 4 / ranks, kSharedMlp, {}, knobs);
        CHECK(differences(shared, alone).empty());
        for (const RankTrace& rank : shared) {
          CHECK(rank.workload_digest == alone.workload_digest);
          for (std::size_t i = 0; i < rank.steps.size(); ++i) {
            CHECK(rank.steps[i].loss_scale == alone.steps[i].loss_scale);
            for (const char* event : {"skipped", "clipped"}) {
              CHECK(rank.steps[i].events.value(event, -1) == alone.steps[i].events.value(event, -1));
            }
          }
        }
      }
    }
  }
}
#endif

}  // namespace
}  // namespace reprobench
