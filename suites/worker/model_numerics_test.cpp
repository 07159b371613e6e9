// Every model's first step in fp64, from parameters that are no longer what they began as (so that a bias of zero, a
// norm of one and LoRA's empty B hide nothing): its gradient against finite differences of its loss, its FLOPs against
// the products that LibTorch did, and both values against those of independent implementations (ci/oracles).
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <nlohmann/json.hpp>

#include "ci/catch.hpp"
#include "matrix/base/plain_sha256.hpp"
#include "matrix/contract/knob.hpp"
#include "models/data_set.hpp"
#include "models/initial_values.hpp"
#include "suites/worker/data/batch_source.hpp"
#include "suites/worker/data/own_file.hpp"
#include "suites/worker/record/operator_hook.hpp"
#include "suites/worker/record/published_file.hpp"
#include "suites/worker/record/tensor_file.hpp"
#include "suites/worker/state/train_state.hpp"
#include "suites/worker/temporary_folder.hpp"
#include "suites/worker/weights/own_weights.hpp"

namespace reprobench {
namespace {

const std::filesystem::path kRoot = REPROBENCH_SOURCE_ROOT;
constexpr std::uint64_t kSeed = 1;
constexpr std::int64_t kLargestParameters = 1'000'000;

at::Tensor drawn_like(const at::Tensor& value, const std::string& name, float scale) {
  const auto values = initial_values(/*seed=*/7, name, static_cast<std::size_t>(value.numel()), scale);
  const at::Tensor result = at::empty({value.numel()}, at::kFloat);
  std::copy(values.begin(), values.end(), static_cast<float*>(result.data_ptr()));
  return result.to(value.scalar_type()).view(value.sizes());
}

// One step of a small preset on the CPU, nothing traced.
class FirstStep final : public StepContext {
 public:
  // With a user's weights it begins with those instead.
  FirstStep(const Model& model, const ModelPreset& preset, std::int64_t batch_size, OwnWeights* weights = nullptr)
      : model_(model),
        preset_(preset),
        state_(model, preset, /*steps=*/1, kSeed, Precision::fp64, at::kCPU, {}, weights),
        batches_(model, preset, data_sets(), kRoot / "models" / "data", kSeed, batch_size, Precision::fp64, at::kCPU) {
    const c10::NoGradGuard no_grad;
    for (std::size_t i = 0; weights == nullptr && i < state_.size(); ++i) {
      state_.parameter(i).add_(drawn_like(state_.parameter(i), "moved/" + state_.name(i), 0.03125F));
    }
    batches_.load(1);
  }

  const ModelPreset& preset() const override { return preset_; }
  const Settings& settings() const override { return settings_; }
  const at::Tensor& parameter(std::size_t index) const override { return state_.parameter(index); }
  const at::Tensor& buffer(std::size_t index) const override { return state_.buffer(index); }
  at::Tensor block(const std::vector<at::Tensor>& inputs, const BlockFunction& compute) override {
    return compute(inputs);
  }
  void keep(std::shared_ptr<const void> network) override { network_ = std::move(network); }
  void tap(const at::Tensor&, std::string_view) override {}
  void mask(const at::Tensor&, std::string_view) override {}
  void choice(const at::Tensor&, std::string_view) override {}

  at::Tensor loss() { return model_.loss(model_.forward(batches_.micro_batch(0), *this), batches_.micro_batch(0)); }
  TrainState& state() { return state_; }

  // Parameters and buffers by name, fields of the batch as `batch/NAME`.
  NamedTensors all() const {
    NamedTensors tensors;
    for (const StateTensor& tensor : state_.tensors()) {
      if (tensor.role != TensorRole::optimizer_state) tensors.emplace_back(tensor.name, *tensor.value);
    }
    for (std::size_t i = 0; i < batches_.fields().size(); ++i) {
      tensors.emplace_back("batch/" + batches_.fields()[i].name, batches_.tensor(i));
    }
    return tensors;
  }

