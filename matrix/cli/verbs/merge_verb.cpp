#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "matrix/cli/merged_comparisons.hpp"
#include "matrix/cli/report_process.hpp"
#include "matrix/cli/stored_runs.hpp"
#include "matrix/cli/text/topology_text.hpp"
#include "matrix/cli/text/verdict_text.hpp"
#include "matrix/cli/verbs/verb.hpp"
#include "matrix/cli/verdict_files.hpp"
#include "matrix/evidence/run_merge.hpp"
#include "matrix/record/abandoned_files.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/verdict/judge.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

struct MergeOptions {
  std::vector<std::string> runs;  // [LABEL=]RUN
  std::string out;
  bool json = false;
  bool no_report = false;
};

MergeSource load_source(const fs::path& store, const std::string& word) {
  MergeSource source;
  std::string run = word;
  const auto equals = word.find('=');
  if (equals != std::string::npos && !fs::exists(word)) {
    source.label = word.substr(0, equals);
    run = word.substr(equals + 1);
    if (!is_host_label(source.label)) {
      throw UsageError(fmt::format("`{}` is no label of a host: letters, digits, `.`, `_` and `-`", source.label));
    }
  }
  const fs::path folder = find_run(store, run);
  require_not_held(folder, folder.filename().string());
  source.run = load_run(folder.string());
  return source;
}

// Matrix and stack files of every source; one that differs from an earlier one of its name is kept under its run's.
void keep_inputs(RunDirectory& merged, const std::vector<MergeSource>& sources) {
  std::map<std::string, std::string> kept;
  for (const MergeSource& source : sources) {
    const fs::path inputs = fs::path(source.run.folder) / "inputs";
    if (!fs::is_directory(inputs)) continue;
    for (const auto& entry : fs::directory_iterator(inputs)) {
      if (!entry.is_regular_file()) continue;
      const std::string name = entry.path().filename();
      const std::string text = read_file(entry.path());
      const auto [known, is_new] = kept.emplace(name, text);
      if (is_new) merged.keep_input(name, text);
      if (known->second != text) merged.keep_input(source.run.info.run_id + "." + name, text);
    }
  }
}

// Removes what merges left that were killed, and what this one leaves if it fails; its run directory is closed by then.
class AbandonedMerges {
 public:
  explicit AbandonedMerges(fs::path runs) : runs_(std::move(runs)) { remove_abandoned_merges(runs_); }
  AbandonedMerges(const AbandonedMerges&) = delete;
  AbandonedMerges& operator=(const AbandonedMerges&) = delete;
  ~AbandonedMerges() { remove_abandoned_merges(runs_); }

 private:
  fs::path runs_;
};

// It counts as abandoned until it is locked, so the folder of runs is held meanwhile.
RunDirectory create_hidden(const fs::path& store, const fs::path& path, const RunMerge& merge) {
  const FileDescriptor owned = own_hidden_names(path.parent_path());
  return RunDirectory::create(store, path, merge.info, merge.plan);
}

// Everything under a name of its own, judged, and then in one rename where it belongs.
RunVerdict write_merged(const RunMerge& merge, const std::vector<MergeSource>& sources, const fs::path& final_folder,
                        const fs::path& store, const Terminal& terminal) {
  const fs::path building = final_folder.parent_path() / ("." + final_folder.filename().string() + ".merging");
  const AbandonedMerges abandoned(final_folder.parent_path());
  if (fs::exists(building)) require_not_held(building, merge.info.run_id);
  RunDirectory run = create_hidden(store, building, merge);
  for (const MergedAttempt& attempt : merge.attempts) {
    const fs::path source = fs::path(sources[attempt.source].run.folder) / attempt.record->folder;
    const AttemptRecord& record = *attempt.record;
    const std::vector<RankRecord>& ranks = record.segments.empty() ? record.ranks : record.segments.back().ranks;
    const bool names_a_rank = std::any_of(ranks.begin(), ranks.end(), [](const RankRecord& rank) { return !rank.end; });
    run.adopt_attempt(attempt.request, source, record.end, record.detail,
                      names_a_rank ? std::optional(record.ended_by) : std::nullopt);
  }
  for (const CellDiagnosis& diagnosis : merge.diagnoses) run.note_diagnosis(diagnosis);
  keep_inputs(run, sources);
  run.finish(merge.info);
  RunVerdict verdict = judge(load_run(building.string()));
  write_verdict_files(building, verdict);
  const MergedComparisons compared = merged_comparisons(merge, sources);
  for (const std::string& problem : compared.problems) terminal.error(problem + "\n");
  if (!compared.comparisons.empty()) {
    write_file_atomically(building / "comparisons.json", to_json(compared.comparisons).dump(1) + "\n");
  }
  fs::rename(building, final_folder);
  return verdict;
}

