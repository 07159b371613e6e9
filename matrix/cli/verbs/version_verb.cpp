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

ExitCode write_schemas(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const DocumentSchema& schema : document_schemas()) {
    const auto file = folder / (std::string(schema.name) + ".schema.json");
    write_file_atomically(file, schema.text());
    // An image is built by one user and run by another.
    permissions(file, std::filesystem::perms::group_read | std::filesystem::perms::others_read,
                std::filesystem::perm_options::add);
  }
  return ExitCode::passed;
}

std::string schema_text(const std::string& name) {
  std::vector<std::string> names;
  for (const DocumentSchema& schema : document_schemas()) {
    if (schema.name == name) return schema.text();
    names.emplace_back(schema.name);
  }
  throw UsageError(unknown_name("schema", name, names));
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
                 fmt::format("Document, or a kind of file for its keys: {}; default: the documents",
                             fmt::join(key_reference_names(), ", ")))
      ->type_name("NAME");
  app.add_option("--write", *folder_to_write, "Write all of them into this folder")->type_name("DIR");
  return [name, folder_to_write, &context] {
    if (!folder_to_write->empty()) return write_schemas(*folder_to_write);
    if (name->empty()) {
      for (const DocumentSchema& known : document_schemas()) context.terminal.out(std::string(known.name) + "\n");
      return ExitCode::passed;
    }
    const std::string keys = key_reference(*name);
    context.terminal.out(keys.empty() ? schema_text(*name) : keys);
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
        context.terminal.error(fmt::format("store: not in the index: {}\n", plain_line(problem)));
      }
      return unreadable.empty() ? ExitCode::passed : ExitCode::store;
    }
    return list_entries("runs", *as_json, context);
  };
}

}  // namespace reprobench
