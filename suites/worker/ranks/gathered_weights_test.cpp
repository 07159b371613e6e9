// Files of weights rounded to 16 bits, gathered from all ranks.
#include "suites/worker/weights/gathered_weights.hpp"

#include <cmath>
#include <limits>
#include <set>

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include "matrix/base/plain_sha256.hpp"
#include "suites/worker/data/own_file.hpp"
#include "suites/worker/ranks/rank_checkpoints.hpp"
#include "suites/worker/weights/own_weights.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

const SharedTraining kGatheredLlama{"llama", "tiny", 4};
const SharedTraining kGatheredGpt{"gpt2", "tiny", 4};
const SharedTraining kElasticGathered{"mlp", "base", 32};

fs::path weights_of(const fs::path& folder, std::int64_t step) {
  return folder / ("weights-0000000" + std::to_string(step) + ".safetensors");
}

// To the nearest with `kept` significand bits behind the point, ties to even, by exact arithmetic in fp64. Of normal
// numbers of either type.
double nearest_even(float value, int kept) {
  if (value == 0) return value;
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(value), &exponent);  // in [0.5, 1)
  const int bits = kept + 1;
  const int smallest = kept == 10 ? -13 : -125;  // exponents of frexp below are subnormal
  const int at = exponent < smallest ? bits - (smallest - exponent) : bits;
  return std::ldexp(std::nearbyint(std::ldexp(fraction, at)), exponent - at);
}

TEST_CASE("every layout writes the same file of weights, and it is read back as weights to begin with", "[ranks]") {
  for (const char* type : {"bf16", "fp16"}) {
    std::set<std::string> contents;
    for (const int ranks : {1, 2, 4}) {
      for (const char* stage : {"0", "1", "2", "3"}) {
        if (ranks == 1 && stage[0] != '0') continue;
        INFO(type << " stage " << stage << " on " << ranks);
        const TemporaryFolder folder;
        const std::vector<RankRun> runs = run_ranks(
            ranks, kGatheredLlama, {{"zero_stage", stage}, {"gathered_weights", type}}, stop_after(2, folder.path()));
        REQUIRE(failures_of(runs).empty());
        REQUIRE(runs[0].result.checkpoints->weights.size() == 1);
        const WrittenWeights& written = runs[0].result.checkpoints->weights[0];
        CHECK(written.step == 2);
        CHECK(written.sha256 == plain_sha256_of_text(text_of_own_file(folder.path() / written.file)));
        for (std::size_t rank = 1; rank < runs.size(); ++rank) CHECK(runs[rank].result.checkpoints->weights.empty());
        if (!contents.insert(written.sha256).second) continue;  // the file that was read back already

        CellRequest begun = shared_request(kGatheredLlama, 0, 1, {});
        begun.workload.weights_file = (folder.path() / written.file).string();
        begun.workload.weights_sha256 = written.sha256;
        const TrainingTrace trace = train(begun);
        CHECK(trace.result.weights->loaded ==
              static_cast<std::int64_t>(read_tensors(weights_of(folder.path(), 2)).tensors.size()));
      }
    }
    CHECK(contents.size() == 1);
  }
}

