// Trainings whose sequences change their length from step to step: which lengths, and that nothing but seed and step
// decides them.
#include <set>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "models/data/byte_tokens.hpp"
#include "models/sequence_lengths.hpp"
#include "suites/worker/data/batch_source.hpp"
#include "suites/worker/memory_need.hpp"
#include "suites/worker/ranks/shared_training.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

struct Reader {
  const char* model;
  const char* preset;
  std::int64_t context;
};

constexpr Reader kReaders[] = {{"gpt2", "tiny", 64}, {"llama", "tiny", 128}, {"llama", "tiny-lora", 128}};

CellRequest bucketed(const Reader& reader, std::int64_t steps) {
  CellRequest request = training_request(model_called(reader.model), steps, TraceLevel::tensor);
  request.workload.preset = reader.preset;
  request.knobs["sequence_lengths"] = "bucketed";
  return request;
}

TEST_CASE("the batch of a step and all that is made of it have the length that the schedule says",
          "[worker][lengths]") {
  for (const Reader& reader : kReaders) {
    INFO(reader.model << "/" << reader.preset);
    const CellRequest request = bucketed(reader, 8);
    const TrainingTrace trace = train(request);
    const SequenceLengths lengths(1, reader.context);
    std::set<std::int64_t> seen;
    for (std::size_t i = 0; i < 8; ++i) {
      const std::int64_t length = lengths.of_step(static_cast<std::int64_t>(i) + 1);
      seen.insert(length);
      for (const char* field : {"input", "target"}) {
        const TensorRecord* batch = find_tensor(trace.tensors[i], TensorRole::input, field);
        REQUIRE(batch != nullptr);
        CHECK(batch->shape == std::vector<std::int64_t>{4, length});
      }
      const TensorRecord* logits = find_tensor(trace.tensors[i], TensorRole::forward_output, "lm_head");
      REQUIRE(logits != nullptr);
      CHECK(logits->shape[1] == length);
      const auto loss = exact_float_from_json(trace.steps[i].loss);
      CHECK((*loss > 0 && *loss < 7));
    }
    CHECK(seen.size() == 4);
  }
}

TEST_CASE("lengths that change are another workload than a fixed one, and fixed ones are the workload they were",
          "[worker][lengths]") {
  CellRequest request = bucketed(kReaders[0], 5);
  const TrainingTrace once = train(request);
  CHECK(train(request).result.chain == once.result.chain);
  request.knobs["seed"] = "2";
  CHECK(train(request).result.workload_digest != once.result.workload_digest);
  request.knobs["seed"] = "1";
  request.knobs["sequence_lengths"] = "fixed";
  const TrainingTrace fixed = train(request);
  CHECK(fixed.result.workload_digest != once.result.workload_digest);
  request.knobs.erase("sequence_lengths");
  CHECK(train(request).result.chain == fixed.result.chain);
}

TEST_CASE("batches of changing length hold the same bits whoever makes them, and in whatever order they are asked for",
          "[worker][lengths]") {
  for (const Reader& reader : kReaders) {
    for (const Layout& layout : {Layout{}, Layout{1, 2, 2}}) {
      const Model& model = model_called(reader.model);
      const auto source_of = [&](const LoaderSettings& loading) {
        return std::make_unique<BatchSource>(model, model.presets().front(), data_sets(), kTestData, 7, 8,
                                             Precision::fp32, c10::Device(c10::DeviceType::CPU), layout, loading);
      };
      const auto own = source_of({.buckets_lengths = true});
      const auto ahead = source_of({3, 6, 12, true});
      const auto whole = source_of({});
      for (const std::int64_t step : {1, 2, 3, 9, 4, 5, 6, 7, 8, 2, 9, 10}) {
        own->load(step);
        ahead->load(step);
        whole->load(step);
        CHECK(own->tensor(0).size(1) == SequenceLengths(7, reader.context).of_step(step));
        CHECK(std::ranges::equal(own->samples(), whole->samples()));
        for (std::int64_t number = 0; number < layout.accumulated; ++number) {
          for (std::size_t field = 0; field < 2; ++field) {
            CHECK(digest_of(own->tensor(field, number)) == digest_of(ahead->tensor(field, number)));
            CHECK(own->tensor(field, number).is_contiguous());
          }
        }
      }
    }
  }
  CellRequest request = bucketed(kReaders[1], 6);
  const std::string chain = train(request).result.chain;
  for (const char* threads : {"1", "3"}) {
    request.knobs["loader_threads"] = threads;
    CHECK(train(request).result.chain == chain);
  }
}

TEST_CASE("a training goes on from a checkpoint over every change of length", "[worker][lengths]") {
  for (const Reader& reader : kReaders) {
    CellRequest request = bucketed(reader, 6);
    const TrainingTrace whole = train(request);
    for (const std::int64_t stop : {1, 2, 3, 5}) {
      INFO(reader.model << "/" << reader.preset << " stopped after " << stop);
      const TemporaryFolder folder;
      request.checkpoint = Checkpointing{folder.path().string()};
      request.checkpoint->stop_after = stop;
      train(request);
      request.checkpoint->stop_after = 0;
      request.checkpoint->resume = true;
      const TrainingTrace resumed = train(request);
      REQUIRE(resumed.header.resumed);
      CHECK(resumed.result.chain == whole.result.chain);
      request.checkpoint = std::nullopt;
    }
  }
}

