// How a preset is trained: which optimizer, with what numbers, and how its learning rate changes from step to step. The
// worker carries it out in ATen operators (suites/worker/state/optimizer.cpp).
#pragma once

#include <cstdint>
#include <variant>

namespace reprobench {

struct ParameterSpec;

// Tells which parameters decay at every step. It is a rule, so that a model says it once; the workload digest covers
// its answer for each parameter.
using DecayRule = bool (*)(const ParameterSpec& parameter);
bool decays_matrices(const ParameterSpec& parameter);  // two dimensions or more: no bias, no weight of a normalization
bool decays_everything(const ParameterSpec& parameter);

// Adam (Kingma and Ba 2015) without weight decay.
struct AdamSettings {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

// Adam with decoupled weight decay (Loshchilov and Hutter 2019): a weight that decays is first multiplied by
// 1 - learning rate * decay.
struct AdamWSettings {
  AdamSettings adam;
  double weight_decay = 0.01;
  DecayRule decays = &decays_matrices;
};

// Stochastic gradient descent with momentum as PyTorch defines it: the decay is part of the gradient, and the learning
// rate multiplies the whole momentum.
struct SgdSettings {
  double learning_rate = 0.1;
  double momentum = 0.9;
  double weight_decay = 0;
  DecayRule decays = &decays_everything;
};

using OptimizerSettings = std::variant<AdamSettings, AdamWSettings, SgdSettings>;

double base_learning_rate(const OptimizerSettings& optimizer);  // before any schedule

struct ConstantRate {};

// Linear from 0 to the optimizer's learning rate over the first steps, then half a cosine down to a share of it at the
// last step of the run.
struct WarmupCosine {
  std::int64_t warmup_steps = 0;
  double final_share = 0;
};

using RateSchedule = std::variant<ConstantRate, WarmupCosine>;

}  // namespace reprobench
