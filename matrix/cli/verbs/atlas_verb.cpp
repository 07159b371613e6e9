#include <memory>

#include <CLI/CLI.hpp>

#include "matrix/cli/stored_runs.hpp"
#include "matrix/cli/text/atlas_text.hpp"
#include "matrix/cli/text/orders_text.hpp"
#include "matrix/cli/verbs/verb.hpp"

namespace reprobench {
namespace {

struct AtlasOptions {
  std::string run;
  std::string against;
  bool orders = false;
  bool all = false;
  bool markdown = false;
  bool json = false;
};

ExitCode show_atlas(const AtlasOptions& options, Context& context) {
  const Project project(context.store);
  context.terminal.error(passed_over(project.store(), options.run));
  const RunRecord run = load_run(find_judged_run(project.store(), options.run).string());
  const auto atlas = operator_atlas(run, options.against);
  if (!atlas) throw UsageError("run " + run.info.run_id + " made no operator calls; see matrix/operators.yaml");
  if (options.json) {
    context.terminal.out_document(to_json(*atlas));
  } else if (options.orders) {
    context.terminal.out(orders_text(*atlas, options.all));
  } else {
    context.terminal.out(options.markdown ? atlas_markdown(*atlas)
                                          : atlas_table(*atlas, options.all, context.terminal));
  }
  return ExitCode::passed;
}

}  // namespace

std::function<ExitCode()> declare_atlas(CLI::App& app, Context& context) {
  auto options = std::make_shared<AtlasOptions>();
  app.add_option("run", options->run, "Run id or directory; default: the newest run")->type_name("RUN");
  app.add_option(
         "--against", options->against,
         "Compare every column with this one: a release, a stack or a column's name; default: the run's reference")
      ->type_name("COLUMN");
  app.add_flag("--all", options->all, "Also calls whose bits, or orders, are equal everywhere");
  auto* orders = app.add_flag("--orders", options->orders,
                              "In which order each call adds up, by stack (of the matrix orders.yaml)");
  auto* markdown = app.add_flag("--markdown", options->markdown, "The table as a page")->excludes(orders);
  app.add_flag("--json", options->json, "The atlas as one JSON document (schema: atlas)")->excludes(markdown);
  return [options, &context] { return show_atlas(*options, context); };
}

}  // namespace reprobench
