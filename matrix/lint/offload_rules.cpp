// Offload against stage, device, path and optimizer, and what leads to tensors on two devices.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/lint/rule.hpp"
#include "matrix/plan/dotted_version.hpp"

namespace reprobench {
namespace {

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

void param_offload_stage(const LintSubject& subject, LintFindings& findings) {
  const DeepSpeedSettings& s = subject.settings;
  if (!s.param_is_offloaded() || !s.stage || *s.stage == 3) return;
  findings.add(subject.config.mark(s.param_mark_path),
               fmt::format("parameters are offloaded to {} at stage {}; they are partitioned at stage 3 only",
                           *s.offload_param, *s.stage));
}

void optimizer_offload_stage(const LintSubject& subject, LintFindings& findings) {
  const DeepSpeedSettings& s = subject.settings;
  if (!s.optimizer_is_offloaded() || !s.stage) return;
  const Mark mark = subject.config.mark(s.optimizer_mark_path);
  if (*s.stage == 0) {
    findings.add(mark, fmt::format("the optimizer is offloaded to {} at stage 0: ZeRO is off and nothing is offloaded",
                                   *s.offload_optimizer));
  } else if (*s.stage < 3 && *s.offload_optimizer == "nvme") {
    findings.add(mark,
                 fmt::format("the optimizer is offloaded to nvme at stage {}; that is of stage 3 only", *s.stage));
  }
}

struct OffloadBlock {
  std::string section;
  const std::optional<std::string>& device;
};

std::array<OffloadBlock, 2> offloads(const LintSubject& subject) {
  return {OffloadBlock{std::string(kOffloadOptimizer), subject.settings.offload_optimizer},
          OffloadBlock{std::string(kOffloadParam), subject.settings.offload_param}};
}

void no_nvme_path(const LintSubject& subject, LintFindings& findings) {
  for (const OffloadBlock& offload : offloads(subject)) {
    if (offload.device != "nvme" || subject.config.has(offload.section + ".nvme_path")) continue;
    findings.add(subject.config.mark(offload.section + ".device"),
                 fmt::format("`{}` offloads to nvme and names no nvme_path", offload.section));
  }
}

// Calls `visit` with every folder that is really offloaded to.
template <class Visit>
void for_offload_folders(const LintSubject& subject, Visit visit) {
  for (const OffloadBlock& offload : offloads(subject)) {
    const std::string key = offload.section + ".nvme_path";
    const auto path = subject.config.text(key);
    if (offload.device == "nvme" && path) visit(subject.config.mark(key), *path);
  }
}

void unusable_folder(const LintSubject& subject, LintFindings& findings) {
  for_offload_folders(subject, [&](const Mark& mark, const std::string& path) {
    const auto folder = subject.situation.folders.find(path);
    if (folder == subject.situation.folders.end()) return;
    if (!folder->second.is_folder) {
      findings.add(mark, fmt::format("nvme_path \"{}\" is no folder on this host", path));
    } else if (!folder->second.is_writable) {
      findings.add(mark, fmt::format("nvme_path \"{}\" cannot be written here", path));
    }
  });
}

bool lies_below(const std::filesystem::path& path, const std::filesystem::path& root) {
  const auto clean = path.lexically_normal();
  const auto base = (root / "").lexically_normal().parent_path();
  return std::mismatch(base.begin(), base.end(), clean.begin(), clean.end()).first == base.end();
}

// Folders of the system: nothing may be offloaded there whatever the root is.
constexpr std::string_view kSystemFolders[] = {"/bin",   "/boot", "/dev",  "/etc", "/lib",
                                               "/lib64", "/proc", "/sbin", "/sys", "/usr"};

void folder_outside(const LintSubject& subject, LintFindings& findings) {
  for_offload_folders(subject, [&](const Mark& mark, const std::string& path) {
    const auto folder = subject.situation.folders.find(path);
    const bool is_resolved = folder != subject.situation.folders.end() && !folder->second.resolved.empty();
    const std::filesystem::path real = is_resolved ? folder->second.resolved : path;
    const std::string shown =
        is_resolved && real != path ? fmt::format("\"{}\" ({})", path, real.string()) : fmt::format("\"{}\"", path);
    const std::string& root = subject.situation.offload_root;
    if (!std::filesystem::path(path).is_absolute()) {
      findings.add(mark, fmt::format("nvme_path {} is relative: each process would mean the folder it runs in", shown));
    } else if (real.lexically_normal() == "/" ||
               std::ranges::any_of(kSystemFolders, [&](std::string_view system) { return lies_below(real, system); })) {
      findings.add(mark, fmt::format("nvme_path {} is a folder of the system", shown));
    } else if (!root.empty() && !lies_below(real, root)) {
      findings.add(mark, fmt::format("nvme_path {} lies outside {}", shown, root));
    }
  });
}

void folder_in_memory(const LintSubject& subject, LintFindings& findings) {
  for_offload_folders(subject, [&](const Mark& mark, const std::string& path) {
    const auto folder = subject.situation.folders.find(path);
    if (folder == subject.situation.folders.end() || !folder->second.is_in_memory) return;
    findings.add(mark,
                 fmt::format("nvme_path \"{}\" is a file system in memory: what is offloaded stays in RAM", path));
  });
}

// Keys of the sections that one device alone reads.
struct DeviceKey {
  std::string_view name;
  std::string_view device;
};
constexpr DeviceKey kDeviceKeys[] = {{"nvme_path", "nvme"},  {"buffer_count", "nvme"},  {"buffer_size", "nvme"},
                                     {"max_in_cpu", "nvme"}, {"pipeline_read", "nvme"}, {"pipeline_write", "nvme"},
                                     {"fast_init", "nvme"}};

void unused_device_key(const LintSubject& subject, LintFindings& findings) {
  for (const OffloadBlock& offload : offloads(subject)) {
    if (!offload.device || *offload.device == "nvme") continue;
    std::vector<std::string_view> names;
    for (const DeviceKey& key : kDeviceKeys) {
      if (subject.config.has(joined_path(offload.section, key.name))) names.push_back(key.name);
    }
    if (names.empty()) continue;
    findings.add(subject.config.mark(joined_path(offload.section, names.front())),
                 fmt::format("device is {}, so {} {} no effect", *offload.device, fmt::join(names, ", "),
                             names.size() == 1 ? "has" : "have"));
  }
}

void partial_offload(const LintSubject& subject, LintFindings& findings) {
  const std::string path = std::string(kOffloadOptimizer) + ".ratio";
  const auto ratio = subject.config.number(path);
  const DeepSpeedSettings& s = subject.settings;
  if (!ratio || *ratio >= 1 || !s.stage || *s.stage == 3) return;
  findings.add(subject.config.mark(path),
               fmt::format("ratio {} at stage {}: a part of the optimizer states is offloaded at "
                           "stage 3 only",
                           subject.config.written(path), *s.stage));
}

void unpinned(const LintSubject& subject, LintFindings& findings) {
  for (const OffloadBlock& offload : offloads(subject)) {
    const std::string path = offload.section + ".pin_memory";
    if (!offload.device || *offload.device == "none" || subject.config.flag(path) != false) continue;
    findings.add(subject.config.mark(path),
                 fmt::format("`{}` is not pinned: copies to and from the GPU cannot overlap with "
                             "computing",
                             offload.section));
  }
}

// Which optimizers of a configuration ZeRO has been tested with, and of which there is a CPU version
// (runtime/zero/utils.py, ZERO_SUPPORTED_OPTIMIZERS; deepspeed/ops).
constexpr std::string_view kOneBit[] = {"onebitadam", "onebitlamb", "zerooneadam"};
constexpr std::string_view kTested[] = {"adam", "adamw", "adagrad", "lion", "muon"};
constexpr std::string_view kOnCpu[] = {"adam", "adamw", "adagrad", "lion"};

void one_bit_optimizer(const LintSubject& subject, LintFindings& findings) {
  const DeepSpeedSettings& s = subject.settings;
  if (!s.zero_is_on() || !is_one_of(s.optimizer, kOneBit)) return;
  findings.add(subject.config.mark("optimizer.type"),
               fmt::format("{} at ZeRO stage {}: 1-bit optimizers and ZeRO exclude each other",
                           subject.config.written("optimizer.type"), *s.stage));
}

void untested_optimizer(const LintSubject& subject, LintFindings& findings) {
  const DeepSpeedSettings& s = subject.settings;
  const bool excluded = s.optimizer.empty() || is_one_of(s.optimizer, kTested) || is_one_of(s.optimizer, kOneBit);
  if (!s.zero_is_on() || excluded || subject.config.flag("zero_allow_untested_optimizer") != false) return;
  findings.add(subject.config.mark("optimizer.type"),
               fmt::format("{} with ZeRO, and zero_allow_untested_optimizer is not set",
                           subject.config.written("optimizer.type")));
}

void optimizer_not_on_cpu(const LintSubject& subject, LintFindings& findings) {
  const DeepSpeedSettings& s = subject.settings;
  if (!s.zero_is_on() || !s.optimizer_is_offloaded() || s.optimizer.empty()) return;
  if (subject.config.flag("optimizer.params.torch_adam") == true) {
    findings.add(subject.config.mark("optimizer.params.torch_adam"),
                 "torch_adam with an offloaded optimizer: torch's Adam runs on the CPU in place of DeepSpeedCPUAdam");
  } else if (!is_one_of(s.optimizer, kOnCpu) && !is_one_of(s.optimizer, kOneBit)) {
    findings.add(
        subject.config.mark("optimizer.type"),
        fmt::format("{} is offloaded and has no CPU version in DeepSpeed", subject.config.written("optimizer.type")));
  }
}

void client_optimizer(const LintSubject& subject, LintFindings& findings) {
  const DeepSpeedSettings& s = subject.settings;
  if (!s.zero_is_on() || !s.optimizer_is_offloaded() || subject.config.has("optimizer")) return;
  if (subject.config.flag("zero_force_ds_cpu_optimizer") != true) return;
  findings.add(
      subject.config.mark(s.optimizer_mark_path),
      "the optimizer is offloaded and the configuration has none: one that the program brings is refused unless it "
      "is DeepSpeedCPUAdam (\"You are using ZeRO-Offload with a client provided optimizer\")");
}

void clip_as_optimizer_parameter(const LintSubject& subject, LintFindings& findings) {
  const std::string path = "optimizer.params.max_grad_norm";
  const auto norm = subject.config.number(path);
  if (!subject.config.has(path) || !norm || *norm <= 0) return;
  findings.add(subject.config.mark(path),
               fmt::format("max_grad_norm {} of the optimizer clips nothing", subject.config.written(path)));
}

// The failure "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!" in
// unscale_and_clip_grads of runtime/zero/stage3.py. With the optimizer offloaded the fp32 gradients of a partition are
// on the CPU; in DeepSpeed 0.14.1 and 0.14.2 the gradient norm that they are multiplied with became a tensor of the GPU
// (pull request 5256), and torch multiplies no CPU tensor by a GPU scalar. Taken back by pull request 5461, in 0.14.3.
// Reports: DeepSpeed issues 5422, 5469, 5538, 5634; 0.14.0 does not have it.
constexpr const char* kFirstBroken = "0.14.1";
constexpr const char* kFirstMended = "0.14.3";
constexpr const char* kTwoDevices =
    "\"Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu\" in "
    "unscale_and_clip_grads";

bool splits_devices(const DeepSpeedSettings& s) { return s.zero_is(3) && s.optimizer_is_offloaded(); }

void two_devices(const LintSubject& subject, LintFindings& findings) {
  const std::string& version = subject.situation.deepspeed_version;
  if (!splits_devices(subject.settings) || version.empty()) return;
  if (version_less(version, kFirstBroken) || !version_less(version, kFirstMended)) return;
  findings.add(
      subject.config.mark(subject.settings.optimizer_mark_path),
      fmt::format(
          "stage 3 with the optimizer on {} stops DeepSpeed {} at its first step: {}. The norm of the gradients "
          "is a GPU tensor there, the gradients of a partition are on the CPU",
          *subject.settings.offload_optimizer, version, kTwoDevices));
}

void two_devices_possible(const LintSubject& subject, LintFindings& findings) {
  if (!splits_devices(subject.settings) || !subject.situation.deepspeed_version.empty()) return;
  findings.add(subject.config.mark(subject.settings.optimizer_mark_path),
               fmt::format("stage 3 with the optimizer on {} stops DeepSpeed 0.14.1 and 0.14.2 at their first step: {}",
                           *subject.settings.offload_optimizer, kTwoDevices));
}

void foreign_optimizer_on_two_devices(const LintSubject& subject, LintFindings& findings) {
  const DeepSpeedSettings& s = subject.settings;
  if (!s.zero_is_on() || !s.optimizer_is_offloaded()) return;
  if (subject.config.flag("zero_force_ds_cpu_optimizer") != false) return;
  findings.add(
      subject.config.mark("zero_force_ds_cpu_optimizer"),
      fmt::format("any optimizer is let in while its states and gradients are on {}: one that steps on the GPU meets "
                  "tensors of two devices",
                  *s.offload_optimizer));
}

// clang-format off
constexpr LintRule kOffloadRules[] = {
    {"DS050", Severity::error, "parameters are offloaded below stage 3", "use stage 3, or remove offload_param",
     "DeepSpeed docs/_pages/config-json.md, offload_param", &param_offload_stage},
    {"DS051", Severity::error, "the optimizer is offloaded at a stage that cannot",
     "use stage 1, 2 or 3 for cpu and stage 3 for nvme", "DeepSpeed docs/_pages/config-json.md, offload_optimizer",
     &optimizer_offload_stage},
    {"DS052", Severity::error, "nvme without a path", "name a folder on a local NVMe disk as nvme_path",
     "DeepSpeed docs/_pages/config-json.md, nvme_path", &no_nvme_path},
    {"DS053", Severity::error, "an offload folder that is not there or cannot be written",
     "make the folder, mount the disk, or give its users the right to write", "", &unusable_folder},
    {"DS054", Severity::error, "an offload folder outside of where it may be",
     "name an absolute folder on a local disk, below --offload-root if that is given", "", &folder_outside},
    {"DS055", Severity::warning, "an offload folder in memory", "name a folder on a disk, or use device cpu", "man 5 tmpfs",
     &folder_in_memory},
    {"DS056", Severity::note, "keys of another offload device", "remove them, or set device to nvme",
     "DeepSpeed runtime/zero/offload_config.py", &unused_device_key},
    {"DS057", Severity::error, "partial offload below stage 3", "use stage 3, or leave ratio at 1",
     "DeepSpeed runtime/zero/config.py, offload_ratio_check", &partial_offload},
    {"DS058", Severity::note, "offloaded and not pinned", "set pin_memory to true where the host's memory allows it",
     "DeepSpeed docs/code-docs/source/memory.rst, pinned memory", &unpinned},
    {"DS060", Severity::error, "a 1-bit optimizer with ZeRO", "use Adam, or stage 0",
     "DeepSpeed runtime/engine.py, _configure_basic_optimizer", &one_bit_optimizer},
    {"DS061", Severity::error, "an optimizer that ZeRO has not been tested with",
     "use Adam or AdamW, or set zero_allow_untested_optimizer", "DeepSpeed runtime/zero/utils.py; runtime/engine.py",
     &untested_optimizer},
    {"DS062", Severity::warning, "an offloaded optimizer that is none of DeepSpeed's CPU optimizers",
     "use Adam or AdamW without torch_adam: DeepSpeed takes its CPU Adam for them", "DeepSpeed deepspeed/ops; pull request 2971",
     &optimizer_not_on_cpu},
    {"DS063", Severity::warning, "an offloaded optimizer that the program has to bring",
     "add \"optimizer\": {\"type\": \"AdamW\"}, or pass DeepSpeedCPUAdam",
     "DeepSpeed runtime/engine.py, _configure_optimizer; pull request 2971", &client_optimizer},
    {"DS064", Severity::error, "gradients and their norm on two devices",
     "use DeepSpeed 0.14.3 or newer (or 0.14.0), or set offload_optimizer.device to none",
     "DeepSpeed issues 5422, 5538, 5634; pull requests 5256, 5461", &two_devices},
    {"DS065", Severity::note, "gradients and their norm on two devices in some versions of DeepSpeed",
     "use none of these two versions; --deepspeed VERSION judges the one you have",
     "DeepSpeed issues 5422, 5538, 5634; pull requests 5256, 5461", &two_devices_possible},
    {"DS066", Severity::warning, "any optimizer on offloaded states",
     "leave zero_force_ds_cpu_optimizer at true and use DeepSpeed's CPU Adam",
     "DeepSpeed runtime/engine.py, _configure_optimizer", &foreign_optimizer_on_two_devices},
    {"DS067", Severity::warning, "a clipping norm among the optimizer's parameters", "set gradient_clipping at the top level",
     "DeepSpeed runtime/config.py, _do_warning_check", &clip_as_optimizer_parameter},
};
// clang-format on

}  // namespace

std::span<const LintRule> offload_rules() { return kOffloadRules; }

}  // namespace reprobench
