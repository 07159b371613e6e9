#include <algorithm>
#include <charconv>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/cli/text/lint_text.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/host/detect_host.hpp"
#include "matrix/lint/lint.hpp"
#include "matrix/lint/machine.hpp"
#include "matrix/lint/option_text.hpp"
#include "matrix/spec/files/input_text.hpp"
#include "matrix/spec/files/json_reader.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kMostRanks = 1'000'000;

struct LintOptions {
  std::string file;
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> gpus_per_host;
  std::string gpu_memory;
  std::string host_memory;
  std::string parameters;
  std::string largest_layer;
  std::string model;
  std::string stack;
  std::string deepspeed;
  std::string offload_root;
  std::vector<std::string> ignored;
  bool strict = false;
  bool json = false;
  bool rules = false;
};

std::int64_t count_of_parameters(const char* option, const std::string& text) {
  const auto count = parameter_count(text);
  if (count) return *count;
  throw UsageError(
      fmt::format("{} must be a number of parameters such as 1300000000, 1.3e9 or 1.3B, got `{}`", option, text));
}

std::int64_t bytes_of(const char* option, const std::string& text) {
  const auto bytes = memory_size(text);
  if (bytes) return *bytes;
  throw UsageError(fmt::format("{} must be a size such as 80GiB, got `{}`", option, text));
}

// "gpt2/124m": what an installed stack's worker says of it; the coordinator itself builds no model.
std::int64_t parameters_of_model(const Project& project, const std::string& model) {
  const std::size_t slash = model.find('/');
  const std::string name = model.substr(0, slash);
  const std::string preset = slash == std::string::npos ? "" : model.substr(slash + 1);
  const StackStore store = project.stack_store();
  bool anyone_asked = false;
  std::vector<std::string> known;
  for (const auto& [stack_name, spec] : project.stacks()) {
    const InstalledStack stack = store.find(spec);
    if (!stack.complete || stack.worker.empty()) continue;
    const auto capability = store.description(stack);
    if (!capability) continue;
    anyone_asked = true;
    for (const WorkloadDescription& workload : capability->workloads) {
      for (const WorkloadPreset& candidate : workload.presets) {
        if (workload.model == name && (preset.empty() || candidate.name == preset)) return candidate.parameters;
        known.push_back(workload.model + "/" + candidate.name);
      }
    }
    break;
  }
  if (!anyone_asked)
    throw UsageError(
        fmt::format("no stack is installed that could say how large `{}` is; install one or give --params", model));
  throw UsageError(unknown_name("workload", model, known));
}

std::optional<SourcedNumber> from_environment(const LintSituation& situation, const char* name) {
  const auto found = situation.environment.find(name);
  if (found == situation.environment.end()) return std::nullopt;
  std::int64_t value = 0;
  const char* end = found->second.data() + found->second.size();
  const auto read = std::from_chars(found->second.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || value < 1 || value > kMostRanks) return std::nullopt;
  return SourcedNumber{value, name};
}

void describe_ranks(const LintOptions& options, LintSituation& situation) {
  situation.world_size = options.world_size ? SourcedNumber{*options.world_size, "--world-size"}
                                            : from_environment(situation, "WORLD_SIZE");
  situation.gpus_per_host = options.gpus_per_host ? SourcedNumber{*options.gpus_per_host, "--gpus-per-host"}
                                                  : from_environment(situation, "LOCAL_WORLD_SIZE");
  const auto& gpus = situation.host->gpus;
  if (!situation.gpus_per_host && !gpus.empty()) {
    situation.gpus_per_host = SourcedNumber{static_cast<std::int64_t>(gpus.size()), "this host"};
  }
}

void describe_memory(const LintOptions& options, LintSituation& situation) {
  const auto& host = *situation.host;
  if (!options.gpu_memory.empty()) {
    situation.gpu_memory_bytes = SourcedNumber{bytes_of("--gpu-memory", options.gpu_memory), "--gpu-memory"};
  } else if (!host.gpus.empty()) {
    const auto smallest = std::ranges::min_element(host.gpus, {}, &GpuFacts::memory_bytes);
    if (smallest->memory_bytes > 0) {
      situation.gpu_memory_bytes = SourcedNumber{smallest->memory_bytes, "this host's " + smallest->name};
    }
  }
  if (!options.host_memory.empty()) {
    situation.host_memory_bytes = SourcedNumber{bytes_of("--host-memory", options.host_memory), "--host-memory"};
  } else if (host.memory_bytes > 0) {
    situation.host_memory_bytes = SourcedNumber{host.memory_bytes, "this host"};
  }
}

