// Checkpoints of several ranks, with real collectives between threads: one file whatever the layout, and all ranks
// resume from the same one.
#include "suites/worker/ranks/rank_checkpoints.hpp"

#include <algorithm>
#include <fstream>
#include <set>

#include <ATen/core/Tensor.h>

#include "kernels/digest/digest.hpp"
#include "suites/worker/record/tensor_file.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

const SharedTraining kElasticMlp{"mlp", "base", 32};
const SharedTraining kElasticLora{"llama", "tiny-lora", 4};
const SharedTraining kElasticVlm{"vlm", "tiny", 4};

KnobValues zero(const std::string& stage) { return {{"zero_stage", stage}}; }

fs::path checkpoint_of(const fs::path& folder, std::int64_t step) {
  return folder / ("checkpoint-0000000" + std::to_string(step) + ".safetensors");
}

void cut(const fs::path& path) { fs::resize_file(path, fs::file_size(path) - 1); }

// Names of all that some rank recorded at a place.
std::set<std::string> recorded_names(const std::vector<RankTrace>& ranks, std::size_t place) {
  std::set<std::string> names;
  for (const RankTrace& rank : ranks) {
    for (const auto& [name, digest] : rank.records.at(place)) names.insert(name);
  }
  return names;
}

TEST_CASE("a training stopped on two ranks goes on with its bits on one, two and four, whatever they share out",
          "[ranks]") {
  for (const SharedTraining& training : {kElasticMlp, kElasticLora, kElasticVlm}) {
    const std::vector<RankRun> alone = run_ranks(1, training, {}, [](CellRequest&) {});
    for (const std::string stage : {"0", "1", "2", "3"}) {
      // Every stage with one model, the two that differ most with another, and the largest with the last alone.
      if (training.model != kElasticMlp.model && (stage == "1" || stage == "2")) continue;
      if (training.model == kElasticVlm.model && stage == "0") continue;
      const TemporaryFolder folder;
      const std::vector<RankRun> stopped = run_ranks(2, training, zero(stage), stop_after(1, folder.path()));
      REQUIRE(failures_of(stopped).empty());
      for (const int ranks : {1, 2, 4}) {
        INFO(training.model << " stage " << stage << " from 2 ranks to " << ranks);
        const std::vector<RankRun> resumed = run_ranks(ranks, training, zero(stage), go_on_from(folder.path()));
        REQUIRE(failures_of(resumed).empty());
        const RankTrace rest = behind(alone.front().trace, 1);
        CHECK(differences(traces_of(resumed), rest).empty());
        REQUIRE(resumed.front().trace.steps.size() == 2);
        for (std::size_t place = 0; place < rest.records.size(); ++place) {
          CHECK(recorded_names(traces_of(resumed), place) == recorded_names({rest}, place));
        }
      }
    }
  }
}

TEST_CASE("a training may go on with another stage of ZeRO, and from one rank on four", "[ranks]") {
  const std::vector<RankRun> alone = run_ranks(1, kElasticMlp, {}, [](CellRequest&) {});
  const TemporaryFolder of_four;
  const TemporaryFolder of_one;
  REQUIRE(failures_of(run_ranks(4, kElasticMlp, zero("3"), stop_after(2, of_four.path()))).empty());
  REQUIRE(failures_of(run_ranks(1, kElasticMlp, {}, stop_after(2, of_one.path()))).empty());
  const RankTrace rest = behind(alone.front().trace, 2);
  CHECK(differences(traces_of(run_ranks(2, kElasticMlp, zero("1"), go_on_from(of_four.path()))), rest).empty());
  CHECK(differences(traces_of(run_ranks(4, kElasticMlp, zero("2"), go_on_from(of_one.path()))), rest).empty());
}

TEST_CASE("a checkpoint holds the same tensors whatever the layout that wrote it", "[ranks]") {
  const TemporaryFolder alone;
  run_ranks(1, kElasticLora, {}, stop_after(2, alone.path()));
  const TensorFile expected = read_tensors(checkpoint_of(alone.path(), 2));
  for (const char* stage : {"0", "1", "2", "3"}) {
    const TemporaryFolder folder;
    const std::vector<RankRun> runs = run_ranks(4, kElasticLora, zero(stage), stop_after(2, folder.path()));
    const TensorFile file = read_tensors(checkpoint_of(folder.path(), 2));
    REQUIRE(file.tensors.size() == expected.tensors.size());
    for (const auto& [name, tensor] : expected.tensors) {
      INFO("stage " << stage << " " << name);
      CHECK(file.tensors.at(name).equal(tensor));
    }
    CHECK(file.metadata.at("ranks") == "4");
    // The one that wrote it says so, and nobody else.
    REQUIRE(runs[0].result.checkpoints->written.size() == 1);
    for (std::size_t rank = 1; rank < 4; ++rank) CHECK(runs[rank].result.checkpoints->written.empty());
  }
}

