// reprobench: parses the command line, runs one verb, turns whatever it throws into an exit code.
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/help_text.hpp"
#include "matrix/cli/parse_problem.hpp"
#include "matrix/cli/stored_runs.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/cli/verbs/word_option.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/inquiry/replays.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/spec/files/input_text.hpp"

namespace reprobench {
namespace {

// clang-format off
constexpr Verb kVerbs[] = {
    {"run",      "Plan, execute, judge and report a matrix", "reprobench run --matrix matrix/v2.9.yaml",                  &declare_run},
    {"plan",     "Show the cells of a matrix, each runnable or skipped with its reason", "reprobench plan --matrix matrix/v2.9.yaml --json", &declare_plan},
    {"list",     "List workloads, stacks, knobs, metrics or suites", "reprobench list metrics",                           &declare_list},
    {"describe", "Describe one workload, stack, knob, metric or suite", "reprobench describe stack torch-2.9.0-cu128",    &declare_describe},
    {"stack",    "Install, adopt, list, show, verify or remove stacks", "reprobench stack install torch-2.9.0-cu128",            &declare_stack},
    {"image",    "Check what an image claims to hold against what it holds", "reprobench image inspect pytorch.tar --claims docker/claims/pytorch-2.1.0.yaml", &declare_image},
    {"qualify",  "Run a matrix inside two images and compare the candidate with the reference", "reprobench qualify --candidate image.tar --reference podman:team/pytorch:2.8", &declare_qualify},
    {"attest",   "Write what a run of `qualify` says of its image as an in-toto test result", "reprobench attest RUN --out attestation.json", &declare_attest},
    {"verify",   "Check that an attestation speaks of the image that is to be promoted", "reprobench verify attestation.json image.tar", &declare_verify},
    {"report",   "Write the reports of a run directory", "reprobench report .reprobench/runs/r-20260101-120000-1a2b",     &declare_report},
    {"explain",  "Say why a cell or check ended as it did, or whether a stack exists", "reprobench explain 3f9c1e numerics.repeat_mismatches", &declare_explain},
    {"compare",  "Compare cells, stacks or tensor files, down to operator and element", "reprobench compare torch-2.9.0-cu128 torch-2.8.0-cu128 --explain", &declare_compare},
    {"bisect",   "Find the stack of an ordered axis where bits or speed change", "reprobench bisect --good torch-2.8.0-cu128 --bad torch-2.15.0-cu132 --call native_layer_norm", &declare_bisect},
    {"atlas",    "Show at which shapes operators give other bits, release by release", "reprobench atlas RUN --markdown",   &declare_atlas},
    {"merge",    "Make one run of the runs of a matrix on several hosts", "reprobench merge RUN gpu-a=RUN --out merged", &declare_merge},
    {"calibrate", "Measure how far a training drifts on a stack if one weight is moved by 1 ulp", "reprobench calibrate torch-2.8.0-cu128 --model gpt2", &declare_calibrate},
    {"selftest", "Plant faults on a stack and see that each is found and named", "reprobench selftest --stack torch-2.8.0-cu128", &declare_selftest},
    {"ingest",   "Check what nccl-tests wrote with -J", "reprobench ingest all_reduce.json", &declare_ingest},
    {"lint",     "Judge a DeepSpeed configuration: arithmetic, offload, memory, environment", "reprobench lint ds_config.json --params 7B --world-size 8 --gpu-memory 80GiB", &declare_lint},
    {"doctor",   "Check this host and its stacks, read-only", "reprobench doctor",                                        &declare_doctor},
    {"db",       "Rebuild or list the index over the runs of a store", "reprobench db rebuild",                           &declare_db},
    {"schema",   "Print the JSON Schema of a document", "reprobench schema verdict",                                      &declare_schema},
    {"version",  "Print the version of reprobench and its contract", "reprobench version --json",                         &declare_version},
};
// clang-format on

constexpr const char* kExitCodes =
    "Every verb takes --store DIR (runs, stacks and index; default .reprobench), --color auto|always|never and "
    "--quiet.\n"
    "REPROBENCH_STACKS names the folder of installed stacks, REPROBENCH_ROOT that of the project's files.\n"
    "Exit codes: 0 all checks passed, 1 a check failed, 2 usage or spec error, 3 undecided, 4 nothing ran,\n"
    "            5 store or report I/O, 70 internal bug, 130/143 interrupted.";

ExitCode run_verb(const std::function<ExitCode()>& action, const Terminal& terminal) {
  try {
    return action();
  } catch (const SpecError& error) {
    terminal.error(error.what() + std::string("\n"));
    return ExitCode::usage;
  } catch (const UsageError& error) {
    terminal.error(fmt::format("reprobench: {}\n", error.what()));
    return ExitCode::usage;
  } catch (const ProvisionError& error) {
    terminal.error(fmt::format("reprobench: {}\n", plain_line(error.what())));
    return ExitCode::store;
  } catch (const StoreError& error) {
    terminal.error(fmt::format("store: {}\n", plain_line(error.what())));
    return ExitCode::store;
  } catch (const ContractError& error) {
    terminal.error(fmt::format("store: {}\n", plain_line(error.what())));
    return ExitCode::store;
  } catch (const UnfinishedRun& error) {
    terminal.error(fmt::format("reprobench: {}\n", plain_line(error.what())));
    return ExitCode::undecided;
  } catch (const ReplayFailed& error) {
    terminal.error(fmt::format("reprobench: {}\n", plain_line(error.what())));
    return ExitCode::undecided;
  } catch (const ReplayInterrupted& error) {
    terminal.error(fmt::format("reprobench: {}\n", error.what()));
    return error.was_terminated() ? ExitCode::terminated : ExitCode::interrupted;
  } catch (const std::filesystem::filesystem_error& error) {
    terminal.error(fmt::format("reprobench: {}\n", plain_line(error.what())));
    return ExitCode::store;
  } catch (const std::exception& error) {
    terminal.error(fmt::format("reprobench: internal error: {}\n", plain_line(error.what())));
    return ExitCode::internal_bug;
  }
}

// What could not be written is no answer, so every code becomes 5 except `failed`, which wins over all others;
// undecided and interrupted were no pass before and are none as 5.
ExitCode written_well(const Terminal& terminal, ExitCode code) {
  const std::string problem = terminal.problem();
  if (problem.empty()) return code;
  terminal.error(fmt::format("reprobench: {}\n", problem));
  return code == ExitCode::failed ? code : ExitCode::store;
}

// A file opened while 0, 1 or 2 is closed would take that number, and with it all that is said there.
void reserve_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    if (open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) != fd) {
      _exit(static_cast<int>(ExitCode::store));
    }
  }
}

