// Optimizer states and gradients sharded over ranks: which rank has what, and that the bits do not show it.
#include "suites/worker/ranks/zero_shards.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include <ATen/core/Tensor.h>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "suites/worker/ranks/shared_training.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

TEST_CASE("shards are equal runs of the whole line of parameters, cut between blocks", "[ranks]") {
  const Partition two({1000, 0, 24, 1024}, 2);
  CHECK((two.of(0) == std::vector<Shard>{{0, 1000}, {0, 0}, {0, 24}, {0, 0}}));
  CHECK((two.of(1) == std::vector<Shard>{{1000, 1000}, {0, 0}, {24, 24}, {0, 1024}}));
  const Partition three({1000, 0, 24, 1024}, 3);  // limits at 683 and 1366 of 2048
  CHECK((three.of(0, 0) == Shard{0, 768}));
  CHECK((three.of(1, 0) == Shard{768, 1000}));
  CHECK((three.of(1, 3) == Shard{0, 512}));
  CHECK((three.of(2, 3) == Shard{512, 1024}));
  CHECK(three.largest() == 768);
  CHECK(Partition({10}, 4).elements_of(0) == 10);  // a block goes to one rank
}

TEST_CASE("frozen parameters are a second line, shared out evenly by itself", "[ranks]") {
  Partition partition({1024, 0, 512, 0}, 2);
  partition.add(Partition({0, 2048, 0, 1024}, 2));
  CHECK((partition.of(0) == std::vector<Shard>{{0, 768}, {0, 1536}, {0, 0}, {0, 0}}));
  CHECK((partition.of(1) == std::vector<Shard>{{768, 1024}, {1536, 2048}, {0, 512}, {0, 1024}}));
  const Partition some = partition.only({true, true, false, false});
  CHECK((some.of(1) == std::vector<Shard>{{768, 1024}, {1536, 2048}, {0, 0}, {0, 0}}));
  CHECK(some.largest() == 768 + 1536);
}

TEST_CASE("every element has one rank, and no rank more than its share and a block", "[ranks]") {
  const std::vector<std::int64_t> elements{100352, 128, 0, 1280, 10, 1, 255, 256, 257, 70000};
  const std::int64_t total = std::accumulate(elements.begin(), elements.end(), std::int64_t{0});
  for (const int ranks : {1, 2, 3, 4, 7, 64}) {
    const Partition partition(elements, ranks);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Shard shard = partition.of(rank, i);
        CHECK(shard.begin == next);
        CHECK((shard.begin % kBlockElements == 0 || shard.size() == 0));
        next = shard.end;
      }
      CHECK(next == elements[i]);
    }
    CHECK(partition.largest() <= total / ranks + kBlockElements);
  }
}

TEST_CASE("a window on a rank's run names what lies in it, each part once", "[ranks]") {
  const std::vector<Shard> shards{{512, 768}, {0, 0}, {0, 24}, {0, 300}};
  const auto parts = parts_of(shards, 200, 100);
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].in_parameter == 712);
  CHECK(parts[0].in_shard == 200);
  CHECK(parts[0].in_window == 0);
  CHECK(parts[0].size == 56);
  CHECK(parts[1].parameter == 2);
  CHECK(parts[1].in_window == 56);
  CHECK(parts[1].size == 24);
  CHECK(parts[2].parameter == 3);
  CHECK(parts[2].size == 20);
  CHECK(parts_of(shards, 580, 100).empty());
}

KnobValues stage(const char* value) { return {{"zero_stage", value}}; }

// Names of a role that some rank recorded of a step.
std::set<std::string> recorded(const std::vector<RankTrace>& ranks, std::size_t step, const std::string& role) {
  std::set<std::string> names;
  for (const RankTrace& rank : ranks) {
    for (const auto& [name, digest] : rank.records.at(step)) {
      if (name.starts_with(role + " ")) names.insert(name);
    }
  }
  return names;
}

