// Stages, bucket sizes, overlap, and what of ZeRO has an effect at which stage.
#include <fmt/format.h>

#include "matrix/lint/rule.hpp"

namespace reprobench {
namespace {

// A key that takes effect at some stages only (runtime/zero/config.py and what reads it).
struct StageKey {
  std::string_view name;
  std::string_view stages;  // "12"
};

constexpr StageKey kStageKeys[] = {
    {"allgather_partitions", "12"},
    {"allgather_bucket_size", "12"},
    {"round_robin_gradients", "12"},
    {"ignore_unused_parameters", "2"},
    {"legacy_stage1", "1"},
    {"sub_group_size", "3"},
    {"zero_hpz_partition_size", "3"},
    {"zero_quantized_weights", "3"},
    {"zero_quantized_nontrainable_weights", "3"},
    {"zero_quantized_gradients", "3"},
    {"mics_shard_size", "3"},
    {"mics_hierarchical_params_gather", "3"},
    {"memory_efficient_linear", "3"},
    {"override_module_apply", "3"},
    {"stage3_max_live_parameters", "3"},
    {"stage3_max_reuse_distance", "3"},
    {"stage3_prefetch_bucket_size", "3"},
    {"stage3_param_persistence_threshold", "3"},
    {"stage3_model_persistence_threshold", "3"},
    {"stage3_gather_16bit_weights_on_model_save", "3"},
    {"stage3_gather_fp16_weights_on_model_save", "3"},
    {"stage3_module_granularity_threshold", "3"},
    {"stage3_use_all_reduce_for_fetch_params", "3"},
    {"stage3_allgather_sequential", "3"},
    {"stage3_partition_stream_chunk_size", "3"},
};

void without_stage(const LintSubject& subject, LintFindings& findings) {
  const JsonNode* zero = subject.config.find(kZero);
  if (zero == nullptr || zero->members.empty() || subject.config.has(kStage)) return;
  findings.add(subject.config.mark(kZero),
               fmt::format("{} has {} key{} but no stage, and the default is 0: ZeRO is off", kZero,
                           zero->members.size(), zero->members.size() == 1 ? "" : "s"));
}

void no_effect_at_stage(const LintSubject& subject, LintFindings& findings) {
  if (!subject.settings.zero_is_on()) return;
  const char stage = static_cast<char>('0' + *subject.settings.stage);
  for (const StageKey& key : kStageKeys) {
    const std::string path = joined_path(kZero, key.name);
    if (!subject.config.has(path) || key.stages.find(stage) != std::string_view::npos) continue;
    findings.add(subject.config.mark(path), fmt::format("`{}` has no effect at stage {}; it is of stage {}", key.name,
                                                        stage, key.stages == "12" ? "1 and 2" : key.stages));
  }
}

void no_gathered_save(const LintSubject& subject, LintFindings& findings) {
  const std::string name = "stage3_gather_16bit_weights_on_model_save";
  const std::string path = joined_path(kZero, name);
  if (!subject.settings.zero_is(3) || subject.config.flag(path) != false) return;
  if (subject.config.flag("zero_optimization.stage3_gather_fp16_weights_on_model_save") == true) return;
  findings.add(
      subject.config.mark(path),
      fmt::format("stage 3 without {}: save_16bit_model writes no weights, only partitioned checkpoints are kept",
                  name));
}

void reduce_scatter_scaling(const LintSubject& subject, LintFindings& findings) {
  if (!subject.settings.zero_is(2) || subject.config.flag("zero_optimization.reduce_scatter") != true) return;
  if (subject.config.flag("prescale_gradients") == true) {
    findings.add(subject.config.mark("prescale_gradients"), "prescale_gradients with stage 2 and reduce_scatter");
  }
  const auto factor = subject.config.number("gradient_predivide_factor");
  if (factor && *factor != 1) {
    findings.add(subject.config.mark("gradient_predivide_factor"),
                 fmt::format("gradient_predivide_factor {} with stage 2 and reduce_scatter",
                             subject.config.written("gradient_predivide_factor")));
  }
}

void summed_gradients(const LintSubject& subject, LintFindings& findings) {
  if (!subject.settings.zero_is(3) || subject.config.text("gradient_allreduce_op") != "sum") return;
  findings.add(subject.config.mark("gradient_allreduce_op"), "gradient_allreduce_op \"sum\" at stage 3");
}

// A bucket of so few elements is 2 MB at 16 bits: the latency of a collective is paid thousands of times a step.
void small_bucket(const LintSubject& subject, LintFindings& findings) {
  constexpr std::int64_t kSmallest = 1'000'000;
  if (!subject.settings.zero_is_on()) return;
  for (const std::string_view name : {"reduce_bucket_size", "allgather_bucket_size"}) {
    const std::string path = joined_path(kZero, name);
    const auto size = subject.config.has(path) ? subject.config.integer(path) : std::nullopt;
    if (!size || *size >= kSmallest) continue;
    findings.add(subject.config.mark(path),
                 fmt::format("`{}` {} is {:.2f} MB a collective at 16 bits", name, subject.config.written(path),
                             static_cast<double>(*size) * 2e-6));
  }
}

// "overlap_comm uses 4.5x": the footprint that Transformers' DeepSpeed page gives for ZeRO-2.
void overlap_footprint(const LintSubject& subject, LintFindings& findings) {
  constexpr double kOverlapFactor = 4.5;
  constexpr double kLargestShare = 0.2;
  const auto& memory = subject.situation.gpu_memory_bytes;
  const std::string path = "zero_optimization.overlap_comm";
  if (!memory || !subject.settings.zero_is(2) || subject.config.flag(path) != true) return;
  const auto reduce = subject.config.integer("zero_optimization.reduce_bucket_size");
  const auto gather = subject.config.integer("zero_optimization.allgather_bucket_size");
  if (!reduce || !gather) return;
  const double bytes = kOverlapFactor * 2 * (static_cast<double>(*reduce) + static_cast<double>(*gather));
  if (bytes < kLargestShare * static_cast<double>(memory->value)) return;
  findings.add(
      subject.config.mark(path),
      fmt::format(
          "overlap_comm with buckets of {} and {} elements may take 4.5 x 2 B x both = {:.1f} GB, {:.0f} % of a "
          "GPU's {:.1f} GB",
          subject.config.written("zero_optimization.reduce_bucket_size"),
          subject.config.written("zero_optimization.allgather_bucket_size"), bytes / 1e9,
          100 * bytes / static_cast<double>(memory->value), static_cast<double>(memory->value) / 1e9));
}

void prefetch_beyond_live(const LintSubject& subject, LintFindings& findings) {
  const std::string prefetch = "zero_optimization.stage3_prefetch_bucket_size";
  const std::string live = "zero_optimization.stage3_max_live_parameters";
  if (!subject.settings.zero_is(3) || !(subject.config.has(prefetch) || subject.config.has(live))) return;
  const auto prefetched = subject.config.integer(prefetch);
  const auto most_live = subject.config.integer(live);
  if (!prefetched || !most_live || *prefetched <= *most_live || *most_live == 0) return;
  findings.add(subject.config.mark(subject.config.has(prefetch) ? prefetch : live),
               fmt::format("stage3_prefetch_bucket_size {} is more than stage3_max_live_parameters {} lets live",
                           subject.config.written(prefetch), subject.config.written(live)));
}

// A group that is larger than the number of ranks is cut to it (deepspeed/utils/groups.py).
void uneven_secondary_partition(const LintSubject& subject, LintFindings& findings) {
  const std::string path = "zero_optimization.zero_hpz_partition_size";
  const auto size = subject.config.integer(path);
  const auto& ranks = subject.situation.world_size;
  if (!subject.settings.zero_is(3) || !size || *size <= 1 || !ranks) return;
  if (*size >= ranks->value || ranks->value % *size == 0) return;
  findings.add(subject.config.mark(path),
               fmt::format("zero_hpz_partition_size {} does not divide {} ranks", *size, ranks->value));
}

// clang-format off
constexpr LintRule kZeroRules[] = {
    {"DS040", Severity::warning, "a ZeRO section without a stage", "add \"stage\": 1, 2 or 3",
     "DeepSpeed runtime/zero/config.py, stage defaults to 0", &without_stage},
    {"DS041", Severity::note, "a key that has no effect at this stage", "remove it, or change the stage",
     "DeepSpeed runtime/zero/config.py", &no_effect_at_stage},
    {"DS042", Severity::warning, "stage 3 saves no gathered weights",
     "set stage3_gather_16bit_weights_on_model_save, or convert with zero_to_fp32.py afterwards",
     "DeepSpeed runtime/engine.py, save_16bit_model; docs/_pages/config-json.md", &no_gathered_save},
    {"DS043", Severity::error, "gradients scaled before reduction with reduce_scatter at stage 2",
     "leave prescale_gradients off and gradient_predivide_factor at 1, or set reduce_scatter to false",
     "DeepSpeed runtime/zero/stage_1_and_2.py asserts both", &reduce_scatter_scaling},
    {"DS044", Severity::error, "summed gradients at stage 3", "use \"mean\"",
     "DeepSpeed runtime/config.py, _do_error_check", &summed_gradients},
    {"DS045", Severity::warning, "a bucket so small that latency decides", "use 1e7 to 5e8 elements",
     "DeepSpeed docs/_pages/config-json.md, defaults of 5e8", &small_bucket},
    {"DS046", Severity::warning, "buckets of overlapped communication take much of a GPU", "use 5e7 to 2e8 elements, or switch overlap_comm off",
     "Transformers docs/source/en/deepspeed.md, ZeRO-2", &overlap_footprint},
    {"DS047", Severity::warning, "more prefetched than may live", "make stage3_prefetch_bucket_size the smaller of the two",
     "DeepSpeed runtime/zero/partitioned_param_coordinator.py", &prefetch_beyond_live},
    {"DS048", Severity::error, "a secondary partition that does not divide the ranks",
     "use the number of GPUs of a host", "DeepSpeed docs/_tutorials/zeropp.md", &uneven_secondary_partition},
};
// clang-format on

}  // namespace

std::span<const LintRule> zero_rules() { return kZeroRules; }

}  // namespace reprobench
