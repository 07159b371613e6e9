#include "matrix/cli/compared_calls.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/base/json_parse.hpp"
#include "matrix/base/usage_error.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/evidence/cell_partner.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

// What the cells that are named were to do, by the plan alone: records are read once it is known whose are needed.
struct Contents {
  bool trains = false;
  bool makes_calls = false;
};

Contents contents_of(const RunCells& cells) {
  Contents found;
  std::vector<std::string> slugs;
  bool is_known = cells.cell.empty();
  const auto document = json_or_discarded(read_file(cells.folder / "plan.json"));
  if (document.is_discarded()) throw StoreError((cells.folder / "plan.json").string() + " is not JSON");
  for (const PlannedCell& planned : plan_from_json(document).cells) {
    slugs.push_back(planned.cell.slug);
    if (!cells.cell.empty() && !is_called(planned.cell, cells.cell)) continue;
    is_known = true;
    const WorkloadRequest& workload = planned.cell.request.workload;
    if (!workload.is_probe()) found.trains = true;
    if (workload.probe == kOperatorsProbe) found.makes_calls = true;
  }
  if (is_known) return found;
  throw UsageError(unknown_name("cell of run " + cells.folder.filename().string(), cells.cell, slugs));
}

bool has_pair(const OperatorAtlas& atlas) {
  return std::ranges::any_of(atlas.columns, [](const AtlasColumn& column) { return column.against.has_value(); });
}

}  // namespace

ComparedParts parts_within_run(const RunCells& cells) {
  const Contents contents = contents_of(cells);
  ComparedParts parts;
  if (contents.makes_calls) parts.calls = operator_atlas(load_run(cells.folder.string()), "", cells.cell);
  parts.has_trainings = contents.trains || !parts.calls;
  if (parts.has_trainings) {
    parts.trainings = sides_within_run(cells, parts.calls ? NoPair::is_allowed : NoPair::is_refused);
  }
  return parts;
}

ComparedParts parts_of_runs(const RunCells& measured, const RunCells& expected) {
  const Contents ours = contents_of(measured);
  const Contents theirs = contents_of(expected);
  // Beside one cell that is named, what else the other run did is in no question.
  const bool asks_all = measured.cell.empty();
  ComparedParts parts;
  if (ours.makes_calls || (asks_all && theirs.makes_calls)) {
    const RunRecord our_run = load_run(measured.folder.string());
    const RunRecord their_run = load_run(expected.folder.string());
    parts.calls = operator_atlas(AtlasSide{our_run, measured.cell}, AtlasSide{their_run, expected.cell});
  }
  const bool calls_pair_up = parts.calls && has_pair(*parts.calls);
  parts.has_trainings = ours.trains || (asks_all && theirs.trains) || !parts.calls;
  if (parts.has_trainings) {
    parts.trainings = sides_of_runs(measured, expected, calls_pair_up ? NoPair::is_allowed : NoPair::is_refused);
  } else if (!calls_pair_up) {
    throw UsageError(fmt::format("{} and {} have no cell in common", measured.folder.filename().string(),
                                 expected.folder.filename().string()));
  }
  return parts;
}

}  // namespace reprobench
