// Parameters that are whole only while an operator reads them: the bits of one rank, in less memory.
#include "suites/worker/ranks/gathered_parameters.hpp"

#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>

#include "ci/catch.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/ranks/rank_group.hpp"
#include "suites/worker/ranks/shared_training.hpp"
#include "suites/worker/ranks/zero_shards.hpp"
#include "suites/worker/state/state_memory.hpp"

namespace reprobench {
namespace {

const KnobValues kStage3{{"zero_stage", "3"}};

const Model& model_of(const SharedTraining& training) {
  const auto found =
      std::ranges::find_if(models(), [&](const Model* model) { return model->name() == training.model; });
  return **found;
}

const ModelPreset& preset_of(const SharedTraining& training) {
  return *std::ranges::find(model_of(training).presets(), training.preset, &ModelPreset::name);
}

std::int64_t elements_of(const ParameterSpec& spec) {
  std::int64_t count = 1;
  for (const std::int64_t extent : spec.shape) count *= extent;
  return count;
}

TEST_CASE("every model makes the bits of one rank with its parameters shared out", "[ranks]") {
  const SharedTraining trainings[] = {{"gpt2", "tiny", 4},   {"llama", "tiny", 4}, {"clip", "tiny", 4},
                                      {"fusion", "tiny", 4}, {"vlm", "tiny", 4},   {"resnet", "tiny", 4}};
  for (const SharedTraining& training : trainings) {
    INFO(training.model);
    const RankTrace alone = train_on(1, 2, training).front();
    std::vector<std::string> found = differences(train_on(2, 1, training, {}, kStage3), alone);
    std::erase_if(found, [](const std::string& one) { return one.find(": buffer ") != std::string::npos; });
    CHECK(found.empty());  // running statistics are each rank's own
  }
}

TEST_CASE("what was computed in 16 bits is the same with parameters shared out", "[ranks]") {
  KnobValues knobs{{"precision", "bf16"}, {"max_grad_norm", "0.5"}};
  const SharedTraining training{"llama", "tiny", 4};
  const RankTrace alone = train_on(1, 2, training, {}, knobs).front();
  knobs["zero_stage"] = "3";
  CHECK(differences(train_on(2, 1, training, {}, knobs), alone).empty());
}

TEST_CASE("blocks that are computed again gather their parameters again", "[ranks]") {
  const SharedTraining training{"fusion", "tiny", 4};
  const RankTrace alone = train_on(1, 2, training).front();
  KnobValues knobs = kStage3;
  knobs["gradient_checkpointing"] = "on";
  CHECK(differences(train_on(2, 1, training, {}, knobs), alone).empty());
}

// A linear layer is what reads most at once in these: its weight and its bias.
TEST_CASE("a rank holds its share, the parameters of one operator and their gradients, and no more", "[ranks]") {
  for (const SharedTraining& training : {SharedTraining{"llama", "tiny", 4}, SharedTraining{"gpt2", "tiny", 4}}) {
    INFO(training.model);
    std::int64_t all = 0;
    std::int64_t largest = 0;
    for (const ParameterSpec& spec : model_of(training).parameters(preset_of(training))) {
      all += elements_of(spec);
      largest = std::max(largest, elements_of(spec));
    }
    constexpr std::int64_t kTensorBytes = 4;
    constexpr std::int64_t kKept = 4;  // parameter, gradient and Adam's two moments of an element
    CHECK(train_on(1, 4, training).front().model_state_peak_bytes == kTensorBytes * kKept * all);
    for (const int ranks : {2, 4}) {
      const std::int64_t share = kKept * (all / ranks + 1 + kBlockElements);
      const std::int64_t biases = all / 100;
      for (const RankTrace& rank : train_on(ranks, 1, training, {}, kStage3)) {
        CHECK(rank.model_state_peak_bytes <= kTensorBytes * (share + 2 * (largest + biases)));
        CHECK(rank.model_state_peak_bytes >= kTensorBytes * (all / ranks + largest));  // it was measured
      }
      if (ranks != 2) continue;
      // The second stage has all parameters, and all gradients of its own.
      for (const RankTrace& rank : train_on(ranks, 1, training, {}, {{"zero_stage", "2"}})) {
        CHECK(rank.model_state_peak_bytes >= kTensorBytes * 2 * all);
      }
    }
  }
}

TEST_CASE("a parameter that was not gathered cannot be read", "[ranks]") {
  const SharedTraining training{"mlp", "base", 4};
  const TrainState state(model_of(training), preset_of(training), 1, 1, Precision::fp32,
                         c10::Device(c10::DeviceType::CPU), {3, 0, 2});
  CHECK_FALSE(state.has_room(0));
  CHECK_THROWS(at::linear(at::ones({1, 784}), state.parameter(0)));
  CHECK(model_state_bytes(state).all ==
        static_cast<std::int64_t>(sizeof(float)) * 3 * state.partition().elements_of(0));  // without gradients
}

TEST_CASE("a fault is not planted in a parameter or gradient that the rank does not have", "[ranks]") {
  CHECK(why_not_planted({"weight_ulp", 2, "fc1.weight", 7}, kStage3) ==
        "inject: rank 1 keeps elements 50944 to 100352 of `fc1.weight`, element 7 is not one of them");
  CHECK(why_not_planted({"gradient_ulp", 2, "fc1.weight", 60000}, kStage3) ==
        "inject: with `zero_stage: 3` no rank has a whole gradient");
}

TEST_CASE("a changed element of a shard is on record where it is kept, and acts on every rank", "[ranks]") {
  const RankTrace alone = train_on(1, 2, kSharedMlp).front();
  const Injection fault{"weight_ulp", 2, "fc2.weight", 7};  // on the last rank
  const auto found = differences(train_on(2, 1, kSharedMlp, fault, kStage3), alone);
  REQUIRE_FALSE(found.empty());
  CHECK(std::count(found.begin(), found.end(), "step 2: parameter fc2.weight of rank 1") == 1);
  CHECK(std::none_of(found.begin(), found.end(), [](const std::string& one) { return one.starts_with("step 1"); }));
  CHECK(std::count(found.begin(), found.end(), "step 2: forward_output fc2#0 of rank 0") == 1);  // it was gathered
}

}  // namespace
}  // namespace reprobench
