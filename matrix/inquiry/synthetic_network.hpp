// For tests of this layer: two linear layers with a ReLU, trained in this process in fp32 or fp64, with every operator
// call on record. It is small enough to follow by hand, and real enough that its fp64 twin tells rounding from defects.
//
//   x (8, 6) -> fc1 (10, 6) -> act -> fc2 (4, 10) -> loss: mean squares from 1; momentum 0.9, learning rate 0.1. Every
//   update ends with the decay of a weight that nothing else reads.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/digest/digest.hpp"
#include "kernels/sketch/sketch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/contract/operator_record.hpp"
#include "matrix/contract/trace.hpp"

namespace reprobench {

struct SyntheticTensor {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  bool is_bf16 = false;  // its values fit into bfloat16, and so it is kept
};

// How values are stored: as fp32, or unrounded.
struct Rounding {
  bool is_fp32 = true;
  double operator()(double value) const { return is_fp32 ? static_cast<double>(static_cast<float>(value)) : value; }
};

inline std::vector<std::byte> bytes_of(const SyntheticTensor& tensor, Rounding round) {
  const std::size_t size = tensor.is_bf16 ? 2 : round.is_fp32 ? sizeof(float) : sizeof(double);
  std::vector<std::byte> bytes(tensor.values.size() * size);
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    const auto single = static_cast<float>(tensor.values[i]);
    const std::uint32_t upper_half = std::bit_cast<std::uint32_t>(single) >> 16;
    const void* kept = &tensor.values[i];
    if (round.is_fp32) kept = &single;
    if (tensor.is_bf16) kept = &upper_half;
    std::memcpy(bytes.data() + i * size, kept, size);
  }
  return bytes;
}

inline double next_up(double value, Rounding round) {
  if (!round.is_fp32) return std::nextafter(value, std::numeric_limits<double>::infinity());
  return static_cast<double>(std::nextafter(static_cast<float>(value), std::numeric_limits<float>::infinity()));
}

// What a side does otherwise. `site`: an operator's first output, "forward fc1 aten::addmm"; its constants, "constants
// forward fc1 aten::addmm"; what is changed between operators: "input", "parameter NAME" before a step, "gradient NAME"
// before the update, "moment NAME" after it. "decomposed act": the ReLU is made by three calls, a product by three, a
// quotient by three and a ReLU; `change` makes the second three. "doubled NAME": the update takes half of twice the
// moment; `change` makes the two. "cast fc1": its output goes through bfloat16 and back. "flat update": what updates
// all parameters is on record by no call, and rounds otherwise; `change` makes the step's size. "no update NAME": none.
struct Deviation {
  std::string site;
  std::int64_t first_step = 1;
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
  std::int64_t element = 0;  // -1: all
  std::function<double(double, Rounding)> change = next_up;
};

inline std::function<double(double, Rounding)> times(double factor) {
  return [factor](double value, Rounding round) { return round(value * factor); };
}

inline std::function<double(double, Rounding)> becomes(double other) {
  return [other](double, Rounding) { return other; };
}

// An operator call with its tensors.
struct SyntheticCall {
  OperatorRecord record;
  std::vector<SyntheticTensor> inputs;
  SyntheticTensor output;
  SyntheticTensor exact;  // of the same inputs, in fp64 and as it should be
};

class SyntheticNetwork {
 public:
  SyntheticNetwork(Rounding round, std::uint64_t seed, std::vector<Deviation> deviations)
      : round_(round), seed_(seed), deviations_(std::move(deviations)) {
    add_parameter("fc1.weight", {10, 6});
    add_parameter("fc1.bias", {10});
    add_parameter("fc2.weight", {4, 10});
    add_parameter("fc2.bias", {4});
  }

  Rounding rounding() const { return round_; }
  std::map<std::string, SyntheticTensor>& state() { return state_; }
  const std::vector<std::string>& parameters() const { return parameters_; }

  // One step with its operator calls, tensors in execution order and gradients; without `updates` the state stays.
  void step(std::int64_t step, bool updates) {
    step_ = step;
    calls.clear();
    tensors.clear();
    SyntheticTensor x = drawn("x" + std::to_string(step), {8, 6}, 1);
    deviate("input", x);
    note("x", TensorRole::input, x);
    for (const std::string& name : parameters_) {
      deviate("parameter " + name, state_.at(name));
      note(name, TensorRole::parameter, state_.at(name));
    }
    forward_and_backward(x);
    for (const std::string& name : parameters_) {
      deviate("gradient " + name, gradients.at(name));
      note(name, TensorRole::parameter_gradient, gradients.at(name));
    }
    if (updates) update();
    for (const std::string& name : parameters_) {
      deviate("moment " + name, state_.at(moment(name)));
      note(moment(name), TensorRole::optimizer_state, state_.at(moment(name)));
    }
  }

