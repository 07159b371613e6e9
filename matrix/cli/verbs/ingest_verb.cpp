#include <memory>

#include <CLI/CLI.hpp>

#include "matrix/cli/text/ingest_text.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/spec/files/input_text.hpp"
#include "matrix/spec/files/json_reader.hpp"

namespace reprobench {
namespace {

struct IngestOptions {
  std::vector<std::string> files;
  std::vector<std::string> against;
  double margin_percent = 5;
};

std::vector<NcclTestsFile> read_files(const std::vector<std::string>& paths) {
  std::vector<NcclTestsFile> files;
  for (const std::string& path : paths) {
    files.push_back(read_nccl_tests(read_input_file(path, kMaxJsonBytes), path));
  }
  return files;
}

ExitCode exit_code_of(CheckStatus status) {
  if (status == CheckStatus::failed) return ExitCode::failed;
  return status == CheckStatus::passed ? ExitCode::passed : ExitCode::undecided;
}

// failed wins over inconclusive, and that over passed.
CheckStatus worse(CheckStatus a, CheckStatus b) {
  if (a == CheckStatus::failed || b == CheckStatus::failed) return CheckStatus::failed;
  return a == CheckStatus::passed ? b : a;
}

ExitCode ingest_files(const IngestOptions& options, const Context& context) {
  CheckStatus status = CheckStatus::passed;
  const std::vector<NcclTestsFile> measured = read_files(options.files);
  const std::vector<NcclTestsFile> reference = read_files(options.against);
  for (const auto* files : {&measured, &reference}) {
    for (const NcclTestsFile& file : *files) {
      context.terminal.out(ingest_text(file, context.terminal));
      status = worse(status, file.status());
    }
  }
  if (!reference.empty()) {
    const NcclTestsComparison comparison = compare_nccl_tests(measured, reference, options.margin_percent / 100);
    context.terminal.out(ingest_comparison_text(comparison, context.terminal));
    status = worse(status, comparison.status());
  }
  return exit_code_of(status);
}

}  // namespace

std::function<ExitCode()> declare_ingest(CLI::App& app, Context& context) {
  auto options = std::make_shared<IngestOptions>();
  app.add_option("files", options->files, "What nccl-tests wrote with -J")->type_name("NCCL_TESTS.json")->required();
  app.add_option("--against", options->against, "Files of the reference; the n-th is paired with the n-th measured one")
      ->type_name("NCCL_TESTS.json");
  app.add_option("--margin", options->margin_percent, "How much longer a size may take, in percent")
      ->check(CLI::Range(0.1, 100.0))
      ->capture_default_str();
  app.footer(app.get_footer() +
             "\nExit codes of ingest: 0 every row was checked and right and none is slower, 1 a wrong result, a floor "
             "of nccl-tests' own "
             "missed, or\na size that takes longer than the margin allows, 2 no "
             "such file,\nfigures that contradict each other or usage, 3 something was not checked, not measured or "
             "is missing, or\nfewer than six pairs of files.");
  return [options, &context] { return ingest_files(*options, context); };
}

}  // namespace reprobench
