// The flat layout of a training's state: where tensors lie, how they are updated, and that nothing else changes.
#include "suites/worker/state/flat_state.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "models/initial_values.hpp"
#include "suites/worker/ranks/shared_training.hpp"
#include "suites/worker/record/operator_hook.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/request_checks.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/stack_probe.hpp"
#include "suites/worker/state/state_memory.hpp"
#include "suites/worker/state/train_state.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kTinyElements = 1'000'000;
const c10::Device kCpu(c10::DeviceType::CPU);

// Without fused instructions ATen rounds a product before it adds to it.
bool aten_fuses() { return cpu_capability() != "DEFAULT"; }

// Any bits: ordinary numbers, both zeros, denormals, infinities, NaN.
template <class T>
void draw(at::Tensor& tensor, std::uint32_t key) {
  static const std::uint32_t kId = tensor_id("flat_state_test");
  constexpr T kSpecial[] = {T{0},
                            -T{0},
                            std::numeric_limits<T>::denorm_min(),
                            -std::numeric_limits<T>::min() / 3,
                            std::numeric_limits<T>::max(),
                            std::numeric_limits<T>::infinity(),
                            std::numeric_limits<T>::quiet_NaN(),
                            T{1}};
  T* values = tensor.data_ptr<T>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    const PhiloxBlock block = keyed_block(7, kId, key, static_cast<std::uint64_t>(i));
    const T scale = std::ldexp(T{1}, static_cast<int>(block.word[1] % 60) - 50);
    const T number = (static_cast<T>(block.word[0]) / T{4294967296} - T{0.5}) * scale;
    values[i] = block.word[2] % 16 == 0 ? kSpecial[block.word[3] % 8] : number;
  }
}

// By element whether ATen's root is the nearest number. MKL's is not always, and of which type and how often depends on
// the CPU: of 100,000 fp32 numbers none to one in six, of fp64 ones about a hundredth.
template <class T>
std::vector<bool> has_nearest_root(const at::Tensor& numbers) {
  const at::Tensor roots = at::sqrt(numbers);
  std::vector<bool> nearest;
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    const T root = roots.data_ptr<T>()[i], expected = std::sqrt(numbers.data_ptr<T>()[i]);
    nearest.push_back(root == expected || (std::isnan(root) && std::isnan(expected)));
  }
  return nearest;
}

template <class T>
bool aten_roots_are_nearest() {
  at::Tensor numbers = at::empty({100'000}, sizeof(T) == 8 ? at::kDouble : at::kFloat);
  draw<T>(numbers, 1);
  return std::ranges::all_of(has_nearest_root<T>(numbers), std::identity());
}

// One element under Adam, each operation rounded once: what flat states do on every stack.
template <class T>
void adam_by_rounding(const AdamNumbers& n, T& parameter, T gradient, T* kept, bool decay) {
  const T weight = static_cast<T>(1 - n.beta1);
  const T difference = gradient - kept[0];
  kept[0] =
      std::abs(weight) < T{0.5} ? std::fma(weight, difference, kept[0]) : std::fma(weight - T{1}, difference, gradient);
  const T squared = kept[1] * static_cast<T>(n.beta2);
  const T weighted = static_cast<T>(1 - n.beta2) * gradient;
  kept[1] = std::fma(weighted, gradient, squared);
  if (decay) parameter = parameter * static_cast<T>(n.remaining);
  const T root = std::sqrt(kept[1]);
  const T step = static_cast<T>(-n.step_size) * kept[0];
  parameter = parameter + step / (root + static_cast<T>(n.epsilon));
}

template <class T>
bool have_same_bits(T x, T y) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<Bits>(x) == std::bit_cast<Bits>(y) || (std::isnan(x) && std::isnan(y));
}

// Where the elements of two tensors have other bits.
template <class T>
std::vector<std::int64_t> unequal_bits(const at::Tensor& a, const at::Tensor& b) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    if (!have_same_bits(a.data_ptr<T>()[i], b.data_ptr<T>()[i])) found.push_back(i);
  }
  return found;
}