void describe_model(const LintOptions& options, const Context& context, LintSituation& situation) {
  if (!options.parameters.empty() && !options.model.empty()) throw UsageError("give --params or --model, not both");
  if (!options.parameters.empty()) situation.parameters = count_of_parameters("--params", options.parameters);
  if (!options.model.empty()) {
    situation.model = options.model;
    situation.parameters = parameters_of_model(Project(context.store), options.model);
  }
  if (!options.largest_layer.empty()) {
    situation.largest_layer = count_of_parameters("--largest-layer", options.largest_layer);
  }
}

LintSituation gather(const LintOptions& options, const Context& context, const DeepSpeedConfig& config) {
  LintSituation situation;
  situation.host = detect_host();
  situation.environment = rendezvous_environment();
  situation.shared_memory_bytes = shared_memory_bytes();
  if (const auto port = situation.environment.find("MASTER_PORT"); port != situation.environment.end()) {
    const auto address = situation.environment.find("MASTER_ADDR");
    situation.master_port_is_taken =
        is_port_taken(address == situation.environment.end() ? "" : address->second, port->second);
  }
  describe_ranks(options, situation);
  describe_memory(options, situation);
  describe_model(options, context, situation);
  for (const std::string& path : offload_paths(config)) situation.folders[path] = look_at_folder(path);
  situation.deepspeed_version = options.deepspeed;
  situation.ignored = options.ignored;
  if (!options.offload_root.empty()) {
    const OffloadFolder root = look_at_folder(options.offload_root);
    if (!root.is_folder) throw UsageError(fmt::format("--offload-root {} is no folder", options.offload_root));
    situation.offload_root = root.resolved;
  }
  if (!options.stack.empty()) {
    const Project project(context.store);
    situation.stack = needs_of(stack_named(project.stack_files(), options.stack), project.facts());
  }
  return situation;
}

ExitCode lint_file(const LintOptions& options, const Context& context) {
  if (options.rules) {
    context.terminal.out(rule_page());
    return ExitCode::passed;
  }
  if (options.file.empty()) throw UsageError("name a DeepSpeed configuration, such as ds_config.json");
  const DeepSpeedConfig config(read_json(read_input_file(options.file, kMaxJsonBytes), options.file));
  for (const std::string& ignored : options.ignored) {
    if (!config.has(ignored)) throw UsageError(fmt::format("--ignore {}: the file has no such key", ignored));
  }
  const LintDocument document = lint(config, options.file, gather(options, context, config));
  if (options.json) {
    context.terminal.out_document(written(document));
  } else {
    context.terminal.out(lint_text(document, context.terminal));
  }
  const bool fails = document.errors > 0 || (options.strict && document.warnings > 0);
  return fails ? ExitCode::failed : ExitCode::passed;
}

}  // namespace

std::function<ExitCode()> declare_lint(CLI::App& app, Context& context) {
  auto options = std::make_shared<LintOptions>();
  app.add_option("config", options->file, "A DeepSpeed configuration")->type_name("DS_CONFIG.json");
  app.add_option("--world-size", options->world_size, "Ranks of the training; default: WORLD_SIZE, where it is set")
      ->check(CLI::Range(std::int64_t{1}, kMostRanks));
  app.add_option("--gpus-per-host", options->gpus_per_host,
                 "Ranks of a host; default: LOCAL_WORLD_SIZE, or this host's GPUs")
      ->check(CLI::Range(std::int64_t{1}, kMostRanks));
  app.add_option("--params", options->parameters, "Parameters of the model: 1300000000, 1.3e9, 1.3B")->type_name("N");
  app.add_option("--largest-layer", options->largest_layer, "Parameters of its largest layer, for stage 3")
      ->type_name("N");
  app.add_option("--model", options->model, "In place of --params: a workload that an installed stack knows")
      ->type_name("MODEL/PRESET");
  app.add_option("--gpu-memory", options->gpu_memory, "Memory of a GPU; default: this host's smallest")
      ->type_name("SIZE");
  app.add_option("--host-memory", options->host_memory, "Memory of a host; default: this host's")->type_name("SIZE");
  app.add_option("--deepspeed", options->deepspeed, "Version of DeepSpeed, for failures that some have")
      ->type_name("VERSION");
  app.add_option("--stack", options->stack, "Hold this host's driver against the CUDA of a stack")->type_name("STACK");
  app.add_option("--offload-root", options->offload_root, "Folder that offload must stay in")->type_name("DIR");
  app.add_option("--ignore", options->ignored, "A key that you answer for: counted, not judged")->type_name("KEY");
  app.add_flag("--strict", options->strict, "Warnings fail too");
  app.add_flag("--json", options->json, "One JSON document (schema: lint)");
  app.add_flag("--rules", options->rules, "The rules, as in matrix/lint/rules.md");
  app.footer(app.get_footer() +
             "\nExit codes of lint: 0 no errors found (with --strict no warnings either), 1 errors found, 2 no such "
             "file, no JSON, "
             "or usage.");
  return [options, &context] { return lint_file(*options, context); };
}

}  // namespace reprobench
