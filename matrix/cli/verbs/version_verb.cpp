#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/text/catalog_text.hpp"
#include "matrix/cli/text/document_schemas.hpp"
#include "matrix/cli/text/printed_documents.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/record/result_index.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/spec/key_reference.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kSchemaSuffix = ".schema.json";

std::vector<std::string> schema_names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename();
    if (file.ends_with(kSchemaSuffix)) names.push_back(file.substr(0, file.size() - kSchemaSuffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string version_text() {
  return fmt::format("reprobench {} (contract {}.{})", kProjectVersion, kContractVersion.major, kContractVersion.minor);
}

std::function<ExitCode()> declare_version(CLI::App& app, Context& context) {
  auto as_json = std::make_shared<bool>(false);
  app.add_flag("--json", *as_json, "One JSON document (schema: version)");
  return [as_json, &context] {
    if (!*as_json) {
      context.terminal.out(version_text() + "\n");
      return ExitCode::passed;
    }
    const VersionDocument version{.compiler = fmt::format("gcc-compatible {}", __VERSION__)};
    context.terminal.out_document(written(version));
    return ExitCode::passed;
  };
}

std::function<ExitCode()> declare_schema(CLI::App& app, Context& context) {
  auto name = std::make_shared<std::string>();
  auto folder_to_write = std::make_shared<std::string>();
  app.add_option("name", *name,
                 "Document, or a kind of file: matrix, suite, stack, threshold, limits, faults, keys for all; default: "
                 "the documents")
      ->type_name("NAME");
  app.add_option("--write", *folder_to_write, "Write all of them into this folder")->type_name("DIR");
  return [name, folder_to_write, &context] {
    if (!folder_to_write->empty()) {
      for (const DocumentSchema& schema : document_schemas()) {
        const std::string file = std::string(schema.name) + std::string(kSchemaSuffix);
        write_file_atomically(std::filesystem::path(*folder_to_write) / file, schema.text());
      }
      return ExitCode::passed;
    }
    const auto folder = Project(context.store).root() / "matrix" / "contract" / "schema";
    const auto names = schema_names(folder);
    if (name->empty()) {
      for (const std::string& known : names) context.terminal.out(known + "\n");
      return ExitCode::passed;
    }
    if (const std::string keys = key_reference(*name); !keys.empty()) {
      context.terminal.out(keys);
      return ExitCode::passed;
    }
    if (std::find(names.begin(), names.end(), *name) == names.end()) {
      throw UsageError(unknown_name("schema", *name, names));
    }
    context.terminal.out(read_file(folder / (*name + std::string(kSchemaSuffix))));
    return ExitCode::passed;
  };
}

std::function<ExitCode()> declare_db(CLI::App& app, Context& context) {
  app.require_subcommand(1);
  const CLI::App* rebuild = app.add_subcommand("rebuild", "Drop the index and read all run directories again");
  CLI::App* list = app.add_subcommand("list", "The indexed runs, newest first");
  auto as_json = std::make_shared<bool>(false);
  list->add_flag("--json", *as_json, "One JSON document (schema: list)");
  return [rebuild, as_json, &context] {
    const auto store = std::filesystem::absolute(context.store);
    if (rebuild->parsed()) {
      std::vector<std::string> unreadable;
      const int runs = ResultIndex::rebuild(store, &unreadable);
      context.terminal.out(fmt::format("index rebuilt from {} run{}\n", runs, runs == 1 ? "" : "s"));
      for (const std::string& problem : unreadable) {
        context.terminal.error(fmt::format("store: left out: {}\n", plain_line(problem)));
      }
      return unreadable.empty() ? ExitCode::passed : ExitCode::store;
    }
    return list_entries("runs", *as_json, context);
  };
}

}  // namespace reprobench
