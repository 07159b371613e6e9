// train_batch_size = micro batch x accumulation x ranks: values as they were given against each other, and what
// DeepSpeed infers of the others (runtime/config.py, _set_batch_related_parameters and _batch_assertion).
#include <fmt/format.h>

#include "matrix/lint/rule.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kTrain = "train_batch_size";
constexpr std::string_view kMicro = "train_micro_batch_size_per_gpu";
constexpr std::string_view kAccumulation = "gradient_accumulation_steps";

// Only values that are whole numbers of at least 1: the others are findings of their own.
struct BatchValues {
  std::optional<std::int64_t> train;
  std::optional<std::int64_t> micro;
  std::optional<std::int64_t> accumulation;
  std::optional<std::int64_t> ranks;
};

std::optional<std::int64_t> batch_value(const DeepSpeedConfig& config, std::string_view key) {
  constexpr std::int64_t kLargest = 1'000'000'000;  // keeps products of two in 64 bits
  const auto value = config.has(key) ? config.integer(key) : std::nullopt;
  return value && *value >= 1 && *value <= kLargest ? value : std::nullopt;
}

BatchValues batch_values(const LintSubject& subject) {
  BatchValues values{batch_value(subject.config, kTrain), batch_value(subject.config, kMicro),
                     batch_value(subject.config, kAccumulation), std::nullopt};
  if (subject.situation.world_size) values.ranks = subject.situation.world_size->value;
  return values;
}

bool elasticity_decides(const DeepSpeedConfig& config) { return config.flag("elasticity.enabled").value_or(false); }

// Factors that are there without being usable leave the sum undecided; absent ones are inferred.
bool factors_are_known(const DeepSpeedConfig& config, const BatchValues& values) {
  return config.has(kMicro) == values.micro.has_value() && config.has(kAccumulation) == values.accumulation.has_value();
}

std::string ranks_text(std::int64_t ranks) { return fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s"); }

void batch_sum(const LintSubject& subject, LintFindings& findings) {
  const BatchValues v = batch_values(subject);
  if (elasticity_decides(subject.config) || !v.train || !factors_are_known(subject.config, v)) return;
  const std::int64_t per_rank = v.micro.value_or(1) * v.accumulation.value_or(1);
  const std::string given = v.micro && v.accumulation
                                ? fmt::format("micro {} x accumulation {}", *v.micro, *v.accumulation)
                            : v.micro        ? fmt::format("micro {}", *v.micro)
                            : v.accumulation ? fmt::format("accumulation {}", *v.accumulation)
                                             : "";
  if (!v.ranks) {
    if (*v.train % per_rank == 0) return;
    findings.add(subject.config.mark(kTrain),
                 fmt::format("{} {} is no multiple of {} (= {}), whatever the number of ranks", kTrain, *v.train, given,
                             per_rank));
    return;
  }
  const bool is_product = v.micro && v.accumulation;
  // Divided before multiplied: three factors may leave 64 bits.
  const bool divides = *v.train % per_rank == 0 && (*v.train / per_rank) % *v.ranks == 0;
  const bool holds = is_product ? divides && *v.train / per_rank == *v.ranks : divides;
  if (holds) return;
  const std::string ranks = ranks_text(*v.ranks);
  if (is_product) {
    findings.add(subject.config.mark(kTrain),
                 fmt::format("{} {} != {} x {} (= {:.0f})", kTrain, *v.train, given, ranks,
                             static_cast<double>(per_rank) * static_cast<double>(*v.ranks)));
  } else {
    findings.add(subject.config.mark(kTrain), fmt::format("{} {} cannot be divided among {}{}{}", kTrain, *v.train,
                                                          given, given.empty() ? "" : " x ", ranks));
  }
}

void only_ranks(const LintSubject& subject, LintFindings& findings) {
  const BatchValues v = batch_values(subject);
  if (elasticity_decides(subject.config) || v.ranks || !v.train || !v.micro || !v.accumulation) return;
  const std::int64_t per_rank = *v.micro * *v.accumulation;
  if (*v.train % per_rank != 0) return;
  findings.add(subject.config.mark(kTrain),
               fmt::format("{} {} = micro {} x accumulation {} holds for {} and no other number", kTrain, *v.train,
                           *v.micro, *v.accumulation, ranks_text(*v.train / per_rank)));
}

void no_batch(const LintSubject& subject, LintFindings& findings) {
  const DeepSpeedConfig& config = subject.config;
  if (elasticity_decides(config) || config.has(kTrain) || config.has(kMicro)) return;
  findings.add(config.has(kAccumulation) ? config.mark(kAccumulation) : config.root().mark,
               fmt::format("neither {} nor {} is given", kTrain, kMicro));
}

void elastic_batch(const LintSubject& subject, LintFindings& findings) {
  const DeepSpeedConfig& config = subject.config;
  if (!elasticity_decides(config) || config.flag("elasticity.ignore_non_elastic_batch_info").value_or(false)) return;
  for (const std::string_view key : {kTrain, kMicro, kAccumulation}) {
    if (config.has(key)) findings.add(config.mark(key), fmt::format("`{}` beside elasticity, which decides it", key));
  }
}

// clang-format off
constexpr LintRule kBatchRules[] = {
    {"DS020", Severity::error, "train_batch_size is not micro batch x accumulation x ranks",
     "change one of the factors, or leave one of the three keys out: DeepSpeed works it out",
     "DeepSpeed runtime/config.py, _batch_assertion; docs/_pages/config-json.md, batch size", &batch_sum},
    {"DS021", Severity::note, "the batch sizes hold for one number of ranks only",
     "leave train_batch_size out if the number of ranks changes; --world-size checks a number",
     "DeepSpeed runtime/config.py, _batch_assertion", &only_ranks},
    {"DS022", Severity::error, "no batch size is given", "give train_batch_size or train_micro_batch_size_per_gpu",
     "DeepSpeed runtime/config.py, _set_batch_related_parameters", &no_batch},
    {"DS023", Severity::error, "batch sizes beside elasticity",
     "remove them, or set elasticity.ignore_non_elastic_batch_info",
     "DeepSpeed runtime/config.py, ElasticityConfigError", &elastic_batch},
};
// clang-format on

}  // namespace

std::span<const LintRule> batch_rules() { return kBatchRules; }

}  // namespace reprobench
