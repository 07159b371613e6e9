#include "suites/worker/weights/own_weights.hpp"

#include <algorithm>
#include <fstream>
#include <map>

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/base/plain_sha256.hpp"
#include "matrix/contract/checksum_list.hpp"
#include "suites/worker/data/own_file.hpp"
#include "suites/worker/memory_need.hpp"
#include "suites/worker/record/published_file.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/state/train_state.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

// A folder with one file of weights, and the workload that names it.
struct WeightsPlace {
  explicit WeightsPlace(const std::string& model_name, const std::string& preset_name = "tiny")
      : model(model_called(model_name)),
        preset(*std::ranges::find(model.presets(), preset_name, &ModelPreset::name)),
        ours(known_weights(model, preset)) {
    write(as_published(model, ours));
  }

  std::filesystem::path file() const { return folder.path() / "w.safetensors"; }
  std::string text() const { return text_of_own_file(file()); }
  void write(const NamedTensors& tensors) {
    write_tensors(file(), tensors, {});
    plan();
  }
  // What the file holds now is what is asked for.
  void plan() {
    request = training_request(model, 3, TraceLevel::step);
    request.workload.preset = preset.name;
    request.workload.weights_file = file().string();
    request.workload.weights_sha256 = plain_sha256_of_text(text());
  }
  OwnWeights load() const { return {request.workload, model, preset, models()}; }

  // "cause: detail", empty where they load.
  std::string refusal() const {
    try {
      load();
    } catch (const RunFailure& failure) {
      return failure.cause() + ": " + failure.what();
    }
    return "";
  }

  // Parameters and buffers of a training that begins with the file, with other bits than `expected` has, or none there.
  std::vector<std::string> unlike(const NamedTensors& expected, Precision precision = Precision::fp32) const {
    OwnWeights weights = load();
    const TrainState state(model, preset, 3, /*seed=*/1, precision, at::kCPU, {}, &weights);
    std::map<std::string, at::Tensor> known(expected.begin(), expected.end());
    std::vector<std::string> names;
    for (const StateTensor& tensor : state.tensors()) {
      if (tensor.role == TensorRole::optimizer_state || tensor.name.starts_with("rotary.")) continue;
      const auto found = known.find(tensor.name);
      const bool is_same =
          found != known.end() && digest_of(*tensor.value) == digest_of(found->second.to(tensor.value->scalar_type()));
      if (!is_same) names.push_back(tensor.name);
    }
    return names;
  }

  TemporaryFolder folder;
  const Model& model;
  const ModelPreset& preset;
  NamedTensors ours;
  CellRequest request;
};

at::Tensor& named(NamedTensors& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensors::value_type::first);
  REQUIRE(found != tensors.end());
  return found->second;
}

struct Published {
  const char* model;
  const char* preset;
};
const Published kPublished[] = {{"gpt2", "tiny"},   {"llama", "tiny"}, {"llama", "15m"},
                                {"resnet", "tiny"}, {"resnet", "18"},  {"clip", "tiny"}};

TEST_CASE("every model that has published weights begins with theirs, bit for bit", "[worker][weights]") {
  std::map<std::string, int> tested;
  for (const Published& row : kPublished) {
    INFO(row.model << "/" << row.preset);
    const WeightsPlace place(row.model, row.preset);
    CHECK(place.unlike(place.ours).empty());
    CHECK(place.load().use().loaded == static_cast<std::int64_t>(place.ours.size()));
    ++tested[row.model];
  }
  for (const Model* model : models()) {
    INFO(model->name() << " has published weights that no test reads");
    CHECK((tested.count(std::string(model->name())) > 0) == !model->published_naming().by.empty());
  }
}

TEST_CASE("the same in fp64 is the fp32 values, widened", "[worker][weights]") {
  for (const char* model : {"gpt2", "resnet"}) {
    const WeightsPlace place(model);
    CHECK(place.unlike(place.ours, Precision::fp64).empty());
  }
}

TEST_CASE("one matrix the wrong way round, or two exchanged, are seen by that comparison", "[worker][weights]") {
  WeightsPlace place("gpt2");
  const std::string square = "h.0.attn.c_proj.weight";
  NamedTensors published = as_published(place.model, place.ours);
  named(published, square) = named(published, square).t().contiguous();
  place.write(published);
  CHECK(place.unlike(place.ours) == std::vector<std::string>{square});

  published = as_published(place.model, place.ours);
  std::swap(named(published, "h.1.ln_1.weight"), named(published, "h.2.ln_1.weight"));
  place.write(published);
  CHECK(place.unlike(place.ours) == std::vector<std::string>{"h.1.ln_1.weight", "h.2.ln_1.weight"});
}

