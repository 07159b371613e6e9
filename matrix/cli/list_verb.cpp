#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/cli/catalog_text.hpp"
#include "matrix/cli/printed_documents.hpp"
#include "matrix/cli/verb.hpp"
#include "matrix/contract/document/writer.hpp"

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
  std::size_t width = 0;
  for (const CatalogEntry& entry : entries) width = std::max(width, entry.name.size());
  for (const CatalogEntry& entry : entries) {
    context.terminal.out(fmt::format("{:<{}}  {}\n", entry.name, width, entry.summary));
  }
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

std::function<ExitCode()> declare_describe(CLI::App& app, Context& context) {
  struct Options {
    std::string kind;
    std::string name;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  app.add_option("kind", options->kind, "What kind of thing")->required()->type_name(kinds_text());
  app.add_option("name", options->name, "Its name; `reprobench list` shows them")->required();
  app.add_flag("--json", options->json, "The answer is always one JSON document (schema: description)");
  return [options, &context] {
    context.terminal.out_document(describe_entry(Project(context.store), options->kind, options->name));
    return ExitCode::passed;
  };
}

}  // namespace reprobench
