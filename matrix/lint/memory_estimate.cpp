#include "matrix/lint/memory_estimate.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace reprobench {
namespace {

// Bytes a parameter of each kind of state, for mixed-precision Adam: 2 + 2 + (4 + 4 + 4), the K = 12 of the paper.
constexpr std::int64_t kMasterBytes = 4;
constexpr std::int64_t kMomentBytes = 4;
constexpr std::int64_t kFp32GradientBytes = 4;
constexpr std::int64_t kFp32Bytes = 4;
constexpr std::int64_t kGatheredLayerBytes = 4;  // 16-bit parameters and gradients of the layer that is being computed
constexpr std::int64_t kMostElements = 1'000'000'000'000'000;  // more is as good as this, and keeps sums in 64 bits
constexpr double kEstimatorBufferFactor = 1.5;                 // "additional_buffer_factor" of the page

std::int64_t divided_up(std::int64_t value, std::int64_t parts) { return (value + parts - 1) / parts; }

class Estimator {
 public:
  Estimator(const DeepSpeedConfig& config, const DeepSpeedSettings& settings, const LintSituation& situation)
      : config_(config), settings_(settings), situation_(situation) {}

  MemoryEstimate run() {
    estimate_.unknown = missing();
    if (!estimate_.unknown.empty()) return estimate_;
    read_shape();
    gpu_states();
    gpu_buffers();
    host_states();
    host_buffers();
    deepspeed_estimate();
    for (MemoryNeed* need : {&estimate_.gpu, &estimate_.host}) sum(*need);
    set_limit(estimate_.gpu, situation_.gpu_memory_bytes);
    set_limit(estimate_.host, situation_.host_memory_bytes);
    return estimate_;
  }

 private:
  std::string missing() const {
    if (!situation_.parameters) return "the model is not known: give --params or --model";
    if (!situation_.world_size) return "the number of ranks is not known: give --world-size";
    if (!settings_.stage) return "zero_optimization.stage is not known";
    if (!settings_.offload_optimizer || !settings_.offload_param) return "the device of an offload is not known";
    return "";
  }

  void assume(std::string sentence) { estimate_.assumptions.push_back(std::move(sentence)); }

  void read_shape() {
    parameters_ = estimate_.parameters = *situation_.parameters;
    ranks_ = estimate_.ranks = std::max<std::int64_t>(1, situation_.world_size->value);
    stage_ = estimate_.stage = *settings_.stage;
    if (!situation_.gpus_per_host) assume("all ranks on one host; --gpus-per-host says otherwise");
    local_ = std::clamp<std::int64_t>(situation_.gpus_per_host ? situation_.gpus_per_host->value : ranks_, 1, ranks_);
    estimate_.ranks_per_host = local_;
    part_ = divided_up(parameters_, ranks_);
    const bool unknown_precision = !settings_.fp16 || !settings_.bf16;
    if (unknown_precision) assume("16-bit parameters, as fp16.enabled or bf16.enabled is not known");
    is_mixed_ = unknown_precision || *settings_.fp16 || *settings_.bf16;
    element_bytes_ = estimate_.element_bytes = is_mixed_ ? 2 : kFp32Bytes;
    moments_bytes_ = moments();
    if (stage_ == 3 && !situation_.largest_layer) assume("the largest layer is not counted; --largest-layer gives it");
  }

  // Lion, Adagrad and SGD with momentum keep one moment, all others here two.
  std::int64_t moments() {
    const std::string& name = settings_.optimizer;
    if (name.empty()) assume("Adam's two moments, as the configuration names no optimizer");
    const bool one = name == "lion" || name == "adagrad" || name == "sgd" || name == "muon";
    return one ? kMomentBytes : 2 * kMomentBytes;
  }

  static void add(std::vector<MemoryItem>& items, const char* name, std::string formula, std::int64_t bytes) {
    if (bytes > 0) items.push_back({name, std::move(formula), bytes});
  }

  // Bytes a parameter, whole or partitioned.
  void add_state(std::vector<MemoryItem>& items, const char* name, std::int64_t bytes_each, bool partitioned) const {
    if (!partitioned)
      return add(items, name, fmt::format("{} B x {}", bytes_each, parameters_), bytes_each * parameters_);
    add(items, name, fmt::format("{} B x {} / {}", bytes_each, parameters_, ranks_), bytes_each * part_);
  }