  // The results of an update with drawn gradients. The state is put back afterwards.
  std::map<std::string, SyntheticTensor> drawn_updates() {
    const auto before = state_;
    const auto own_gradients = gradients;
    for (const std::string& name : parameters_) gradients[name] = drawn("g" + name, state_.at(name).shape, 1);
    update();
    std::map<std::string, SyntheticTensor> updates;
    for (const std::string& name : parameters_) {
      updates[name] = state_.at(name);
      for (std::size_t i = 0; i < updates[name].values.size(); ++i) {
        updates[name].values[i] = round_(updates[name].values[i] - before.at(name).values[i]);
      }
    }
    state_ = before;
    gradients = own_gradients;
    return updates;
  }

  TensorRecord record_of(const std::string& name, TensorRole role, const SyntheticTensor& tensor) const {
    TensorRecord record{name, role, dtype_of(tensor), tensor.shape, digest(tensor), {}};
    const Sketch sketched = sketch(std::span<const double>(tensor.values));
    record.sketch = TensorSketch{sketched.nan_count, sketched.inf_count, sketched.min,        sketched.max,
                                 sketched.sum,       sketched.l2,        sketched.signed_sums};
    return record;
  }

  std::string moment(const std::string& name) const { return name + ".exp_avg"; }

  // Of the latest step:
  std::vector<SyntheticCall> calls;
  std::vector<TensorRecord> tensors;
  std::map<std::string, SyntheticTensor> gradients;
  std::map<std::int64_t, SyntheticTensor> given;    // by index of a call: what it hands on instead of what it makes
  std::map<std::string, SyntheticTensor> exact_of;  // by digest: what a call or subgraph is meant to make, in fp64
  double loss = 0;

 private:
  using Compute = std::function<SyntheticTensor(Rounding)>;

  void add_parameter(const std::string& name, std::vector<std::int64_t> shape) {
    parameters_.push_back(name);
    const bool is_bias = shape.size() == 1;
    state_[name] = drawn(name, shape, is_bias ? 0 : 0.5);
    state_[moment(name)] = drawn(name, shape, 0);
  }

  std::string dtype_of(const SyntheticTensor& tensor) const {
    return tensor.is_bf16 ? "bfloat16" : round_.is_fp32 ? "float32" : "float64";
  }

  std::string digest(const SyntheticTensor& tensor) const {
    return to_hex(tensor_digest(dtype_of(tensor), tensor.shape, bytes_of(tensor, round_)));
  }

