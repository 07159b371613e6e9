// A verb of the command line: declares its options on a CLI11 subcommand and returns what to do once they are parsed.
#pragma once

#include <functional>

#include "matrix/cli/project.hpp"
#include "matrix/cli/text/terminal.hpp"
#include "matrix/contract/exit_code.hpp"

namespace CLI {
class App;
}

namespace reprobench {

// What every verb gets: the global options, resolved when it runs.
struct Context {
  Terminal terminal;
  std::string store = ".reprobench";
  std::vector<std::string> command_line;
};

struct Verb {
  const char* name;
  const char* summary;
  const char* example;
  // Declares options on `app`; the returned action runs after parsing. It keeps its options alive itself.
  std::function<ExitCode()> (*declare)(CLI::App& app, Context& context);
};

std::string version_text();  // "reprobench 0.3.0 (contract 2.0)"

std::function<ExitCode()> declare_run(CLI::App& app, Context& context);
std::function<ExitCode()> declare_plan(CLI::App& app, Context& context);
std::function<ExitCode()> declare_list(CLI::App& app, Context& context);
std::function<ExitCode()> declare_describe(CLI::App& app, Context& context);
std::function<ExitCode()> declare_stack(CLI::App& app, Context& context);
std::function<ExitCode()> declare_image(CLI::App& app, Context& context);
std::function<ExitCode()> declare_qualify(CLI::App& app, Context& context);
std::function<ExitCode()> declare_attest(CLI::App& app, Context& context);
std::function<ExitCode()> declare_verify(CLI::App& app, Context& context);
std::function<ExitCode()> declare_report(CLI::App& app, Context& context);
std::function<ExitCode()> declare_explain(CLI::App& app, Context& context);
std::function<ExitCode()> declare_compare(CLI::App& app, Context& context);
std::function<ExitCode()> declare_bisect(CLI::App& app, Context& context);
std::function<ExitCode()> declare_atlas(CLI::App& app, Context& context);
std::function<ExitCode()> declare_calibrate(CLI::App& app, Context& context);
std::function<ExitCode()> declare_merge(CLI::App& app, Context& context);
std::function<ExitCode()> declare_selftest(CLI::App& app, Context& context);
std::function<ExitCode()> declare_ingest(CLI::App& app, Context& context);
std::function<ExitCode()> declare_lint(CLI::App& app, Context& context);
std::function<ExitCode()> declare_doctor(CLI::App& app, Context& context);
std::function<ExitCode()> declare_db(CLI::App& app, Context& context);
std::function<ExitCode()> declare_schema(CLI::App& app, Context& context);
std::function<ExitCode()> declare_version(CLI::App& app, Context& context);

}  // namespace reprobench
