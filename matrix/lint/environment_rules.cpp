// The environment a training would be started in: rendezvous variables, ports, GPUs, driver and shared memory.
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/lint/rule.hpp"
#include "matrix/plan/dotted_version.hpp"

namespace reprobench {
namespace {

// For findings about the environment, not the file.
const Mark kNowhere{};

// torchrun and the DeepSpeed launcher set all of them (torch.distributed.init_process_group, env://).
constexpr std::string_view kRendezvous[] = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
constexpr std::string_view kNumbers[] = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT"};

const std::string* variable(const LintSubject& subject, std::string_view name) {
  const auto found = subject.situation.environment.find(std::string(name));
  return found == subject.situation.environment.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> whole_number(const std::string* text) {
  std::int64_t value = 0;
  if (text == nullptr || text->empty()) return std::nullopt;
  const char* end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, value);
  return read.ec == std::errc() && read.ptr == end ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> number_of(const LintSubject& subject, std::string_view name) {
  return whole_number(variable(subject, name));
}

void half_set(const LintSubject& subject, LintFindings& findings) {
  std::vector<std::string_view> set;
  std::vector<std::string_view> missing;
  for (const std::string_view name : kRendezvous) (variable(subject, name) != nullptr ? set : missing).push_back(name);
  if (set.empty() || missing.empty()) return;
  findings.add(kNowhere, fmt::format("{} {} set, {} {} not", fmt::join(set, ", "), set.size() == 1 ? "is" : "are",
                                     fmt::join(missing, ", "), missing.size() == 1 ? "is" : "are"));
}

void impossible_values(const LintSubject& subject, LintFindings& findings) {
  for (const std::string_view name : kNumbers) {
    const std::string* text = variable(subject, name);
    if (text != nullptr && !whole_number(text))
      findings.add(kNowhere, fmt::format("{}={} is no whole number", name, *text));
  }
  const auto below = [&](std::string_view smaller, std::string_view larger) {
    const auto value = number_of(subject, smaller);
    const auto limit = number_of(subject, larger);
    if (value && (*value < 0 || (limit && *value >= *limit))) {
      findings.add(kNowhere, fmt::format("{}={} {}", smaller, *value,
                                         limit ? fmt::format("is not within 0 and {}={} less 1", larger, *limit)
                                               : "is negative"));
    }
  };
  below("RANK", "WORLD_SIZE");
  below("LOCAL_RANK", "LOCAL_WORLD_SIZE");
  const auto port = number_of(subject, "MASTER_PORT");
  if (port && (*port < 1 || *port > 65535)) findings.add(kNowhere, fmt::format("MASTER_PORT={} is no port", *port));
  const auto world = number_of(subject, "WORLD_SIZE");
  const auto local = number_of(subject, "LOCAL_WORLD_SIZE");
  if (world && *world < 1) findings.add(kNowhere, fmt::format("WORLD_SIZE={} is no number of ranks", *world));
  if (world && local && *local > *world) {
    findings.add(kNowhere, fmt::format("LOCAL_WORLD_SIZE={} is more than WORLD_SIZE={}", *local, *world));
  }
}

void other_world_size(const LintSubject& subject, LintFindings& findings) {
  const auto world = number_of(subject, "WORLD_SIZE");
  const auto& asked = subject.situation.world_size;
  if (!world || !asked || *world == asked->value) return;
  findings.add(kNowhere, fmt::format("WORLD_SIZE={} is set, and {} is {}", *world, asked->source, asked->value));
}

void port_taken(const LintSubject& subject, LintFindings& findings) {
  if (subject.situation.master_port_is_taken != true) return;
  if (const auto rank = number_of(subject, "RANK"); rank && *rank != 0) return;  // the master is up, as it should be
  const std::string* port = variable(subject, "MASTER_PORT");
  findings.add(kNowhere, fmt::format("MASTER_PORT={} of this host is in use", port == nullptr ? "" : *port));
}

void fewer_gpus(const LintSubject& subject, LintFindings& findings) {
  const auto& host = subject.situation.host;
  const auto& wanted = subject.situation.gpus_per_host;
  if (!host || host->gpus.empty() || !wanted || wanted->value <= static_cast<std::int64_t>(host->gpus.size())) return;
  findings.add(kNowhere, fmt::format("{} asks for {} GPUs a host, and this one has {}", wanted->source, wanted->value,
                                     host->gpus.size()));
}

void no_gpu(const LintSubject& subject, LintFindings& findings) {
  if (!subject.situation.host || !subject.situation.host->gpus.empty()) return;
  findings.add(kNowhere,
               "this host has no GPU, or no driver that says so: driver, GPU memory and bf16 are not judged by it");
}

void old_driver(const LintSubject& subject, LintFindings& findings) {
  const auto& stack = subject.situation.stack;
  const auto& host = subject.situation.host;
  if (!stack || !host || host->driver.empty() || stack->driver_floor.empty()) return;
  if (!version_less(host->driver, stack->driver_floor)) return;
  findings.add(kNowhere,
               fmt::format("driver {} is under {}, the lowest that runs CUDA {} of {} (torch {})", host->driver,
                           stack->driver_floor, stack->cuda_toolkit, stack->name, stack->torch));
}

void older_than_toolkit(const LintSubject& subject, LintFindings& findings) {
  const auto& stack = subject.situation.stack;
  const auto& host = subject.situation.host;
  if (!stack || !host || host->driver.empty() || stack->driver_bundled.empty()) return;
  if (!stack->driver_floor.empty() && version_less(host->driver, stack->driver_floor)) return;
  if (!version_less(host->driver, stack->driver_bundled)) return;
  findings.add(
      kNowhere,
      fmt::format(
          "driver {} is older than {}, which CUDA {} brings: DeepSpeed's operators that are compiled at run time "
          "need machine code for this GPU, as PTX of that CUDA is not taken",
          host->driver, stack->driver_bundled, stack->cuda_toolkit));
}

// NCCL's and the data loader's segments; Docker gives 64 MiB unless told otherwise.
void small_shared_memory(const LintSubject& subject, LintFindings& findings) {
  constexpr std::int64_t kSmallest = std::int64_t{1} << 30;
  const auto& bytes = subject.situation.shared_memory_bytes;
  if (!bytes || *bytes >= kSmallest) return;
  findings.add(kNowhere, fmt::format("/dev/shm has {:.0f} MiB", static_cast<double>(*bytes) / (1 << 20)));
}

// clang-format off
constexpr LintRule kEnvironmentRules[] = {
    {"DS080", Severity::warning, "rendezvous variables are set in part", "set all of them, or start with torchrun or deepspeed",
     "PyTorch docs, torch.distributed, environment variable initialization", &half_set},
    {"DS081", Severity::error, "rendezvous variables that cannot be", "correct or unset them",
     "PyTorch docs, torch.distributed and torchrun", &impossible_values},
    {"DS082", Severity::error, "another number of ranks than WORLD_SIZE", "unset WORLD_SIZE, or judge for that number", "",
     &other_world_size},
    {"DS083", Severity::error, "the master's port is in use", "stop what holds it, or set MASTER_PORT to a free one",
     "PyTorch docs, torch.distributed", &port_taken},
    {"DS084", Severity::warning, "more GPUs a host than this one has", "ask for as many as there are",
     "", &fewer_gpus},
    {"DS085", Severity::note, "no GPU here", "run this on the machine that trains, or give --gpu-memory", "", &no_gpu},
    {"DS086", Severity::error, "the driver cannot run the stack's CUDA", "install a newer driver, or use a stack of an older CUDA",
     "matrix/facts/compat-facts.json, cuda_minor_version_floor", &old_driver},
    {"DS087", Severity::warning, "a driver older than the stack's CUDA", "build DeepSpeed's operators ahead of time for this GPU, or update the driver",
     "matrix/facts/compat-facts.json, cuda_min_driver_linux", &older_than_toolkit},
    {"DS088", Severity::warning, "little shared memory", "give the container more, as with --shm-size or --ipc=host",
     "NCCL docs, troubleshooting, shared memory", &small_shared_memory},
};
// clang-format on

}  // namespace

std::span<const LintRule> environment_rules() { return kEnvironmentRules; }

}  // namespace reprobench
