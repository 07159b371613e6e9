// Updates on the host: other memory than the training's, the same bits, and the faults of copying between both.
#include "suites/worker/state/offloaded_update.hpp"

#include <algorithm>
#include <set>

#include <ATen/core/Tensor.h>
#include <ATen/ops/full_like.h>
#include <c10/core/GradMode.h>
#include <torch/version.h>

#include "ci/catch.hpp"
#include "suites/worker/ranks/shared_training.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/state/state_memory.hpp"

namespace reprobench {
namespace {

const c10::Device kHost(c10::DeviceType::CPU);

TrainState state_of(Offload offload, const Sharding& sharding = {}) {
  return TrainState(mlp(), mlp().presets()[1], 1, 1, Precision::fp32, kHost, sharding, nullptr,
                    OptimizerLayout::per_tensor, offload);
}

KnobValues with(KnobValues knobs, const char* offload) {
  knobs["offload"] = offload;
  return knobs;
}

std::string why_not(const KnobValues& knobs, const std::optional<Injection>& fault = {}) {
  try {
    train_on(1, 1, kSharedMlp, fault, knobs);
  } catch (const RunFailure& failure) {
    return failure.cause() + ": " + failure.what();
  }
  return "";
}

TEST_CASE("what the host updates and keeps is memory of its own, equal to what trains", "[worker]") {
  const TrainState state = state_of(Offload::optimizer);
  std::set<const void*> places;
  std::size_t tensors = 0;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const at::Tensor& copy = state.copy_on_host(i);
    CHECK(digest_of(copy) == digest_of(state.parameter(i).detach()));
    places.insert(
        {copy.data_ptr(), state.parameter(i).data_ptr(), state.kept(i)[0].data_ptr(), state.kept(i)[1].data_ptr()});
    tensors += 4;
  }
  CHECK(places.size() == tensors);
  CHECK_FALSE(state_of(Offload::none).copy_on_host(0).defined());
}

TEST_CASE("shards on the host are updated there and are no part of the whole parameters", "[ranks]") {
  const TrainState state = state_of(Offload::optimizer_and_param, {3, 0, 2});
  REQUIRE(state.shard(0).defined());
  CHECK(state.copy_on_host(0).data_ptr() == state.shard(0).data_ptr());
  CHECK_FALSE(state.has_room(0));
  CHECK_THROWS_AS(state_of(Offload::optimizer_and_param, {2, 0, 2}), std::logic_error);
}

TEST_CASE("bytes are counted where they lie", "[worker]") {
  const auto kept = [](const TrainState& state) { return optimizer_state_bytes(state); };
  const TrainState whole = state_of(Offload::none);
  const TrainState offloaded = state_of(Offload::optimizer);
  const std::int64_t parameters = kept(whole) / 2;  // Adam keeps two numbers of each
  CHECK(model_state_bytes(whole).on_device == parameters + kept(whole));
  CHECK(model_state_bytes(whole).on_host == 0);
  const ModelStateBytes bytes = model_state_bytes(offloaded);
  CHECK(bytes.on_device == parameters);
  CHECK(bytes.on_host == kept(offloaded) + parameters);
  CHECK(bytes.all == bytes.on_device + bytes.on_host);
  const TrainState shared = state_of(Offload::optimizer_and_param, {3, 0, 2});
  CHECK(model_state_bytes(shared).on_device == 0);
  CHECK(model_state_bytes(shared).on_host == kept(shared) / 2 * 3);
}

TEST_CASE("an update on the host makes the bits of one where the training runs, in groups of any size", "[worker]") {
  TrainState here = state_of(Offload::none);
  TrainState offloaded = state_of(Offload::optimizer);
  const c10::NoGradGuard no_grad;
  for (const std::int64_t step : {1, 1, 1}) {
    for (TrainState* state : {&here, &offloaded}) {
      for (std::size_t i = 0; i < state->size(); ++i) {
        const at::Tensor& parameter = state->parameter(i);
        parameter.mutable_grad() = at::full_like(parameter, 0.01 * static_cast<double>(i + 1));
      }
      state->update(step);
    }
    for (std::size_t i = 0; i < here.tensors().size(); ++i) {
      INFO(here.tensors()[i].name);
      CHECK(digest_of(*here.tensors()[i].value) == digest_of(*offloaded.tensors()[i].value));
    }
  }
  // Somebody else's value is what the next update begins with.
  for (TrainState* state : {&here, &offloaded}) {
    state->parameter(1).detach().fill_(0.5);
    state->parameter_was_written(1);
    state->update(1);
  }
  CHECK(digest_of(here.parameter(1).detach()) == digest_of(offloaded.parameter(1).detach()));
}

TEST_CASE("every stage with offload makes the bits of one rank without", "[ranks]") {
  for (const SharedTraining& training : {kSharedMlp, kSharedLora}) {
    for (const int ranks : {1, 2, 4}) {
      const RankTrace alone = train_on(1, ranks == 1 ? 2 : ranks, training).front();
      for (const char* stage : {"0", "1", "2", "3"}) {
        for (const char* offload : {"optimizer", "optimizer_and_param"}) {
          const bool has_shards = std::string(stage) == "3" && ranks > 1;
          if (std::string(offload) != "optimizer" && !has_shards) continue;
          const bool is_between = std::string(stage) == "1" || std::string(stage) == "2";
          if (is_between && training.model != kSharedMlp.model) continue;  // with one model
          INFO(training.model << " stage " << stage << " on " << ranks << " with " << offload);
          const auto shared = train_on(ranks, ranks == 1 ? 2 : 1, training, {}, with({{"zero_stage", stage}}, offload));
          CHECK(differences(shared, alone).empty());
          CHECK(shared.front().workload_digest == alone.workload_digest);
        }
      }
    }
  }
}

TEST_CASE("a scaled loss, its unscaled gradients and their norm make the same bits with offload", "[ranks]") {
  std::vector<KnobValues> settings{{{"precision", "bf16"}, {"max_grad_norm", "0.5"}},
                                   {{"precision", "fp64"}, {"max_grad_norm", "0.5"}}};
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  settings.push_back({{"precision", "fp16"}, {"loss_scale", "dynamic"}, {"max_grad_norm", "0.5"}});
#endif
  for (const KnobValues& knobs : settings) {
    const RankTrace alone = train_on(1, 2, kSharedMlp, {}, knobs).front();
    CHECK(alone.steps[0].events.at("clipped") == 1);
    for (const char* stage : {"0", "3"}) {
      KnobValues shared = with(knobs, stage[0] == '3' ? "optimizer_and_param" : "optimizer");
      shared["zero_stage"] = stage;
      INFO(knobs.at("precision") << " stage " << stage);
      CHECK(differences(train_on(2, 1, kSharedMlp, {}, shared), alone).empty());
    }
    CHECK(differences(train_on(1, 2, kSharedMlp, {}, with(knobs, "optimizer")), alone).empty());
  }
}

TEST_CASE("what a rank held is on record by place, and no optimizer state of an offload on the device", "[ranks]") {
  const RankTrace alone = train_on(1, 2, kSharedMlp).front();
  CHECK(alone.on_device_peak_bytes == alone.model_state_peak_bytes);
  CHECK(alone.on_host_peak_bytes == 0);
  const RankTrace offloaded = train_on(1, 2, kSharedMlp, {}, with({}, "optimizer")).front();
  CHECK(offloaded.on_device_peak_bytes == alone.model_state_peak_bytes / 2);  // parameters and gradients
  CHECK(offloaded.on_host_peak_bytes > alone.model_state_peak_bytes * 3 / 4);
  for (const RankTrace& rank : train_on(2, 1, kSharedMlp, {}, with({{"zero_stage", "3"}}, "optimizer_and_param"))) {
    CHECK(rank.on_host_peak_bytes >= alone.model_state_peak_bytes * 3 / 8);
    CHECK(rank.on_device_peak_bytes < alone.model_state_peak_bytes * 3 / 4);
  }
}

TEST_CASE("a parameter that stays on the host is found in the next step, by its name", "[worker]") {
  const RankTrace alone = train_on(1, 2, kSharedMlp).front();
  const Injection fault{"offload_stale_parameter", 1, "fc2.weight", 0};
  const auto found = differences(train_on(1, 2, kSharedMlp, fault, with({}, "optimizer")), alone);
  REQUIRE_FALSE(found.empty());
  CHECK(std::count(found.begin(), found.end(), "step 2: parameter fc2.weight of rank 0") == 1);
  CHECK(std::none_of(found.begin(), found.end(), [](const std::string& one) { return one.starts_with("step 1"); }));
  CHECK(std::none_of(found.begin(), found.end(), [](const std::string& one) {
    return one.starts_with("step 2: parameter ") && one.find("fc2.weight") == std::string::npos;
  }));
}

TEST_CASE("parameters that are dropped late take more memory and change no bit", "[ranks]") {
  const RankTrace alone = train_on(1, 2, kSharedLora).front();
  const KnobValues knobs{{"zero_stage", "3"}};
  const Injection fault{"parameters_kept_whole", 1, "", 0};
  const auto clean = train_on(2, 1, kSharedLora, {}, knobs);
  const auto spoilt = train_on(2, 1, kSharedLora, fault, knobs);  // in the last rank
  CHECK(differences(spoilt, alone).empty());
  CHECK(spoilt.back().model_state_peak_bytes > clean.back().model_state_peak_bytes * 5 / 4);
}

TEST_CASE("a moved weight moves the copy that is updated too", "[worker]") {
  const Injection fault{"weight_sign", 2, "fc2.weight", 7};
  CHECK(differences(train_on(1, 2, kSharedMlp, fault, with({}, "optimizer")), train_on(1, 2, kSharedMlp, fault).front())
            .empty());
}

TEST_CASE("a training goes on from a checkpoint with what the host updates", "[worker]") {
  for (const char* preset : {"tiny", "tiny-lora"}) {
    const TemporaryFolder folder;
    CellRequest request = rank_request({"llama", preset, 4}, 0, 1, with({}, "optimizer"));
    const TrainingTrace whole = train(request);
    request.checkpoint = Checkpointing{folder.path().string()};
    request.checkpoint->stop_after = 2;
    CHECK(train(request).steps.size() == 2);
    request.checkpoint->stop_after = 0;
    request.checkpoint->resume = true;
    const TrainingTrace resumed = train(request);
    REQUIRE(resumed.steps.size() == 1);
    CHECK(resumed.result.chain == whole.result.chain);
  }
}

TEST_CASE("offload that could not be what it says is refused", "[worker]") {
  CHECK(why_not({{"offload", "optimizer_and_param"}}) ==
        "unsupported: offload=optimizer_and_param with zero_stage=0: parameters are gathered from the host with "
        "`zero_stage: 3` on several ranks alone");
  CHECK(why_not({{"offload", "optimizer"}, {"optimizer_layout", "flat"}}) ==
        "unsupported: offload=optimizer with optimizer_layout=flat: a flat layout updates its buffers where they lie");
  CHECK(why_not({{"offload", "optimizer"}}).empty());
  CHECK(why_not({}, Injection{"offload_stale_parameter", 1, "fc2.weight", 0}) ==
        "bad_request: inject: only with `offload: optimizer` are updated parameters brought back");
  CHECK(why_not({}, Injection{"parameters_kept_whole", 1, "", 0}) ==
        "bad_request: inject: only with `zero_stage: 3` on several ranks are whole parameters dropped");
}

}  // namespace
}  // namespace reprobench
