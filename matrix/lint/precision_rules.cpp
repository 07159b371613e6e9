// fp16, bf16 and amp against each other, loss scaling, and 16-bit masters.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/lint/rule.hpp"
#include "matrix/plan/dotted_version.hpp"

namespace reprobench {
namespace {

// Keys of the section `fp16` that only dynamic loss scaling reads.
constexpr std::string_view kDynamicScaleKeys[] = {"fp16.initial_scale_power", "fp16.loss_scale_window",
                                                  "fp16.hysteresis", "fp16.consecutive_hysteresis",
                                                  "fp16.min_loss_scale"};

void both_precisions(const LintSubject& subject, LintFindings& findings) {
  const DeepSpeedSettings& s = subject.settings;
  if (s.fp16 != true || s.bf16 != true) return;
  findings.add(subject.config.mark("fp16.enabled"),
               fmt::format("fp16.enabled and {}.enabled (line {}) are both true", s.bf16_section,
                           subject.config.mark(s.bf16_section + ".enabled").line));
}

void amp_beside(const LintSubject& subject, LintFindings& findings) {
  const DeepSpeedSettings& s = subject.settings;
  if (s.amp != true) return;
  std::vector<std::string> others;
  if (s.fp16 == true) others.emplace_back("fp16");
  if (s.bf16 == true) others.emplace_back(s.bf16_section);
  if (s.zero_is_on()) others.push_back(fmt::format("ZeRO stage {}", *s.stage));
  if (others.empty()) return;
  findings.add(subject.config.mark("amp.enabled"),
               fmt::format("amp cannot be combined with {}", fmt::join(others, " and ")));
}

void scale_without_fp16(const LintSubject& subject, LintFindings& findings) {
  if (subject.settings.fp16 != false || !subject.config.has("fp16")) return;
  std::vector<std::string> names;
  if (subject.config.has("fp16.loss_scale")) names.emplace_back("loss_scale");
  for (const std::string_view key : kDynamicScaleKeys) {
    if (subject.config.has(key)) names.emplace_back(key.substr(key.find('.') + 1));
  }
  if (names.empty()) return;
  findings.add(subject.config.mark("fp16"), fmt::format("fp16 is off, so {} {} no effect", fmt::join(names, ", "),
                                                        names.size() == 1 ? "has" : "have"));
}

void dynamic_beside_static(const LintSubject& subject, LintFindings& findings) {
  const auto scale = subject.config.number("fp16.loss_scale");
  if (subject.settings.fp16 != true || !scale || *scale <= 0) return;
  for (const std::string_view key : kDynamicScaleKeys) {
    if (!subject.config.has(key)) continue;
    findings.add(subject.config.mark(key), fmt::format("`{}` has no effect: loss_scale {} is static", key,
                                                       subject.config.written("fp16.loss_scale")));
  }
}

// Each overflow takes one step and, once the hysteresis is used up, halves the scale. Gradients of a loss near 1 stay
// finite once the scale is below fp16's largest number, 65504.
void high_first_scale(const LintSubject& subject, LintFindings& findings) {
  constexpr std::int64_t kFp16LargestPower = 16;
  const auto scale = subject.config.number("fp16.loss_scale");
  const auto power = subject.config.integer("fp16.initial_scale_power");
  if (subject.settings.fp16 == false || !subject.config.has("fp16") || !scale || *scale > 0) return;
  if (!power || *power <= kFp16LargestPower + 4) return;
  findings.add(subject.config.mark("fp16.initial_scale_power"),
               fmt::format("the first loss scale is 2^{}, and fp16 ends at 65504 (just under 2^16): about {} steps "
                           "overflow and are skipped first",
                           *power, *power - kFp16LargestPower));
}

void fp16_masters(const LintSubject& subject, LintFindings& findings) {
  const DeepSpeedSettings& s = subject.settings;
  if (!subject.config.flag("fp16.fp16_master_weights_and_grads").value_or(false)) return;
  const Mark mark = subject.config.mark("fp16.fp16_master_weights_and_grads");
  if (s.stage && *s.stage == 0) {
    findings.add(mark, "fp16_master_weights_and_grads at ZeRO stage 0");
  } else if (s.offload_optimizer == "none") {
    findings.add(mark,
                 "fp16_master_weights_and_grads without an offloaded optimizer: only DeepSpeedCPUAdam keeps them");
  }
}

void bf16_masters(const LintSubject& subject, LintFindings& findings) {
  const std::string section = subject.settings.bf16_section + ".";
  const bool masters = subject.config.flag(section + "bf16_master_weights_and_grads").value_or(false);
  const bool states = subject.config.flag(section + "bf16_optimizer_states").value_or(false);
  if (masters && subject.settings.zero_is(0)) {
    findings.add(subject.config.mark(section + "bf16_master_weights_and_grads"),
                 "bf16_master_weights_and_grads at ZeRO stage 0");
  }
  if (states && !masters) {
    findings.add(subject.config.mark(section + "bf16_optimizer_states"),
                 "bf16_optimizer_states without bf16_master_weights_and_grads");
  }
}

void bf16_on_old_gpu(const LintSubject& subject, LintFindings& findings) {
  if (subject.settings.bf16 != true || !subject.situation.host) return;
  for (const GpuFacts& gpu : subject.situation.host->gpus) {
    if (gpu.compute_capability.empty() || !version_less(gpu.compute_capability, "8.0")) continue;
    findings.add(subject.config.mark(subject.settings.bf16_section + ".enabled"),
                 fmt::format("bf16 is on, and this host's {} has compute capability {}; bf16 begins with 8.0", gpu.name,
                             gpu.compute_capability));
    return;
  }
}

void sixteen_bit_unknown(const LintSubject& subject, LintFindings& findings) {
  const DeepSpeedSettings& s = subject.settings;
  if (!s.zero_is_on() || s.fp16 != false || s.bf16 != false || s.amp != false) return;
  if (subject.config.has("torch_autocast")) return;
  findings.add(subject.config.mark(kZero),
               "ZeRO with neither fp16 nor bf16: parameters and gradients take 4 bytes each");
}

// clang-format off
constexpr LintRule kPrecisionRules[] = {
    {"DS030", Severity::error, "fp16 and bf16 are both on", "switch one of them off",
     "DeepSpeed runtime/config.py, _initialize_params asserts it", &both_precisions},
    {"DS031", Severity::note, "loss scale keys while fp16 is off",
     "remove them: bf16 and fp32 need no loss scale", "DeepSpeed docs/_pages/config-json.md, bf16", &scale_without_fp16},
    {"DS032", Severity::warning, "keys of dynamic loss scaling beside a static loss_scale",
     "set loss_scale to 0 for a dynamic scale, or remove them", "DeepSpeed docs/_pages/config-json.md, fp16",
     &dynamic_beside_static},
    {"DS033", Severity::note, "the first loss scale is far above what fp16 can hold",
     "initial_scale_power 16 starts where it ends up anyway", "DeepSpeed runtime/fp16/loss_scaler.py; IEEE 754 binary16",
     &high_first_scale},
    {"DS034", Severity::error, "amp beside fp16, bf16 or ZeRO", "use fp16 or bf16 and leave amp out",
     "DeepSpeed docs/_pages/config-json.md, amp", &amp_beside},
    {"DS035", Severity::error, "fp16 masters where nothing keeps them",
     "offload the optimizer to the CPU at stage 1, 2 or 3, or remove it",
     "DeepSpeed runtime/config.py, _do_error_check; runtime/zero/stage_1_and_2.py", &fp16_masters},
    {"DS036", Severity::error, "bf16 masters or states where nothing keeps them",
     "use ZeRO stage 1, 2 or 3 with bf16_master_weights_and_grads",
     "DeepSpeed runtime/config.py, _do_error_check", &bf16_masters},
    {"DS037", Severity::error, "bf16 on a GPU without it", "use fp16 on this GPU",
     "CUDA C++ programming guide, compute capabilities", &bf16_on_old_gpu},
    {"DS038", Severity::note, "ZeRO in full precision", "switch bf16 on if the model allows it",
     "ZeRO paper, section 3.1", &sixteen_bit_unknown},
};
// clang-format on

}  // namespace

std::span<const LintRule> precision_rules() { return kPrecisionRules; }

}  // namespace reprobench
