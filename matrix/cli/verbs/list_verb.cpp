#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/cli/text/catalog_text.hpp"
#include "matrix/cli/text/printed_documents.hpp"
#include "matrix/cli/text/text_table.hpp"
#include "matrix/cli/text/topology_text.hpp"
#include "matrix/cli/verbs/max_batch.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/plan/batch_fit.hpp"

namespace reprobench {
namespace {

// "workloads|probes|stacks": for the usage line.
std::string kinds_text() {
  std::string text;
  for (const std::string& name : kind_names()) {
    if (name.ends_with('s')) text += (text.empty() ? "" : "|") + name;
  }
  return text;
}

}  // namespace

ExitCode list_entries(const std::string& kind, bool as_json, const Context& context) {
  const std::vector<CatalogEntry> entries = catalog_entries(Project(context.store), kind);
  if (as_json) {
    ListDocument list{kind, {}};
    for (const CatalogEntry& entry : entries) list.entries.push_back({entry.name, entry.summary});
    context.terminal.out_document(written(list));
    return ExitCode::passed;
  }
  if (entries.empty()) context.terminal.log(fmt::format("there are no {}{}\n", kind, kind.ends_with('s') ? "" : "s"));
  TextTable table("<  <");
  for (const CatalogEntry& entry : entries) table.row(entry.name, entry.summary);
  context.terminal.out(table.text());
  return ExitCode::passed;
}

std::function<ExitCode()> declare_list(CLI::App& app, Context& context) {
  struct Options {
    std::string kind;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  app.add_option("kind", options->kind, "What to list")->required()->type_name(kinds_text());
  app.add_flag("--json", options->json, "One JSON document (schema: list)");
  return [options, &context] { return list_entries(options->kind, options->json, context); };
}

namespace {

struct DescribeOptions {
  std::string kind;
  bool is_about_batches = false;
  MaxBatchOptions batches;  // its model is the name
  std::string sysfs;
  std::string nccl_log;
};

ExitCode describe(const DescribeOptions& options, const Context& context) {
  if (options.kind == "topology") {
    if (!options.batches.model.empty()) throw UsageError("this machine has one topology: it has no name");
    return describe_topology({options.sysfs, options.nccl_log, options.batches.json}, context);
  }
  if (options.batches.model.empty()) throw UsageError(nameless_text(Project(context.store), options.kind));
  if (options.sysfs != "/sys" || !options.nccl_log.empty()) {
    throw UsageError(fmt::format("--sysfs and --nccl-log go with topology, not with a {}", options.kind));
  }
  if (options.is_about_batches) {
    if (options.kind != "workload" && options.kind != "workloads") {
      throw UsageError(fmt::format("--max-batch goes with a workload, not with a {}", options.kind));
    }
    return max_batch(options.batches, context);
  }
  context.terminal.out_document(describe_entry(Project(context.store), options.kind, options.batches.model));
  return ExitCode::passed;
}

}  // namespace

std::function<ExitCode()> declare_describe(CLI::App& app, Context& context) {
  auto options = std::make_shared<DescribeOptions>();
  MaxBatchOptions& batches = options->batches;
  app.add_option("kind", options->kind, "What kind of thing")->required()->type_name(kinds_text() + "|topology");
  app.add_option("name", batches.model,
                 "Its name, as `reprobench list KIND` shows it; `topology`, which is this machine's, has none");
  app.add_option("--sysfs", options->sysfs, "With topology: a copy of /sys to read instead; NVML is then not asked")
      ->default_val("/sys")
      ->check(CLI::ExistingDirectory);
  app.add_option("--nccl-log", options->nccl_log,
                 "With topology: a log written with NCCL_DEBUG=INFO; adds what connects each two ranks")
      ->check(CLI::ExistingFile);
  CLI::Option* asks =
      app.add_flag("--max-batch", options->is_about_batches,
                   "With a workload: its largest batch that fits into memory, as the stack's worker predicts");
  app.add_option("--preset", batches.preset, "With --max-batch: the workload's preset; default: its first")
      ->needs(asks);
  app.add_option("--stack", batches.stack,
                 "With --max-batch: the stack whose worker predicts; default: the first that is installed")
      ->needs(asks);
  app.add_option("--batch", batches.batch_size, "Does this batch fit, and how can it be trained if not?")
      ->check(CLI::Range(std::int64_t{1}, kLargestBatch))
      ->needs(asks);
  app.add_option("--memory", batches.memory, "The memory it must fit into; default: what is free here")
      ->type_name("SIZE")
      ->needs(asks);
  app.add_option("--knob", batches.knobs, "A knob of the training, may be repeated")
      ->type_name("NAME=VALUE")
      ->needs(asks);
  app.add_option("--worker", batches.workers, "Ask this command instead of the stack's installed worker")
      ->type_name("STACK=COMMAND")
      ->needs(asks);
  app.add_flag("--json", batches.json,
               "One JSON document: the answer always is one (schema: description), but for --max-batch (batch_fit) and "
               "topology");
  app.footer(app.get_footer() +
             "\nExit codes of --max-batch: 0 a batch fits (with --batch: that one fits, or a way to train it does), 1 "
             "none does, 3 it cannot be predicted.");
  return [options, &context] { return describe(*options, context); };
}

}  // namespace reprobench