TEST_CASE("what ranks share out makes the bits of one rank that has all of it", "[ranks]") {
  for (const SharedTraining& training : {kSharedMlp, kSharedLora}) {
    const RankTrace alone = train_on(1, 4, training).front();
    for (const char* zero_stage : {"1", "2", "3"}) {
      for (const int ranks : {2, 4}) {
        INFO(training.model << " stage " << zero_stage << " on " << ranks);
        const std::vector<RankTrace> shared = train_on(ranks, 4 / ranks, training, {}, stage(zero_stage));
        CHECK(differences(shared, alone).empty());
        for (std::size_t step = 0; step <= kSharedSteps; ++step) {
          for (const char* role : {"parameter", "parameter_gradient", "optimizer_state", "loss"}) {
            CHECK(recorded(shared, step, role) == recorded({alone}, step, role));
          }
        }
        for (const RankTrace& rank : shared) {
          CHECK(rank.workload_digest == alone.workload_digest);
          for (std::size_t i = 0; i < rank.steps.size(); ++i) {
            CHECK(rank.steps[i].loss == alone.steps[i].loss);
            CHECK(rank.steps[i].grad_norm == alone.steps[i].grad_norm);
          }
        }
      }
    }
  }
}

TEST_CASE("clipping by the norm over all gradients makes the same bits in every layout", "[ranks]") {
  const KnobValues clipped{{"max_grad_norm", "0.5"}};
  const RankTrace alone = train_on(1, 4, kSharedMlp, {}, clipped).front();
  CHECK(alone.steps[0].events.at("clipped") == 1);
  CHECK(*exact_float_from_json(alone.steps[0].grad_norm) > 0.5);  // before clipping
  const RankTrace loose = train_on(1, 4, kSharedMlp, {}, {{"max_grad_norm", "1000"}}).front();
  CHECK(loose.steps[0].events.at("clipped") == 0);
  const RankTrace free = train_on(1, 4, kSharedMlp).front();
  CHECK_FALSE(free.steps[0].events.contains("clipped"));
  CHECK(free.records.back() == loose.records.back());
  CHECK(free.records.back() != alone.records.back());
  CHECK(free.workload_digest != alone.workload_digest);
  for (const char* zero_stage : {"0", "1", "2", "3"}) {
    for (const int ranks : {2, 4}) {
      INFO("stage " << zero_stage << " on " << ranks);
      KnobValues knobs = clipped;
      knobs["zero_stage"] = zero_stage;
      const std::vector<RankTrace> shared = train_on(ranks, 4 / ranks, kSharedMlp, {}, knobs);
      CHECK(differences(shared, alone).empty());
      for (const RankTrace& rank : shared) {
        for (std::size_t i = 0; i < rank.steps.size(); ++i) {
          CHECK(rank.steps[i].grad_norm == alone.steps[i].grad_norm);
          CHECK(rank.steps[i].events.at("clipped") == alone.steps[i].events.at("clipped"));
        }
      }
    }
  }
}

TEST_CASE("a rank keeps its share of the optimizer's state and no more", "[ranks]") {
  const std::int64_t all = train_on(1, 4, kSharedMlp).front().optimizer_state_bytes;
  CHECK(all == 2 * 4 * (784 * 128 + 128 + 1280 + 10));  // Adam's two moments in fp32
  const std::int64_t block_bytes = 2 * 4 * kBlockElements;
  for (const int ranks : {2, 4}) {
    std::int64_t sum = 0;
    for (const RankTrace& rank : train_on(ranks, 4 / ranks, kSharedMlp, {}, stage("1"))) {
      CHECK(rank.optimizer_state_bytes <= all / ranks + block_bytes);
      sum += rank.optimizer_state_bytes;
    }
    CHECK(sum == all);
    CHECK(train_on(ranks, 4 / ranks, kSharedMlp).front().optimizer_state_bytes == all);
  }
}

TEST_CASE("a wrong shard is on record where it is kept, and its parameter on every rank a step later", "[ranks]") {
  const RankTrace alone = train_on(1, 2, kSharedMlp).front();
  const Injection fault{"moment_ulp", 2, "fc2.weight", 7};
  const auto found = differences(train_on(2, 1, kSharedMlp, fault, stage("2")), alone);
  CHECK(std::count(found.begin(), found.end(), "step 2: optimizer_state fc2.weight.exp_avg of rank 1") == 1);
  CHECK(std::none_of(found.begin(), found.end(), [](const std::string& one) { return one.starts_with("step 1"); }));
  CHECK(std::none_of(found.begin(), found.end(),
                     [](const std::string& one) { return one.starts_with("step 2") && one.ends_with("of rank 0"); }));
}

TEST_CASE("a fault is not planted in what the rank does not keep", "[ranks]") {
  CHECK(why_not_planted({"moment_ulp", 2, "fc1.weight", 7}, {{"zero_stage", "1"}}) ==
        "inject: rank 1 keeps the state of elements 50944 to 100352 of `fc1.weight`, element 7 is not one of them");
}

}  // namespace
}  // namespace reprobench
