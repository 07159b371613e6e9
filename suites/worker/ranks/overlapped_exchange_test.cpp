// Gradients exchanged beside the backward pass: a fixed plan, equal bits, and the part of the exchange that the pass
// hides.
#include "suites/worker/ranks/overlapped_exchange.hpp"

#include <algorithm>

#include <torch/version.h>

#include "ci/catch.hpp"
#include "suites/worker/ranks/shared_training.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

const KnobValues kOverlap{{"overlap", "on"}};

TEST_CASE("buckets hold the trained parameters from the model's end, as many as fit", "[ranks]") {
  using Plan = std::vector<std::vector<std::size_t>>;
  CHECK(bucket_plan({100, 10, 0, 50, 40}, 100) == Plan{{4, 3, 1}, {0}});
  CHECK(bucket_plan({100, 11, 0, 50, 40}, 100) == Plan{{4, 3}, {1}, {0}});
  CHECK(bucket_plan({1, 200, 1}, 100) == Plan{{2}, {1}, {0}});
  CHECK(bucket_plan({0, 0}, 100).empty());
}

TEST_CASE("an exchange beside the backward pass makes the bits of one rank", "[ranks]") {
  for (const SharedTraining& training : {kSharedMlp, kSharedLlama, kSharedLora}) {
    for (const int ranks : {2, 4}) {
      INFO(training.model << "/" << training.preset << " on " << ranks);
      const RankTrace alone = train_on(1, ranks, training).front();
      const std::vector<RankTrace> shared = train_on(ranks, 1, training, {}, kOverlap);
      CHECK(differences(shared, alone).empty());
      CHECK(shared.front().workload_digest == alone.workload_digest);
    }
  }
}

TEST_CASE("gradients of a scaled loss are sent unscaled", "[ranks]") {
  KnobValues knobs{{"precision", "bf16"}, {"max_grad_norm", "0.5"}};
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  knobs["precision"] = "fp16";
#endif
  const RankTrace alone = train_on(1, 2, kSharedMlp, {}, knobs).front();
  knobs["overlap"] = "on";
  CHECK(differences(train_on(2, 1, kSharedMlp, {}, knobs), alone).empty());
}

TEST_CASE("every step says how long its exchanges ran and what of that the backward pass hid", "[ranks]") {
  std::int64_t hidden_ns = 0;
  for (const RankTrace& rank : train_on(2, 1, kSharedLlama, {}, kOverlap)) {
    for (const StepRecord& step : rank.steps) {
      CHECK(step.phases.exchange_ns.value() > 0);
      CHECK(*step.phases.exchange_hidden_ns <= *step.phases.exchange_ns);
      hidden_ns += step.phases.exchange_hidden_ns.value();
    }
  }
  CHECK(hidden_ns > 0);  // the last layers' buckets go first; of a single step a busy machine may hide none
  for (const RankTrace& rank : train_on(2, 1, kSharedLlama)) {
    CHECK_FALSE(rank.steps[0].phases.exchange_ns);
    CHECK_FALSE(rank.steps[0].phases.exchange_hidden_ns);
  }
}

TEST_CASE("a first bucket that waits for the end hides nothing on its rank, and changes no bit", "[ranks]") {
  const Injection fault{"bucket_late", 2, "", 0};  // on the last rank
  const std::vector<RankTrace> late = train_on(2, 1, kSharedLlama, fault, kOverlap);
  CHECK(late[1].steps[1].phases.exchange_hidden_ns == 0);
  CHECK(late[1].steps[2].phases.exchange_hidden_ns == 0);
  CHECK(differences(late, train_on(1, 2, kSharedLlama).front()).empty());
}

// The second of two ranks, alone: one that met the others first would wait for them here, and hang up on them
// elsewhere.
TEST_CASE("overlap where gradients become one in another way is refused before the ranks meet", "[ranks]") {
  const auto why_not = [](KnobValues knobs) -> std::string {
    knobs["overlap"] = "on";
    const TemporaryFolder folder;
    CellResult result;
    try {
      run_training(rank_request(kSharedMlp, 1, 2, knobs), folder.path(), kTestData, result);
    } catch (const RunFailure& failure) {
      return failure.cause() + ": " + failure.what();
    }
    return "";
  };
  CHECK(why_not({{"accumulate", "2"}}) ==
        "unsupported: overlap=on with accumulate=2: a rank adds up the gradients of its own micro-batches first");
  CHECK(why_not({{"zero_stage", "1"}}) ==
        "unsupported: overlap=on with zero_stage=1: with ZeRO, gradients and parameters are exchanged in other ways");
  CHECK_NOTHROW(train_on(1, 2, kSharedMlp, {}, kOverlap));  // one rank has nobody to exchange with
}

}  // namespace
}  // namespace reprobench
