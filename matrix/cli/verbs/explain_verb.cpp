#include <cctype>
#include <cmath>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/json_parse.hpp"
#include "matrix/base/plain_text.hpp"
#include "matrix/cli/stored_runs.hpp"
#include "matrix/cli/text/comparison_text.hpp"
#include "matrix/cli/text/printed_documents.hpp"
#include "matrix/cli/text/stack_answer_text.hpp"
#include "matrix/cli/text/text_table.hpp"
#include "matrix/cli/verbs/store_option.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/spec/nearest_name.hpp"
#include "matrix/verdict/quantity_text.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

struct ExplainOptions {
  std::string cell;
  std::vector<std::string> words;  // a metric, or the components of a question about a stack
  std::string run;
  bool as_json = false;
};

// What a worker may have said, in lines of ours.
json in_plain_lines(const json& value) {
  if (value.is_string()) return plain_line(value.get_ref<const std::string&>());
  json plain = value;
  if (value.is_structured()) {
    for (json& item : plain) item = in_plain_lines(item);
  }
  return plain;
}

// As JSON has it; one that is not finite by its word.
std::string number_text(double value) {
  const json number = json_number(value);
  return number.is_string() ? number.get<std::string>() : number.dump();
}

// As the sentences of a verdict write it: "7.084 ms", "312.4 MiB".
std::string quantity_text(const std::optional<double>& value, const std::string& unit) {
  if (!value) return "-";
  return std::isfinite(*value) ? humanised(*value, unit) : number_text(*value);
}

std::string percent_text(const std::optional<double>& fraction) {
  if (!fraction) return "-";
  return std::isfinite(*fraction) ? fmt::format("{:.2f} %", *fraction * 100) : number_text(*fraction);
}

std::string ratio_text(const std::optional<double>& ratio) {
  if (!ratio) return "-";
  return std::isfinite(*ratio) ? fmt::format("{:.3f}", *ratio) : number_text(*ratio);
}

constexpr const char* kOfCheck = "    <10 <13  <";

// Where a step's time went.
std::string phase_text(const StepPhase& phase) {
  const std::string text =
      fmt::format("{}   reference {}", quantity_text(phase.measured_ns, "ns"), quantity_text(phase.reference_ns, "ns"));
  if (!phase.ratio) return text;
  return text + fmt::format("   x{} [{}, {}]", ratio_text(phase.ratio), ratio_text(phase.ratio_low),
                            ratio_text(phase.ratio_high));
}

std::string check_text(const CheckResult& check) {
  TextTable table(kOfCheck);
  table.line("{}{} · {}{}", check.metric, check.of.empty() ? "" : " of " + check.of, to_string(check.status),
             check.gate == Gate::record_only ? " (record only: decides nothing)" : "");
  table.line("    {}", check.sentence);
  table.say("bound", "{}   set at {}", check.bound, check.origin);
  table.say("measured", "{}   reference {}", quantity_text(check.measured, check.unit),
            quantity_text(check.reference, check.unit));
  if (check.ratio) {
    table.say("ratio", "x{} [{}, {}]   {} is better", ratio_text(check.ratio), ratio_text(check.ratio_low),
              ratio_text(check.ratio_high), to_string(check.better));
  }
  for (const StepPhase& phase : check.phases) {
    table.row(&phase == &check.phases.front() ? "phases" : "", phase.phase, phase_text(phase));
  }
  table.say("samples", "{}   noise {}   margin {}", check.samples, percent_text(check.noise_rel),
            percent_text(check.margin_rel));
  table.row("reason", check.reason);
  if (const auto& divergence = check.divergence) {
    table.say("divergence", "step {} · {} ({})   against {}", divergence->step, divergence->tensor, divergence->role,
              divergence->against);
    table.row("", "digest " + divergence->measured_digest);
    table.row("", "instead of " + divergence->expected_digest);
  }
  return table.text();
}