TEST_CASE("every rank says from what it went on, and the same", "[ranks]") {
  const TemporaryFolder folder;
  const std::vector<RankRun> stopped = run_ranks(2, kElasticMlp, zero("3"), stop_after(2, folder.path()));
  std::vector<Digest> chains;
  for (const RankRun& run : stopped) chains.push_back(digest_from_hex(run.result.chain).value());
  CHECK(chains[0] != chains[1]);
  std::set<std::string> states;
  for (const int ranks : {1, 2, 4}) {
    for (const RankRun& run : run_ranks(ranks, kElasticMlp, zero("3"), go_on_from(folder.path()))) {
      REQUIRE(run.resumed);
      CHECK(run.resumed->after_step == 2);
      CHECK(run.resumed->checksum == stopped[0].result.checkpoints->written[0].checksum);
      CHECK(run.resumed->written_by == "0123456789abcdef.stopped");
      CHECK(run.resumed->chain == to_hex(chain_of_ranks(chains)));
      states.insert(run.resumed->state);
    }
  }
  CHECK(states.size() == 1);
  // As the ranks that were stopped recorded it between them, by role and name.
  std::map<std::pair<TensorRole, std::string>, std::string> state;
  for (const RankRun& run : stopped) {
    for (const auto& [name, digest] : run.trace.records.back()) {
      const auto space = name.find(' ');
      state[{*from_word<TensorRole>(name.substr(0, space)), name.substr(space + 1)}] = digest;
    }
  }
  DigestBuilder root;
  for (const auto& [key, digest] : state) append_tensor(root, key.second, to_string(key.first), digest);
  CHECK(*states.begin() == to_hex(root.finish()));
}

TEST_CASE("ranks of which one is asked to stop leave one checkpoint, after the same step", "[ranks]") {
  const TemporaryFolder folder;
  request_stop();  // the ranks are threads of one process: exactly one of them finds it
  const std::vector<RankRun> runs = run_ranks(4, kElasticMlp, zero("2"), [&](CellRequest& request) {
    request.checkpoint = Checkpointing{folder.path().string()};
  });
  for (const RankRun& run : runs) {
    CHECK(run.failure == "asked to stop after step 1");
    CHECK(run.result.steps_completed == 1);
  }
  REQUIRE(fs::exists(checkpoint_of(folder.path(), 1)));
  const std::vector<RankRun> alone = run_ranks(1, kElasticMlp, {}, [](CellRequest&) {});
  const std::vector<RankRun> resumed = run_ranks(2, kElasticMlp, zero("2"), go_on_from(folder.path()));
  CHECK(differences(traces_of(resumed), behind(alone.front().trace, 1)).empty());
}

// Checkpoints of the steps 1 and 2 of two ranks.
void write_two(const fs::path& folder) {
  const std::vector<RankRun> runs = run_ranks(2, kElasticMlp, zero("1"), [&](CellRequest& request) {
    stop_after(2, folder)(request);
    request.checkpoint->every_steps = 1;
  });
  REQUIRE(failures_of(runs).empty());
  REQUIRE(runs[0].result.checkpoints->written.size() == 2);
}

TEST_CASE("the last K checkpoints of all ranks stay", "[ranks]") {
  const TemporaryFolder folder;
  run_ranks(2, kElasticMlp, zero("3"), [&](CellRequest& request) {
    request.checkpoint = Checkpointing{folder.path().string()};
    request.checkpoint->every_steps = 1;
    request.checkpoint->keep = 2;
  });
  CHECK_FALSE(fs::exists(checkpoint_of(folder.path(), 1)));
  CHECK(fs::exists(checkpoint_of(folder.path(), 2)));
  CHECK(fs::exists(checkpoint_of(folder.path(), 3)));
}

TEST_CASE("a checkpoint that is cut is refused on all ranks alike, and all use the one before it", "[ranks]") {
  const TemporaryFolder folder;
  write_two(folder.path());
  cut(checkpoint_of(folder.path(), 2));
  for (const RankRun& run : run_ranks(4, kElasticMlp, zero("1"), go_on_from(folder.path()))) {
    REQUIRE(run.resumed);
    CHECK(run.resumed->after_step == 1);
    REQUIRE(run.result.checkpoints->refused.size() == 1);
    CHECK(run.result.checkpoints->refused[0].reason.starts_with("unreadable"));
  }
}

