// Measures the cost of recording: CPU time of a step with and without it, interleaved in one process. It is CPU time so
// that other work on a shared machine does not count, and not Google Benchmark because the two sides must alternate. It
// also measures an update by itself in both layouts of the optimizer's state.
//
//   worker_bench DATA_DIR [PART]     workload, what is recorded, median CPU time of a step without and with it, median
//   ratio; for `update` the medians of an update per tensor and flat, and their ratio
//
// Run it with one thread and the environment of `allocator: retain`, as cells are run.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <unistd.h>

#include "models/initial_values.hpp"
#include "suites/worker/state/train_state.hpp"
#include "suites/worker/telemetry_cost.hpp"

namespace reprobench {
namespace {

constexpr int kPairs = 11;

constexpr RecordedCase kCases[] = {
    {"mlp", "small", 32, 2000, Recorded::steps, "root digests"},
    {"mlp", "base", 32, 1000, Recorded::steps, "root digests"},
    {"mlp", "base", 192, 400, Recorded::steps, "root digests"},
    {"gpt2", "tiny", 4, 40, Recorded::steps, "root digests"},
    {"mlp", "base", 32, 200, Recorded::tensors, "every tensor"},
    {"mlp", "base", 32, 1000, Recorded::recent_tensors, "every tensor, recent"},
    {"gpt2", "tiny", 4, 100, Recorded::tensors, "every tensor"},
    {"gpt2", "tiny", 4, 20, Recorded::operators, "every operator (replay)"},
};

// 784-512-512-512-10, of which only the parameters count here: 3.7 MB, more than a core's own cache.
class MidMlp final : public Model {
 public:
  explicit MidMlp(const OptimizerSettings& optimizer) : preset_{.name = "mid", .optimizer = optimizer} {}
  std::string_view name() const override { return "mlp"; }
  std::string_view summary() const override { return "784-512-512-512-10"; }
  std::span<const ModelPreset> presets() const override { return {&preset_, 1}; }
  std::string_view dataset() const override { return "digits"; }
  std::vector<ParameterSpec> parameters(const ModelPreset&) const override {
    return {
        {"fc1.weight", {512, 784}, 0.05F}, {"fc1.bias", {512}}, {"fc2.weight", {512, 512}, 0.06F}, {"fc2.bias", {512}},
        {"fc3.weight", {512, 512}, 0.06F}, {"fc3.bias", {512}}, {"fc4.weight", {10, 512}, 0.06F},  {"fc4.bias", {10}}};
  }
  std::int64_t flops_per_step(const ModelPreset&, std::int64_t) const override { return 0; }
  Outputs forward(const Batch&, StepContext&) const override { throw std::logic_error("only its update is timed"); }
  at::Tensor loss(const Outputs&, const Batch&) const override { throw std::logic_error("only its update is timed"); }

 private:
  ModelPreset preset_;
};

void compare(const RecordedCase& one, const std::filesystem::path& folder, const char* data) {
  const RecordingCost cost = recording_cost(one, "cpu", folder, data, kPairs, &process_cpu_ns);
  std::vector<double> ratio;
  for (std::size_t pair = 0; pair < cost.on_ns.size(); ++pair) ratio.push_back(cost.on_ns[pair] / cost.off_ns[pair]);
  std::printf("%-4s %-5s batch %4lld, %-24s off %8.1f us, on %8.1f us, ratio %.4f\n", one.model, one.preset,
              static_cast<long long>(one.batch_size), one.what, median(cost.off_ns) / 1e3, median(cost.on_ns) / 1e3,
              median(ratio));
  std::fflush(stdout);
}

class TimedUpdate {
 public:
  TimedUpdate(const MidMlp& model, OptimizerLayout layout)
      : state_(model, model.presets().front(), 1'000'000, 1, Precision::fp32, c10::Device(c10::DeviceType::CPU), {},
               nullptr, layout) {
    for (std::size_t i = 0; i < state_.size(); ++i) {
      const std::vector<float> values =
          initial_values(2, state_.name(i), static_cast<std::size_t>(state_.parameter(i).numel()), 1e-3F);
      at::Tensor gradient = at::empty(state_.parameter(i).sizes(), at::kFloat);
      std::copy(values.begin(), values.end(), static_cast<float*>(gradient.data_ptr()));
      state_.parameter(i).mutable_grad() = gradient;
    }
  }

  double ns() {
    constexpr int kUpdates = 50;
    const double start = process_cpu_ns();
    for (int i = 0; i < kUpdates; ++i) state_.update(++step_);
    return (process_cpu_ns() - start) / kUpdates;
  }

 private:
  TrainState state_;
  std::int64_t step_ = 0;
};

void compare_updates(const char* name, const OptimizerSettings& settings) {
  const MidMlp model(settings);
  TimedUpdate apart(model, OptimizerLayout::per_tensor);
  TimedUpdate flat(model, OptimizerLayout::flat);
  std::vector<double> times_apart;
  std::vector<double> times_flat;
  apart.ns();  // first touches
  flat.ns();
  for (int pair = 0; pair < kPairs; ++pair) {
    if (pair % 2 == 0) times_apart.push_back(apart.ns());
    times_flat.push_back(flat.ns());
    if (pair % 2 != 0) times_apart.push_back(apart.ns());
  }
  std::printf("mlp  mid   update of %-5s              per tensor %8.1f us, flat %8.1f us, ratio %.2f\n", name,
              median(times_apart) / 1e3, median(times_flat) / 1e3, median(times_apart) / median(times_flat));
  std::fflush(stdout);
}

}  // namespace
}  // namespace reprobench

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fputs("usage: worker_bench DATA_DIR [PART OF WHAT IS RECORDED]\n", stderr);
    return 2;
  }
  const auto folder = std::filesystem::temp_directory_path() / ("reprobench-bench-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  for (const auto& one : reprobench::kCases) {
    if (argc == 2 || std::strstr(one.what, argv[2]) != nullptr) reprobench::compare(one, folder, argv[1]);
  }
  std::filesystem::remove_all(folder);
  if (argc == 2 || std::strcmp(argv[2], "update") == 0) {
    using namespace reprobench;
    at::set_num_threads(1);
    compare_updates("adamw", AdamWSettings{});
    compare_updates("adam", AdamSettings{});
    compare_updates("sgd", SgdSettings{});
  }
  return 0;
}
