#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/cli/catalog_text.hpp"
#include "matrix/cli/printed_documents.hpp"
#include "matrix/cli/verb.hpp"
#include "matrix/contract/document/writer.hpp"

namespace reprobench {

std::function<ExitCode()> declare_list(CLI::App& app, Context& context) {
  struct Options {
    std::string kind;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  app.add_option("kind", options->kind, "What to list")->required()->check(CLI::IsMember(kind_names()));
  app.add_flag("--json", options->json, "One JSON document (schema: list)");
  return [options, &context] {
    const std::vector<CatalogEntry> entries = catalog_entries(Project(context.store), options->kind);
    if (options->json) {
      ListDocument list{options->kind, {}};
      for (const CatalogEntry& entry : entries) list.entries.push_back({entry.name, entry.summary});
      context.terminal.out(written(list).dump(2) + "\n");
      return ExitCode::passed;
    }
    std::size_t width = 0;
    for (const CatalogEntry& entry : entries) width = std::max(width, entry.name.size());
    for (const CatalogEntry& entry : entries) {
      context.terminal.out(fmt::format("{:<{}}  {}\n", entry.name, width, entry.summary));
    }
    return ExitCode::passed;
  };
}

std::function<ExitCode()> declare_describe(CLI::App& app, Context& context) {
  struct Options {
    std::string kind;
    std::string name;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  app.add_option("kind", options->kind, "workload, probe, stack, knob, metric, suite or reason")
      ->required()
      ->check(CLI::IsMember(kind_names()));
  app.add_option("name", options->name, "Its name; `reprobench list` shows them")->required();
  app.add_flag("--json", options->json, "The answer is always one JSON document (schema: description)");
  return [options, &context] {
    context.terminal.out(describe_entry(Project(context.store), options->kind, options->name).dump(2) + "\n");
    return ExitCode::passed;
  };
}

}  // namespace reprobench