  // Adds a state of a host: the parts of its ranks.
  void add_host_state(const char* name, std::int64_t bytes_each) {
    add(estimate_.host.states, name, fmt::format("{} B x {} x {} / {}", bytes_each, parameters_, local_, ranks_),
        bytes_each * part_ * local_);
  }

  std::int64_t optimizer_bytes() const { return moments_bytes_ + (is_mixed_ ? kMasterBytes : 0); }

  // The share of the optimizer states that the host takes: `ratio` of Twin-Flow, stage 3 only.
  double offloaded_share() const {
    if (!settings_.optimizer_is_offloaded()) return 0;
    const double ratio = config_.number(std::string(kOffloadOptimizer) + ".ratio").value_or(1);
    return stage_ == 3 ? std::clamp(ratio, 0.0, 1.0) : 1;
  }

  void gpu_states() {
    auto& items = estimate_.gpu.states;
    if (!settings_.param_is_offloaded()) add_state(items, "parameters", element_bytes_, stage_ == 3);
    const bool gradients_offloaded = stage_ >= 2 && settings_.optimizer_is_offloaded();
    if (!gradients_offloaded) add_state(items, "gradients", element_bytes_, stage_ >= 2);
    const double kept = stage_ == 0 ? 1 : 1 - offloaded_share();
    const std::int64_t part = stage_ == 0 ? parameters_ : part_;
    add(items, "optimizer states",
        fmt::format("{} B x {}{}{}", optimizer_bytes(), parameters_, stage_ == 0 ? "" : fmt::format(" / {}", ranks_),
                    kept > 0 && kept < 1 ? fmt::format(" x {:.3g}", kept) : ""),
        static_cast<std::int64_t>(static_cast<double>(optimizer_bytes() * part) * kept));
    if (stage_ == 3 && situation_.largest_layer) {
      add(items, "largest layer", fmt::format("{} B x {}", kGatheredLayerBytes, *situation_.largest_layer),
          kGatheredLayerBytes * *situation_.largest_layer);
    }
  }

  std::optional<std::int64_t> elements(const char* key) {
    const std::string path = joined_path(kZero, key);
    const auto value = config_.integer(path);
    if (!value) {
      assume(fmt::format("{} is {}: not counted", key, config_.written(path)));
      return value;
    }
    return std::clamp<std::int64_t>(*value, 0, kMostElements);
  }

  // Two gradient buckets take turns where reduction and backward overlap (stage_1_and_2.py, stage3.py).
  void gpu_buffers() {
    if (stage_ == 0) return;
    auto& items = estimate_.gpu.buffers;
    const bool overlaps = config_.flag("zero_optimization.overlap_comm").value_or(stage_ == 3);
    if (const auto bucket = elements("reduce_bucket_size")) {
      const std::int64_t buckets = overlaps ? 2 : 1;
      add(items, "gradient buckets", fmt::format("{} x {} B x {}", buckets, element_bytes_, *bucket),
          buckets * element_bytes_ * *bucket);
    }
    if (stage_ < 3) {
      if (const auto bucket = elements("allgather_bucket_size")) {
        add(items, "all-gather bucket", fmt::format("{} B x {}", element_bytes_, *bucket), element_bytes_ * *bucket);
      }
    } else if (const auto live = elements("stage3_max_live_parameters")) {
      const std::int64_t gathered = std::min(*live, parameters_);
      add(items, "gathered parameters, at most", fmt::format("{} B x {}", element_bytes_, gathered),
          element_bytes_ * gathered);
    }
  }

  void host_states() {
    const std::int64_t optimizer_each = kFp32Bytes + kFp32GradientBytes + moments_bytes_;
    if (settings_.optimizer_is_offloaded() && stage_ > 0) {
      const bool half = config_.flag("fp16.fp16_master_weights_and_grads").value_or(false);
      const std::int64_t each = half ? 2 + 2 + moments_bytes_ : optimizer_each;
      const std::int64_t bytes =
          static_cast<std::int64_t>(static_cast<double>(each * part_ * local_) * offloaded_share());
      const std::string formula = fmt::format("{} B x {} x {} / {}", each, parameters_, local_, ranks_);
      if (*settings_.offload_optimizer == "nvme") {
        estimate_.nvme_bytes += bytes;
      } else {
        add(estimate_.host.states, "offloaded optimizer states and gradients", formula, bytes);
      }
    }
    if (!settings_.param_is_offloaded() || stage_ < 3) return;
    if (*settings_.offload_param == "nvme") {
      estimate_.nvme_bytes += element_bytes_ * part_ * local_;
    } else {
      add_host_state("offloaded parameters", element_bytes_);
    }
  }