TEST_CASE("two ranks train changing lengths to the bits of one that does both micro-batches",
          "[worker][lengths][ranks]") {
  const SharedTraining training{"gpt2", "tiny", 4};
  const KnobValues knobs{{"sequence_lengths", "bucketed"}};
  const RankTrace alone = train_on(1, 2, training, {}, knobs).front();
  CHECK(differences(train_on(2, 1, training, {}, knobs), alone) == std::vector<std::string>{});
}

TEST_CASE("every sample of instructions has a target at every length, and one that fits is whole",
          "[worker][lengths]") {
  const Model& llama = model_called("llama");
  const auto row = std::ranges::find(data_sets(), std::string_view("instructions"), &DataSetRow::name);
  const auto data = row->open(kTestData, llama.presets().front());
  const auto tokens = [&](std::int64_t sample, std::size_t field, std::int64_t length) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(length));
    data->copy_sequence(sample, field, length, reinterpret_cast<std::byte*>(values.data()));
    return values;
  };
  std::int64_t cut = 0;
  for (std::int64_t sample = 0; sample < data->size(); ++sample) {
    std::vector<std::int64_t> whole(128);
    data->copy(sample, 1, reinterpret_cast<std::byte*>(whole.data()));
    CHECK(tokens(sample, 1, 128) == whole);
    const auto end = std::ranges::find(whole, kEndToken);
    REQUIRE(end != whole.end());
    const auto size = end - whole.begin() + 1;
    for (const std::int64_t length : {32, 64, 96}) {
      const auto input = tokens(sample, 0, length);
      const auto target = tokens(sample, 1, length);
      CHECK(std::ranges::count(target, kEndToken) == 1);
      if (size <= length) CHECK(std::equal(target.begin(), target.end(), whole.begin()));
      cut += size > length ? 1 : 0;
      for (std::size_t i = 0; i + 1 < input.size(); ++i) {
        if (target[i] != kNoTarget) CHECK(target[i] == input[i + 1]);
      }
    }
  }
  CHECK(cut > 100);
}

TEST_CASE("a shorter sequence of text is the beginning of the sample", "[worker][lengths]") {
  const auto row = std::ranges::find(data_sets(), std::string_view("text"), &DataSetRow::name);
  const auto data = row->open(kTestData, model_called("gpt2").presets().front());
  for (const std::size_t field : {0, 1}) {
    std::vector<std::int64_t> whole(64);
    std::vector<std::int64_t> part(48, -1);
    data->copy(11, field, reinterpret_cast<std::byte*>(whole.data()));
    data->copy_sequence(11, field, 48, reinterpret_cast<std::byte*>(part.data()));
    CHECK(std::equal(part.begin(), part.end(), whole.begin()));
  }
}

TEST_CASE("memory is predicted for the longest sequences", "[worker][lengths][memory]") {
  CellRequest request = bucketed(kReaders[0], 4);
  const AttemptMemory changing = memory_need(request, models(), 1000);
  request.knobs["sequence_lengths"] = "fixed";
  REQUIRE(changing.is_predicted());
  CHECK(changing.total() == memory_need(request, models(), 1000).total());
}

std::string refusal_of(const CellRequest& request) {
  try {
    train(request);
  } catch (const RunFailure& failure) {
    return failure.cause() + ": " + failure.what();
  }
  return "";
}

TEST_CASE("what has no sequences, or cannot follow them, is refused with the reason", "[worker][lengths]") {
  const std::map<std::string, std::string> data{
      {"mlp", "digits"}, {"resnet", "digits"}, {"clip", "captions"}, {"fusion", "clips"}, {"vlm", "questions"}};
  for (const Model* model : models()) {
    CellRequest request = training_request(*model, 2, TraceLevel::step);
    request.knobs["sequence_lengths"] = "bucketed";
    const std::string name(model->name());
    const auto found = data.find(name);
    CHECK(refusal_of(request) == (found == data.end()
                                      ? ""
                                      : "unsupported: `sequence_lengths: bucketed`: samples of `" + found->second +
                                            "`, which " + name + " reads, are no sequences of tokens"));
  }
  CellRequest request = bucketed(kReaders[0], 3);
  request.inject = Injection{"sample_dropped", 2, "", 0};
  CHECK(refusal_of(request) ==
        "bad_request: inject: with `sequence_lengths: bucketed` the next batch's samples have another length");
  for (const char* kind : {"stale_batch", "wrong_batch", "batch_stuck", "sample_repeated", "targets_shifted"}) {
    INFO(kind);
    request.inject = Injection{kind, 2, "", 0};
    CHECK(refusal_of(request).empty());
  }
}

}  // namespace
}  // namespace reprobench
