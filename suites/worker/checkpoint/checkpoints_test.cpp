#include "suites/worker/checkpoint/checkpoints.hpp"

#include <csignal>
#include <fstream>
#include <functional>

#include <sys/stat.h>

#include "ci/catch.hpp"
#include "matrix/contract/trace.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/record/tensor_file.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"
#include "suites/worker/train_loop.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kTinyParameters = 1'000'000;

CellRequest training_of(const std::string& model, const std::string& preset, std::int64_t batch_size,
                        std::int64_t steps) {
  CellRequest request;
  request.cell_id = "cell";
  request.nonce = "n";
  request.workload = {model, preset, steps, batch_size};
  request.device = "cpu";
  request.knobs = with_defaults({});
  request.trace = TraceLevel::tensor;
  return request;
}

CellRequest mlp_training(std::int64_t steps = 6) { return training_of("mlp", "base", 32, steps); }

CellRequest with_checkpoints(CellRequest request, const fs::path& folder,
                             const std::function<void(Checkpointing&)>& change) {
  request.checkpoint = Checkpointing{folder.string()};
  change(*request.checkpoint);
  return request;
}

CellRequest stopping(const CellRequest& request, const fs::path& folder, std::int64_t after) {
  CellRequest stopped = with_checkpoints(request, folder, [&](Checkpointing& c) { c.stop_after = after; });
  stopped.nonce = "n.stopped";
  return stopped;
}

CellRequest resuming(const CellRequest& request, const fs::path& folder) {
  CellRequest resumed = with_checkpoints(request, folder, [](Checkpointing& c) { c.resume = true; });
  resumed.nonce = "n.resumed";
  return resumed;
}

