// The rules for every layout: in which order a step's passes are done, what is added up, and what ranks are told. That
// layouts make the bits of one rank is in the tests of each.
#include "suites/worker/parallelism/parallelism.hpp"

#include <functional>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>

#include "ci/catch.hpp"
#include "suites/worker/ranks/shared_training.hpp"
#include "suites/worker/state/tensor_guard.hpp"

namespace reprobench {
namespace {

TrainState small_perceptron() {
  return TrainState(mlp(), mlp().presets()[1], 1, 1, Precision::fp32, c10::Device(c10::DeviceType::CPU));
}

CellRequest request_of(int rank, int ranks) {
  CellRequest request = training_request(mlp(), 1, TraceLevel::tensor);
  request.rank = rank;
  request.world_size = ranks;
  return request;
}

std::unique_ptr<Parallelism> layout_of_one(const Layout& layout, TrainState& state) {
  return make_parallelism(layout, false, state, request_of(0, 1), {});
}

// Of a model whose loss in round r is r + 1, and every gradient too.
class WrittenDown final : public StepPasses {
 public:
  WrittenDown(Parallelism& layout, TrainState& state) : layout_(layout), state_(state) {}

  void forward(std::int64_t round) override { note("forward", round); }
  void backward(std::int64_t round) override {
    note("backward", round);
    for (int replica = 0; replica < layout_.layout().replicas; ++replica) {
      for (std::size_t i = 0; i < state_.size(); ++i) {
        const at::Tensor& parameter = layout_.parameter(replica, i);
        CHECK_FALSE(parameter.grad().defined());
        parameter.mutable_grad() = at::full_like(parameter.detach(), value(replica, round));
      }
    }
  }
  at::Tensor take_loss(int replica, std::int64_t round) override { return at::full({}, value(replica, round)); }
  void show_gradients(std::int64_t round) override { note("gradients", round); }
  void show_gradient(std::size_t) override { FAIL("nothing is shared out"); }
  void end_exchange() override { text += "end "; }

  std::string text;

 private:
  static float value(int replica, std::int64_t round) { return static_cast<float>(round + 1 + 10 * replica); }
  void note(const char* what, std::int64_t round) { text += what + std::to_string(round) + " "; }