// The verdict of an equal merge that was made before; nothing if the folder is free.
std::optional<RunVerdict> already_merged(const fs::path& folder, const std::string& run_id) {
  if (!fs::exists(folder) || (fs::is_directory(folder) && fs::is_empty(folder))) return std::nullopt;
  if (!fs::exists(folder / "run.json")) throw StoreError(folder.string() + " is not empty and holds no run");
  const RunRecord run = load_run(folder.string());
  if (run.info.run_id != run_id) {
    throw StoreError(
        fmt::format("{} already holds run {}, which is not made of these", folder.string(), run.info.run_id));
  }
  return judge(run);
}

std::string hosts_text(const Plan& plan) {
  std::string text;
  for (const PlanHost& host : plan.hosts) {
    const auto cells = std::count_if(plan.cells.begin(), plan.cells.end(), [&](const PlannedCell& planned) {
      const auto at = planned.cell.coordinates.find("host");
      return at != planned.cell.coordinates.end() && at->second == host.label;
    });
    std::string devices = host.facts.cpu_model;
    for (const GpuFacts& gpu : host.facts.gpus) devices += ", " + gpu.name;
    text += fmt::format("host          {}: {} cell{} of run{} {}; {}{}\n", host.label, cells, cells == 1 ? "" : "s",
                        host.runs.size() == 1 ? "" : "s", fmt::join(host.runs, ", "), devices,
                        host.facts.driver.empty() ? "" : "; driver " + host.facts.driver);
  }
  return text + links_text(plan.hosts);
}

ExitCode merge(const MergeOptions& options, Context& context) {
  const Terminal& terminal = context.terminal;
  const Project project(context.store);
  std::vector<MergeSource> sources;
  for (const std::string& word : options.runs) sources.push_back(load_source(project.store(), word));
  RunMerge merge;
  try {
    merge = merge_runs(sources);
  } catch (const MergeRefused& refused) {
    throw UsageError(refused.what());
  }
  merge.info.command_line = context.command_line;
  const fs::path folder =
      fs::absolute(options.out.empty() ? project.store() / "runs" / merge.info.run_id : fs::path(options.out));
  auto verdict = already_merged(folder, merge.info.run_id);
  if (!verdict) {
    fs::create_directories(folder.parent_path());
    verdict = write_merged(merge, sources, folder, project.store(), terminal);
  }
  // Also one that was made before: the call that made it may have been killed right then.
  const bool is_indexed = index_verdict(project, folder, *verdict, terminal);
  if (options.json) {
    terminal.out_document(to_json(*verdict));
  } else {
    terminal.out(
        verdict_text(*verdict, folder, terminal, terminal.paint(hosts_text(merge.plan), Style::dim), context.store));
  }
  if (!options.no_report) {
    const ReportOutcome report = write_reports(project, folder);
    if (!report.problem.empty()) terminal.error(fmt::format("report: {}\n", report.problem));
    terminal.log(report.paths);
  }
  terminal.log(fmt::format("run {}\n", folder.string()));
  return exit_code_of(*verdict, is_indexed);
}

}  // namespace

std::function<ExitCode()> declare_merge(CLI::App& app, Context& context) {
  auto options = std::make_shared<MergeOptions>();
  app.add_option("runs", options->runs,
                 "Run ids or directories of one matrix, from several hosts or as shards; LABEL=RUN names its host")
      ->required()
      ->type_name("[LABEL=]RUN");
  app.add_option("--out", options->out, "Run directory, instead of a new one in the store")->type_name("DIR");
  app.add_flag("--no-report", options->no_report,
               "Leave report.html, summary.md and checks.csv to `reprobench report`");
  app.add_flag("--json", options->json, "The verdict as one JSON document (schema: verdict)");
  return [options, &context] { return merge(*options, context); };
}

}  // namespace reprobench