TEST_CASE("names may stand behind the prefix of the whole model, and constants are passed over", "[worker][weights]") {
  WeightsPlace place("gpt2");
  NamedTensors published = as_published(place.model, place.ours, "transformer.");
  published.emplace_back("transformer.h.0.attn.bias", at::full({1, 1, 64, 64}, 1, at::kLong));
  published.emplace_back("transformer.h.0.attn.masked_bias", at::full({}, -1e4, at::kFloat));
  published.emplace_back("lm_head.weight", named(place.ours, "wte.weight").clone());
  place.write(published);
  CHECK(place.unlike(place.ours).empty());
  CHECK(place.load().use().passed_over == 3);

  WeightsPlace llama("llama");
  published = as_published(llama.model, llama.ours);
  published.emplace_back("model.layers.0.self_attn.rotary_emb.inv_freq", at::full({8}, 1, at::kFloat));
  llama.write(published);
  CHECK(llama.unlike(llama.ours).empty());

  WeightsPlace resnet("resnet");
  published = as_published(resnet.model, resnet.ours);
  published.emplace_back("bn1.num_batches_tracked", at::full({}, 3, at::kLong));
  resnet.write(published);
  CHECK(resnet.unlike(resnet.ours).empty());
}

TEST_CASE("a copy of a tensor must be one", "[worker][weights]") {
  for (const auto& [model, preset, copy, original] :
       {std::tuple("gpt2", "tiny", "lm_head.weight", "wte.weight"),
        std::tuple("llama", "15m", "lm_head.weight", "model.embed_tokens.weight")}) {
    WeightsPlace place(model, preset);
    NamedTensors published = as_published(place.model, place.ours);
    published.emplace_back(copy, named(published, original).clone());
    place.write(published);
    CHECK(place.refusal().empty());
    CHECK(place.load().use().passed_over == 1);
    static_cast<float*>(published.back().second.data_ptr())[published.back().second.numel() - 1] += 1;
    place.write(published);
    CHECK_THAT(place.refusal(), Catch::StartsWith("input_refused: ") &&
                                    Catch::Contains(std::string("`") + copy + "` is not `" + original + "`"));
  }
}

TEST_CASE("of LoRA the base is loaded, and adapters begin as they always do", "[worker][weights]") {
  const WeightsPlace place("llama", "tiny-lora");
  const auto unlike = place.unlike(place.ours);
  CHECK_FALSE(unlike.empty());
  CHECK(std::ranges::all_of(unlike, is_adapter));
  CHECK(place.load().use().drawn == static_cast<std::int64_t>(unlike.size()));
  const TrainState drawn(place.model, place.preset, 3, 1, Precision::fp32, at::kCPU);
  OwnWeights weights = place.load();
  const TrainState loaded(place.model, place.preset, 3, 1, Precision::fp32, at::kCPU, {}, &weights);
  for (const std::string& name : unlike)
    CHECK(drawn.initial(*drawn.index_of(name)) == loaded.initial(*loaded.index_of(name)));
  for (const auto& [name, _] : place.ours) {
    CHECK_FALSE(drawn.initial(*drawn.index_of(name)) == loaded.initial(*loaded.index_of(name)));
  }
}

TEST_CASE("16 bits and fp64 become fp32", "[worker][weights]") {
  WeightsPlace place("gpt2");
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kDouble}) {
    NamedTensors published = as_published(place.model, place.ours);
    NamedTensors expected = place.ours;
    for (auto& [_, tensor] : published) tensor = tensor.to(type);
    for (auto& [_, tensor] : expected) tensor = tensor.to(type).to(at::kFloat);
    place.write(published);
    CHECK(place.unlike(expected).empty());
    CHECK(place.unlike(place.ours).empty() == (type == at::kDouble));
  }
}

