// Micro-batches divided over ranks, which meet over Gloo as threads of one process: the order of summation, and real
// trainings in every layout.
#include "suites/worker/ranks/gradient_sum.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "suites/worker/ranks/shared_training.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"
#include "suites/worker/train_loop.hpp"

namespace reprobench {
namespace {

float pairwise_sum_of(const std::vector<float>& values) {
  PairwiseSum sum;
  for (const float value : values) sum.add({at::full({1}, value)});
  return sum.take().front()[0].item<float>();
}

TEST_CASE("neighbours are added first, then their sums", "[ranks]") {
  const float half_ulp = std::ldexp(1.0F, -24);  // of 1: it is lost unless two of them come together
  CHECK(pairwise_sum_of({half_ulp, half_ulp, 1, 0}) == 1 + 2 * half_ulp);
  CHECK(pairwise_sum_of({1, half_ulp, half_ulp, 0}) == 1);
  CHECK(pairwise_sum_of({1, 0, half_ulp, half_ulp}) == 1 + 2 * half_ulp);  // from left to right: 1
  CHECK(pairwise_sum_of({1, 0, 0, half_ulp, half_ulp, 0}) == 1);
  CHECK(pairwise_sum_of({1, 0, 0, 0, half_ulp, half_ulp}) == 1 + 2 * half_ulp);
  CHECK(pairwise_sum_of({3, 4, 5}) == 12);
}

TEST_CASE("a layout counts micro-batches in the order of the batch", "[ranks]") {
  const Layout second{1, 2, 3};
  CHECK(second.named("fc1", 0) == "fc1#3");
  CHECK(second.named("fc1", 2) == "fc1#5");
  CHECK(Layout{}.named("fc1", 0) == "fc1");
  CHECK((Layout{0, 1, 2}).named("fc1", 0) == "fc1#0");
  CellRequest request;
  request.world_size = 2;
  request.workload.batch_size = 12;
  CHECK(layout_of(request, settings_of({{"accumulate", "3"}})).micro_batches() == 6);
  CHECK_THROWS_WITH(layout_of(request, settings_of({{"accumulate", "4"}})),
                    "a batch of 12 makes no 8 equal micro-batches");
}

TEST_CASE("every layout of four micro-batches makes the bits of one rank that does all of them", "[ranks]") {
  for (const SharedTraining& training : {kSharedMlp, SharedTraining{"llama", "tiny-lora", 4}}) {
    INFO(training.model);
    const RankTrace alone = train_on(1, 4, training).front();
    REQUIRE(alone.records.size() == kSharedSteps + 1);
    for (const int ranks : {2, 4}) {
      const std::vector<RankTrace> shared = train_on(ranks, 4 / ranks, training);
      CHECK(differences(shared, alone).empty());
      for (const RankTrace& rank : shared) {
        CHECK(rank.workload_digest == alone.workload_digest);
        CHECK(rank.steps[1].loss == alone.steps[1].loss);
        CHECK(rank.steps[1].samples == training.batch_size / ranks);
        CHECK(rank.steps[1].phases.comm_ns > 0);
      }
    }
    const RankTrace whole = train_on(1, 1, training).front();
    CHECK(whole.workload_digest != alone.workload_digest);
    CHECK(whole.steps[0].phases.comm_ns == 0);
  }
}

TEST_CASE("the mean over micro-batches is that over the batch, but for rounding", "[ranks]") {
  const RankTrace whole = train_on(1, 1, kSharedMlp).front();
  const RankTrace parts = train_on(2, 2, kSharedMlp).front();
  for (std::size_t i = 0; i < whole.steps.size(); ++i) {
    const double norm = *exact_float_from_json(whole.steps[i].grad_norm);
    CHECK(*exact_float_from_json(parts.steps[i].grad_norm) == Approx(norm).epsilon(1e-4));
    CHECK(*exact_float_from_json(parts.steps[i].loss) ==
          Approx(*exact_float_from_json(whole.steps[i].loss)).epsilon(1e-4));
  }
}

TEST_CASE("a wrong part of a gradient is on record with the rank that sent it, the sum on all", "[ranks]") {
  const RankTrace alone = train_on(1, 2, kSharedMlp).front();
  const Injection fault{"gradient_ulp", 3, "fc2.bias", 0};
  const std::vector<std::string> found = differences(train_on(2, 1, kSharedMlp, fault), alone);
  CHECK(std::count(found.begin(), found.end(), "step 3: parameter_gradient fc2.bias#1 of rank 1") == 1);
  for (const std::string& one : found) {
    INFO(one);
    CHECK(one.find("fc2.bias") != std::string::npos);
    CHECK(one.find("step 1") == std::string::npos);
    CHECK(one.find("step 2") == std::string::npos);
  }
}

TEST_CASE("what does a step in one piece takes no micro-batches", "[ranks]") {
  CellRequest request;
  request.workload = {"mlp", "base", 1, 32};
  request.device = "sm_90";
  request.world_size = 2;
  request.knobs = with_defaults({});
  CellResult result;
  const TemporaryFolder folder;
  const auto train = [&] { run_training(request, folder.path(), {}, result); };
  // Of ranks on GPUs these are refused before a GPU is looked for, which everything else comes to.
  request.knobs["zero_stage"] = "3";
  CHECK_THROWS_WITH(train(), Catch::StartsWith("zero_stage=3 with device=sm_90: "));
  request.knobs["zero_stage"] = "2";
  request.knobs["max_grad_norm"] = "1";
  CHECK_THROWS_WITH(train(), Catch::StartsWith("zero_stage=2 with max_grad_norm=1: "));
  request.knobs = with_defaults({});
  request.knobs["overlap"] = "on";
  CHECK_THROWS_WITH(train(), Catch::StartsWith("overlap=on with device=sm_90: "));
  request.knobs = with_defaults({});
  request.knobs["offload"] = "optimizer";
  CHECK_THROWS_WITH(train(), Catch::StartsWith("offload=optimizer with device=sm_90: "));
  request.knobs = with_defaults({});
  request.knobs["zero_stage"] = "1";
  CHECK_THROWS_WITH(train(), Catch::StartsWith("cannot train on `sm_90`: this worker was built without CUDA"));
  request.knobs["zero_stage"] = "2";
  request.knobs["max_grad_norm"] = "0";
  CHECK_THROWS_WITH(train(), Catch::StartsWith("cannot train on `sm_90`: this worker was built without CUDA"));
  request.knobs = with_defaults({});
  request.device = "cpu";
  request.world_size = 1;
  request.knobs["replicas"] = "2";
  request.replay.emplace();
  CHECK_THROWS_WITH(train(), "a replay with replicas=2: a replay records the operators of one model");
}

}  // namespace
}  // namespace reprobench