TEST_CASE("a pass over Adam's elements rounds each operation once, of zeros, denormals and infinities too",
          "[worker][flat]") {
  const auto check = [](auto zero) {
    using T = decltype(zero);
    for (const double beta1 : {0.9, 0.5, 0.3}) {
      for (const bool decay : {false, true}) {
        const AdamNumbers numbers{beta1, 0.999, 1e-8, 3e-3, 0.99};
        constexpr std::int64_t kCount = 4099;  // no multiple of a vector
        at::Tensor tensors[4];
        for (std::uint32_t i = 0; i < 4; ++i) {
          tensors[i] = at::empty({kCount}, sizeof(T) == 4 ? at::kFloat : at::kDouble);
          draw<T>(tensors[i], i);
        }
        T* values[4];
        for (std::size_t i = 0; i < 4; ++i) values[i] = tensors[i].data_ptr<T>();
        std::vector<T> expected(values[0], values[0] + kCount);
        std::vector<std::array<T, 2>> kept;
        for (std::size_t i = 0; i < kCount; ++i) {
          kept.push_back({values[2][i], values[3][i]});
          adam_by_rounding(numbers, expected[i], values[1][i], kept[i].data(), decay);
        }
        update_adam(numbers, Elements<T>{values[0], values[1], {values[2], values[3]}, kCount, decay});
        std::int64_t unequal = 0;
        for (std::size_t i = 0; i < kCount; ++i) {
          unequal += have_same_bits(values[0][i], expected[i]) && have_same_bits(values[2][i], kept[i][0]) &&
                             have_same_bits(values[3][i], kept[i][1])
                         ? 0
                         : 1;
        }
        CHECK(unequal == 0);
      }
    }
  };
  check(float{});
  check(double{});
}

// Two parameters, one that decays, in the memory of both layouts.
template <class T>
struct Side {
  Side(const OptimizerSettings& settings, std::int64_t elements)
      : specs{{"a", {elements, 1}}, {"b", {elements}}},
        by_operators(make_optimizer(settings)),
        in_one_pass(make_optimizer(settings)),
        flat(specs, *in_one_pass, sizeof(T) == 8) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      decays.push_back(by_operators->decays(specs[i]));
      parameters.push_back(at::empty(specs[i].shape, type));
      draw<T>(parameters[i], i);
      scratch.push_back(at::empty(specs[i].shape, type));
      kept.emplace_back();
      for (std::size_t k = 0; k < by_operators->keeps().size(); ++k) kept[i].push_back(at::zeros(specs[i].shape, type));
    }
  }

  // Both from the state that the operators came to.
  void step(std::uint32_t number) {
    const c10::NoGradGuard no_grad;
    by_operators->begin(1e-2 * number, nullptr);
    in_one_pass->begin(1e-2 * number, nullptr);
    std::vector<at::Tensor> gradients;
    before.clear();
    for (std::size_t i = 0; i < 2; ++i) {
      flat.parameter(i).copy_(parameters[i]);
      before.push_back(parameters[i].clone());
      for (std::size_t k = 0; k < kept[i].size(); ++k) flat.kept(i, k).copy_(kept[i][k]);
      gradients.push_back(at::empty(specs[i].shape, type));
      draw<T>(gradients[i], 10 + 2 * number + static_cast<std::uint32_t>(i));
      parameters[i].mutable_grad() = gradients[i];
      by_operators->step({parameters[i], kept[i], scratch[i], decays[i]}, nullptr);
    }
    flat.update(*in_one_pass, gradients, decays);
  }

  const at::ScalarType type = sizeof(T) == 8 ? at::kDouble : at::kFloat;
  std::vector<ParameterSpec> specs;
  std::unique_ptr<Optimizer> by_operators;
  std::unique_ptr<Optimizer> in_one_pass;
  FlatState flat;
  std::vector<bool> decays;
  std::vector<at::Tensor> parameters, before, scratch;
  std::vector<std::vector<at::Tensor>> kept;
};