  // In [-scale, scale], the same bits in fp32 and fp64.
  SyntheticTensor drawn(const std::string& name, std::vector<std::int64_t> shape, double scale) const {
    SyntheticTensor tensor{std::move(shape), {}};
    const auto count = std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1}, std::multiplies<>());
    for (std::int64_t i = 0; i < count; ++i) {
      const Digest random = DigestBuilder().append(seed_).append(name).append(static_cast<std::uint64_t>(i)).finish();
      tensor.values.push_back(scale == 0 ? 0 : scale * (static_cast<double>(random.low >> 44) * 0x1p-19 - 1));
    }
    return tensor;
  }

  void deviate(const std::string& site, SyntheticTensor& tensor) const {
    for (const Deviation& deviation : deviations_) {
      if (deviation.site != site || step_ < deviation.first_step || step_ > deviation.last_step) continue;
      for (std::size_t i = 0; i < tensor.values.size(); ++i) {
        const bool is_meant = deviation.element < 0 || static_cast<std::size_t>(deviation.element) == i;
        if (is_meant) tensor.values[i] = deviation.change(tensor.values[i], round_);
      }
    }
  }

  void note(const std::string& name, TensorRole role, const SyntheticTensor& tensor) {
    tensors.push_back(record_of(name, role, tensor));
  }

  OperatorTensor in_record(const SyntheticTensor& tensor) const {
    const auto spoilt =
        std::count_if(tensor.values.begin(), tensor.values.end(), [](double value) { return !std::isfinite(value); });
    return {dtype_of(tensor), tensor.shape, digest(tensor), spoilt};
  }

  SyntheticTensor call(const std::string& pass, const std::string& module, const std::string& name,
                       std::vector<SyntheticTensor> inputs, const Compute& compute) {
    SyntheticCall made;
    made.output = compute(round_);
    made.exact = compute(Rounding{false});
    const std::string site = pass + " " + module + " " + name;
    deviate(site, made.output);
    SyntheticTensor constants{{1}, {1}};
    deviate("constants " + site, constants);
    made.record = {step_,
                   static_cast<std::int64_t>(calls.size()),
                   name,
                   0,
                   pass,
                   module,
                   {},
                   {in_record(made.output)},
                   fmt::format("{}", constants.values.front())};
    for (const SyntheticTensor& input : inputs) made.record.inputs.push_back(in_record(input));
    made.inputs = std::move(inputs);
    exact_of.try_emplace(digest(made.output), made.exact);
    const auto handed_on = given.find(made.record.index);
    calls.push_back(made);
    return handed_on == given.end() ? made.output : handed_on->second;
  }

  // a (rows, inner) times b, as (inner, columns) or transposed.
  static SyntheticTensor product(const SyntheticTensor& a, bool a_transposed, const SyntheticTensor& b,
                                 bool b_transposed, const SyntheticTensor* bias, Rounding round) {
    const std::int64_t rows = a.shape[a_transposed ? 1 : 0];
    const std::int64_t inner = a.shape[a_transposed ? 0 : 1];
    const std::int64_t columns = b.shape[b_transposed ? 0 : 1];
    SyntheticTensor result{{rows, columns}, {}};
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        double sum = bias != nullptr ? bias->values[static_cast<std::size_t>(j)] : 0;
        for (std::int64_t k = 0; k < inner; ++k) {
          const auto of_a = static_cast<std::size_t>(a_transposed ? k * rows + i : i * inner + k);
          const auto of_b = static_cast<std::size_t>(b_transposed ? j * inner + k : k * columns + j);
          sum = round(sum + round(a.values[of_a] * b.values[of_b]));
        }
        result.values.push_back(sum);
      }
    }
    return result;
  }

  template <class Element>
  static SyntheticTensor elementwise(const SyntheticTensor& a, const SyntheticTensor& b, Rounding round,
                                     Element element) {
    SyntheticTensor result = a;
    for (std::size_t i = 0; i < result.values.size(); ++i) {
      result.values[i] = round(element(a.values[i], b.values[i]));
    }
    return result;
  }

  static SyntheticTensor column_sums(const SyntheticTensor& a, Rounding round) {
    SyntheticTensor sums{{a.shape[1]}, std::vector<double>(static_cast<std::size_t>(a.shape[1]), 0)};
    for (std::size_t i = 0; i < a.values.size(); ++i) {
      double& sum = sums.values[i % sums.values.size()];
      sum = round(sum + a.values[i]);
    }
    return sums;
  }

  SyntheticTensor linear(const std::string& module, const SyntheticTensor& x) {
    const SyntheticTensor& weight = state_.at(module + ".weight");
    const SyntheticTensor& bias = state_.at(module + ".bias");
    SyntheticTensor y = call("forward", module, "aten::addmm", {bias, x, weight},
                             [&](Rounding round) { return product(x, false, weight, true, &bias, round); });
    note(module, TensorRole::forward_output, y);
    return y;
  }

  void gradients_of(const std::string& module, const SyntheticTensor& x, const SyntheticTensor& of_output) {
    note(module, TensorRole::grad_output, of_output);
    gradients[module + ".weight"] = call("backward", module, "aten::mm", {of_output, x}, [&](Rounding round) {
      return product(of_output, true, x, false, nullptr, round);
    });
    gradients[module + ".bias"] = call("backward", module, "aten::sum", {of_output},
                                       [&](Rounding round) { return column_sums(of_output, round); });
  }

  bool is_asked(const std::string& site) const {
    return std::any_of(deviations_.begin(), deviations_.end(), [&](const Deviation& deviation) {
      return deviation.site == site && step_ >= deviation.first_step && step_ <= deviation.last_step;
    });
  }

  SyntheticTensor cast_if_asked(const SyntheticTensor& hidden) {
    if (!is_asked("cast fc1")) return hidden;
    const SyntheticTensor narrow = call("forward", "act", "aten::_to_copy", {hidden}, [&](Rounding round) {
      SyntheticTensor cast = elementwise(hidden, hidden, round, [](double value, double) {
        return static_cast<double>(
            std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) & 0xffff0000U));
      });
      cast.is_bf16 = round.is_fp32;
      return cast;
    });
    const SyntheticTensor wide = call("forward", "act", "aten::_to_copy", {narrow}, [&](Rounding) {
      SyntheticTensor cast = narrow;
      cast.is_bf16 = false;
      return cast;
    });
    for (const SyntheticTensor* cast : {&narrow, &wide}) exact_of[digest(*cast)] = hidden;
    return wide;
  }

  SyntheticTensor decomposed_relu(const SyntheticTensor& hidden) {
    SyntheticTensor divisor{{1}, {3}};
    deviate("decomposed act", divisor);
    const double three = divisor.values.front();
    const auto scaled = [](double value, double) { return value * 3; };
    const auto unscaled = [three](double value, double) { return value / three; };
    const auto relu = [](double value, double) { return value < 0 ? 0 : value; };
    const SyntheticTensor larger = call("forward", "act", "aten::mul", {hidden},
                                        [&](Rounding round) { return elementwise(hidden, hidden, round, scaled); });
    const SyntheticTensor same = call("forward", "act", "aten::div", {larger},
                                      [&](Rounding round) { return elementwise(larger, larger, round, unscaled); });
    const SyntheticTensor active = call("forward", "act", "aten::clamp_min", {same},
                                        [&](Rounding round) { return elementwise(same, same, round, relu); });
    exact_of[digest(active)] =
        elementwise(hidden, hidden, Rounding{false}, [&](double value, double) { return relu(value * 3 / three, 0); });
    return active;
  }

  void forward_and_backward(const SyntheticTensor& x) {
    const SyntheticTensor hidden = cast_if_asked(linear("fc1", x));
    const SyntheticTensor active =
        is_asked("decomposed act")
            ? decomposed_relu(hidden)
            : call("forward", "act", "aten::relu", {hidden}, [&](Rounding round) {
                return elementwise(hidden, hidden, round, [](double value, double) { return value < 0 ? 0 : value; });
              });
    const SyntheticTensor y = linear("fc2", active);
    const SyntheticTensor mean = call("forward", "loss", "aten::mse_loss", {y}, [&](Rounding round) {
      double sum = 0;
      for (const double value : y.values) sum = round(sum + round((value - 1) * (value - 1)));
      return SyntheticTensor{{1}, {round(sum / static_cast<double>(y.values.size()))}};
    });
    loss = mean.values.front();
    note("loss", TensorRole::loss, mean);
    const SyntheticTensor of_y = call("backward", "loss", "MseLossBackward0", {y}, [&](Rounding round) {
      return elementwise(y, y, round, [&](double value, double) { return (value - 1) / 16; });
    });
    gradients_of("fc2", active, of_y);
    const SyntheticTensor& weight = state_.at("fc2.weight");
    const SyntheticTensor of_active = call("backward", "fc2", "aten::matmul", {of_y, weight}, [&](Rounding round) {
      return product(of_y, false, weight, false, nullptr, round);
    });
    const SyntheticTensor of_hidden =
        call("backward", "act", "aten::threshold_backward", {of_active, hidden}, [&](Rounding round) {
          return elementwise(of_active, hidden, round, [](double of, double value) { return value > 0 ? of : 0; });
        });
    gradients_of("fc1", x, of_hidden);
  }

  // Updates in one loop over all parameters, which calls no operator.
  void update_off_record(const std::string& name) {
    SyntheticTensor size{{1}, {0.1}};
    deviate("flat update", size);
    SyntheticTensor& kept = state_.at(moment(name));
    kept = elementwise(kept, gradients.at(name), round_, [](double m, double g) { return 0.9 * m + g; });
    SyntheticTensor& value = state_.at(name);
    value = elementwise(value, kept, round_, [&](double p, double m) { return p - round_(size.values.front() * m); });
  }

  void update() {
    for (const std::string& name : parameters_) {
      if (is_asked("no update " + name)) continue;
      if (is_asked("flat update")) {
        update_off_record(name);
        continue;
      }
      const SyntheticTensor old_moment = state_.at(moment(name));
      const SyntheticTensor& gradient = gradients.at(name);
      const SyntheticTensor fresh = call("optimizer", name, "aten::lerp_", {old_moment, gradient}, [&](Rounding round) {
        return elementwise(old_moment, gradient, round, [](double m, double g) { return 0.9 * m + g; });
      });
      state_[moment(name)] = fresh;
      const SyntheticTensor old = state_.at(name);
      const SyntheticTensor direction = doubled_if_asked(name, fresh);
      const double size = is_asked("doubled " + name) ? 0.05 : 0.1;
      state_[name] = call("optimizer", name, "aten::addcdiv_", {old, direction}, [&](Rounding round) {
        return elementwise(old, direction, round, [&](double p, double m) { return p - size * m; });
      });
    }
    decay();
  }

  SyntheticTensor doubled_if_asked(const std::string& name, const SyntheticTensor& moment) {
    if (!is_asked("doubled " + name)) return moment;
    SyntheticTensor factor{{1}, {2}};
    deviate("doubled " + name, factor);
    return call("optimizer", name, "aten::mul", {moment}, [&](Rounding round) {
      return elementwise(moment, moment, round, [&](double m, double) { return m * factor.values.front(); });
    });
  }

  // The decay of a weight that nothing else reads. So it takes equal values, whatever differs before.
  void decay() {
    const SyntheticTensor weight = drawn("fc3.weight", {4}, 1);
    call("optimizer", "fc3.weight", "aten::mul_", {weight}, [&](Rounding round) {
      return elementwise(weight, weight, round, [](double value, double) { return 0.99 * value; });
    });
  }

  Rounding round_;
  std::uint64_t seed_;
  std::vector<Deviation> deviations_;
  std::vector<std::string> parameters_;
  std::map<std::string, SyntheticTensor> state_;
  std::int64_t step_ = 0;
};

}  // namespace reprobench
