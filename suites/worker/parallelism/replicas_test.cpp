// Several replicas of the model in one process: the bits of as many ranks, whatever thread is first, and the fault of a
// replica that misses an update.
#include "suites/worker/parallelism/replicas.hpp"

#include <algorithm>
#include <set>

#include <ATen/core/Tensor.h>
#include <torch/version.h>

#include "ci/catch.hpp"
#include "suites/worker/ranks/rank_checkpoints.hpp"
#include "suites/worker/ranks/shared_training.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

// As train_on(), in one process with that many replicas.
RankTrace train_replicas(int replicas, int accumulate, const SharedTraining& training,
                         const std::optional<Injection>& fault = {}, KnobValues knobs = {}) {
  knobs["replicas"] = std::to_string(replicas);
  return train_on(1, accumulate, training, fault, knobs).front();
}

const SharedTraining kSharedResnet{"resnet", "tiny", 32};

bool is_of_other_replica(const std::string& name) { return name.find('@') != std::string::npos; }

// "step 2: parameter fc1.weight@1", of all copies of other replicas that have not replica 0's bits.
std::vector<std::string> stale(const RankTrace& trace) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    for (const auto& [name, digest] : trace.records[i]) {
      if (!is_of_other_replica(name) || trace.records[i].at(name.substr(0, name.find('@'))) == digest) continue;
      found.push_back("step " + std::to_string(i + 1) + ": " + name);
    }
  }
  return found;
}

// The replica's trace as the ranks' are: without the weights of other replicas.
RankTrace as_of_rank(RankTrace trace) {
  for (DigestByName& record : trace.records) {
    std::erase_if(record, [](const auto& entry) { return is_of_other_replica(entry.first); });
  }
  return trace;
}

// Those of the differences to one rank with as many micro-batches.
std::vector<std::string> differences_to_one_rank(const RankTrace& replicas, int micro_batches,
                                                 const SharedTraining& training, const KnobValues& knobs = {}) {
  return differences({as_of_rank(replicas)}, train_on(1, micro_batches, training, {}, knobs).front());
}