// One operation of a probe with every sample it took.
std::string measurement_text(const RepeatedMeasurement& repeated) {
  const ProbeMeasurement& measurement = repeated.measurement;
  std::string labels;
  for (const auto& [name, value] : measurement.labels) labels += fmt::format(" {}={}", name, value);
  TextTable table(kOfCheck);
  table.line("  repeat {} {}{} · {}", repeated.repeat, measurement.operation, labels, to_string(measurement.status));
  if (!measurement.finding.empty()) table.line("    {}", measurement.finding);
  if (measurement.error_rel) {
    table.say("error", "{} against fp64, bound {}", number_text(*measurement.error_rel),
              measurement.error_bound_rel ? number_text(*measurement.error_bound_rel) : "-");
  }
  if (measurement.results_compared != 0) {
    table.say("repeated", "{} results compared with the first, {} differ", measurement.results_compared,
              measurement.results_differing);
  }
  if (measurement.peak) {
    table.say("peak", "{} {} ({})", number_text(*measurement.peak), measurement.unit, measurement.peak_source);
  }
  if (!measurement.algorithm_unknown.empty()) {
    table.row("done by", "not known: " + measurement.algorithm_unknown);
  } else if (!measurement.kernels.empty()) {
    table.row("done by", measurement.algorithm.empty() ? "kernels that tell no algorithm" : measurement.algorithm);
  }
  for (const std::string& kernel : measurement.kernels) table.row("", kernel);
  std::string samples;
  for (const double sample : measurement.samples) {
    samples += (std::isfinite(sample) ? fmt::format("{:.5g}", sample) : number_text(sample)) + " ";
  }
  if (!samples.empty()) table.row("samples", samples + measurement.unit);
  return table.text();
}

std::string cell_text(const CellVerdict& cell, const std::string& store) {
  std::string text = fmt::format("{}  {}\n", cell.cell_id, cell.slug);
  text += fmt::format("{} · {}: {}\n", to_string(cell.outcome), cell.reason, cell.sentence);
  if (cell.reference_cell_id) text += fmt::format("compared with cell {}\n", *cell.reference_cell_id);
  for (const std::string& note : cell.notes) text += fmt::format("note: {}\n", note);
  for (const AttemptSummary& attempt : cell.attempts) {
    text += fmt::format("  repeat {} attempt {}  {}{}  chain {}{}\n", attempt.repeat, attempt.attempt,
                        to_string(attempt.end), attempt.detail.empty() ? "" : ": " + attempt.detail, attempt.chain,
                        attempt.injected.empty() ? "" : "  planted: " + attempt.injected);
    for (const std::string& link : attempt.links) text += TextTable(kOfCheck).row("link", link).text();
  }
  for (const CheckResult& check : cell.checks) text += check_text(check);
  if (!cell.measurements.empty()) text += "measurements\n";
  for (const RepeatedMeasurement& measurement : cell.measurements) text += measurement_text(measurement);
  return text + fmt::format("reproduce: {}\n", in_store(cell.reproduce, store));
}

// What `compare RUN` found of the cell and left beside the verdict, which does not rest on it.
std::string comparisons_text(const std::filesystem::path& run_folder, const std::string& cell,
                             const Terminal& terminal) {
  const auto file = run_folder / "comparisons.json";
  if (!std::filesystem::exists(file)) return "";
  std::string text;
  try {
    const json document = json_or_discarded(read_file(file));
    for (const CellComparison& comparison : comparisons_from_json(in_plain_lines(document))) {
      if (comparison.measured == cell) text += to_text(comparison, terminal);
    }
  } catch (const ContractError& error) {
    terminal.error(fmt::format("comparisons.json is not shown: {}\n", error.what()));
  }
  return text;
}

constexpr const char* kStackWord = "stack";

// Behind a cell stands a metric, as `device.bandwidth`; behind `stack` anything else is meant as versions.
bool asks_of_stack(const ExplainOptions& options) {
  if (options.cell != kStackWord || options.words.empty()) return false;
  const std::string& word = options.words.front();
  const bool is_metric = word.find_first_of("= ") == std::string::npos && word.find('.') != std::string::npos &&
                         std::islower(static_cast<unsigned char>(word.front())) != 0;
  return !is_metric;
}

