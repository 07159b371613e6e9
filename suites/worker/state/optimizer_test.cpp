// The optimizers against their definitions in plain C++, in fp64, as their papers and PyTorch's documentation write
// them.
#include "suites/worker/state/optimizer.hpp"

#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "ci/catch.hpp"
#include "models/model_spec.hpp"

namespace reprobench {
namespace {

constexpr double kRates[] = {1e-2, 2e-2, 5e-3, 3e-3, 1e-3};
constexpr double kFirstWeights[] = {0.5, -1.25, 3.0};

// Of step `step`, from 0.
double gradient_of(int step, std::size_t element) {
  return (static_cast<double>(element) - 1.2) * (step % 2 == 0 ? 1 : -0.7) + 0.01 * step;
}

using Weights = std::array<double, 3>;

enum class NumbersLie { on_host, on_device, in_one_pass };

// What `settings` makes of the first weights in five steps, and what it keeps.
struct Trained {
  Weights weights{};
  std::vector<at::Tensor> kept;
  std::unique_ptr<Optimizer> optimizer;
};

Trained train(const OptimizerSettings& settings, bool decays, NumbersLie where = NumbersLie::on_host,
              AdamForm form = AdamForm::folded) {
  Trained trained{{}, {}, make_optimizer(settings)};
  at::Tensor parameter = at::empty({3}, at::kDouble);
  at::Tensor scratch = at::empty({3}, at::kDouble);
  at::Tensor numbers = at::empty({Optimizer::kStepNumbers}, at::kDouble);
  at::Tensor* on_device = where == NumbersLie::on_device ? &numbers : nullptr;
  auto* values = parameter.data_ptr<double>();
  std::copy(std::begin(kFirstWeights), std::end(kFirstWeights), values);
  for (std::size_t i = 0; i < trained.optimizer->keeps().size(); ++i) {
    trained.kept.push_back(at::zeros({3}, at::kDouble));
  }
  for (int step = 0; step < 5; ++step) {
    at::Tensor gradient = at::empty({3}, at::kDouble);
    for (std::size_t i = 0; i < 3; ++i) gradient.data_ptr<double>()[i] = gradient_of(step, i);
    parameter.mutable_grad() = gradient;
    trained.optimizer->begin(kRates[step], on_device);
    if (where == NumbersLie::in_one_pass) {
      Elements<double> elements{values, gradient.data_ptr<double>(), {}, 3, decays};
      for (std::size_t i = 0; i < trained.kept.size(); ++i) elements.kept[i] = trained.kept[i].data_ptr<double>();
      trained.optimizer->step(elements);
    } else {
      trained.optimizer->step({parameter, trained.kept, scratch, decays, form}, on_device);
    }
  }
  std::copy(values, values + 3, trained.weights.begin());
  return trained;
}

// Kingma and Ba's algorithm 1, line by line, with Loshchilov and Hutter's decay (their algorithm 2, line 12).
Weights adam_by_definition(const AdamSettings& adam, double decay) {
  Weights weights{};
  for (std::size_t i = 0; i < 3; ++i) {
    double w = kFirstWeights[i], m = 0, v = 0;
    for (int step = 0; step < 5; ++step) {
      const double g = gradient_of(step, i);
      m = adam.beta1 * m + (1 - adam.beta1) * g;
      v = adam.beta2 * v + (1 - adam.beta2) * g * g;
      const double m_hat = m / (1 - std::pow(adam.beta1, step + 1));
      const double v_hat = v / (1 - std::pow(adam.beta2, step + 1));
      w = w - kRates[step] * decay * w - kRates[step] * m_hat / (std::sqrt(v_hat) + adam.epsilon);
    }
    weights[i] = w;
  }
  return weights;
}

// torch.optim.SGD's documentation, without dampening and Nesterov's form.
Weights sgd_by_definition(double momentum, double decay) {
  Weights weights{};
  for (std::size_t i = 0; i < 3; ++i) {
    double w = kFirstWeights[i], b = 0;
    for (int step = 0; step < 5; ++step) {
      const double g = gradient_of(step, i) + decay * w;
      b = momentum * b + g;
      w = w - kRates[step] * b;
    }
    weights[i] = w;
  }
  return weights;
}

void check_close(const Weights& weights, const Weights& expected) {
  for (std::size_t i = 0; i < 3; ++i) CHECK(weights[i] == Approx(expected[i]).epsilon(1e-13));
}

TEST_CASE("adam is Kingma and Ba's, with its bias corrections", "[worker][optimizer]") {
  const AdamSettings adam{.beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-3};
  const auto where = GENERATE(NumbersLie::on_host, NumbersLie::on_device, NumbersLie::in_one_pass);
  check_close(train(adam, false, where).weights, adam_by_definition(adam, 0));
}

TEST_CASE("adam written out as in the textbook is the same, and with the folded form's epsilon it is not",
          "[worker][optimizer]") {
  const AdamWSettings adamw{{.beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-3}, 0.3};
  const Weights defined = adam_by_definition(adamw.adam, 0.3);
  check_close(train(adamw, true, NumbersLie::on_host, AdamForm::textbook).weights, defined);
  const Weights wrong = train(adamw, true, NumbersLie::on_host, AdamForm::unscaled_epsilon).weights;
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(wrong[i] != Approx(defined[i]).epsilon(1e-6));
    CHECK(wrong[i] == Approx(defined[i]).epsilon(1e-2));
  }
}

TEST_CASE("adam's first step is the learning rate in the gradient's direction", "[worker][optimizer]") {
  // m / (1 - beta1) = g and sqrt(v / (1 - beta2)) = |g|, whatever the betas.
  const auto optimizer = make_optimizer(AdamSettings{.epsilon = 0});
  at::Tensor parameter = at::zeros({1}, at::kDouble);
  at::Tensor scratch = at::empty({1}, at::kDouble);
  std::vector<at::Tensor> kept{at::zeros({1}, at::kDouble), at::zeros({1}, at::kDouble)};
  parameter.mutable_grad() = at::zeros({1}, at::kDouble).fill_(-7.5);
  optimizer->begin(0.25, nullptr);
  optimizer->step({parameter, kept, scratch, false}, nullptr);
  CHECK(parameter.item<double>() == Approx(0.25).epsilon(1e-14));
}

TEST_CASE("adamw multiplies a weight that decays by 1 - rate x decay and leaves the moments alone",
          "[worker][optimizer]") {
  const AdamWSettings adamw{{.beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-3}, 0.3};
  const auto where = GENERATE(NumbersLie::on_host, NumbersLie::on_device, NumbersLie::in_one_pass);
  const Trained decayed = train(adamw, true, where);
  const Trained spared = train(adamw, false, where);
  check_close(decayed.weights, adam_by_definition(adamw.adam, 0.3));
  check_close(spared.weights, adam_by_definition(adamw.adam, 0));
  CHECK(decayed.kept[0].equal(spared.kept[0]));
  CHECK(decayed.kept[1].equal(spared.kept[1]));
}

TEST_CASE("sgd is PyTorch's: the decay in the gradient, the rate outside the momentum", "[worker][optimizer]") {
  const auto where = GENERATE(NumbersLie::on_host, NumbersLie::on_device, NumbersLie::in_one_pass);
  const SgdSettings sgd{.momentum = 0.9, .weight_decay = 0.2};
  check_close(train(sgd, true, where).weights, sgd_by_definition(0.9, 0.2));
  check_close(train(sgd, false, where).weights, sgd_by_definition(0.9, 0));
  const SgdSettings plain{.momentum = 0, .weight_decay = 0.2};
  check_close(train(plain, true, where).weights, sgd_by_definition(0, 0.2));
  check_close(train(plain, false, where).weights, sgd_by_definition(0, 0));
  CHECK(make_optimizer(plain)->keeps().empty());
}

TEST_CASE("an optimizer's numbers are the part of its state that is no tensor", "[worker][optimizer]") {
  const Trained trained = train(AdamSettings{.beta1 = 0.5, .beta2 = 0.25}, false);
  CHECK((trained.optimizer->numbers() == OptimizerNumbers{{"beta1_power", 1.0 / 32}, {"beta2_power", 1.0 / 1024}}));
  const auto other = make_optimizer(AdamWSettings{});
  other->set_numbers(trained.optimizer->numbers());
  CHECK((other->numbers() == trained.optimizer->numbers()));
  CHECK(train(SgdSettings{}, false).optimizer->numbers().empty());
}

TEST_CASE("the rule of a preset says which parameters decay, and without a decay none does", "[worker][optimizer]") {
  const ParameterSpec weight{"fc.weight", {4, 3}, 1};
  const ParameterSpec bias{"fc.bias", {4}};
  const auto adamw = make_optimizer(AdamWSettings{});
  CHECK(adamw->decays(weight));
  CHECK_FALSE(adamw->decays(bias));
  CHECK(make_optimizer(AdamWSettings{{}, 0.1, &decays_everything})->decays(bias));
  CHECK_FALSE(make_optimizer(AdamSettings{})->decays(weight));
  CHECK(make_optimizer(SgdSettings{.weight_decay = 1e-4})->decays(bias));
  CHECK_FALSE(make_optimizer(SgdSettings{})->decays(weight));
}

TEST_CASE("only an optimizer with an epsilon takes another one", "[worker][optimizer]") {
  CHECK(make_optimizer(AdamSettings{})->has_epsilon());
  CHECK(make_optimizer(AdamWSettings{})->has_epsilon());
  CHECK_FALSE(make_optimizer(SgdSettings{})->has_epsilon());
}

}  // namespace
}  // namespace reprobench