// "help" is "--help", and "help run" is "run --help". Last word first, as CLI11 takes them.
std::vector<std::string> with_help_as_option(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  std::reverse(words.begin(), words.end());
  return words;
}

// Documents that repeat an argument are UTF-8.
void require_utf8(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (!is_utf8(argv[i])) throw UsageError(fmt::format("argument {} is not UTF-8: {}", i, plain_line(argv[i])));
  }
}

int run(int argc, char** argv) {
  Context context;
  context.command_line.assign(argv, argv + argc);
  CLI::App app{"Do I get the same numbers, speed, memory and communication if I move from stack A to stack B?",
               "reprobench"};
  app.formatter(std::make_shared<HelpFormatter>());
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);
  app.footer(kExitCodes);

  ColorChoice color = ColorChoice::automatic;
  bool quiet = false;
  const std::map<std::string, ColorChoice> choices{
      {"auto", ColorChoice::automatic}, {"always", ColorChoice::always}, {"never", ColorChoice::never}};
  app.add_option("--store", context.store, "Folder of runs, stacks and index")
      ->type_name("DIR")
      ->capture_default_str()
      ->check(
          CLI::Validator([](std::string& folder) { return std::string(folder.empty() ? "name a folder" : ""); }, ""));
  app.add_option("--color", color, "auto, always or never")->transform(one_of_words(choices))->type_name("WHEN=auto");
  app.add_flag("--quiet", quiet, "No progress, only data and errors");
  app.set_version_flag("--version", version_text());
  app.fallthrough();

  std::map<const CLI::App*, std::function<ExitCode()>> actions;
  for (const Verb& verb : kVerbs) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    sub->footer(fmt::format("Example: {}\n\n{}", verb.example, kExitCodes));
    actions[sub] = verb.declare(*sub, context);
  }
  try {
    require_utf8(argc, argv);
    app.parse(with_help_as_option(argc, argv));
  } catch (const CLI::Success& asked_for_help) {
    std::ostringstream help;
    const int code = app.exit(asked_for_help, help, help);
    context.terminal.out(help.str());
    return static_cast<int>(written_well(context.terminal, static_cast<ExitCode>(code)));
  } catch (const UsageError& error) {
    context.terminal.error(fmt::format("reprobench: {}\n", error.what()));
    return static_cast<int>(ExitCode::usage);
  } catch (const CLI::ParseError& error) {
    context.terminal.error(fmt::format("reprobench: {}\n", parse_problem(app, error)));
    return static_cast<int>(ExitCode::usage);
  }
  context.terminal.configure(color, quiet);
  const ExitCode code = run_verb(actions.at(app.get_subcommands().front()), context.terminal);
  return static_cast<int>(written_well(context.terminal, code));
}

}  // namespace
}  // namespace reprobench

int main(int argc, char** argv) {
  reprobench::reserve_standard_descriptors();
  // A closed reader or a file-size limit is an error of one write, not the end of a run.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  return reprobench::run(argc, argv);
}