TEST_CASE("gathered weights are the checkpoint's parameters to the nearest, ties to even, in published shapes",
          "[ranks]") {
  const auto [type, dtype, kept] =
      GENERATE(table<std::string, at::ScalarType, int>({{"bf16", at::kBFloat16, 7}, {"fp16", at::kHalf, 10}}));
  const TemporaryFolder folder;
  const std::string name = type;
  REQUIRE(failures_of(run_ranks(2, kGatheredGpt, {{"zero_stage", "3"}, {"gathered_weights", name}},
                                stop_after(2, folder.path())))
              .empty());
  const TensorFile state = read_tensors(folder.path() / "checkpoint-00000002.safetensors");
  const TensorFile weights = read_tensors(weights_of(folder.path(), 2));
  CellRequest request = shared_request(kGatheredGpt, 0, 1, {});
  request.workload.weights_file = weights_of(folder.path(), 2).string();
  request.workload.weights_sha256 = plain_sha256_of_text(text_of_own_file(request.workload.weights_file));
  const Model& model = model_called("gpt2");
  OwnWeights read(request.workload, model, model.presets().front(), models());
  std::int64_t rounded = 0;
  for (const ParameterSpec& spec : model.parameters(model.presets().front())) {
    INFO(spec.name);
    CHECK(weights.tensors.at(spec.name).scalar_type() == dtype);
    const at::Tensor fp32 = state.tensors.at(spec.name).flatten();
    const at::Tensor half = read.take(spec.name).flatten();
    REQUIRE(half.numel() == fp32.numel());
    for (std::int64_t i = 0; i < fp32.numel(); ++i) {
      const float value = static_cast<const float*>(fp32.data_ptr())[i];
      const float got = static_cast<const float*>(half.data_ptr())[i];
      rounded += got != value;
      if (static_cast<double>(got) != nearest_even(value, kept)) FAIL(i << ": " << value << " became " << got);
    }
  }
  CHECK(rounded > 1000);
}

TEST_CASE("halfway between two numbers weights go to the even one, and beyond the range they are refused", "[ranks]") {
  const TemporaryFolder folder;
  const Model& model = mlp();
  const ModelPreset& preset = model.presets().front();
  NamedTensors whole;
  for (const ParameterSpec& spec : model.parameters(preset))
    whole.emplace_back(spec.name, at::zeros(spec.shape, at::kFloat));
  float* const first = static_cast<float*>(whole[0].second.data_ptr());
  first[0] = 1 + 0x1p-8F;      // between 1 and 1 + 2^-7 of bf16: to the even 1
  first[1] = 1 + 3 * 0x1p-8F;  // between 1 + 2^-7 and 1 + 2^-6: to the even 1 + 2^-6
  first[2] = 1 + 0x1p-8F + 0x1p-23F;
  first[3] = std::numeric_limits<float>::quiet_NaN();
  write_gathered_weights(folder.path() / "w", whole, HalfType::bf16, model, preset);
  const at::Tensor read = read_tensors(folder.path() / "w").tensors.at(whole[0].first).to(at::kFloat).flatten();
  const float* const got = static_cast<const float*>(read.data_ptr());
  CHECK(got[0] == 1);
  CHECK(got[1] == 1 + 0x1p-6F);
  CHECK(got[2] == 1 + 0x1p-7F);
  CHECK(std::isnan(got[3]));
  first[4] = 70'000;
  write_gathered_weights(folder.path() / "w", whole, HalfType::bf16, model, preset);
  CHECK_THROWS_WITH(write_gathered_weights(folder.path() / "v", whole, HalfType::fp16, model, preset),
                    "`gathered_weights`: an element of `" + whole[0].first + "` is beyond the range of fp16");
  CHECK_FALSE(fs::exists(folder.path() / "v"));
}

TEST_CASE("gathered weights come and go with their checkpoints, and are refused where none are written", "[ranks]") {
  const TemporaryFolder folder;
  run_ranks(2, kElasticGathered, {{"gathered_weights", "bf16"}, {"zero_stage", "3"}}, [&](CellRequest& request) {
    request.checkpoint = Checkpointing{folder.path().string()};
    request.checkpoint->every_steps = 1;
    request.checkpoint->keep = 1;
  });
  CHECK_FALSE(fs::exists(weights_of(folder.path(), 2)));
  CHECK(fs::exists(weights_of(folder.path(), 3)));
  const std::vector<RankRun> none = run_ranks(1, kElasticGathered, {{"gathered_weights", "bf16"}}, [](CellRequest&) {});
  CHECK(none[0].failure ==
        "gathered_weights=bf16 with no checkpoints: gathered weights are written beside checkpoints, and this run "
        "writes none");
  const std::vector<RankRun> adapters =
      run_ranks(1, {"llama", "tiny-lora", 4}, {{"gathered_weights", "bf16"}}, stop_after(1, folder.path()));
  CHECK(adapters[0].failure.find("adapters of llama/tiny-lora have no place") != std::string::npos);
}

}  // namespace
}  // namespace reprobench