  Parallelism& layout_;
  TrainState& state_;
};

TEST_CASE("a batch that is one micro-batch is not added up", "[parallelism]") {
  TrainState state = small_perceptron();
  const auto layout = layout_of_one({}, state);
  WrittenDown step(*layout, state);
  CHECK(layout->run(step).item<float>() == 1);
  CHECK(step.text == "forward0 backward0 ");
  CHECK(state.gradient(0)[0][0].item<float>() == 1);
  CHECK(state.model_state_peak().all == -1);  // it was not asked for, in a step that is over sooner without it
}

TEST_CASE("of several micro-batches one follows the other, and their mean is left", "[parallelism]") {
  TrainState state = small_perceptron();
  const auto layout = layout_of_one({0, 1, 2}, state);
  WrittenDown step(*layout, state);
  CHECK(layout->run(step).item<float>() == 1.5);
  CHECK(step.text == "forward0 backward0 gradients0 end forward1 backward1 gradients1 end end ");
  for (std::size_t i = 0; i < state.size(); ++i) CHECK(state.gradient(i).flatten()[0].item<float>() == 1.5);
  layout->clear_gradients();
  CHECK(layout->run(step).item<float>() == 1.5);  // nothing is left of the step before
}

TEST_CASE("replicas leave the mean of all of them in the first, and get its weights", "[parallelism]") {
  TrainState state = small_perceptron();
  const auto layout = layout_of_one({0, 1, 1, 2}, state);
  layout->begin();
  WrittenDown step(*layout, state);
  CHECK(layout->run(step).item<float>() == 6);
  CHECK(state.gradient(0)[0][0].item<float>() == 6);
  CHECK(layout->gradient(1, 0)[0][0].item<float>() == 11);
  layout->unscale_gradients(0.5);
  CHECK(state.gradient(0)[0][0].item<float>() == 3);
  CHECK(layout->gradient(1, 0)[0][0].item<float>() == 5.5);
  layout->clear_gradients();
  CHECK_FALSE(layout->gradient(0, 0).defined());
  CHECK_FALSE(layout->gradient(1, 0).defined());
  layout->parameter(0, 0).variable_data().fill_(7);
  CHECK(layout->parameter(1, 0)[0][0].item<float>() != 7);
  CHECK(layout->spread_update(TensorGuard(state, c10::Device(c10::DeviceType::CPU), settings_of({}))));
  CHECK(layout->parameter(1, 0)[0][0].item<float>() == 7);
}

TEST_CASE("one rank has everything whole, passes nothing on and hears itself alone", "[parallelism]") {
  TrainState state = small_perceptron();
  const auto alone = layout_of_one({0, 1, 2}, state);
  CHECK(alone->whole(0, state.parameter(0)).is_same(state.parameter(0)));
  CHECK_FALSE(alone->spread_update(TensorGuard(state, c10::Device(c10::DeviceType::CPU), settings_of({}))));
  CHECK_FALSE(alone->exchange_times());
  CHECK(alone->said_by_all({3, 4}) == std::vector<WholeNumbers>{{3, 4}});
  CHECK(alone->said_by_first({5}) == WholeNumbers{5});
}

TEST_CASE("what one rank says all of them hear", "[loss_scale][ranks][parallelism]") {
  for (const int speaker : {-1, 0, 1, 2}) {
    const TemporaryFolder attempt;
    for (int rank = 0; rank < 3; ++rank) {
      std::filesystem::create_directory(attempt.path() / ("rank-" + std::to_string(rank)));
    }
    std::vector<int> heard(3, -1);
    in_threads(3, [&](int rank) {
      TrainState state = small_perceptron();
      const auto ranks = make_parallelism({rank, 3}, false, state, request_of(rank, 3),
                                          attempt.path() / ("rank-" + std::to_string(rank)));
      heard[static_cast<std::size_t>(rank)] = ranks->some_rank_says(rank == speaker) ? 1 : 0;
    });
    CHECK(heard == std::vector<int>(3, speaker >= 0 ? 1 : 0));
  }
  TrainState state = small_perceptron();
  const auto alone = layout_of_one({}, state);
  CHECK(alone->some_rank_says(true));
  CHECK_FALSE(alone->some_rank_says(false));
}

// As the first stage of a pipeline would: all forward passes before the first backward pass.
class ForwardFirst final : public Parallelism {
 public:
  ForwardFirst(const Layout& layout, TrainState& state) : Parallelism(layout, state) {}

  at::Tensor run(StepPasses& step) override {
    for (std::int64_t round = 0; round < layout().accumulated; ++round) step.forward(round);
    PairwiseSum sum;
    for (std::int64_t round = 0; round < layout().accumulated; ++round) {
      clear_gradients();
      step.backward(round);
      step.show_gradients(round);
      sum.add(terms_of(0, step.take_loss(0, round)));
    }
    return finish(sum.take(), 1.0 / static_cast<double>(layout().micro_batches()));
  }
};

std::unique_ptr<Parallelism> forward_first(const Layout& layout, bool, TrainState& state, const CellRequest&,
                                           const std::filesystem::path&) {
  return std::make_unique<ForwardFirst>(layout, state);
}

std::string chain_of(const SharedTraining& training, WorkloadTables tables) {
  const TemporaryFolder folder;
  CellResult result;
  const CellRequest request = rank_request(training, 0, 1, {{"accumulate", "4"}});
  run_training(request, folder.path(), kTestData, result, Telemetry::unwatched, &open_device, tables);
  return result.chain;
}

TEST_CASE("the loop takes a layout that has another order of passes, and every tensor is the same", "[parallelism]") {
  for (const SharedTraining& training : {kSharedMlp, kSharedLlama}) {
    WorkloadTables tables;
    const std::string one_by_one = chain_of(training, tables);
    tables.make_parallelism = &forward_first;
    CHECK(chain_of(training, tables) == one_by_one);
  }
}

}  // namespace
}  // namespace reprobench
