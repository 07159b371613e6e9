#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/cli/stored_runs.hpp"
#include "matrix/cli/verb.hpp"
#include "matrix/contract/plain_text.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/spec/nearest_name.hpp"
#include "matrix/verdict/check.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

struct ExplainOptions {
  std::string cell;
  std::string check;
  std::string run;
  bool as_json = false;
};

const json& cell_named(const json& verdict, const std::string& wanted) {
  const json& cells = verdict.at("cells");
  std::vector<CellName> names;
  for (const json& cell : cells) names.push_back({cell.at("cell_id"), cell.at("slug")});
  if (const auto found = find_cell(names, wanted)) return cells.at(*found);
  std::vector<std::string> slugs;
  for (const CellName& name : names) slugs.push_back(name.slug);
  throw UsageError(unknown_name("cell of this run", wanted, slugs));
}

// What a worker may have said, in lines of ours.
json in_plain_lines(const json& value) {
  if (value.is_string()) return plain_line(value.get_ref<const std::string&>());
  json plain = value;
  if (value.is_structured()) {
    for (json& item : plain) item = in_plain_lines(item);
  }
  return plain;
}

std::string number_or_dash(const json& value) { return value.is_null() ? "-" : value.dump(); }

// As the sentences of a verdict write it: "7.084 ms", "312.4 MiB"; a number that is none by its word.
std::string quantity_text(const json& value, const std::string& unit) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "-" : humanised(value.get<double>(), unit);
}

std::string percent_text(const json& fraction) {
  return fraction.is_number() ? fmt::format("{:.2f} %", fraction.get<double>() * 100) : number_or_dash(fraction);
}

std::string ratio_text(const json& ratio) {
  return ratio.is_number() ? fmt::format("{:.3f}", ratio.get<double>()) : number_or_dash(ratio);
}

std::string check_text(const json& check) {
  std::string text = fmt::format("{}{} · {}{}\n", check.at("metric").get<std::string>(),
                                 check.contains("of") ? " of " + check.at("of").get<std::string>() : "",
                                 check.at("status").get<std::string>(),
                                 check.at("gate") == "record_only" ? " (record only: decides nothing)" : "");
  text += fmt::format("    {}\n", check.at("sentence").get<std::string>());
  text += fmt::format("    bound      {}   set at {}\n", check.at("bound").get<std::string>(),
                      check.at("origin").get<std::string>());
  const auto unit = check.at("unit").get<std::string>();
  text += fmt::format("    measured   {}   reference {}\n", quantity_text(check.at("measured"), unit),
                      quantity_text(check.at("reference"), unit));
  if (!check.at("ratio").is_null()) {
    text += fmt::format("    ratio      x{} [{}, {}]   {} is better\n", ratio_text(check.at("ratio")),
                        ratio_text(check.at("ratio_low")), ratio_text(check.at("ratio_high")),
                        check.at("better").get<std::string>());
  }
  text += fmt::format("    samples    {}   noise {}   margin {}\n", check.at("samples").dump(),
                      percent_text(check.at("noise_rel")), percent_text(check.at("margin_rel")));
  text += fmt::format("    reason     {}\n", check.at("reason").get<std::string>());
  if (const json& divergence = check.at("divergence"); !divergence.is_null()) {
    text += fmt::format("    divergence step {} · {} ({})   against {}\n", divergence.at("step").dump(),
                        divergence.at("tensor").get<std::string>(), divergence.at("role").get<std::string>(),
                        divergence.at("against").get<std::string>());
    text += fmt::format("               digest {}\n               instead of {}\n",
                        divergence.at("measured_digest").get<std::string>(),
                        divergence.at("expected_digest").get<std::string>());
  }
  return text;
}

std::string labelled(const json& measurement) {
  std::string text = measurement.at("operation").get<std::string>();
  for (const auto& [name, value] : measurement.at("labels").items()) {
    text += fmt::format(" {}={}", name, value.get<std::string>());
  }
  return text;
}

