#include <atomic>
#include <chrono>
#include <future>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/declared_hybrids.hpp"
#include "matrix/cli/text/install_progress.hpp"
#include "matrix/cli/text/printed_documents.hpp"
#include "matrix/cli/text/progress.hpp"
#include "matrix/cli/text/stack_text.hpp"
#include "matrix/cli/text/text_table.hpp"
#include "matrix/cli/verbs/selection.hpp"
#include "matrix/cli/verbs/stack_adopt.hpp"
#include "matrix/cli/verbs/stack_swap.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/host/detect_host.hpp"
#include "matrix/provision/system_stack.hpp"

namespace reprobench {
namespace {

struct StackOptions {
  std::vector<std::string> names;
  std::string matrix;
  bool all = false;
  bool with_gpu = false;
  bool trust = false;
  bool as_json = false;
};

// The stacks named on the command line, in a matrix's axis, or all of them.
std::vector<StackSpec> chosen_specs(const StackOptions& options, const Project& project) {
  const StackFiles files = project.stack_files();
  std::vector<std::string> names = options.names;
  if (!options.matrix.empty()) {
    for (const Axis& axis : project.matrix(options.matrix, project.vocabulary()).axes) {
      if (axis.name == "stack") names.insert(names.end(), axis.values.begin(), axis.values.end());
    }
  }
  std::vector<StackSpec> chosen;
  for (const std::string& name : names) chosen.push_back(stack_named(files, name));
  if (options.all) {
    for (const auto& [name, broken] : files.broken) files.require_readable(name);
    for (const auto& [name, spec] : files.stacks) chosen.push_back(spec);
  }
  if (chosen.empty())
    throw UsageError("name at least one stack, or --matrix FILE, or --all; `reprobench stack list` shows them");
  return chosen;
}

// Installs one stack; what went wrong, or nothing.
std::string install_one(const StackSpec& spec, const StackOptions& options, bool with_gpu, const Project& project,
                        InstallProgress& progress) {
  StackStore store = project.stack_store();
  if (const std::string problem = store.system_problem(spec); !problem.empty()) {
    progress.finish(spec.name, fmt::format("{}: left out: {}\n", spec.name, problem));
    return "";
  }
  // What was installed, or adopted, is the user's by now (ADR 56).
  if (const std::string folder = folder_not_of_system(spec);
      !folder.empty() && !options.trust && !store.find(spec).complete) {
    return fmt::format(
        "{}: not installed: {} names {}, whose libraries would run; say --trust if the file is yours, or let "
        "`reprobench "
        "stack adopt` find that PyTorch",
        spec.name, spec.mark.file, folder);
  }
  const auto start = std::chrono::steady_clock::now();
  try {
    const InstalledStack stack =
        store.install(spec, with_gpu, [&](const std::string& name, const std::string& phase, double fraction) {
          progress.show(name, phase, fraction);
        });
    progress.finish(
        spec.name, fmt::format("{}: installed, {:.2f} GB, {}\n", spec.name, static_cast<double>(stack.size_bytes) / 1e9,
                               duration_text(std::chrono::steady_clock::now() - start)));
    return "";
  } catch (const ProvisionError& error) {
    progress.finish(spec.name, "");
    return fmt::format("{}: {}", spec.name, error.what());
  }
}

// Two at a time: while one worker compiles, the next stack comes over the network. The others can still be had if one
// fails; the caller sees all that failed.
ExitCode install(const StackOptions& options, const Context& context) {
  constexpr std::size_t kAtATime = 2;
  const Project project(context.store);
  const bool with_gpu = options.with_gpu || !detect_host().gpus.empty();
  const std::vector<StackSpec> specs = chosen_specs(options, project);
  InstallProgress progress(context.terminal);
  std::atomic<std::size_t> next{0};
  std::vector<std::string> failures(specs.size());
  const auto work = [&] {
    for (std::size_t i = next++; i < specs.size(); i = next++) {
      failures[i] = install_one(specs[i], options, with_gpu, project, progress);
    }
  };
  std::vector<std::future<void>> workers;
  for (std::size_t i = 0; i < std::min(kAtATime, specs.size()); ++i) {
    workers.push_back(std::async(std::launch::async, work));
  }
  for (auto& worker : workers) worker.get();
  std::erase(failures, "");
  if (!failures.empty()) throw ProvisionError(fmt::format("{}", fmt::join(failures, "\n")));
  return ExitCode::passed;
}

ExitCode list(const StackOptions& options, const Context& context) {
  const Project project(context.store);
  const StackStore store = project.stack_store();
  StacksDocument listed;
  const StackFiles files = project.stack_files();
  for (const auto& [name, error] : files.broken) {
    context.terminal.error(fmt::format("{}: left out: {}\n", name, plain_line(error.what())));
  }
  for (const auto& [name, spec] : files.stacks) {
    const InstalledStack stack = store.find(spec);
    const std::string problem = store.system_problem(spec);
    const char* const state = !problem.empty()       ? "unavailable"
                              : !stack.complete      ? "not installed"
                              : stack.worker.empty() ? "worker not built"
                                                     : "installed";
    listed.stacks.push_back({name, spec.summary, spec.source, spec.components, state, problem, stack.digest,
                             static_cast<std::int64_t>(stack.size_bytes)});
  }
  if (options.as_json) {
    context.terminal.out_document(written(listed));
    return ExitCode::passed;
  }
  TextTable table("<24 <16<");
  for (const ListedStack& stack : listed.stacks) {
    std::string components;
    for (const auto& [component, version] : stack.components) components += fmt::format(" {} {}", component, version);
    table.row(stack.name, stack.state, components);
    if (stack.source == StackSource::hybrid) table.row("", "= " + stack.summary);
    if (!stack.problem.empty()) table.row("", stack.problem);
  }
  context.terminal.out(table.text());
  return ExitCode::passed;
}

UsageError not_installed(const StackSpec& spec) {
  return UsageError(fmt::format("{} is not installed; run `reprobench stack install {}`", spec.name, spec.name));
}

ExitCode show(const StackOptions& options, const Context& context) {
  const Project project(context.store);
  const StackStore store = project.stack_store();
  const std::vector<StackSpec> specs = chosen_specs(options, project);
  if (options.as_json && specs.size() > 1) throw UsageError("--json shows one stack: name one");
  for (const StackSpec& spec : specs) {
    const InstalledStack stack = store.find(spec);
    if (!stack.complete || stack.worker.empty()) throw not_installed(spec);
    const Capability capability = store.describe(stack);
    if (options.as_json) {
      context.terminal.out_document(to_json(capability));
      continue;
    }
    context.terminal.out(loaded_versions_text(stack, capability));
  }
  return ExitCode::passed;
}

ExitCode verify(const StackOptions& options, const Context& context) {
  const Project project(context.store);
  const StackStore store = project.stack_store();
  bool clean = true;
  for (const StackSpec& spec : chosen_specs(options, project)) {
    const InstalledStack stack = store.find(spec);
    if (!stack.complete) {
      if (!options.all) throw not_installed(spec);
      context.terminal.out(fmt::format("{}: not installed\n", spec.name));
      continue;
    }
    const std::vector<StackFinding> findings = store.verify(stack);
    context.terminal.out(findings_text(spec, findings));
    clean = clean && all_settled(findings);
    const std::string what = spec.source == StackSource::hybrid ? " as " + spec.summary : "";
    if (findings.empty()) context.terminal.out(fmt::format("{}: OK{}\n", spec.name, what));
  }
  return clean ? ExitCode::passed : ExitCode::failed;
}

ExitCode remove(const StackOptions& options, const Context& context) {
  const Project project(context.store);
  const StackStore store = project.stack_store();
  for (const StackSpec& spec : chosen_specs(options, project)) {
    const InstalledStack stack = store.find(spec);
    if (spec.source == StackSource::hybrid) {
      remove_hybrid(project, spec);
    } else if (std::filesystem::exists(stack.folder)) {
      store.remove(stack);
    } else {
      context.terminal.out(fmt::format("{}: not installed, nothing to remove\n", spec.name));
      continue;
    }
    context.terminal.out(fmt::format("{}: removed\n", spec.name));
  }
  return ExitCode::passed;
}

// In the place of the verb's own, which its commands inherit; what follows it stays.
void set_example(CLI::App& command, const std::string& example) {
  const std::string inherited = command.get_footer();
  const std::size_t rest = inherited.find("\n\n");
  command.footer("Example: " + example + (rest == std::string::npos ? "" : inherited.substr(rest)));
}

}  // namespace

std::function<ExitCode()> declare_stack(CLI::App& app, Context& context) {
  struct Action {
    const char* name;
    const char* summary;
    const char* example;
    ExitCode (*run)(const StackOptions&, const Context&);
    bool takes_names;
    bool has_document;
  };
  static constexpr Action kActions[] = {
      {"install", "Fetch by lock, unpack, build the worker; does nothing where all that is done",
       "reprobench stack install torch-2.9.0-cu128", &install, true, false},
      {"list", "All stacks and what this host has of them", "reprobench stack list", &list, false, true},
      {"show", "What an installed stack's worker really loads", "reprobench stack show torch-2.9.0-cu128", &show, true,
       true},
      {"verify", "Declared, compiled and loaded versions and file hashes against each other",
       "reprobench stack verify --all", &verify, true, false},
      {"remove", "Delete an installed stack", "reprobench stack remove torch-2.8.0-cu128", &remove, true, false}};
  app.require_subcommand(1);
  auto options = std::make_shared<StackOptions>();
  for (const Action& action : kActions) {
    CLI::App* sub = app.add_subcommand(action.name, action.summary);
    set_example(*sub, action.example);
    if (action.has_document) {
      sub->add_flag("--json", options->as_json,
                    action.takes_names ? "One JSON document, of one stack" : "One JSON document");
    }
    if (!action.takes_names) continue;
    sub->add_option("names", options->names, "Stacks")->type_name("STACK");
    sub->add_option("--matrix", options->matrix, "All stacks of this matrix file")->type_name("FILE");
    sub->add_flag("--all", options->all, "All stacks");
    if (action.run != &install) continue;
    sub->add_flag("--with-gpu", options->with_gpu, "The GPU libraries too, on a host without a GPU");
    sub->add_flag("--trust", options->trust, "For `source: system`: load libraries of any folder that the file names");
  }
  auto adopted = std::make_shared<AdoptOptions>();
  CLI::App* adopt = app.add_subcommand("adopt", "Take the PyTorch that is there as a stack, and build its worker");
  set_example(*adopt, "reprobench stack adopt --python python3");
  adopt->add_option("name", adopted->name, "What to call the stack")->type_name("NAME")->capture_default_str();
  CLI::Option* of_python =
      adopt->add_option("--python", adopted->python, "The PyTorch of this Python; else that of python3");
  CLI::Option* below =
      adopt->add_option("--prefix", adopted->prefix, "The one below a Python environment or a container's root");
  CLI::Option* in_folder =
      adopt->add_option("--libtorch", adopted->libtorch, "A folder of LibTorch, or `torch` in a site-packages");
  of_python->type_name("PYTHON")->excludes(below)->excludes(in_folder);
  below->type_name("DIR")->excludes(in_folder);
  in_folder->type_name("DIR");
  adopt->add_flag("--with-gpu", adopted->with_gpu, "Its GPU part must be usable, on a host without a GPU too");
  auto swapped = std::make_shared<SwapOptions>();
  CLI::App* swap =
      app.add_subcommand("swap", "A stack of wheels with components of others: a hybrid, a stack of its own");
  set_example(*swap, "reprobench stack swap torch-2.9.0-cu128 --with cudnn=torch-2.8.0-cu128");
  swap->add_option("base", swapped->base, "The stack whose files it has otherwise")->type_name("STACK")->required();
  swap->add_option("--with", swapped->with,
                   "A component and the stack that it is taken from: torch, openmp, cudart, cupti, cudnn, nccl, cublas "
                   "and each other package of NVIDIA's; may be repeated")
      ->type_name("COMPONENT=STACK")
      ->required();
  swap->add_option("--name", swapped->name, "What to call it; default: a name that says what it is of")
      ->type_name("NAME");
  return [options, adopted, swapped, &app, &context] {
    const std::string chosen = app.get_subcommands().front()->get_name();
    if (chosen == "adopt") return adopt_stack(*adopted, context);
    if (chosen == "swap") return swap_components(*swapped, context);
    for (const Action& action : kActions) {
      if (chosen == action.name) return action.run(*options, context);
    }
    throw std::logic_error("a stack action without a row in kActions");
  };
}

}  // namespace reprobench
