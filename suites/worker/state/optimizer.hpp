// The optimizers a preset can ask for (models/optimizer_settings.hpp), written out in ATen operations rather than taken
// from torch::optim. The sequence of operations is then part of the workload, equal on every stack. A release that
// reorders its optimizer does not change the work.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/optimizer_settings.hpp"
#include "suites/worker/state/element_update.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

// The numbers in an optimizer's state that are no tensors, by name.
using OptimizerNumbers = std::map<std::string, double>;

// How Adam's update is written, for a drill. `folded` is the usual form (begin() below). `textbook` has the bias
// corrections where the textbook has them, which is the same in exact arithmetic. `unscaled_epsilon` is the textbook's
// form with the epsilon of the folded one.
enum class AdamForm { folded, textbook, unscaled_epsilon };

// A parameter as its optimizer sees it. `kept` is its optimizer state, one tensor for each of Optimizer::keeps(), of
// the parameter's shape and type; `scratch` is one more, so that a step allocates nothing.
struct TrainedTensors {
  at::Tensor& parameter;
  std::vector<at::Tensor>& kept;
  at::Tensor& scratch;
  bool decays;
  AdamForm form = AdamForm::folded;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // The names of the tensors that are kept for each parameter, as PyTorch has them: "exp_avg". All begin as zeros.
  virtual std::span<const std::string_view> keeps() const = 0;

  // Computes on the host, before a step, the numbers that change from step to step. With `on_device`, a tensor of
  // kStepNumbers elements of the parameters' type, they are copied there, and a step() that reads them can be recorded.
  virtual void begin(double learning_rate, at::Tensor* on_device) = 0;
  static constexpr int kStepNumbers = 3;

  // One step on one parameter, whose gradient is there. `on_device` is begin()'s.
  virtual void step(const TrainedTensors& tensors, const at::Tensor* on_device) const = 0;

  // The same on elements in the host's memory, in one pass; it follows a begin() without a tensor.
  virtual void step(const Elements<float>& elements) const = 0;
  virtual void step(const Elements<double>& elements) const = 0;

  virtual OptimizerNumbers numbers() const { return {}; }
  virtual void set_numbers(const OptimizerNumbers&) {}  // takes all of numbers(), with other values

  // For the fault `adam_epsilon`.
  virtual bool has_epsilon() const { return false; }
  virtual void set_epsilon(double) {}

  // For the fault `optimizer_momentum`: the factor by which a step keeps the first tensor of its state.
  virtual void set_momentum(double) {}

  // Whether this parameter decays by the preset's rule.
  virtual bool decays(const ParameterSpec&) const { return false; }
};

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSettings& settings);

}  // namespace reprobench