TEST_CASE("a checkpoint that one rank does not take is not gone on from by any", "[ranks]") {
  const auto [damage, own, others] = GENERATE(table<int, std::string, std::string>({
      {0, "unreadable", "elsewhere: rank 1 does not take it"},
      {1, "unreadable: it is no plain file", "elsewhere: rank 1 does not take it"},
      {2, "elsewhere: rank 0 read another checksum", "elsewhere: rank 1 read another checksum"},
  }));
  const TemporaryFolder seen;
  const TemporaryFolder seen_by_one;
  write_two(seen.path());
  fs::copy(seen.path(), seen_by_one.path(), fs::copy_options::recursive);
  if (damage == 0) cut(checkpoint_of(seen_by_one.path(), 2));
  if (damage == 1) fs::remove(checkpoint_of(seen_by_one.path(), 2));
  if (damage == 2) {  // the same state, written once more
    const TemporaryFolder again;
    write_two(again.path());
    fs::copy_file(checkpoint_of(again.path(), 2), checkpoint_of(seen_by_one.path(), 2),
                  fs::copy_options::overwrite_existing);
  }
  const std::vector<RankRun> runs = run_ranks(2, kElasticMlp, zero("1"), [&](CellRequest& request) {
    go_on_from(request.rank == 1 ? seen_by_one.path() : seen.path())(request);
  });
  REQUIRE(failures_of(runs).empty());
  for (const RankRun& run : runs) {
    REQUIRE(run.resumed);
    CHECK(run.resumed->after_step == 1);
    REQUIRE(run.result.checkpoints->refused.size() == 1);
  }
  CHECK(runs[0].resumed->checksum == runs[1].resumed->checksum);
  CHECK(runs[0].result.checkpoints->refused[0].reason == others);
  CHECK(runs[1].result.checkpoints->refused[0].reason.starts_with(own));
}

TEST_CASE("a checkpoint of other micro-batches is foreign to every rank", "[ranks]") {
  const TemporaryFolder folder;
  run_ranks(2, kElasticMlp, {}, stop_after(2, folder.path()));
  const std::vector<RankRun> runs = run_ranks(2, kElasticMlp, {}, [&](CellRequest& request) {
    go_on_from(folder.path())(request);
    request.knobs["accumulate"] = "1";
  });
  for (const RankRun& run : runs) {
    CHECK_FALSE(run.resumed);
    CHECK(run.result.checkpoints->refused.at(0).reason.starts_with("foreign: workload_digest"));
  }
}

TEST_CASE("a fault of going on in one rank changes the bits, and that rank alone says it loaded another state",
          "[ranks]") {
  const auto [kind, stage] = GENERATE(table<std::string, std::string>({
      {"resume_from_step_0", "0"},
      {"resume_from_step_0", "3"},
      {"resume_without_optimizer_state", "0"},
      {"resume_without_optimizer_state", "1"},
      {"resume_without_optimizer_state", "3"},
      {"resume_shard_misplaced", "1"},
      {"resume_shard_misplaced", "2"},
      {"resume_shard_misplaced", "3"},
  }));
  INFO(kind << " stage " << stage);
  const std::vector<RankRun> alone = run_ranks(1, kElasticMlp, {}, [](CellRequest&) {});
  const TemporaryFolder folder;
  run_ranks(2, kElasticMlp, zero(stage.c_str()), stop_after(2, folder.path()));
  const std::string fault = kind;
  const std::vector<RankRun> runs = run_ranks(4, kElasticMlp, zero(stage.c_str()), [&](CellRequest& request) {
    go_on_from(folder.path())(request);
    if (request.rank == 1) request.inject = Injection{fault, 3, "", 0, 1};
  });
  REQUIRE(failures_of(runs).empty());
  CHECK_FALSE(differences(traces_of(runs), behind(alone.front().trace, 2)).empty());
  CHECK(runs[0].resumed->state != runs[1].resumed->state);
  CHECK(runs[0].resumed->state == runs[2].resumed->state);
  CHECK(runs[0].resumed->state == runs[3].resumed->state);
}

TEST_CASE("running statistics, which every rank has of its own, are no state of all ranks", "[ranks]") {
  const TemporaryFolder folder;
  for (const RankRun& run : run_ranks(2, {"resnet", "tiny", 32}, {}, stop_after(1, folder.path()))) {
    CHECK(run.failure.starts_with("a checkpoint of several ranks: each has a `"));
    CHECK(run.failure.ends_with("` of its own after step 1"));
  }
  CHECK(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace reprobench
