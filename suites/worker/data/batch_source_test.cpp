#include "suites/worker/data/batch_source.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include <ATen/core/Tensor.h>

#include "ci/catch.hpp"
#include "models/data/digits/digits.hpp"
#include "suites/worker/ranks/shared_training.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"
#include "suites/worker/train_loop.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

const Model& model_of_batches(std::string_view name) {
  for (const Model* model : models()) {
    if (model->name() == name) return *model;
  }
  throw std::logic_error("there is no such model");
}

std::unique_ptr<BatchSource> source_of(std::string_view name, Precision precision, const Layout& layout,
                                       const LoaderSettings& loading) {
  const Model& model = model_of_batches(name);
  const ModelPreset& preset = model.presets().front();
  return std::make_unique<BatchSource>(model, preset, data_sets(), kTestData, 7, 8, precision,
                                       c10::Device(c10::DeviceType::CPU), layout, loading);
}

// Samples and every tensor of what was loaded.
std::string contents_of(const BatchSource& source) {
  DigestBuilder builder;
  for (const std::int64_t sample : source.samples()) builder.append(static_cast<std::uint64_t>(sample));
  for (std::int64_t number = 0; number < source.layout().accumulated; ++number) {
    for (std::size_t field = 0; field < source.fields().size(); ++field) {
      builder.append(digest_of(source.tensor(field, number)));
    }
  }
  return to_hex(builder.finish());
}

std::size_t threads_now() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST_CASE("batches that threads made hold the same samples and bits", "[batch]") {
  for (const char* name : {"mlp", "gpt2", "clip", "fusion", "vlm"}) {
    for (const Precision precision : {Precision::fp32, Precision::fp64}) {
      for (const Layout& layout : {Layout{}, Layout{1, 2, 2}}) {
        const auto own = source_of(name, precision, layout, {});
        for (const int threads : {1, 3}) {
          INFO(name << " with " << threads << " threads");
          const auto ahead = source_of(name, precision, layout, {threads, 2 * threads, 9});
          for (std::int64_t step = 2; step <= 9; ++step) {
            own->load(step);
            ahead->load(step);
            CHECK(contents_of(*ahead) == contents_of(*own));
          }
        }
      }
    }
  }
}

TEST_CASE("a step that is loaded out of turn is right, and so are those after it", "[batch]") {
  const auto own = source_of("mlp", Precision::fp32, {}, {});
  const auto ahead = source_of("mlp", Precision::fp32, {}, {2, 4, 300});
  for (const std::int64_t step : {1, 2, 1, 9, 3, 4, 250, 4, 5}) {
    own->load(step);
    ahead->load(step);
    CHECK(contents_of(*ahead) == contents_of(*own));
  }
}

CellRequest loading_request(std::int64_t steps, const KnobValues& knobs) {
  CellRequest request = training_request(mlp(), steps, TraceLevel::tensor);
  request.knobs = with_defaults(knobs);
  return request;
}

struct LoadingRun {
  CellResult result;
  std::vector<StepRecord> steps;
};

LoadingRun run_loading(const CellRequest& request, const WorkloadTables& tables = {}) {
  const TemporaryFolder folder;
  LoadingRun run;
  run_training(request, folder.path(), kTestData, run.result, Telemetry::on, &open_device, tables);
  run.steps = rank_trace_from(folder.path()).steps;
  return run;
}

RunFailure failure_of_loading(const CellRequest& request, const WorkloadTables& tables = {}) {
  try {
    run_loading(request, tables);
  } catch (const RunFailure& failure) {
    return failure;
  }
  throw std::logic_error("it ran");
}

TEST_CASE("a training has the same bits whoever makes its batches, and leaves no thread", "[batch]") {
  const LoadingRun own = run_loading(loading_request(60, {}));  // an epoch has 56 steps
  const std::size_t before = threads_now();
  for (const char* threads : {"1", "2", "5"}) {
    for (const char* prefetch : {"1", "2", "8"}) {
      const LoadingRun ahead =
          run_loading(loading_request(60, {{"loader_threads", threads}, {"loader_prefetch", prefetch}}));
      CHECK(ahead.result.chain == own.result.chain);
      CHECK(ahead.result.workload_digest == own.result.workload_digest);
      CHECK(threads_now() == before);
    }
  }
}

TEST_CASE("ranks whose batches are made ahead train what one rank does", "[batch][ranks]") {
  const RankTrace alone = train_on(1, 4, kSharedMlp).front();
  CHECK(differences(train_on(2, 2, kSharedMlp, {}, {{"loader_threads", "2"}}), alone).empty());
}

