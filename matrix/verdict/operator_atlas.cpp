#include "matrix/verdict/operator_atlas.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "matrix/contract/document/writer.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/contract/usage_error.hpp"
#include "matrix/verdict/cell_end.hpp"

namespace reprobench {
namespace {

// A column with what every process of its cell left; no results where one did not end well.
struct Source {
  AtlasColumn column;
  Coordinates coordinates;
  std::vector<const CellResult*> results;
  bool is_reference = false;  // of the cells of the run
};

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

void take_results(const std::vector<const AttemptRecord*>& repeats, Source& source) {
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

// Every process against every one of the reference; the strongest word stands.
CallComparison compared(const Source& source, const Source& reference, const std::string& call) {
  const auto records = [&](const Source& side) {
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
  return *strongest;
}

Source source_of(const RunRecord& run, const PlannedCell& planned) {
  const CellRequest& request = planned.cell.request;
  Source source;
  source.column.cell_id = request.cell_id;
  source.coordinates = planned.cell.coordinates;
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

std::vector<Source> sources_of(const RunRecord& run) {
  std::vector<Source> sources;
  std::set<std::string> references;
  for (const PlannedCell& planned : run.plan.cells) {
    if (planned.cell.request.workload.probe != kOperatorsProbe) continue;
    if (planned.skip && planned.skip->rule == kDeselected) continue;
    if (planned.cell.reference_cell_id) references.insert(*planned.cell.reference_cell_id);
    sources.push_back(source_of(run, planned));
  }
  for (Source& source : sources) source.is_reference = references.contains(source.column.cell_id);
  std::stable_sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) {
    return numbers_of(a.column.release) < numbers_of(b.column.release);
  });
  return sources;
}

// A column is its stack and those coordinates that are not alike in all of them; of several columns of one release each
// has its name in the place of the release.
void name_columns(std::vector<Source>& sources) {
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, int> of_release;
  for (const Source& source : sources) {
    for (const auto& [name, value] : source.coordinates) values[name].insert(value);
    ++of_release[source.column.release];
  }
  for (Source& source : sources) {
    source.column.name = source.coordinates.at("stack");
    for (const auto& [name, value] : source.coordinates) {
      if (name != "stack" && values[name].size() > 1) source.column.name += fmt::format(" {}={}", name, value);
    }
    std::string& release = source.column.release;
    if (release.empty() || of_release[release] > 1) release = source.column.name;
  }
}

std::size_t reference_among(const std::vector<Source>& sources, const std::string& wanted) {
  const auto found = std::find_if(sources.begin(), sources.end(), [&](const Source& source) {
    const AtlasColumn& column = source.column;
    return wanted.empty() ? source.is_reference
                          : column.name == wanted || column.release == wanted || column.name.starts_with(wanted + " ");
  });
  if (found != sources.end()) return static_cast<std::size_t>(found - sources.begin());
  if (wanted.empty()) return 0;
  throw UsageError(fmt::format("no column of the atlas is called `{}`", wanted));
}

std::string cpu_of(const std::vector<Source>& sources) {
  std::vector<std::string> names;
  for (const Source& source : sources) {
    for (const CellResult* result : source.results) {
      std::string name = fmt::format("{}, {}", result->fingerprint.cpu_model, result->fingerprint.cpu_capability);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
  }
  return fmt::format("{}", fmt::join(names, "; "));
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

}  // namespace

std::optional<OperatorAtlas> operator_atlas(const RunRecord& run, const std::string& reference) {
  std::vector<Source> sources = sources_of(run);
  if (sources.empty()) return std::nullopt;
  name_columns(sources);
  OperatorAtlas atlas;
  atlas.run = run.info.run_id;
  atlas.cpu = cpu_of(sources);
  atlas.planted = planted_in(run);
  atlas.reference = reference_among(sources, reference);
  for (const Source& source : sources) atlas.columns.push_back(source.column);
  std::vector<std::string> calls;
  for (const PlannedCell& planned : run.plan.cells) {
    if (planned.cell.request.workload.probe != kOperatorsProbe) continue;
    for (const std::string& call : planned.cell.request.workload.calls) {
      if (std::find(calls.begin(), calls.end(), call) == calls.end()) calls.push_back(call);
    }
  }
  for (const std::string& call : calls) {
    AtlasRow row{call, {}};
    for (const Source& source : sources) {
      row.by_column.push_back(compared(source, sources[atlas.reference], call));
    }
    atlas.rows.push_back(std::move(row));
  }
  return atlas;
}

nlohmann::json to_json(const OperatorAtlas& atlas) { return written(atlas); }

}  // namespace reprobench
