#include "matrix/verdict/atlas/atlas_source.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "matrix/contract/probe.hpp"
#include "matrix/verdict/cell_end.hpp"

namespace reprobench {
namespace {

// Numbers in a text, so that 2.10 comes after 2.9.
std::vector<long> numbers_of(const std::string& text) {
  std::vector<long> numbers;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] < '0' || text[at] > '9') {
      ++at;
      continue;
    }
    std::size_t length = 0;
    numbers.push_back(std::stol(text.substr(at, 9), &length));
    at += length;
  }
  return numbers;
}

void take_results(const std::vector<const AttemptRecord*>& repeats, AtlasSource& source) {
  for (const AttemptRecord* attempt : repeats) {
    if (attempt == nullptr) {
      source.column.problem = "it was not run";
    } else if (attempt->end != AttemptEnd::completed) {
      source.column.problem = fmt::format("{}: {}", to_string(attempt->end), attempt->detail);
    } else {
      source.results.push_back(&*attempt->lead().result);
    }
  }
  if (!source.column.problem.empty()) source.results.clear();
}

bool names_call(const AtlasSource& source, const std::string& call) {
  const std::vector<std::string>& calls = source.cell->request.workload.calls;
  return std::find(calls.begin(), calls.end(), call) != calls.end();
}

// Every process against every one of the reference; the strongest word stands.
CallComparison compared(const AtlasSource& source, const AtlasSource& reference, const std::string& call) {
  const auto records = [&](const AtlasSource& side) {
    std::vector<const ProbeMeasurement*> found;
    for (const CellResult* result : side.results) found.push_back(find_call(result->measurements, call));
    if (found.empty()) found.push_back(nullptr);
    return found;
  };
  std::optional<CallComparison> strongest;
  for (const ProbeMeasurement* ours : records(source)) {
    for (const ProbeMeasurement* theirs : records(reference)) {
      CallComparison one = compare_calls(ours, theirs);
      if (!strongest || one.word > strongest->word) strongest = std::move(one);
    }
  }
  if (strongest->word != CallWord::unknown) return *strongest;
  if (!names_call(source, call)) strongest->why = "its list has no such call";
  if (!names_call(reference, call)) strongest->why = "the reference's list has no such call";
  return *strongest;
}

AtlasSource source_of(const RunRecord& run, const PlannedCell& planned) {
  const CellRequest& request = planned.cell.request;
  AtlasSource source;
  source.column.cell_id = request.cell_id;
  source.run = &run;
  source.cell = &planned.cell;
  const auto declared = run.plan.declared.find(request.stack);
  if (declared != run.plan.declared.end()) {
    const auto torch = declared->second.find("torch");
    if (torch != declared->second.end()) source.column.release = torch->second.substr(0, torch->second.find('+'));
  }
  const auto record = std::find_if(run.cells.begin(), run.cells.end(),
                                   [&](const CellRecord& cell) { return cell.cell_id == request.cell_id; });
  if (planned.skip) {
    source.column.problem = fmt::format("skipped: {}: {}", planned.skip->rule, planned.skip->reason);
  } else if (record == run.cells.end()) {
    source.column.problem = "it was not run";
  } else {
    take_results(last_attempts(planned.cell, *record), source);
  }
  return source;
}

std::string cpu_of(const std::vector<AtlasSource>& sources) {
  std::vector<std::string> names;
  for (const AtlasSource& source : sources) {
    for (const CellResult* result : source.results) {
      std::string name = fmt::format("{}, {}", result->fingerprint.cpu_model, result->fingerprint.cpu_capability);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
  }
  return fmt::format("{}", fmt::join(names, "; "));
}

// In the order of the lists, not of the releases.
std::vector<std::string> calls_of(const std::vector<AtlasSource>& sources) {
  std::vector<const AtlasSource*> as_planned;
  for (const AtlasSource& source : sources) as_planned.push_back(&source);
  std::ranges::stable_sort(as_planned, [](const AtlasSource* a, const AtlasSource* b) { return a->place < b->place; });
  std::vector<std::string> calls;
  std::set<std::string> taken;
  for (const AtlasSource* source : as_planned) {
    for (const std::string& call : source->cell->request.workload.calls) {
      if (taken.insert(call).second) calls.push_back(call);
    }
  }
  return calls;
}

}  // namespace

std::vector<AtlasSource> atlas_sources(const RunRecord& run) {
  std::vector<AtlasSource> sources;
  std::set<std::string> references;
  for (const PlannedCell& planned : run.plan.cells) {
    if (planned.cell.request.workload.probe != kOperatorsProbe) continue;
    if (planned.skip && planned.skip->rule == kDeselected) continue;
    if (planned.cell.reference_cell_id) references.insert(*planned.cell.reference_cell_id);
    sources.push_back(source_of(run, planned));
    sources.back().place = sources.size();
  }
  for (AtlasSource& source : sources) source.is_reference = references.contains(source.column.cell_id);
  std::stable_sort(sources.begin(), sources.end(), [](const AtlasSource& a, const AtlasSource& b) {
    return numbers_of(a.column.release) < numbers_of(b.column.release);
  });
  return sources;
}

void name_columns(std::vector<AtlasSource>& sources) {
  std::map<std::string, std::set<std::string>> values;
  std::map<std::pair<std::string, std::string>, int> of_release;
  for (const AtlasSource& source : sources) {
    for (const auto& [name, value] : source.cell->coordinates) values[name].insert(value);
    ++of_release[{source.column.run, source.column.release}];
  }
  for (AtlasSource& source : sources) {
    source.column.name = source.cell->coordinates.at("stack");
    for (const auto& [name, value] : source.cell->coordinates) {
      if (name != "stack" && values[name].size() > 1) source.column.name += fmt::format(" {}={}", name, value);
    }
    std::string& release = source.column.release;
    if (release.empty() || of_release[{source.column.run, release}] > 1) release = source.column.name;
  }
}

void fill_atlas(const std::vector<AtlasSource>& sources, OperatorAtlas& atlas) {
  for (const AtlasSource& source : sources) atlas.columns.push_back(source.column);
  atlas.cpu = cpu_of(sources);
  for (const std::string& call : calls_of(sources)) {
    AtlasRow row{call, {}};
    for (std::size_t i = 0; i < sources.size(); ++i) {
      CallComparison& cell = row.by_column.emplace_back();
      cell.why = sources[i].column.not_compared;
      if (cell.why.empty()) cell = compared(sources[i], sources[reference_of(atlas, i).value_or(i)], call);
    }
    atlas.rows.push_back(std::move(row));
  }
}

std::vector<std::string> planted_in(const RunRecord& run) {
  std::set<std::string> faults;
  for (const PlannedCell& planned : run.plan.cells) {
    for (const auto& [repeat, fault] : planned.cell.injections) {
      faults.insert(fmt::format("{} in call {} of {}", fault.kind, fault.step, planned.cell.slug));
    }
  }
  return {faults.begin(), faults.end()};
}

}  // namespace reprobench