// Equal bits where the root is the nearest number. One that is off by its last bit moves the update by two units at
// most, with the rounding of the division after it; the sum is rounded on both sides.
template <class T>
void check_parameters(const at::Tensor& by_operators, const at::Tensor& flat, const at::Tensor& before,
                      const std::vector<bool>& must_be_equal) {
  constexpr double kUnit = std::numeric_limits<T>::epsilon();
  std::int64_t outside = 0;
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    if (must_be_equal[static_cast<std::size_t>(i)]) {
      outside += have_same_bits(by_operators.data_ptr<T>()[i], flat.data_ptr<T>()[i]) ? 0 : 1;
      continue;
    }
    const double x = by_operators.data_ptr<T>()[i], y = flat.data_ptr<T>()[i], old = before.data_ptr<T>()[i];
    if (!std::isfinite(x) || !std::isfinite(y)) {
      outside += std::isfinite(x) == std::isfinite(y) ? 0 : 1;
      continue;
    }
    const double bound = 2 * kUnit * std::abs(x - old) + kUnit * (std::abs(x) + std::abs(old));
    outside += std::abs(x - y) <= bound + std::numeric_limits<T>::denorm_min() ? 0 : 1;
  }
  CHECK(outside == 0);
}

TEST_CASE("one pass makes the bits of the operators; Adam's parameters where roots are the nearest, else they round",
          "[worker][flat]") {
  if (!aten_fuses()) return;
  const auto settings = GENERATE(
      OptimizerSettings(AdamSettings{}), OptimizerSettings(AdamSettings{.beta1 = 0.3, .beta2 = 0.95, .epsilon = 1e-3}),
      OptimizerSettings(AdamWSettings{}), OptimizerSettings(AdamWSettings{{.beta1 = 0.5}, 0.3, &decays_everything}),
      OptimizerSettings(SgdSettings{}), OptimizerSettings(SgdSettings{.momentum = 0}),
      OptimizerSettings(SgdSettings{.weight_decay = 0.1}),
      OptimizerSettings(SgdSettings{.momentum = 0, .weight_decay = 0.1}));
  const std::int64_t elements = GENERATE(1, 7, 33, 1000, 8192, 8193, 70'001);
  CAPTURE(settings.index(), elements);
  const bool has_roots = !std::holds_alternative<SgdSettings>(settings);
  const auto check = [&](auto zero) {
    using T = decltype(zero);
    Side<T> side(settings, elements);
    for (std::uint32_t number = 1; number <= 5; ++number) {
      side.step(number);
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t k = 0; k < side.kept[i].size(); ++k) {
          CHECK(unequal_bits<T>(side.kept[i][k], side.flat.kept(i, k)) == std::vector<std::int64_t>{});
        }
        const auto must_be_equal = has_roots ? has_nearest_root<T>(side.kept[i][1])
                                             : std::vector<bool>(static_cast<std::size_t>(elements), true);
        check_parameters<T>(side.parameters[i], side.flat.parameter(i), side.before[i], must_be_equal);
      }
    }
  };
  check(float{});
  check(double{});
}