TEST_CASE("everything that is missing, too much, or of another shape or type is named", "[worker][weights]") {
  WeightsPlace place("gpt2");
  NamedTensors published = as_published(place.model, place.ours);
  std::ranges::find(published, "h.0.ln_1.bias", &NamedTensors::value_type::first)->first = "h.0.ln_1.bais";
  std::erase_if(published, [](const auto& tensor) { return tensor.first == "wpe.weight"; });
  named(published, "h.1.mlp.c_fc.weight") = named(published, "h.1.mlp.c_fc.weight").t().contiguous();
  named(published, "ln_f.weight") = named(published, "ln_f.weight").to(at::kLong);
  published.emplace_back("position_ids", at::full({1}, 1, at::kFloat));
  place.write(published);
  CHECK(place.refusal() ==
        "input_refused: these weights are not gpt2/tiny's; `h.1.mlp.c_fc.weight` has the shape (512, 128), gpt2/tiny "
        "takes "
        "(128, 512); `ln_f.weight` is of type I64; F32, F16, BF16 and F64 are taken; `h.0.ln_1.bias` is missing; the "
        "file has `h.0.ln_1.bais`; `wpe.weight` is missing; `h.0.ln_1.bais` is nothing of gpt2/tiny; did you mean "
        "`h.0.ln_1.bias`?; `position_ids` is nothing of gpt2/tiny");

  published = as_published(place.model, place.ours);
  published.emplace_back("transformer.ln_f.bias", named(place.ours, "ln_f.bias"));
  place.write(published);
  CHECK_THAT(place.refusal(), Catch::Contains("are both `ln_f.bias` of gpt2/tiny"));
}

TEST_CASE("a file of another model or preset is told, and a long list is cut with its count", "[worker][weights]") {
  WeightsPlace place("gpt2");
  place.write(
      as_published(model_called("llama"), known_weights(model_called("llama"), model_called("llama").presets()[0])));
  const std::string refusal = place.refusal();
  CHECK_THAT(refusal, Catch::Contains("these weights are not gpt2/tiny's but llama/tiny's; "));
  CHECK_THAT(refusal, Catch::EndsWith("and 55 more of 73"));  // 52 are missing, 21 too much
  const WeightsPlace other("llama", "15m");
  WeightsPlace tiny("llama");
  tiny.write(as_published(other.model, other.ours));
  CHECK_THAT(tiny.refusal(), Catch::Contains("these weights are not llama/tiny's but llama/15m's"));
}

TEST_CASE("what the head of a file tells is known before a training, by the question of its memory",
          "[worker][weights]") {
  WeightsPlace place("gpt2");
  const auto predicted = [&] {
    std::ofstream(place.folder.path() / "requests.json") << nlohmann::json::array({to_json(place.request)}).dump();
    return predict_memory(place.folder.path() / "requests.json").needs.at(0);
  };
  CHECK(predicted().weights_problems.empty());
  CHECK(predicted().is_predicted());
  NamedTensors published = as_published(place.model, place.ours);
  published.pop_back();
  place.write(published);
  CHECK(predicted().weights_problems ==
        std::vector<std::string>{"these weights are not gpt2/tiny's", "`" + place.ours.back().first + "` is missing"});
  std::filesystem::remove(place.file());
  CHECK(predicted().weights_problems.empty());  // the training says that it is gone
}

TEST_CASE("a value that is no finite number is refused with its place", "[worker][weights]") {
  WeightsPlace place("gpt2");
  NamedTensors published = as_published(place.model, place.ours);
  named(published, "ln_f.bias") = named(published, "ln_f.bias").to(at::kDouble);
  static_cast<double*>(named(published, "ln_f.bias").data_ptr())[5] = 1e39;  // beyond fp32
  place.write(published);
  CHECK(place.refusal() ==
        "input_refused: these weights are not gpt2/tiny's; `ln_f.bias` has no finite fp32 number at element 5");
}

TEST_CASE("bytes that are not the planned ones are not begun with", "[worker][weights]") {
  const WeightsPlace place("gpt2");
  std::string text = place.text();
  const auto rewrite = [&] { std::ofstream(place.file(), std::ios::binary) << text; };
  SECTION("one bit of the last value") { text.back() = static_cast<char>(text.back() ^ 1); }
  SECTION("one letter of a name") { text[text.find("ln_f.bias") + 5] = 'c'; }
  SECTION("one byte less") { text.pop_back(); }
  SECTION("nothing") { text.clear(); }
  rewrite();
  CHECK_THAT(place.refusal(), Catch::StartsWith("input_changed: "));
  std::filesystem::remove(place.file());
  CHECK_THAT(place.refusal(), Catch::StartsWith("input_changed: "));
  std::filesystem::create_directory(place.file());
  CHECK_THAT(place.refusal(), Catch::StartsWith("input_changed: "));
}