// `stack` alone is a question that was not asked, unless the run has a cell of this name.
void require_question(const ExplainOptions& options, const RunVerdict& verdict) {
  const auto is_named_so = [](const CellVerdict& cell) { return cell.slug == kStackWord; };
  if (options.cell != kStackWord || std::ranges::any_of(verdict.cells, is_named_so)) return;
  throw UsageError("explain stack needs a question, such as: reprobench explain stack 'torch=2.9 cuda=12.8'");
}

ExitCode explain_stack(const ExplainOptions& options, const Context& context) {
  if (!options.run.empty()) throw UsageError("a question about a stack is answered by the facts, not by a run");
  const StackClaims claims = parse_stack_question(fmt::format("{}", fmt::join(options.words, " ")));
  const StackAnswer answer = answer_stack_question(claims, Project(context.store).facts());
  if (options.as_json) {
    context.terminal.out_document(written(answer));
  } else {
    context.terminal.out(to_text(answer, context.terminal));
  }
  switch (answer.overall) {
    case StackExists::exists:
      return ExitCode::passed;
    case StackExists::contradicted:
      return ExitCode::failed;
    case StackExists::unknown:
      break;
  }
  return ExitCode::undecided;
}

ExitCode explain(const ExplainOptions& options, const Context& context) {
  if (asks_of_stack(options)) return explain_stack(options, context);
  if (options.words.size() > 1) throw UsageError("one check of a cell is explained at a time");
  const std::string check_named = options.words.empty() ? "" : options.words.front();
  context.terminal.error(passed_over(context.store, options.run));
  const auto run_folder = find_judged_run(std::filesystem::absolute(context.store), options.run);
  const std::vector<std::string> changed = changed_since_judged(run_folder.string());
  for (const std::string& file : changed) context.terminal.error(file + "\n");
  const ExitCode told = changed.empty() ? ExitCode::passed : ExitCode::undecided;
  const RunVerdict verdict = load_verdict(run_folder);
  require_question(options, verdict);
  ExplainDocument explained{run_folder.filename().string(), cell_named(verdict, options.cell)};
  std::vector<CheckResult>& checks = explained.cell.checks;
  if (!check_named.empty()) {
    std::vector<std::string> metrics;
    for (const CheckResult& check : checks) metrics.push_back(check.metric);
    std::erase_if(checks, [&](const CheckResult& check) { return check.metric != check_named; });
    if (checks.empty()) throw UsageError(unknown_name("check of cell " + options.cell, check_named, metrics));
  }
  if (options.as_json) {
    context.terminal.out_document(written(explained));
    return told;
  }
  const auto cell = read_document<CellVerdict>(in_plain_lines(written(explained.cell)));
  std::string text = fmt::format("run {}\n", explained.run) + cell_text(cell, context.store);
  const std::string name = fmt::format("{}:{}", verdict.info.run_id, cell.cell_id);
  if (check_named.empty()) text += comparisons_text(run_folder, name, context.terminal);
  context.terminal.out(text);
  return told;
}

}  // namespace

std::function<ExitCode()> declare_explain(CLI::App& app, Context& context) {
  auto options = std::make_shared<ExplainOptions>();
  app.add_option("cell", options->cell,
                 "Cell id, prefix of at least 4 digits, or slug; or `stack`, and a question behind it")
      ->required()
      ->type_name("CELL");
  app.add_option("check", options->words,
                 "Only this metric; after `stack`: NAME=VERSION of what the stack is claimed to have")
      ->type_name("CHECK");
  app.add_option("--run", options->run, "Run id or run directory; default: the newest of the store")->type_name("RUN");
  app.add_flag("--json", options->as_json, "One JSON document (schema: explain; of a stack: stack_answer)");
  std::string names;
  for (const ClaimableComponent& component : claimable_components()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", component.name);
  }
  app.footer(
      app.get_footer() +
      fmt::format(
          "\nOf a cell: 0 it is explained, whatever came of it; 3 files of the run changed since it was judged."
          "\nTo ask about a stack: reprobench explain stack 'torch=2.9 cuda=11.8 driver=525' is answered by the "
          "facts and needs no run. Names: {}. Exit codes then: 0 such a stack exists, 1 contradicted, 2 usage or "
          "facts that contradict each other, 3 unknown, or it depends on what the question leaves open.",
          names));
  return [options, &context] { return explain(*options, context); };
}

}  // namespace reprobench