  void host_buffers() {
    auto& items = estimate_.host.buffers;
    const std::string section(kOffloadParam);
    if (stage_ == 3 && settings_.offload_param == "nvme") {
      const std::int64_t count = std::max<std::int64_t>(0, config_.integer(section + ".buffer_count").value_or(0));
      const std::int64_t size = std::max<std::int64_t>(0, config_.integer(section + ".buffer_size").value_or(0));
      if (count > 0 && size <= kMostElements / count) {
        add(items, "buffers between NVMe and GPU",
            fmt::format("{} x {} B x {} x {}", count, element_bytes_, size, local_),
            count * element_bytes_ * size * local_);
      }
    }
    if (stage_ == 3 && config_.flag("zero_optimization.stage3_gather_16bit_weights_on_model_save").value_or(false)) {
      add(items, "weights gathered by rank 0 to save them", fmt::format("2 B x {}", parameters_), 2 * parameters_);
    }
  }

  // The page's formulas as they are, without zero.Init: every rank builds the model in fp32 first.
  void deepspeed_estimate() {
    const double model = static_cast<double>(parameters_);
    const double built = 4.0 * static_cast<double>(local_);
    const double share = static_cast<double>(local_) / static_cast<double>(ranks_);
    const double layer = 4.0 * static_cast<double>(situation_.largest_layer.value_or(0));
    const bool on_cpu = settings_.offload_optimizer == "cpu";
    double gpu = 0;
    double host = 0;
    if (stage_ == 2) {
      gpu = on_cpu ? 2 * model : 4 * model + 16 * model / static_cast<double>(ranks_);
      host = (on_cpu ? std::max(built, 16.0) : built) * model;
    } else if (stage_ == 3) {
      const bool param_on_cpu = settings_.offload_param == "cpu";
      gpu = layer + (on_cpu ? (param_on_cpu ? 0 : 2) : 18) * model / static_cast<double>(ranks_);
      host = (on_cpu ? std::max(built, (param_on_cpu ? 18 : 16) * share) : built) * model;
    }
    estimate_.gpu.estimator_bytes = static_cast<std::int64_t>(gpu);
    estimate_.host.estimator_bytes = static_cast<std::int64_t>(host * kEstimatorBufferFactor);
  }

  static void sum(MemoryNeed& need) {
    std::int64_t buffers = 0;
    for (const MemoryItem& item : need.states) need.least_bytes += item.bytes;
    for (const MemoryItem& item : need.buffers) buffers += item.bytes;
    need.likely_bytes = std::max(need.least_bytes + buffers, need.estimator_bytes);
  }

  static void set_limit(MemoryNeed& need, const std::optional<SourcedNumber>& limit) {
    if (!limit) return;
    need.limit_bytes = limit->value;
    need.limit_source = limit->source;
  }

  const DeepSpeedConfig& config_;
  const DeepSpeedSettings& settings_;
  const LintSituation& situation_;
  MemoryEstimate estimate_;
  std::int64_t parameters_ = 0;
  std::int64_t ranks_ = 1;
  std::int64_t local_ = 1;
  std::int64_t part_ = 0;  // parameters of one rank's partition
  int stage_ = 0;
  bool is_mixed_ = false;
  std::int64_t element_bytes_ = 2;
  std::int64_t moments_bytes_ = 0;
};

}  // namespace

MemoryEstimate estimate_memory(const DeepSpeedConfig& config, const DeepSpeedSettings& settings,
                               const LintSituation& situation) {
  return Estimator(config, settings, situation).run();
}

std::string gibibytes(std::int64_t bytes) {
  constexpr double kGibibyte = 1024.0 * 1024 * 1024;
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / kGibibyte);
}

}  // namespace reprobench