TEST_CASE("shards are one set of weights, and each of them is held to the plan", "[worker][weights]") {
  WeightsPlace place("llama");
  const NamedTensors published = as_published(place.model, place.ours);
  const auto folder = place.folder.path();
  const std::size_t half = published.size() / 2;
  const auto middle = published.begin() + static_cast<std::ptrdiff_t>(half);
  write_tensors(folder / "m-1.safetensors", {published.begin(), middle}, {});
  write_tensors(folder / "m-2.safetensors", {middle, published.end()}, {});
  std::ofstream(folder / "m.index.json") << "{}";
  WorkloadRequest& workload = place.request.workload;
  workload.weights_file = folder / "m.index.json";
  workload.weights_shards = {"m-1.safetensors", "m-2.safetensors"};
  std::map<std::string, std::string> digests;
  for (const std::string& name : workload.weights_shards) {
    digests[name] = plain_sha256_of_text(text_of_own_file(folder / name));
  }
  workload.weights_sha256 = plain_sha256_of_text(checksum_list("m.index.json", plain_sha256_of_text("{}"), digests));
  CHECK(place.unlike(place.ours).empty());

  SECTION("the index") { std::ofstream(folder / "m.index.json") << "{ }"; }
  SECTION("a shard") { write_tensors(folder / "m-2.safetensors", {middle, published.end()}, {{"format", "pt"}}); }
  SECTION("a shard that is gone") { std::filesystem::remove(folder / "m-1.safetensors"); }
  SECTION("shards exchanged") {
    std::filesystem::rename(folder / "m-1.safetensors", folder / "m-3");
    std::filesystem::rename(folder / "m-2.safetensors", folder / "m-1.safetensors");
    std::filesystem::rename(folder / "m-3", folder / "m-2.safetensors");
  }
  CHECK_THAT(place.refusal(), Catch::StartsWith("input_changed: "));
}

TEST_CASE("trainings from other weights are other workloads, and the same weights the same", "[worker][weights]") {
  WeightsPlace place("gpt2");
  const TrainingTrace one = train(place.request);
  REQUIRE(one.result.weights);
  CHECK(one.result.weights->loaded == 52);
  CHECK(one.result.weights->drawn == 0);
  const TrainingTrace again = train(place.request);
  CHECK(again.result.chain == one.result.chain);
  NamedTensors published = as_published(place.model, place.ours, "transformer.");  // another file, the same values
  place.write(published);
  CHECK(train(place.request).result.chain == one.result.chain);

  float* const last = static_cast<float*>(named(published, "transformer.ln_f.bias").data_ptr()) + 127;
  *last = std::nextafter(*last, 1.0F);  // one value by one place
  place.write(published);
  const TrainingTrace other = train(place.request);
  CHECK(other.result.workload_digest != one.result.workload_digest);
  CHECK(other.result.chain != one.result.chain);

  place.request.workload.weights_sha256 = place.request.workload.weights_file = "";
  const TrainingTrace drawn = train(place.request);
  CHECK_FALSE(drawn.result.weights);
  CHECK(drawn.result.workload_digest != one.result.workload_digest);
}

TEST_CASE("a model without published weights takes none", "[worker][weights]") {
  const WeightsPlace place("gpt2");
  CellRequest request = training_request(mlp(), 3, TraceLevel::step);
  request.workload.weights_file = place.request.workload.weights_file;
  request.workload.weights_sha256 = place.request.workload.weights_sha256;
  CHECK_THROWS_WITH(train(request), "model `mlp` takes no weights of the user's");
}

TEST_CASE("weights that were read and never used are an error of the program", "[worker][weights]") {
  const WeightsPlace place("gpt2");
  OwnWeights weights = place.load();
  CHECK_THROWS_WITH(weights.check_all_taken(),
                    "`h.0.attn.c_attn.bias` was read from the user's weights and is used nowhere");
  CHECK(weights.take("wte.weight").defined());
  CHECK_FALSE(weights.take("wte.weight").defined());
  for (const auto& [name, _] : place.ours) weights.take(name);
  CHECK_NOTHROW(weights.check_all_taken());
}

}  // namespace
}  // namespace reprobench