TEST_CASE("a run goes on from a checkpoint with another number of threads", "[batch]") {
  const LoadingRun whole = run_loading(loading_request(9, {}));
  const TemporaryFolder folder;
  CellRequest request = loading_request(9, {{"loader_threads", "3"}});
  request.checkpoint = Checkpointing{folder.path().string()};
  request.checkpoint->stop_after = 4;
  run_loading(request);
  request.knobs["loader_threads"] = "1";
  request.checkpoint->stop_after = 0;
  request.checkpoint->resume = true;
  const LoadingRun resumed = run_loading(request);
  CHECK(resumed.steps.size() == 5);
  CHECK(resumed.result.chain == whole.result.chain);
}

TEST_CASE("settings of the loader that make no sense are refused", "[batch]") {
  const auto words = [](const KnobValues& knobs) {
    const RunFailure failure = failure_of_loading(loading_request(2, knobs));
    CHECK(failure.cause() == "bad_request");
    return std::string(failure.what());
  };
  CHECK(words({{"loader_prefetch", "3"}}) ==
        "loader_prefetch=3 with loader_threads=0: batches are made ahead by loader threads, and there are none");
  CHECK(words({{"loader_threads", "257"}}) == "loader_threads=257 is more than 256");
  CHECK(words({{"loader_threads", "1"}, {"loader_prefetch", "1025"}}) == "loader_prefetch=1025 is more than 1024");
}

// The digits, of which one cannot be read.
class BrokenDigits final : public DataSet {
 public:
  static constexpr std::int64_t kBroken = 17;

  explicit BrokenDigits(std::unique_ptr<DataSet> whole) : whole_(std::move(whole)) {}
  std::int64_t size() const override { return whole_->size(); }
  std::vector<FieldSpec> fields() const override { return whole_->fields(); }
  Digest digest() const override { return whole_->digest(); }
  void copy(std::int64_t sample, std::size_t field, std::byte* to) const override {
    if (sample == kBroken) throw std::runtime_error("sample 17 cannot be read\nand more");
    whole_->copy(sample, field, to);
  }

 private:
  std::unique_ptr<DataSet> whole_;
};

std::unique_ptr<DataSet> open_broken(const std::filesystem::path& folder, const ModelPreset& preset) {
  for (const DataSetRow& row : data_sets()) {
    if (row.name == "digits") return std::make_unique<BrokenDigits>(row.open(folder, preset));
  }
  throw std::logic_error("no digits");
}

TEST_CASE("what a thread cannot read ends the run where it was to be used, by its cause", "[batch]") {
  const DataSetRow rows[] = {{"digits", &open_broken}};
  WorkloadTables tables;
  tables.data_sets = rows;
  std::vector<std::string> words;
  const std::size_t before = threads_now();
  for (const char* threads : {"0", "1", "3"}) {
    CellRequest request = loading_request(60, {{"loader_threads", threads}});
    const TemporaryFolder folder;
    CellResult result;
    try {
      run_training(request, folder.path(), kTestData, result, Telemetry::on, &open_device, tables);
      FAIL("it ran");
    } catch (const RunFailure& failure) {
      CHECK(failure.cause() == "data_loader");
      words.emplace_back(failure.what());
    }
    const auto steps = static_cast<std::int64_t>(rank_trace_from(folder.path()).steps.size());
    CHECK(result.steps_completed == steps);
    CHECK(words.back().starts_with("the batch of step " + std::to_string(steps + 1) + ": sample 17 cannot be read"));
    CHECK(threads_now() == before);
  }
  CHECK(words[1] == words[0]);
  CHECK(words[2] == words[0]);
}

TEST_CASE("a loader that cannot keep up shows in what steps wait for", "[batch]") {
  constexpr std::int64_t kSlow_ns = 50'000'000;
  for (const char* threads : {"0", "1", "2"}) {
    INFO(threads << " threads");
    CellRequest request = loading_request(16, {{"loader_threads", threads}});
    request.trace = TraceLevel::step;
    const LoadingRun fast = run_loading(request);
    request.inject = Injection{"loader_slow", 4, "", 0};
    const LoadingRun slow = run_loading(request);
    CHECK(slow.result.chain == fast.result.chain);
    std::int64_t waited_ns = 0;
    for (const StepRecord& step : slow.steps) {
      REQUIRE(step.phases.data_wait_ns);
      CHECK(*step.phases.data_wait_ns <= step.phases.data_ns);
      if (step.step > 8) waited_ns += *step.phases.data_wait_ns;
    }
    // Two threads make a batch in half the time that one needs.
    const std::int64_t makers = std::max<std::int64_t>(std::stoll(threads), 1);
    CHECK(waited_ns > 8 * kSlow_ns / makers * 7 / 10);
    std::vector<std::int64_t> waits_ns;
    for (const StepRecord& step : fast.steps) waits_ns.push_back(*step.phases.data_wait_ns);
    std::ranges::nth_element(waits_ns, waits_ns.begin() + 8);
    CHECK(waits_ns[8] < kSlow_ns / 10);
  }
}

}  // namespace
}  // namespace reprobench