bool some_name(const std::vector<std::string>& found, const std::string& part) {
  return std::ranges::any_of(found, [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

TEST_CASE("replicas of one process make the bits of as many data-parallel ranks", "[replicas]") {
  for (const SharedTraining& training : {kSharedMlp, kSharedLlama, kSharedLora}) {
    for (const int count : {2, 4}) {
      INFO(training.model << "/" << training.preset << " with " << count);
      const std::vector<RankTrace> ranks = train_on(count, 1, training);
      const RankTrace replicas = train_replicas(count, 1, training);
      CHECK(differences(ranks, replicas).empty());
      CHECK(replicas.workload_digest == ranks.front().workload_digest);
      REQUIRE(replicas.records.size() == kSharedSteps + 1);
      CHECK(stale(replicas).empty());
    }
  }
}

TEST_CASE("replicas that do several micro-batches each make the bits of ranks that do, and of one rank", "[replicas]") {
  const RankTrace replicas = train_replicas(2, 2, kSharedMlp);
  CHECK(differences(train_on(2, 2, kSharedMlp), replicas).empty());
  CHECK(differences_to_one_rank(replicas, 4, kSharedMlp).empty());
}

// Six rows a product: MKL would split it among as many threads as there are cores, had it not been told otherwise in
// the replica's own thread.
TEST_CASE("three micro-batches of a replica are added up as those of a rank, whatever cores there are", "[replicas]") {
  const SharedTraining training{"mlp", "base", 36};
  CHECK(differences(train_on(2, 3, training), train_replicas(2, 3, training)).empty());
}

TEST_CASE("a training with replicas has the same bits however its threads come to run", "[replicas]") {
  const RankTrace first = train_replicas(4, 1, kSharedLlama);
  for (int again = 0; again < 3; ++again) {
    const RankTrace other = train_replicas(4, 1, kSharedLlama);
    CHECK(differences({other}, first).empty());
    REQUIRE(other.steps.size() == first.steps.size());
    CHECK(other.steps.back().chain == first.steps.back().chain);
  }
}

TEST_CASE("replicas train as one rank does in every precision, with a scaled loss, clipping and a loader",
          "[replicas]") {
  std::vector<KnobValues> choices{{{"precision", "bf16"}, {"max_grad_norm", "0.5"}},
                                  {{"precision", "fp64"}, {"loader_threads", "2"}}};
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  choices.push_back({{"precision", "fp16"}, {"loss_scale", "dynamic"}});
  choices.push_back({{"precision", "fp16"}, {"max_grad_norm", "0.5"}});
#endif
  for (const KnobValues& knobs : choices) {
    for (const SharedTraining& training : {kSharedMlp, kSharedLlama}) {
      INFO(training.model << ", precision " << knobs.at("precision"));
      const RankTrace replicas = train_replicas(2, 1, training, {}, knobs);
      CHECK(differences_to_one_rank(replicas, 2, training, knobs).empty());
      CHECK(stale(replicas).empty());
    }
  }
}

TEST_CASE("running statistics are those that the first replica makes, as the first rank's are", "[replicas]") {
  const std::vector<RankTrace> ranks = train_on(2, 1, kSharedResnet);
  const RankTrace replicas = train_replicas(2, 1, kSharedResnet);
  CHECK(differences({ranks[0]}, replicas).empty());
  const std::string statistics = "buffer bn1.running_mean";
  REQUIRE(replicas.records[1].contains(statistics));
  CHECK(replicas.records[1].at(statistics) != replicas.records[0].at(statistics));
  CHECK(ranks[1].records[0].at(statistics) != ranks[0].records[0].at(statistics));  // the second's are dropped
}

TEST_CASE("a replica that does not get new weights is seen in all of them at the next step, and makes wrong gradients",
          "[replicas]") {
  const RankTrace trace = train_replicas(4, 1, kSharedMlp, Injection{"replica_stale", 1, "", 0});
  const std::vector<std::string> found = stale(trace);
  CHECK(std::set<std::string>(found.begin(), found.end()) ==
        std::set<std::string>{"step 2: parameter fc1.bias@3", "step 2: parameter fc1.weight@3",
                              "step 2: parameter fc2.bias@3", "step 2: parameter fc2.weight@3"});
  const std::vector<std::string> wrong = differences_to_one_rank(trace, 4, kSharedMlp);
  CHECK_FALSE(some_name(wrong, "step 1:"));
  CHECK(some_name(wrong, "step 2: forward_output fc2#3"));
  CHECK_FALSE(some_name(wrong, "step 2: forward_output fc2#2"));
  CHECK(some_name(wrong, "step 2: parameter_gradient fc2.weight of"));
}

TEST_CASE("a replica that misses the last update is seen in the state after it", "[replicas]") {
  const RankTrace trace = train_replicas(2, 1, kSharedMlp, Injection{"replica_stale", kSharedSteps, "", 0});
  const std::vector<std::string> found = stale(trace);
  CHECK(found.size() == 4);
  CHECK(std::ranges::all_of(found, [](const std::string& one) { return one.starts_with("step 4: parameter fc"); }));
}

TEST_CASE("at trace level step replicas leave the chain of one rank that does their micro-batches", "[replicas]") {
  CellRequest request = training_request(mlp(), kSharedSteps, TraceLevel::step);
  request.knobs["replicas"] = "4";
  const TrainingTrace replicas = train(request);
  request.knobs["replicas"] = "1";
  request.knobs["accumulate"] = "4";
  const TrainingTrace alone = train(request);
  REQUIRE(replicas.steps.size() == kSharedSteps);
  for (std::size_t i = 0; i < replicas.steps.size(); ++i) CHECK(replicas.steps[i].chain == alone.steps[i].chain);
}

TEST_CASE("a replica whose gradients are left out of the sum is seen in the sum, though all agree", "[replicas]") {
  const RankTrace trace = train_replicas(2, 1, kSharedMlp, Injection{"replica_gradient_lost", 2, "", 0});
  CHECK(stale(trace).empty());
  const std::vector<std::string> wrong = differences_to_one_rank(trace, 2, kSharedMlp);
  CHECK_FALSE(some_name(wrong, "step 1:"));
  CHECK(some_name(wrong, "step 2: parameter_gradient fc1.weight of"));
  CHECK_FALSE(some_name(wrong, "step 2: parameter_gradient fc1.weight#"));  // each made its own
  CHECK_FALSE(some_name(wrong, "step 2: loss"));
}

TEST_CASE("a fault in weights or operators is planted in the first replica alone", "[replicas]") {
  const RankTrace weight = train_replicas(2, 1, kSharedMlp, Injection{"weight_ulp", 2, "fc2.bias", 1});
  CHECK(stale(weight) == std::vector<std::string>{"step 2: parameter fc2.bias@1"});
  const RankTrace operators = train_replicas(2, 1, kSharedMlp, Injection{"accumulate_16_bit", 2, "", 0});
  const std::vector<std::string> wrong = differences_to_one_rank(operators, 2, kSharedMlp);
  CHECK(some_name(wrong, "step 2: forward_output fc1#0"));
  CHECK(some_name(wrong, "step 2: parameter_gradient fc1.weight#0"));
  CHECK_FALSE(some_name(wrong, "step 2: forward_output fc1#1"));
  CHECK_FALSE(some_name(wrong, "step 2: parameter_gradient fc1.weight#1"));
}

TEST_CASE("replicas go on from a checkpoint with the weights that it puts back", "[replicas]") {
  const auto with_replicas = [](const ChangeRequest& change) {
    return [=](CellRequest& request) {
      request.knobs["accumulate"] = "1";
      request.knobs["replicas"] = std::to_string(kSharedMicroBatches);
      change(request);
    };
  };
  const TemporaryFolder folder;
  const std::vector<RankRun> stopped = run_ranks(1, kSharedMlp, {}, with_replicas(stop_after(2, folder.path())));
  const std::vector<RankRun> resumed = run_ranks(1, kSharedMlp, {}, with_replicas(go_on_from(folder.path())));
  CHECK(failures_of(stopped).empty());
  CHECK(failures_of(resumed).empty());
  const RankTrace whole = train_replicas(kSharedMicroBatches, 1, kSharedMlp);
  REQUIRE(resumed[0].trace.records.size() == 2);
  CHECK(differences(traces_of(resumed), behind(whole, 2)).empty());
  CHECK(stale(resumed[0].trace).empty());
  const std::vector<RankRun> alone = run_ranks(1, kSharedMlp, {}, go_on_from(folder.path()));  // the same micro-batches
  CHECK(failures_of(alone).empty());
  CHECK(differences({as_of_rank(behind(whole, 2))}, alone[0].trace).empty());
}

TEST_CASE("the model's state is weighed with the weights and gradients of every replica", "[replicas]") {
  const RankTrace alone = train_on(1, 4, kSharedMlp).front();
  const RankTrace replicas = train_replicas(4, 1, kSharedMlp);
  const std::int64_t copy_bytes = alone.model_state_peak_bytes - alone.optimizer_state_bytes;
  REQUIRE(copy_bytes > 0);
  CHECK(replicas.optimizer_state_bytes == alone.optimizer_state_bytes);
  CHECK(replicas.model_state_peak_bytes == alone.model_state_peak_bytes + 3 * copy_bytes);
  CHECK(replicas.on_device_peak_bytes == replicas.model_state_peak_bytes);
  for (const StepRecord& step : replicas.steps) CHECK(step.samples == kSharedMlp.batch_size);
}

TEST_CASE("replicas beside what is not built for them are refused by the worker too", "[replicas]") {
  const auto why_not = [](int ranks, int replicas, KnobValues knobs) -> std::string {
    knobs["replicas"] = std::to_string(replicas);
    try {
      train_on(ranks, 1, kSharedMlp, {}, knobs);
    } catch (const RunFailure& failure) {
      return failure.cause() + ": " + failure.what();
    }
    return "";
  };
  CHECK(why_not(1, 3, {}) == "bad_request: a batch of 32 makes no 3 equal micro-batches");
  CHECK(why_not(1, 64, {}).starts_with("bad_request: a batch of 32 makes no "));
  CHECK(why_not(2, 2, {}).starts_with("unsupported: replicas=2 with world_size=2: "));
  CHECK(why_not(1, 2, {{"zero_stage", "1"}}).starts_with("unsupported: replicas=2 with zero_stage=1: "));
  CHECK(why_not(1, 2, {{"gradient_checkpointing", "on"}})
            .starts_with("unsupported: replicas=2 with gradient_checkpointing=on: "));
}

}  // namespace
}  // namespace reprobench
