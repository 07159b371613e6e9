#include "matrix/cli/text/catalog_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/contract/knob.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/contract/reason.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/plan/coverage.hpp"
#include "matrix/record/result_index.hpp"
#include "matrix/record/verdict_seal.hpp"
#include "matrix/spec/nearest_name.hpp"
#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {
namespace {

using nlohmann::json;
using Entries = std::vector<CatalogEntry>;

Entries metric_entries(const Project&) {
  Entries entries;
  for (const MetricInfo& metric : metric_infos()) {
    const char* better = metric.better == Better::lower ? "lower" : "higher";
    entries.push_back({std::string(metric.name),
                       fmt::format("{} [{}, {} is better]", metric.summary, metric.unit, better),
                       {{"summary", metric.summary},
                        {"unit", metric.unit},
                        {"better", better},
                        {"dimension", to_string(metric.dimension)}}});
  }
  return entries;
}

Entries reason_entries(const Project&) {
  Entries entries;
  for (const ReasonInfo& reason : kReasons) {
    entries.push_back({std::string(reason.code),
                       fmt::format("{}: {}", to_string(reason.of), reason.meaning),
                       {{"summary", reason.meaning}, {"of", to_string(reason.of)}}});
  }
  return entries;
}

Entries knob_entries(const Project&) {
  Entries entries;
  for (const Knob& knob : knobs()) {
    constexpr const char* kNumbers[] = {"a positive integer", "an integer from 0 on", "a number from 0 on"};
    const std::string values = knob.values.empty() ? kNumbers[static_cast<std::size_t>(knob.numbers)]
                                                   : fmt::format("{}", fmt::join(knob.values, ", "));
    entries.push_back({std::string(knob.name),
                       fmt::format("{}: {} (default {})", knob.summary, values, knob.default_value),
                       {{"summary", knob.summary}, {"values", knob.values}, {"default", knob.default_value}}});
  }
  return entries;
}

Entries suite_entries(const Project& project) {
  Entries entries;
  for (const auto& [name, suite] : project.suites()) {
    json workloads = json::array();
    for (const WorkloadRequest& workload : suite.workloads) workloads.push_back(to_json(workload));
    json thresholds = json::array();
    for (const ThresholdRule& rule : suite.thresholds) {
      thresholds.push_back({{"metric", rule.metric},
                            {"of", rule.of.text()},
                            {"bound", rule.bound ? rule.bound->text : ""},
                            {"gate", rule.gate == Gate::armed ? "armed" : "record_only"},
                            {"where", rule.where.text()},
                            {"origin", to_string(rule.mark)}});
    }
    entries.push_back({name,
                       suite.description,
                       {{"summary", suite.description},
                        {"workloads", std::move(workloads)},
                        {"knobs", suite.knobs},
                        {"trace", to_string(suite.trace)},
                        {"repeat", suite.repeat},
                        {"max_repeat", suite.max_repeat},
                        {"exclusive", suite.exclusive},
                        {"turns", suite.turns},
                        {"thresholds", std::move(thresholds)}}});
  }
  return entries;
}

json coverage_json(const StackSpec& stack, const CompatFacts& facts) {
  json list = json::array();
  for (const DeviceCoverage& coverage : coverage_of_stack(stack, facts)) {
    list.push_back({{"device", coverage.device},
                    {"compute", to_string(coverage.compute)},
                    {"collectives", to_string(coverage.collectives)},
                    {"driver_at_least", coverage.driver_at_least}});
  }
  return list;
}

Entries stack_entries(const Project& project) {
  Entries entries;
  const CompatFacts facts = project.facts();
  const StackCatalog catalog = project.catalog();
  for (const auto& [name, spec] : catalog.stacks) {
    const StackAvailability& availability = catalog.availability.at(name);
    const std::string state = availability.installed         ? "installed"
                              : availability.problem.empty() ? "not installed"
                                                             : availability.problem;
    entries.push_back({name,
                       fmt::format("{} [{}]", spec.summary, state),
                       {{"summary", spec.summary},
                        {"source", to_string(spec.source)},
                        {"components", spec.components},
                        {"cxx11_abi", spec.cxx11_abi},
                        {"cxx_standard", spec.cxx_standard},
                        {"coverage", coverage_json(spec, facts)},
                        {"state", state}}});
  }
  return entries;
}

std::vector<std::string> suites_that_run(const std::map<std::string, SuiteSpec>& suites, std::string_view workload) {
  std::vector<std::string> users;
  for (const auto& [name, suite] : suites) {
    const bool uses = std::ranges::any_of(suite.workloads,
                                          [&](const WorkloadRequest& request) { return request.name() == workload; });
    if (uses) users.push_back(name);
  }
  return users;
}

Entries probe_entries(const Project& project) {
  const auto suites = project.suites();
  Entries entries;
  for (const ProbeInfo& probe : probes()) {
    const std::vector<std::string> users = suites_that_run(suites, probe.name);
    json operations = json::array();
    for (const ProbeOperation& operation : probe.operations) {
      operations.push_back({{"name", operation.name}, {"unit", operation.unit}, {"summary", operation.summary}});
    }
    const std::string summary = fmt::format("{}; in the suites {}", probe.summary, fmt::join(users, ", "));
    entries.push_back({std::string(probe.name),
                       summary,
                       {{"summary", summary},
                        {"suites", users},
                        {"presets", std::vector<std::string>(probe.presets.begin(), probe.presets.end())},
                        {"operations", std::move(operations)}}});
  }
  return entries;
}

// A workload's shape is known to the workers; what every checkout knows is its name and which suites run it.
Entries workload_entries(const Project& project) {
  const auto suites = project.suites();
  Entries entries;
  for (const std::string& model : project.vocabulary().models) {
    const std::vector<std::string> users = suites_that_run(suites, model);
    CatalogEntry entry{model, fmt::format("in the suites {}", fmt::join(users, ", ")), {{"suites", users}}};
    const StackStore store = project.stack_store();
    for (const auto& [stack_name, spec] : project.stacks()) {
      const InstalledStack stack = store.find(spec);
      if (!stack.complete || stack.worker.empty()) continue;
      for (const WorkloadDescription& workload : store.describe(stack).workloads) {
        if (workload.model != model) continue;
        entry.summary = fmt::format("{}; {}", workload.summary, entry.summary);
        json presets = json::array();
        for (const WorkloadPreset& preset : workload.presets) {
          presets.push_back(
              {{"name", preset.name}, {"parameters", preset.parameters}, {"batch_size", preset.batch_size}});
        }
        entry.details["presets"] = std::move(presets);
        if (!workload.takes_data.empty()) entry.details["takes_data"] = workload.takes_data;
        if (!workload.takes_weights.empty()) entry.details["takes_weights"] = workload.takes_weights;
      }
      break;
    }
    entry.details["summary"] = entry.summary;
    entries.push_back(std::move(entry));
  }
  return entries;
}

Entries fault_entries(const Project&) {
  Entries entries;
  for (const InjectionKind& kind : injection_kinds()) {
    const std::string summary = kind.of_probe ? "in a probe: `tensor` names one of its operations"
                                : kind.names_parameter
                                    ? "in a parameter: `tensor` names it, `element` one of its elements"
                                    : "in a training step";
    entries.push_back({std::string(kind.name), summary, {{"summary", summary}}});
  }
  return entries;
}

// As the run's folder has it now: the index remembers what was there when the run was judged.
std::string verdict_word(const std::filesystem::path& store, const IndexedRun& run) {
  try {
    std::filesystem::path folder = run.folder;
    if (!std::filesystem::exists(folder)) folder = store / "runs" / run.run_id;  // the store was moved
    if (!std::filesystem::exists(folder)) return "gone: its folder is no longer there";
    if (!broken_verdict(folder).empty()) return "refused: its verdict changed after it was given";
    if (run.verdict.empty()) return "unfinished";
    return std::filesystem::exists(folder / "verdict.json") ? run.verdict : "refused: its verdict.json is missing";
  } catch (const StoreError& error) {
    return fmt::format("refused: {}", error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return fmt::format("refused: {}", error.what());
  }
}

Entries run_entries(const Project& project) {
  Entries entries;
  for (const IndexedRun& run : indexed_runs(project.store())) {
    const std::string word = verdict_word(project.store(), run);
    entries.push_back({run.run_id,
                       fmt::format("{}  {:<12}  {} cells  {}", run.started_utc, word, run.cells, run.matrix),
                       {{"summary", word},
                        {"folder", run.folder},
                        {"matrix", run.matrix},
                        {"started_utc", run.started_utc},
                        {"exit_code", word == run.verdict ? run.exit_code : IndexedRun().exit_code},
                        {"cells", run.cells}}});
  }
  return entries;
}

struct Kind {
  const char* singular;
  const char* plural;
  Entries (*entries)(const Project&);
};

constexpr Kind kKinds[] = {{"workload", "workloads", &workload_entries},
                           {"probe", "probes", &probe_entries},
                           {"stack", "stacks", &stack_entries},
                           {"knob", "knobs", &knob_entries},
                           {"metric", "metrics", &metric_entries},
                           {"suite", "suites", &suite_entries},
                           {"reason", "reasons", &reason_entries},
                           {"fault", "faults", &fault_entries},
                           {"run", "runs", &run_entries}};

const Kind& kind_called(const std::string& name) {
  for (const Kind& kind : kKinds) {
    if (name == kind.singular || name == kind.plural) return kind;
  }
  throw UsageError(unknown_name("kind", name, kind_names()));
}

}  // namespace

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) {
    names.emplace_back(kind.plural);
    names.emplace_back(kind.singular);
  }
  return names;
}

std::vector<CatalogEntry> catalog_entries(const Project& project, const std::string& kind) {
  return kind_called(kind).entries(project);
}

std::string nameless_text(const Project& project, const std::string& kind) {
  const std::vector<std::string> kinds = kind_names();
  if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
    return fmt::format("describe {} needs a name; `reprobench list {}` shows them", kind, kind);
  }
  if (nearest_name(kind, kinds).empty()) {
    for (const Kind& of : kKinds) {
      for (const CatalogEntry& entry : of.entries(project)) {
        if (entry.name != kind) continue;
        return fmt::format("`{0}` is a {1}; say `reprobench describe {1} {0}`", kind, of.singular);
      }
    }
  }
  return unknown_name("kind", kind, kinds);
}

json describe_entry(const Project& project, const std::string& kind, const std::string& name) {
  const Kind& found = kind_called(kind);
  std::vector<std::string> known;
  for (const CatalogEntry& entry : found.entries(project)) {
    known.push_back(entry.name);
    if (entry.name != name) continue;
    json result = document("description");
    result["kind"] = found.singular;
    result["name"] = name;
    result["details"] = entry.details;
    return result;
  }
  throw UsageError(unknown_name(found.singular, name, known));
}

}  // namespace reprobench