fs::path file_of(const fs::path& folder, std::int64_t step) {
  return folder / ("checkpoint-0000000" + std::to_string(step) + ".safetensors");
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void overwrite(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

TEST_CASE("every small preset goes on from a checkpoint with the bits of a run that never stopped", "[worker]") {
  for (const Model* model : models()) {
    for (const ModelPreset& preset : model->presets()) {
      if (preset.parameters > kTinyParameters) continue;
      INFO(model->name() << "/" << preset.name);
      const TemporaryFolder folder;
      const CellRequest request =
          training_of(std::string(model->name()), std::string(preset.name), preset.batch_size, 6);
      const TrainingTrace whole = train(request);
      const TrainingTrace stopped = train(stopping(request, folder.path(), 2));
      const TrainingTrace resumed = train(resuming(request, folder.path()));
      REQUIRE(stopped.steps.size() == 2);
      REQUIRE(resumed.steps.size() == 4);
      CHECK(resumed.steps.front().step == 3);
      for (std::size_t i = 0; i < whole.steps.size(); ++i) {
        const StepRecord& step = i < 2 ? stopped.steps[i] : resumed.steps[i - 2];
        CHECK(step.chain == whole.steps[i].chain);
        CHECK(step.learning_rate == whole.steps[i].learning_rate);
      }
      CHECK(resumed.result.chain == whole.result.chain);
      for (std::size_t i = 0; i < whole.tensors.back().tensors.size(); ++i) {
        CHECK(resumed.tensors.back().tensors[i].digest == whole.tensors.back().tensors[i].digest);
      }
    }
  }
}

TEST_CASE("a run says from what it went on, in words that only the file has", "[worker]") {
  const TemporaryFolder folder;
  const TrainingTrace stopped = train(stopping(mlp_training(), folder.path(), 2));
  CHECK_FALSE(stopped.header.resumed);
  REQUIRE(stopped.result.checkpoints->written.size() == 1);
  const TrainingTrace resumed = train(resuming(mlp_training(), folder.path()));
  REQUIRE(resumed.header.resumed);
  const ResumedFrom& from = *resumed.header.resumed;
  CHECK(from.after_step == 2);
  CHECK(from.written_by == "n.stopped");
  CHECK(from.checksum == stopped.result.checkpoints->written[0].checksum);
  CHECK(from.chain == stopped.result.chain);
  DigestBuilder root;
  for (const TensorRecord& tensor : stopped.tensors.back().tensors) {
    append_tensor(root, tensor.name, to_string(tensor.role), tensor.digest);
  }
  CHECK(from.state == to_hex(root.finish()));
  CHECK(resumed.result.checkpoints->resumed->checksum == from.checksum);
  // The same work again makes another checksum: nobody can know it without the file.
  const TemporaryFolder other;
  CHECK(train(stopping(mlp_training(), other.path(), 2)).result.checkpoints->written[0].checksum != from.checksum);
}

TEST_CASE("checkpoints come every N steps and the last K stay", "[worker]") {
  const TemporaryFolder folder;
  const TrainingTrace left = train(with_checkpoints(mlp_training(7), folder.path(), [](Checkpointing& c) {
    c.every_steps = 2;
    c.keep = 2;
  }));
  CHECK(files_in(folder.path()) ==
        std::vector<std::string>{"checkpoint-00000004.safetensors", "checkpoint-00000006.safetensors"});
  REQUIRE(left.result.checkpoints->written.size() == 2);
  CHECK(left.result.checkpoints->written[0].step == 4);
  CHECK(left.result.checkpoints->written[1].step == 6);
  CHECK(left.result.chain == train(mlp_training(7)).result.chain);  // writing them changes no bit
}

TEST_CASE("asked to stop, a run leaves a checkpoint of its last step and goes on from there", "[worker]") {
  const TemporaryFolder folder;
  const CellRequest request = with_checkpoints(mlp_training(), folder.path(), [](Checkpointing&) {});
  request_stop();
  CellResult result;
  const TemporaryFolder attempt;
  CHECK_THROWS_AS(run_training(request, attempt.path(), kTestData, result), RunFailure);
  CHECK(result.steps_completed == 1);
  REQUIRE(result.checkpoints->written.size() == 1);
  CHECK(result.checkpoints->written[0].step == 1);
  const TrainingTrace resumed = train(resuming(mlp_training(), folder.path()));
  CHECK(resumed.steps.front().step == 2);
  CHECK(resumed.result.chain == train(mlp_training()).result.chain);
}

TEST_CASE("a checkpoint that is cut, changed or no file at all is refused, and the one before it is used", "[worker]") {
  const auto damage = GENERATE(0, 1, 2, 3, 4, 5, 6);
  const TemporaryFolder folder;
  train(with_checkpoints(mlp_training(4), folder.path(), [](Checkpointing& c) { c.every_steps = 2; }));
  const fs::path newest = file_of(folder.path(), 4);
  std::string bytes = bytes_of(newest);
  const char* words[] = {"unreadable", "unreadable", "unreadable", "changed", "changed", "unreadable", "unreadable"};
  if (damage == 0) bytes.resize(bytes.size() - 1);
  if (damage == 1) bytes.resize(100);
  if (damage == 2) bytes.clear();
  if (damage == 3) bytes[bytes.size() / 2] ^= 1;                          // a bit of a tensor
  if (damage == 4) bytes[bytes.find("\"steps_done\":\"4\"") + 14] = '3';  // a number of the metadata
  if (damage == 5) bytes[0] ^= 1;                                         // the header's length
  overwrite(newest, bytes);
  if (damage == 6) {
    fs::remove(newest);
    REQUIRE(mkfifo(newest.c_str(), 0600) == 0);
  }
  // Two more steps, so that there is something to do after either; only `steps` would make it another workload.
  CellRequest request = resuming(mlp_training(4), folder.path());
  const TrainingTrace resumed = train(request);
  REQUIRE(resumed.result.checkpoints->refused.size() == 1);
  CHECK(resumed.result.checkpoints->refused[0].file == newest.filename().string());
  CHECK(resumed.result.checkpoints->refused[0].reason.starts_with(words[damage]));
  CHECK(resumed.header.resumed->after_step == 2);
  CHECK(resumed.result.chain == train(mlp_training(4)).result.chain);
}

TEST_CASE("any single byte of a checkpoint that changes is noticed", "[worker]") {
  const TemporaryFolder folder;
  train(stopping(mlp_training(4), folder.path(), 2));
  const std::string whole = bytes_of(file_of(folder.path(), 2));
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 12) places.push_back(at);
  for (std::size_t at = 8; at < 1000; at += 97) places.push_back(at);  // the header
  for (const std::size_t at : places) {
    INFO(at);
    std::string bytes = whole;
    bytes[at] ^= 4;
    overwrite(file_of(folder.path(), 2), bytes);
    const TrainingTrace left = train(resuming(mlp_training(4), folder.path()));
    CHECK_FALSE(left.header.resumed);
    CHECK(left.result.checkpoints->refused.size() == 1);
  }
}

TEST_CASE("a checkpoint of another run is refused by what is foreign about it", "[worker]") {
  const auto [word, change] = GENERATE(table<std::string, void (*)(CellRequest&)>({
      {"foreign: model mlp",
       [](CellRequest& r) {
         r.workload = {"gpt2", "tiny", 6, 4};
       }},
      {"foreign: workload_digest", [](CellRequest& r) { r.workload.steps = 7; }},
      {"foreign: workload_digest", [](CellRequest& r) { r.workload.batch_size = 16; }},
      {"foreign: knob.determinism", [](CellRequest& r) { r.knobs["determinism"] = "default"; }},
      {"foreign: knob.gelu", [](CellRequest& r) { r.knobs["gelu"] = "erf"; }},
      {"foreign: knob.seed", [](CellRequest& r) { r.knobs["seed"] = "2"; }},
      {"foreign: knob.threads", [](CellRequest& r) { r.knobs["threads"] = "2"; }},
  }));
  const TemporaryFolder folder;
  train(stopping(mlp_training(), folder.path(), 2));
  CellRequest other = resuming(mlp_training(), folder.path());
  change(other);
  const TrainingTrace left = train(other);
  INFO(left.result.checkpoints->refused.at(0).reason);
  CHECK(left.result.checkpoints->refused.at(0).reason.starts_with(word));
  CHECK_FALSE(left.header.resumed);
  CHECK(left.steps.front().step == 1);
}

TEST_CASE("a knob that changes no bit does not make a checkpoint foreign", "[worker]") {
  const TemporaryFolder folder;
  train(stopping(mlp_training(), folder.path(), 2));
  CellRequest request = resuming(mlp_training(), folder.path());
  request.knobs["allocator"] = "system";
  request.knobs["rendezvous"] = "tcp";
  request.knobs["zero_stage"] = "1";  // of one rank, which has nobody to share with
  CHECK(train(request).header.resumed);
}

// The words of the metadata, signed anew: what a worker of another format or contract would have written.
void rewrite(const fs::path& path, const std::string& from, const std::string& to) {
  std::string bytes = bytes_of(path);
  const std::size_t at = bytes.find(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(from.size() == to.size());
  overwrite(path, bytes.replace(at, from.size(), to));
}

TEST_CASE("a changed word of the metadata is a changed checkpoint", "[worker]") {
  const auto [from, to] = GENERATE(table<std::string, std::string>({
      {"\"model\":\"mlp\"", "\"model\":\"mlq\""},
      {"\"written_by\":\"n.stopped\"", "\"written_by\":\"n.stoppee\""},
      {"\"ranks\":\"1\"", "\"ranks\":\"2\""},
      {"reprobench/checkpoint 2", "reprobench/checkpoint 1"},
  }));
  const TemporaryFolder folder;
  train(stopping(mlp_training(), folder.path(), 2));
  rewrite(file_of(folder.path(), 2), from, to);
  const TrainingTrace left = train(resuming(mlp_training(), folder.path()));
  CHECK(left.result.checkpoints->refused.at(0).reason.starts_with("changed"));
}

TEST_CASE("a whole checkpoint under another step's name is refused", "[worker]") {
  const TemporaryFolder folder;
  train(stopping(mlp_training(), folder.path(), 2));
  fs::copy_file(file_of(folder.path(), 2), file_of(folder.path(), 4));
  const TrainingTrace left = train(resuming(mlp_training(), folder.path()));
  CHECK(left.result.checkpoints->refused.at(0).reason == "foreign: it is of step 2");
  CHECK(left.header.resumed->after_step == 2);
}

TEST_CASE("what a killed writer left is no checkpoint and is cleared away", "[worker]") {
  const TemporaryFolder folder;
  train(stopping(mlp_training(), folder.path(), 2));
  overwrite(folder.path() / ".checkpoint-00000004.safetensors.0123456789abcdef.tmp", "half");
  overwrite(folder.path() / "notes.txt", "kept");
  CHECK(train(resuming(mlp_training(), folder.path())).header.resumed->after_step == 2);
  CHECK(files_in(folder.path()) == std::vector<std::string>{"checkpoint-00000002.safetensors", "notes.txt"});
}

TEST_CASE("a refused checkpoint counts for nothing when older ones go", "[worker]") {
  const TemporaryFolder folder;
  train(with_checkpoints(mlp_training(8), folder.path(), [](Checkpointing& c) {
    c.every_steps = 2;
    c.stop_after = 4;
  }));
  overwrite(file_of(folder.path(), 4), "damaged");
  CellRequest request = resuming(mlp_training(8), folder.path());
  request.checkpoint->every_steps = 3;
  request.checkpoint->keep = 1;
  request.checkpoint->stop_after = 7;
  const TrainingTrace left = train(request);
  CHECK(left.header.resumed->after_step == 2);
  CHECK(files_in(folder.path()) ==
        std::vector<std::string>{"checkpoint-00000004.safetensors", "checkpoint-00000007.safetensors"});
}

TEST_CASE("each planted fault of going on changes the bits, and only where it is planted", "[worker]") {
  const auto [kind, model, preset, batch] = GENERATE(table<std::string, std::string, std::string, std::int64_t>({
      {"resume_from_step_0", "mlp", "base", 32},
      {"resume_without_optimizer_state", "mlp", "base", 32},
      {"resume_without_optimizer_state", "resnet", "tiny", 32},
      {"resume_without_buffers", "resnet", "tiny", 32},
      {"resume_without_data_position", "mlp", "base", 32},
  }));
  INFO(kind << " in " << model);
  const TemporaryFolder folder;
  const CellRequest request = training_of(model, preset, batch, 5);
  const TrainingTrace stopped = train(stopping(request, folder.path(), 2));
  CellRequest faulty = resuming(request, folder.path());
  faulty.inject = Injection{kind, 3, "", 0, 0};
  const TrainingTrace resumed = train(faulty);
  CHECK(resumed.result.chain != train(request).result.chain);
  const bool loads_all = kind == "resume_without_data_position";
  const TrainingTrace sound = train(resuming(request, folder.path()));
  CHECK((resumed.header.resumed->state == sound.header.resumed->state) == loads_all);
  faulty.inject->step = 2;
  CHECK_THROWS_AS(train(faulty), RunFailure);
}

TEST_CASE("a fault in what ranks share out is refused where nothing is", "[worker]") {
  const TemporaryFolder folder;
  train(stopping(mlp_training(), folder.path(), 2));
  CellRequest faulty = resuming(mlp_training(), folder.path());
  faulty.inject = Injection{"resume_shard_misplaced", 3, "", 0, 0};
  CHECK_THROWS_WITH(train(faulty), "inject: `resume_shard_misplaced` is of what ranks share out (`zero_stage`)");
}

TEST_CASE("a fault of resuming is refused where nothing is resumed", "[worker]") {
  CellRequest request = mlp_training();
  request.inject = Injection{"resume_from_step_0", 3, "", 0, 0};
  CHECK_THROWS_AS(train(request), RunFailure);
}

TEST_CASE("checkpoints of a replay are refused before anything runs", "[worker]") {
  const TemporaryFolder folder;
  CellRequest replayed = stopping(mlp_training(), folder.path(), 2);
  replayed.replay = Replay{};
  replayed.replay->last_step = 3;
  CHECK_THROWS_AS(train(replayed), RunFailure);
}

}  // namespace
}  // namespace reprobench