 private:
  const Model& model_;
  const ModelPreset& preset_;
  Settings settings_;
  TrainState state_;
  BatchSource batches_;
  std::shared_ptr<const void> network_;
};

bool is_small(const Model&, const ModelPreset& preset) { return preset.parameters <= kLargestParameters; }

template <class Visit>
void for_each_preset(bool (*is_meant)(const Model&, const ModelPreset&), const Visit& visit) {
  for (const Model* model : models()) {
    for (const ModelPreset& preset : model->presets()) {
      if (is_meant(*model, preset)) visit(*model, preset);
    }
  }
}

double number(const at::Tensor& scalar) { return scalar.item().toDouble(); }

TEST_CASE("every small preset's gradients are its loss's slopes, by finite differences in fp64", "[worker][numerics]") {
  constexpr double kDistance = 1e-5;
  for_each_preset(is_small, [&](const Model& model, const ModelPreset& preset) {
    FirstStep step(model, preset, 2);
    step.loss().backward();
    const c10::NoGradGuard no_grad;
    for (std::size_t i = 0; i < step.state().size(); ++i) {
      if (step.state().is_frozen(i)) continue;
      INFO(model.name() << "/" << preset.name << " " << step.state().name(i));
      at::Tensor parameter = step.state().parameter(i);
      at::Tensor direction = drawn_like(parameter, "direction/" + step.state().name(i), 1);
      direction = direction / std::sqrt(number((direction * direction).sum()));
      const double slope = number((step.state().gradient(i) * direction).sum());
      const auto loss_at = [&](double distance) {
        const at::Tensor here = parameter.clone();
        parameter.add_(direction, distance);
        const double loss = number(step.loss());
        parameter.copy_(here);
        return loss;
      };
      const double measured = (loss_at(kDistance) - loss_at(-kDistance)) / (2 * kDistance);
      CHECK(std::abs(measured - slope) <= 1e-5 * std::abs(slope) + 1e-9);
    }
  });
}

// Multiply-adds of the products in a step, by the shapes that LibTorch was given.
class CountedProducts final : public OperatorListener {
 public:
  void started(OperatorCall& call) override {
    const auto size = [&](std::size_t argument, std::int64_t dimension) {
      return call.inputs[argument].toTensor().size(dimension);
    };
    if (call.name == "aten::mm") multiply_adds += size(0, 0) * size(0, 1) * size(1, 1);
    if (call.name == "aten::addmm") multiply_adds += size(1, 0) * size(1, 1) * size(2, 1);
    if (call.name == "aten::bmm") multiply_adds += size(0, 0) * size(0, 1) * size(0, 2) * size(1, 2);
    if (call.name == "aten::convolution_backward") {
      const auto wanted = call.inputs.back().toBoolList();
      multiply_adds += (int{wanted[0]} + int{wanted[1]}) * of_convolution(call.inputs[0], call.inputs[2]);
    }
  }
  void ended(OperatorCall& call) override {
    if (call.name == "aten::convolution") multiply_adds += of_convolution(call.outputs[0], call.inputs[1]);
  }

  std::int64_t multiply_adds = 0;