TEST_CASE("trained parameters and each of the optimizer's states lie in a buffer, at 64 bytes, in order",
          "[worker][flat]") {
  const Model& llama = model_called("llama");
  const ModelPreset* lora = std::ranges::find(llama.presets(), "tiny-lora", &ModelPreset::name).base();
  const TrainState state(llama, *lora, 1, 1, Precision::fp32, kCpu, {}, nullptr, OptimizerLayout::flat);
  std::set<const void*> buffers[3];
  std::int64_t last[3] = {-1, -1, -1};
  std::int64_t trained = 0;
  const auto check = [&](std::size_t buffer, const at::Tensor& tensor) {
    buffers[buffer].insert(tensor.storage().unsafeGetStorageImpl());
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 64 == 0);
    CHECK(tensor.is_contiguous());
    CHECK(tensor.storage_offset() > last[buffer]);
    CHECK(tensor.storage_offset() < (last[buffer] < 0 ? 1 : last[buffer] + 16));  // no gap but for 64 bytes
    last[buffer] = tensor.storage_offset() + tensor.numel() - 1;
  };
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (state.is_frozen(i)) {
      CHECK(state.kept(i).empty());
      CHECK(static_cast<std::int64_t>(state.parameter(i).storage().nbytes()) == state.parameter(i).numel() * 4);
      continue;
    }
    ++trained;
    CHECK(state.parameter(i).is_leaf());
    CHECK_FALSE(state.parameter(i).is_view());
    check(0, state.parameter(i));
    for (std::size_t k = 0; k < 2; ++k) check(k + 1, state.kept(i)[k]);
  }
  CHECK(trained > 10);
  for (const auto& buffer : buffers) CHECK(buffer.size() == 1);
  CHECK(optimizer_state_bytes(state) == 2 * static_cast<std::int64_t>(state.parameter(0).storage().nbytes()));
}

class Calls final : public OperatorListener {
 public:
  void started(OperatorCall& call) override { names.push_back(call.name); }
  void ended(OperatorCall&) override {}
  std::vector<std::string> names;
};

std::vector<std::string> calls_of_update(OptimizerLayout layout) {
  TrainState state(mlp(), mlp().presets().front(), 1, 1, Precision::fp32, kCpu, {}, nullptr, layout);
  for (std::size_t i = 0; i < state.size(); ++i) {
    state.parameter(i).mutable_grad() = at::zeros(state.parameter(i).sizes(), at::kFloat);
  }
  Calls calls;
  const OperatorHook hook({&calls});
  state.update(1);
  return calls.names;
}

TEST_CASE("a flat update calls no operator of LibTorch, and the other several for each parameter", "[worker][flat]") {
  CHECK(calls_of_update(OptimizerLayout::flat) == std::vector<std::string>{});
  CHECK(calls_of_update(OptimizerLayout::per_tensor).size() >= 4 * 6);
}

// Counts how often each element is met, and by which threads.
class Counting final : public Optimizer {
 public:
  std::span<const std::string_view> keeps() const override { return {}; }
  void begin(double, at::Tensor*) override {}
  void step(const TrainedTensors&, const at::Tensor*) const override { throw std::logic_error("not a tensor at once"); }
  void step(const Elements<float>& elements) const override {
    for (std::int64_t i = 0; i < elements.count; ++i) elements.parameter[i] += elements.gradient[i];
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    runs.insert(elements.count);
  }
  void step(const Elements<double>&) const override { throw std::logic_error("fp32 was asked for"); }

  mutable std::mutex mutex;
  mutable std::set<std::thread::id> threads;
  mutable std::multiset<std::int64_t> runs;
};