// One operation of a probe with every sample it took.
std::string measurement_text(const json& measurement) {
  std::string text = fmt::format("  repeat {} {} · {}\n", measurement.at("repeat").dump(), labelled(measurement),
                                 measurement.at("status").get<std::string>());
  const auto finding = measurement.at("finding").get<std::string>();
  if (!finding.empty()) text += fmt::format("    {}\n", finding);
  if (!measurement.at("error_rel").is_null()) {
    text += fmt::format("    error      {} against fp64, bound {}\n", measurement.at("error_rel").dump(),
                        measurement.at("error_bound_rel").dump());
  }
  if (const json& compared = measurement.at("results_compared"); compared != 0) {
    text += fmt::format("    repeated   {} results compared with the first, {} differ\n", compared.dump(),
                        measurement.at("results_differing").dump());
  }
  if (!measurement.at("peak").is_null()) {
    text += fmt::format("    peak       {} {} ({})\n", measurement.at("peak").dump(),
                        measurement.at("unit").get<std::string>(), measurement.at("peak_source").get<std::string>());
  }
  if (const json& kernels = measurement.at("kernels"); !kernels.empty()) {
    const auto algorithm = measurement.at("algorithm").get<std::string>();
    text += fmt::format("    done by    {}\n", algorithm.empty() ? "kernels that tell no algorithm" : algorithm);
    for (const json& kernel : kernels) text += fmt::format("               {}\n", kernel.get<std::string>());
  }
  std::string samples;
  for (const json& sample : measurement.at("samples")) {
    samples += sample.is_number() ? fmt::format(" {:.5g}", sample.get<double>()) : " " + sample.get<std::string>();
  }
  if (!samples.empty()) {
    text += fmt::format("    samples   {} {}\n", samples, measurement.at("unit").get<std::string>());
  }
  return text;
}

std::string cell_text(const json& cell, const json& checks) {
  std::string text = fmt::format("{}  {}\n", cell.at("cell_id").get<std::string>(), cell.at("slug").get<std::string>());
  text += fmt::format("{} · {}: {}\n", cell.at("outcome").get<std::string>(), cell.at("reason").get<std::string>(),
                      cell.at("sentence").get<std::string>());
  if (!cell.at("reference_cell_id").is_null()) {
    text += fmt::format("compared with cell {}\n", cell.at("reference_cell_id").get<std::string>());
  }
  for (const json& note : cell.at("notes")) text += fmt::format("note: {}\n", note.get<std::string>());
  for (const json& attempt : cell.at("attempts")) {
    const auto injected = attempt.at("injected").get<std::string>();
    const auto detail = attempt.at("detail").get<std::string>();
    text += fmt::format("  repeat {} attempt {}  {}{}  chain {}{}\n", attempt.at("repeat").dump(),
                        attempt.at("attempt").dump(), attempt.at("end").get<std::string>(),
                        detail.empty() ? "" : ": " + detail, attempt.at("chain").get<std::string>(),
                        injected.empty() ? "" : "  planted: " + injected);
  }
  for (const json& check : checks) text += check_text(check);
  if (cell.contains("measurements")) {
    text += "measurements\n";
    for (const json& measurement : cell.at("measurements")) text += measurement_text(measurement);
  }
  return text + fmt::format("reproduce: {}\n", cell.at("reproduce").get<std::string>());
}

ExitCode explain(const ExplainOptions& options, const Context& context) {
  const auto run_folder = find_judged_run(std::filesystem::absolute(context.store), options.run);
  const std::vector<std::string> changed = changed_since_judged(run_folder.string());
  for (const std::string& file : changed) context.terminal.error(file + "\n");
  const ExitCode told = changed.empty() ? ExitCode::passed : ExitCode::undecided;
  const json verdict = load_verdict(run_folder);
  const json& cell = cell_named(verdict, options.cell);
  json checks = json::array();
  std::vector<std::string> metrics;
  for (const json& check : cell.at("checks")) {
    metrics.push_back(check.at("metric"));
    if (options.check.empty() || check.at("metric") == options.check) checks.push_back(check);
  }
  if (!options.check.empty() && checks.empty()) {
    throw UsageError(unknown_name("check of cell " + options.cell, options.check, metrics));
  }
  if (!options.as_json) {
    context.terminal.out(fmt::format("run {}\n", run_folder.filename().string()) +
                         cell_text(in_plain_lines(cell), in_plain_lines(checks)));
    return told;
  }
  json result = document("explain");
  result["run"] = run_folder.filename().string();
  result["cell"] = cell;
  result["cell"]["checks"] = std::move(checks);
  context.terminal.out_document(result);
  return told;
}

}  // namespace

std::function<ExitCode()> declare_explain(CLI::App& app, Context& context) {
  auto options = std::make_shared<ExplainOptions>();
  app.add_option("cell", options->cell, "Cell id, prefix of at least 4 digits, or slug")->required()->type_name("CELL");
  app.add_option("check", options->check, "Only this metric")->type_name("CHECK");
  app.add_option("--run", options->run, "Run id or run directory; default: the newest of the store")->type_name("RUN");
  app.add_flag("--json", options->as_json, "One JSON document (schema: explain)");
  return [options, &context] { return explain(*options, context); };
}

}  // namespace reprobench
