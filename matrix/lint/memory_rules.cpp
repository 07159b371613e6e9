// The estimate of memory against what there is.
#include <fmt/format.h>

#include "matrix/lint/rule.hpp"

namespace reprobench {
namespace {

std::string summed(const MemoryNeed& need) {
  std::string text;
  for (const MemoryItem& item : need.states) {
    text += fmt::format("{}{} {} = {}", text.empty() ? "" : ", ", item.name, item.formula, gibibytes(item.bytes));
  }
  return text;
}

void over(const MemoryNeed& need, const char* whose, const Mark& mark, LintFindings& findings) {
  if (!need.limit_bytes || need.least_bytes <= *need.limit_bytes) return;
  findings.add(mark, fmt::format("model states take {} of each {}, which has {} ({}): {}", gibibytes(need.least_bytes),
                                 whose, gibibytes(*need.limit_bytes), need.limit_source, summed(need)));
}

void perhaps_over(const MemoryNeed& need, const char* whose, const char* why, const Mark& mark,
                  LintFindings& findings) {
  if (!need.limit_bytes || need.least_bytes > *need.limit_bytes || need.likely_bytes <= *need.limit_bytes) return;
  std::int64_t buffers = 0;
  for (const MemoryItem& item : need.buffers) buffers += item.bytes;
  findings.add(
      mark,
      fmt::format("each {} has {} ({}); model states take {}, buffers up to {}, DeepSpeed's own estimate is {}", whose,
                  gibibytes(*need.limit_bytes), need.limit_source, gibibytes(need.least_bytes), gibibytes(buffers),
                  need.estimator_bytes == 0 ? "none" : gibibytes(need.estimator_bytes) + why));
}

void gpu_over(const LintSubject& subject, LintFindings& findings) {
  over(subject.memory.gpu, "GPU", subject.config.mark(kStage), findings);
}
void gpu_perhaps_over(const LintSubject& subject, LintFindings& findings) {
  perhaps_over(subject.memory.gpu, "GPU", "", subject.config.mark(kStage), findings);
}
void host_over(const LintSubject& subject, LintFindings& findings) {
  over(subject.memory.host, "host", subject.config.mark(kZero), findings);
}
void host_perhaps_over(const LintSubject& subject, LintFindings& findings) {
  perhaps_over(subject.memory.host, "host", ", as every rank builds the model in fp32 first",
               subject.config.mark(kZero), findings);
}

void disk_over(const LintSubject& subject, LintFindings& findings) {
  for (const auto& [path, folder] : subject.situation.folders) {
    if (!folder.is_folder || subject.memory.nvme_bytes <= folder.free_bytes) continue;
    findings.add(subject.config.mark(subject.settings.offload_optimizer == "nvme" ? kOffloadOptimizer : kOffloadParam),
                 fmt::format("states of {} are offloaded from each host, and \"{}\" has {} free",
                             gibibytes(subject.memory.nvme_bytes), path, gibibytes(folder.free_bytes)));
  }
}

void not_estimated(const LintSubject& subject, LintFindings& findings) {
  if (!subject.memory.unknown.empty()) {
    findings.add({}, fmt::format("memory is not judged: {}", subject.memory.unknown));
  } else if (!subject.memory.gpu.limit_bytes) {
    findings.add({}, "memory of the GPUs is not judged: this host has none, and --gpu-memory is not given");
  } else if (!subject.memory.host.limit_bytes) {
    findings.add({}, "memory of the hosts is not judged: it is not known");
  }
}

// clang-format off
constexpr LintRule kMemoryRules[] = {
    {"DS070", Severity::error, "model states are larger than a GPU's memory",
     "use a higher stage, more GPUs, or offload optimizer or parameters", "ZeRO paper (arXiv:1910.02054), sections 3.1 and 5",
     &gpu_over},
    {"DS071", Severity::warning, "model states and buffers may be larger than a GPU's memory",
     "use smaller buckets, a higher stage, or offload; activations come on top",
     "DeepSpeed docs/code-docs/source/memory.rst", &gpu_perhaps_over},
    {"DS072", Severity::error, "offloaded states are larger than the host's memory",
     "use fewer ranks a host, offload to nvme, or keep them on the GPUs", "DeepSpeed docs/code-docs/source/memory.rst",
     &host_over},
    {"DS073", Severity::warning, "offloaded states and buffers may be larger than the host's memory",
     "build the model within zero.Init, use fewer ranks a host, or a host with more memory",
     "DeepSpeed docs/code-docs/source/memory.rst", &host_perhaps_over},
    {"DS074", Severity::error, "offloaded states are larger than the disk", "name a folder with more space",
     "DeepSpeed docs/_pages/config-json.md, buffer_count lists the states", &disk_over},
    {"DS075", Severity::note, "memory is not judged", "give --params, --world-size and --gpu-memory", "", &not_estimated},
};
// clang-format on

}  // namespace

std::span<const LintRule> memory_rules() { return kMemoryRules; }

}  // namespace reprobench