TEST_CASE("every element with a gradient is met once, in the same runs whatever the number of threads",
          "[worker][flat]") {
  const std::vector<ParameterSpec> specs{
      {"a", {300, 100}}, {"frozen", {5}, 0, 0, true}, {"b", {7}}, {"c", {9000}}, {"d", {8192}}};
  std::multiset<std::int64_t> runs_of_one;
  for (const int threads : {1, 2}) {
    at::set_num_threads(threads);
    const Counting counting;
    const FlatState flat(specs, counting, false);
    std::vector<at::Tensor> gradients(5);
    for (const std::size_t i : {0, 2, 4}) gradients[i] = at::empty(specs[i].shape, at::kFloat).fill_(1);
    flat.update(counting, gradients, std::vector<bool>(5));
    for (const std::size_t i : {0, 2, 4}) CHECK((flat.parameter(i) == 1).all().item<bool>());
    CHECK((flat.parameter(3) == 0).all().item<bool>());  // it has no gradient
    CHECK(counting.threads.size() == static_cast<std::size_t>(threads));
    if (threads == 1) runs_of_one = counting.runs;
    CHECK(counting.runs == runs_of_one);
  }
  at::set_num_threads(1);
  CHECK(runs_of_one == std::multiset<std::int64_t>{7, 30'000 - 3 * 8192, 8192, 8192, 8192, 8192});
}

TEST_CASE("one thread and two update to the same bits", "[worker][flat]") {
  const auto updated = [](int threads) {
    at::set_num_threads(threads);
    TrainState state(mlp(), mlp().presets().front(), 3, 1, Precision::fp32, kCpu, {}, nullptr, OptimizerLayout::flat);
    for (std::uint32_t step = 1; step <= 3; ++step) {
      for (std::size_t i = 0; i < state.size(); ++i) {
        at::Tensor gradient = at::empty(state.parameter(i).sizes(), at::kFloat);
        draw<float>(gradient, step * 10 + static_cast<std::uint32_t>(i));
        state.parameter(i).mutable_grad() = gradient;
      }
      state.update(step);
    }
    std::vector<std::string> digests;
    for (const StateTensor& tensor : state.tensors()) digests.push_back(to_hex(digest_of(*tensor.value)));
    return digests;
  };
  const auto of_one = updated(1);
  CHECK(updated(2) == of_one);
  at::set_num_threads(1);
}

CellRequest flat_request(const Model& model, const ModelPreset& preset, std::int64_t steps, const char* layout) {
  CellRequest request = training_request(model, steps, TraceLevel::tensor);
  request.workload.preset = preset.name;
  request.workload.batch_size = preset.batch_size;
  request.knobs["optimizer_layout"] = layout;
  return request;
}

// By role, name, type and shape.
std::vector<std::string> tensors_of(const TensorsRecord& record) {
  std::vector<std::string> tensors;
  for (const TensorRecord& tensor : record.tensors) {
    std::string text = std::string(to_string(tensor.role)) + " " + tensor.name + " " + tensor.dtype;
    for (const std::int64_t extent : tensor.shape) text += " " + std::to_string(extent);
    tensors.push_back(text);
  }
  return tensors;
}

TEST_CASE("every small preset trains the same tensors in both layouts and in every precision, to the same losses",
          "[worker][flat]") {
  const bool may_part = !aten_fuses() || !aten_roots_are_nearest<float>() || !aten_roots_are_nearest<double>();
  for (const Model* model : models()) {
    for (const ModelPreset& preset : model->presets()) {
      if (preset.parameters > kTinyElements) continue;
      // Types act on the operators, which a model's presets share.
      const bool is_first = preset.name == model->presets().front().name;
      for (const char* precision : {"fp32", "bf16", "fp64"}) {
        if (!is_first && precision != std::string("fp32")) continue;
        INFO(model->name() << "/" << preset.name << " " << precision);
        CellRequest request = flat_request(*model, preset, 3, "per_tensor");
        request.knobs["precision"] = precision;
        const TrainingTrace apart = train(request);
        request.knobs["optimizer_layout"] = "flat";
        const TrainingTrace flat = train(request);
        CHECK(flat.result.workload_digest == apart.result.workload_digest);
        if (is_first) CHECK(train(request).result.chain == flat.result.chain);
        for (std::size_t i = 0; i < apart.tensors.size(); ++i) {
          CHECK(tensors_of(flat.tensors[i]) == tensors_of(apart.tensors[i]));
        }
        for (std::size_t i = 0; i < 3; ++i) {
          const double loss = *exact_float_from_json(apart.steps[i].loss);
          CHECK(*exact_float_from_json(flat.steps[i].loss) == Approx(loss).epsilon(1e-3));
        }
        CHECK(flat.steps[0].loss == apart.steps[0].loss);
        const bool has_roots = !std::holds_alternative<SgdSettings>(preset.optimizer);
        if (!has_roots && aten_fuses()) CHECK(flat.result.chain == apart.result.chain);
        if (!may_part) CHECK(flat.result.chain == apart.result.chain);
      }
    }
  }
}

TEST_CASE("a flat training goes on from its checkpoint with the bits of one that never stopped", "[worker][flat]") {
  for (const char* name : {"mlp", "resnet", "llama"}) {
    INFO(name);
    const Model& model = model_called(name);
    const TemporaryFolder folder;
    CellRequest request = flat_request(model, model.presets().front(), 6, "flat");
    const TrainingTrace whole = train(request);
    request.checkpoint = Checkpointing{folder.path().string()};
    request.checkpoint->stop_after = 2;
    train(request);
    request.checkpoint->stop_after = 0;
    request.checkpoint->resume = true;
    const TrainingTrace resumed = train(request);
    REQUIRE(resumed.header.resumed);
    CHECK(resumed.steps.size() == 4);
    CHECK(resumed.result.chain == whole.result.chain);
    // Bits of the two layouts diverge where ATen does not fuse, so neither goes on from the other's.
    request.knobs["optimizer_layout"] = "per_tensor";
    const TrainingTrace foreign = train(request);
    CHECK_FALSE(foreign.header.resumed);
    CHECK(foreign.result.checkpoints->refused.at(0).reason.starts_with("foreign: knob.optimizer_layout flat"));
  }
}

TEST_CASE("two ranks train a flat state to the bits of one that does both micro-batches", "[worker][flat][ranks]") {
  const KnobValues flat{{"optimizer_layout", "flat"}};
  const RankTrace alone = train_on(1, 2, kSharedMlp, {}, flat).front();
  CHECK(differences(train_on(2, 1, kSharedMlp, {}, flat), alone) == std::vector<std::string>{});
}

TEST_CASE("faults of state and update are planted in a flat state at their step", "[worker][flat]") {
  CellRequest request = flat_request(mlp(), mlp().presets().front(), 4, "flat");
  const TrainingTrace clean = train(request);
  for (const char* kind : {"weight_ulp", "gradient_ulp", "moment_ulp", "skip_update", "adam_epsilon", "weight_sign"}) {
    INFO(kind);
    const bool names_parameter = std::ranges::find(injection_kinds(), kind, &InjectionKind::name)->names_parameter;
    request.inject = Injection{kind, 2, names_parameter ? "fc2.weight" : "", 5};
    const TrainingTrace faulty = train(request);
    CHECK(faulty.steps[0].chain == clean.steps[0].chain);
    CHECK(faulty.steps[3].chain != clean.steps[3].chain);
    // Of the parameters that enter step 3.
    const auto entered = [&](const TrainingTrace& trace, const char* name) {
      return find_tensor(trace.tensors[2], TensorRole::parameter, name)->digest;
    };
    const bool is_of_one = std::string_view(kind) == "weight_ulp" || std::string_view(kind) == "moment_ulp";
    if (is_of_one) CHECK(entered(faulty, "fc2.bias") == entered(clean, "fc2.bias"));
  }
}

TEST_CASE("a parameter that a fault holds keeps its values while the others are updated", "[worker][flat]") {
  TrainState state(mlp(), mlp().presets().front(), 1, 1, Precision::fp32, kCpu, {}, nullptr, OptimizerLayout::flat);
  std::vector<Digest> before;
  for (std::size_t i = 0; i < state.size(); ++i) {
    state.parameter(i).mutable_grad() = at::empty(state.parameter(i).sizes(), at::kFloat).fill_(1);
    before.push_back(digest_of(state.parameter(i).detach()));
  }
  state.hold(2);
  state.update(1);
  for (std::size_t i = 0; i < state.size(); ++i) {
    CHECK((digest_of(state.parameter(i).detach()) == before[i]) == (i == 2));
  }
}

}  // namespace
}  // namespace reprobench
