#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string>

#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>

#include "ci/catch.hpp"
#include "models/initial_values.hpp"
#include "models/model_spec.hpp"

namespace reprobench::model::gpt2 {
const Model& instance();

namespace {

const ModelPreset& preset_called(std::string_view name) {
  for (const ModelPreset& preset : instance().presets()) {
    if (preset.name == name) return preset;
  }
  throw std::logic_error("gpt2 lost a preset");
}

std::int64_t elements_of(const ParameterSpec& parameter) {
  return std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t elements_of(const std::vector<ParameterSpec>& parameters) {
  std::int64_t sum = 0;
  for (const ParameterSpec& parameter : parameters) sum += elements_of(parameter);
  return sum;
}

// A batch of tokens alone.
class Tokens final : public Batch {
 public:
  explicit Tokens(at::Tensor tokens) : tokens_(std::move(tokens)) {}
  const at::Tensor& field(std::string_view) const override { return tokens_; }

 private:
  at::Tensor tokens_;
};

// A step without a train loop: initial parameters, and every tap kept.
class OneStep final : public StepContext {
 public:
  OneStep(const ModelPreset& preset, Gelu gelu) : preset_(preset) {
    settings_.gelu = gelu;
    for (const ParameterSpec& spec : instance().parameters(preset)) {
      auto values =
          initial_values(1, spec.name, static_cast<std::size_t>(elements_of(spec)), spec.init_scale, spec.init_mean);
      parameters_.push_back(at::from_blob(values.data(), spec.shape, at::kFloat).clone());
    }
  }

  const ModelPreset& preset() const override { return preset_; }
  const Settings& settings() const override { return settings_; }
  const at::Tensor& parameter(std::size_t index) const override { return parameters_[index]; }
  const at::Tensor& buffer(std::size_t index) const override { return parameters_.at(index); }  // there is none
  void tap(const at::Tensor& value, std::string_view name) override {
    CHECK(taps.emplace(std::string(name), value).second);
  }
  void mask(const at::Tensor&, std::string_view) override {}
  void choice(const at::Tensor&, std::string_view) override {}
  at::Tensor block(const std::vector<at::Tensor>& inputs, const BlockFunction& compute) override {
    return compute(inputs);
  }
  void keep(std::shared_ptr<const void>) override {}

  std::map<std::string, at::Tensor> taps;

 private:
  const ModelPreset& preset_;
  Settings settings_;
  std::vector<at::Tensor> parameters_;
};

at::Tensor logits_of(const at::Tensor& tokens, StepContext& step) {
  return instance().forward(Tokens(tokens), step).front();
}

at::Tensor some_tokens(const ModelPreset& preset) {
  return at::arange(2 * preset.context_length, at::kLong).remainder(97).view({2, preset.context_length});
}

TEST_CASE("124m has the published parameters, and every preset as many as it says", "[models]") {
  const auto published = instance().parameters(preset_called("124m"));
  CHECK(elements_of(published) == 124'439'808);
  CHECK(published.size() == 148);
  CHECK(published[0].name == "wte.weight");
  CHECK(published[0].shape == std::vector<std::int64_t>{50257, 768});
  CHECK(published[2 + 12 * 11 + 2].name == "h.11.attn.c_attn.weight");
  CHECK(published[2 + 12 * 11 + 2].shape == std::vector<std::int64_t>{2304, 768});
  CHECK(published.back().name == "ln_f.bias");
  for (const ModelPreset& preset : instance().presets()) {
    CHECK(elements_of(instance().parameters(preset)) == preset.parameters);
  }
  CHECK(preset_called("tiny").parameters < 1'000'000);
}

TEST_CASE("initial values are GPT-2's: 0.02, less for what is added to the residual stream, LayerNorms at one",
          "[models]") {
  for (const ParameterSpec& parameter : instance().parameters(preset_called("124m"))) {
    const bool is_weight = parameter.name.ends_with(".weight");
    const bool is_layer_norm = parameter.name.find("ln_") != std::string::npos;
    CHECK(parameter.init_mean == (is_weight && is_layer_norm ? 1 : 0));
    const bool is_residual = parameter.name.ends_with("c_proj.weight");
    const double scale = is_residual ? 0.02 / std::sqrt(24.0) : is_weight && !is_layer_norm ? 0.02 : 0.0;
    CHECK(parameter.init_scale == static_cast<float>(scale));
  }
}

TEST_CASE("the FLOPs of a gpt2 step are 6 N + 12 L H Q T a token", "[models]") {
  // 124m: N = 12 x 12 x 768^2 + 50257 x 768 = 123,532,032; 6 N + 12 x 12 x 768 x 1024 = 854,438,400.
  CHECK(instance().flops_per_step(preset_called("124m"), 1) == 1024 * 854'438'400LL);
  // tiny: N = 4 x 12 x 128^2 + 256 x 128 = 819,200; 6 N + 12 x 4 x 128 x 64 = 5,308,416.
  CHECK(instance().flops_per_step(preset_called("tiny"), 8) == 8 * 64 * 5'308'416LL);
}

TEST_CASE("a position's logits depend on no later token", "[models]") {
  const ModelPreset& preset = preset_called("tiny");
  at::Tensor tokens = some_tokens(preset);
  OneStep before(preset, Gelu::tanh);
  const at::Tensor logits = logits_of(tokens, before);
  CHECK(logits.sizes().vec() == std::vector<std::int64_t>{2, 64, 256});
  tokens.select(1, 40).fill_(5);
  OneStep after(preset, Gelu::tanh);
  const at::Tensor changed = logits_of(tokens, after);
  CHECK(changed.narrow(1, 0, 40).equal(logits.narrow(1, 0, 40)));
  CHECK_FALSE(changed.select(1, 40).equal(logits.select(1, 40)));
  CHECK_FALSE(changed.select(1, 63).equal(logits.select(1, 63)));
}

TEST_CASE("attention weights are a distribution over the past", "[models]") {
  const ModelPreset& preset = preset_called("tiny");
  OneStep step(preset, Gelu::tanh);
  logits_of(some_tokens(preset), step);
  for (const char* layer : {"h.0", "h.3"}) {
    const at::Tensor weights = step.taps.at(std::string(layer) + ".attn.softmax");
    CHECK(weights.sizes().vec() == std::vector<std::int64_t>{2, 4, 64, 64});
    CHECK(weights.triu(1).count_nonzero().item<std::int64_t>() == 0);
    CHECK(at::allclose(weights.sum(-1), at::full({2, 4, 64}, 1.0F), 1e-5));
  }
}

TEST_CASE("both forms of GELU are themselves: equal at zero, close, and not the same", "[models]") {
  const ModelPreset& preset = preset_called("tiny");
  OneStep by_tanh(preset, Gelu::tanh);
  OneStep by_erf(preset, Gelu::erf);
  logits_of(some_tokens(preset), by_tanh);
  logits_of(some_tokens(preset), by_erf);
  const at::Tensor input = by_tanh.taps.at("h.0.mlp.c_fc");
  CHECK(input.equal(by_erf.taps.at("h.0.mlp.c_fc")));
  const double x = input.flatten()[100].item<double>();
  const double phi = 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
  CHECK(by_erf.taps.at("h.0.mlp.gelu").flatten()[100].item<double>() == Approx(x * phi).epsilon(1e-5));
  CHECK_FALSE(by_erf.taps.at("h.0.mlp.gelu").equal(by_tanh.taps.at("h.0.mlp.gelu")));
  CHECK(at::allclose(by_erf.taps.at("h.0.mlp.gelu"), by_tanh.taps.at("h.0.mlp.gelu"), 0, 1e-3));
}

TEST_CASE("an untrained decoder is as unsure as a guess over its vocabulary", "[models]") {
  const ModelPreset& preset = preset_called("tiny");
  const at::Tensor tokens = some_tokens(preset);
  OneStep step(preset, Gelu::tanh);
  const at::Tensor loss = instance().loss({logits_of(tokens, step)}, Tokens(tokens.roll(-1, 1)));
  CHECK(loss.item<double>() == Approx(std::log(256.0)).margin(0.1));
}

}  // namespace
}  // namespace reprobench::model::gpt2