 private:
  static std::int64_t of_convolution(const c10::IValue& output, const c10::IValue& weight) {
    return output.toTensor().numel() * weight.toTensor().numel() / weight.toTensor().size(0);
  }
};

TEST_CASE("every small preset's FLOPs are those of the products that LibTorch does in a step", "[worker][numerics]") {
  for_each_preset(is_small, [](const Model& model, const ModelPreset& preset) {
    INFO(model.name() << "/" << preset.name);
    constexpr std::int64_t kBatch = 3;
    FirstStep step(model, preset, kBatch);
    CountedProducts products;
    {
      const OperatorHook hook({&products});
      step.loss().backward();
      OperatorHook::rethrow_failure();
    }
    CHECK(2 * products.multiply_adds == model.flops_per_step(preset, kBatch));
  });
}

// Sums of a gradient that no two tensors share by accident: its length, a sum weighted by place, and elements.
double weighted_sum(const at::Tensor& values) {
  const at::Tensor flat = values.flatten();
  return number((flat * (at::arange(flat.numel(), flat.options()).remainder(97) - 48)).sum());
}

std::vector<double> some_elements(const at::Tensor& values) {
  constexpr std::int64_t kElements = 8;
  const at::Tensor flat = values.flatten();
  const std::int64_t count = std::min<std::int64_t>(kElements, flat.numel());
  std::vector<double> elements;
  for (std::int64_t i = 0; i < count; ++i) {
    elements.push_back(number(flat[count == 1 ? 0 : i * (flat.numel() - 1) / (count - 1)]));
  }
  return elements;
}

// Every small one; and of resnet `18`, as no small one has a residual block.
bool has_golden_values(const Model& model, const ModelPreset& preset) {
  return is_small(model, preset) || (model.name() == "resnet" && preset.name == "18");
}

std::string file_name(const Model& model, const ModelPreset& preset) {
  return std::string(model.name()) + "-" + std::string(preset.name);
}

constexpr std::int64_t kOracleBatch = 4;

// `worker_test [oracle]` with a folder in REPROBENCH_ORACLE writes what the scripts of ci/oracles read.
TEST_CASE("states for the oracles", "[.][oracle]") {
  const char* folder = std::getenv("REPROBENCH_ORACLE");
  REQUIRE(folder != nullptr);
  for_each_preset(has_golden_values, [&](const Model& model, const ModelPreset& preset) {
    const FirstStep step(model, preset, kOracleBatch);
    write_tensors(std::filesystem::path(folder) / (file_name(model, preset) + ".safetensors"), step.all(),
                  {{"model", std::string(model.name())}, {"preset", std::string(preset.name)}});
  });
}

TEST_CASE("loss and first gradients agree with independent implementations in fp64", "[worker][numerics]") {
  constexpr double kBudget = 1e-12;  // of the largest element; fp64 has 1.1e-16 and sums of some thousand terms
  for_each_preset(has_golden_values, [&](const Model& model, const ModelPreset& preset) {
    INFO(file_name(model, preset) << " needs values of an independent implementation: ci/oracles/README.md");
    std::ifstream file(kRoot / "ci" / "oracles" / "golden" / (file_name(model, preset) + ".json"));
    REQUIRE(file);
    const auto golden = nlohmann::json::parse(file);
    FirstStep step(model, preset, kOracleBatch);
    const at::Tensor loss = step.loss();
    loss.backward();
    // A bias of keys moves no softmax: its gradient is rounding alone and has no scale of its own.
    double square = 0;
    for (const auto& expected : golden.at("gradients")) square += std::pow(expected.at("l2").get<double>(), 2);
    const double least_scale = 1e-4 * std::sqrt(square);
    double worst = std::abs(number(loss) / golden.at("loss").get<double>() - 1);
    std::string where = "loss";
    std::size_t compared = 0;
    for (std::size_t i = 0; i < step.state().size(); ++i) {
      const auto expected = golden.at("gradients").find(step.state().name(i));
      REQUIRE((expected == golden.at("gradients").end()) == step.state().is_frozen(i));
      if (step.state().is_frozen(i)) continue;
      ++compared;
      const at::Tensor& gradient = step.state().gradient(i);
      const double l2 = expected->at("l2").get<double>();
      REQUIRE(l2 > 0);
      const auto compare = [&](double ours, double theirs, double scale) {
        const double error = std::abs(ours - theirs) / std::max(scale, least_scale);
        if (error > worst) where = step.state().name(i);
        worst = std::max(worst, error);
      };
      compare(std::sqrt(number((gradient * gradient).sum())), l2, l2);
      // Of random elements with weights of RMS 28 the sum is about so many times the length.
      const double weight = 28 * std::sqrt(static_cast<double>(gradient.numel()));
      compare(weighted_sum(gradient) / weight, expected->at("weighted_sum").get<double>() / weight, l2);
      const auto elements = some_elements(gradient);
      const auto expected_elements = expected->at("elements").get<std::vector<double>>();
      REQUIRE(elements.size() == expected_elements.size());
      const double largest = number(gradient.abs().max());
      for (std::size_t e = 0; e < elements.size(); ++e) compare(elements[e], expected_elements[e], largest);
    }
    CHECK(compared == golden.at("gradients").size());
    INFO("largest relative error " << worst << " in " << where);
    CHECK(worst <= kBudget);
  });
}

// Of each model that has published weights a preset that its publisher's own code can be asked for.
bool has_published_oracle(const Model& model, const ModelPreset& preset) {
  if (model.published_naming().by.empty()) return false;
  return model.name() == "resnet" ? preset.name == "18" : preset.name == "tiny";
}

std::filesystem::path write_published(const std::filesystem::path& folder, const Model& model,
                                      const ModelPreset& preset) {
  const std::filesystem::path path = folder / (file_name(model, preset) + "-published.safetensors");
  write_tensors(path, as_published(model, known_weights(model, preset), "transformer."), {{"format", "pt"}});
  return path;
}

// Also for ci/oracles: files that the publishers' code reads by itself.
TEST_CASE("published weights for the oracles", "[.][oracle]") {
  const char* folder = std::getenv("REPROBENCH_ORACLE");
  REQUIRE(folder != nullptr);
  for_each_preset(has_published_oracle,
                  [&](const Model& model, const ModelPreset& preset) { write_published(folder, model, preset); });
}

double loss_from_weights(const std::filesystem::path& path, const Model& model, const ModelPreset& preset) {
  WorkloadRequest workload;
  workload.weights_file = path.string();
  workload.weights_sha256 = plain_sha256_of_text(text_of_own_file(path));
  OwnWeights weights(workload, model, preset, models());
  FirstStep step(model, preset, kOracleBatch, &weights);
  return number(step.loss());
}

TEST_CASE("from one file of published weights our loss is its publisher's, in fp64", "[worker][numerics][weights]") {
  constexpr double kBudget = 1e-12;
  int compared = 0;
  for_each_preset(has_published_oracle, [&](const Model& model, const ModelPreset& preset) {
    const TemporaryFolder folder;
    const std::string name = file_name(model, preset) + "-published.json";
    INFO(name);
    std::ifstream file(kRoot / "ci" / "oracles" / "golden" / name);
    REQUIRE(file);
    const double expected = nlohmann::json::parse(file).at("loss").get<double>();
    const std::filesystem::path path = write_published(folder.path(), model, preset);
    const double loss = loss_from_weights(path, model, preset);
    INFO("relative error " << std::abs(loss / expected - 1));
    CHECK(std::abs(loss / expected - 1) <= kBudget);
    ++compared;
    if (model.name() != "llama") return;
    const auto presets = model.presets();
    const auto lora =
        std::find_if(presets.begin(), presets.end(), [](const ModelPreset& p) { return p.name == "tiny-lora"; });
    CHECK(loss_from_weights(path, model, *lora) == loss);  // adapters begin at zero
  });
  CHECK(compared == 4);
}

TEST_CASE("that loss sees one square matrix the wrong way round", "[worker][numerics][weights]") {
  const Model& model =
      **std::find_if(models().begin(), models().end(), [](const Model* m) { return m->name() == "gpt2"; });
  const ModelPreset& preset = model.presets().front();
  const TemporaryFolder folder;
  const double loss = loss_from_weights(write_published(folder.path(), model, preset), model, preset);
  NamedTensors turned = as_published(model, known_weights(model, preset));
  for (auto& [name, tensor] : turned) {
    if (name == "h.3.attn.c_proj.weight") tensor = tensor.t().contiguous();
  }
  write_tensors(folder.path() / "turned.safetensors", turned, {});
  CHECK(std::abs(loss_from_weights(folder.path() / "turned.safetensors", model, preset) / loss - 1) > 1e-9);
}

}  // namespace
}  // namespace reprobench
