#include "matrix/evidence/run_merge.hpp"

#include "ci/catch.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

using Catch::Matchers::Contains;

constexpr const char* kReferenceId = "aaaaaaaaaaaa";
constexpr const char* kCandidateId = "bbbbbbbbbbbb";
constexpr const char* kGpuId = "cccccccccccc";

PlannedCell planned_cell(const std::string& id, const std::string& stack, const std::string& device) {
  PlannedCell planned;
  Cell& cell = planned.cell;
  cell.request = SampleAttempt().request;
  cell.request.cell_id = id;
  cell.request.stack = stack;
  cell.request.device = device;
  cell.slug = "smoke-mlp-" + stack + "-" + device;
  cell.coordinates = {{"stack", stack}, {"device", device}};
  if (id != kReferenceId) cell.reference_cell_id = kReferenceId;
  return planned;
}

AttemptRecord attempt(const std::string& run_id) {
  AttemptRecord record;
  record.nonce = "0123456789abcdef";
  record.folder = "cells/x/r0a0." + run_id;
  record.end = AttemptEnd::completed;
  record.detail = "exit code 0";
  return record;
}

// Three cells: reference and candidate on the CPU, the candidate on a GPU. `ran` are those with an attempt; a GPU cell
// that did not run is skipped.
MergeSource source(const std::string& run_id, const std::string& host, const std::vector<std::string>& ran) {
  RunRecord run;
  run.info = {run_id,
              "0f0f0f0f0f0f0f0f",
              {"reprobench", "run"},
              "2026-01-01T00:00:00Z",
              "2026-01-01T00:00:09Z",
              9'000'000'000,
              false,
              false,
              "0.1.0",
              {}};
  run.plan.matrix = "m";
  run.plan.matrix_file = "matrix/m.yaml";
  run.plan.host.host_name = host;
  run.plan.cells = {planned_cell(kReferenceId, "stack-a", "cpu"), planned_cell(kCandidateId, "stack-b", "cpu"),
                    planned_cell(kGpuId, "stack-a", "sm_90")};
  for (PlannedCell& planned : run.plan.cells) {
    const std::string& id = planned.cell.request.cell_id;
    const bool has_run = std::find(ran.begin(), ran.end(), id) != ran.end();
    run.cells.push_back({id, {}});
    if (has_run) run.cells.back().attempts.push_back(attempt(run_id));
    if (!has_run && planned.cell.request.device != "cpu") {
      planned.skip = Skip{"device-class", "needs a GPU of class sm_90, this host has none"};
    }
  }
  return {std::move(run), ""};
}

const PlannedCell& cell_called(const RunMerge& merge, const std::string& id) {
  for (const PlannedCell& planned : merge.plan.cells) {
    if (planned.cell.request.cell_id == id) return planned;
  }
  throw std::runtime_error("the merge has no cell " + id);
}

TEST_CASE("a cell that one host skipped and another ran is a cell that ran", "[evidence]") {
  const std::vector<MergeSource> sources{source("r-1", "cpu-a", {kReferenceId, kCandidateId}),
                                         source("r-2", "gpu-a", {kGpuId})};
  const RunMerge merge = merge_runs(sources);
  REQUIRE(merge.plan.cells.size() == 3);
  CHECK(merge.attempts.size() == 3);
  const PlannedCell& gpu = cell_called(merge, kGpuId);
  CHECK_FALSE(gpu.skip);
  CHECK(gpu.cell.coordinates.at("host") == "gpu-a");
  CHECK(gpu.cell.reference_cell_id == kReferenceId);
  CHECK(gpu.notes == std::vector<std::string>{"its reference ran on host cpu-a"});
  CHECK(cell_called(merge, kCandidateId).cell.coordinates.at("host") == "cpu-a");
  CHECK(cell_called(merge, kCandidateId).notes.empty());
  REQUIRE(merge.plan.hosts.size() == 2);
  CHECK(merge.plan.hosts[1].label == "gpu-a");
  CHECK(merge.plan.hosts[1].runs == std::vector<std::string>{"r-2"});
}

// What the command line of a run left out.
void leave_out(MergeSource& source, const std::vector<std::string>& ids, const std::string& option) {
  source.run.plan.request.selected_by = {option};
  for (PlannedCell& planned : source.run.plan.cells) {
    if (std::find(ids.begin(), ids.end(), planned.cell.request.cell_id) == ids.end()) continue;
    planned.skip = Skip{kDeselected, "left out by " + option};
  }
}

TEST_CASE("selections that together ran every cell leave none out; what every run left out stays left out",
          "[evidence]") {
  std::vector<MergeSource> sources{source("r-1", "a", {kReferenceId}), source("r-2", "b", {kCandidateId})};
  leave_out(sources[0], {kCandidateId, kGpuId}, "--stack stack-a");
  leave_out(sources[1], {kReferenceId}, "--stack stack-b");
  const RunMerge whole = merge_runs(sources);
  CHECK(whole.plan.request == PlanRequest{});
  CHECK(cell_called(whole, kGpuId).skip->rule == "device-class");
  CHECK(cell_called(whole, kGpuId).skip->reason == "b: needs a GPU of class sm_90, this host has none");

  leave_out(sources[1], {kReferenceId, kGpuId}, "--device cpu");
  const RunMerge part = merge_runs(sources);
  CHECK(part.plan.request.selected_by == std::vector<std::string>{"--stack stack-a", "--device cpu"});
  CHECK(cell_called(part, kGpuId).skip->rule == kDeselected);
  CHECK_FALSE(part.plan.request.names_cells);
}

TEST_CASE("what one run was asked otherwise than the matrix says stays with the merge", "[evidence]") {
  std::vector<MergeSource> sources{source("r-1", "a", {kReferenceId}), source("r-2", "b", {kCandidateId})};
  sources[1].run.plan.request.changed_by = {"--repeat 1"};
  CHECK(merge_runs(sources).plan.request.changed_by == std::vector<std::string>{"--repeat 1"});
}

TEST_CASE("a cell that two hosts ran is kept twice, each with the reference of its own host", "[evidence]") {
  const std::vector<MergeSource> sources{source("r-1", "a", {kReferenceId, kCandidateId}),
                                         source("r-2", "b", {kReferenceId, kCandidateId})};
  const RunMerge merge = merge_runs(sources);
  REQUIRE(merge.plan.cells.size() == 5);
  for (const char* host : {"a", "b"}) {
    const Cell& candidate = cell_called(merge, name_on_host(kCandidateId, host)).cell;
    CHECK(candidate.slug == std::string("smoke-mlp-stack-b-cpu@") + host);
    CHECK(candidate.reference_cell_id == name_on_host(kReferenceId, host));
  }
  CHECK(cell_called(merge, kGpuId).skip->reason ==
        "a: needs a GPU of class sm_90, this host has none; b: needs a GPU of class sm_90, this host has none");
  CHECK(merge.attempts[2].request.cell_id == name_on_host(kCandidateId, "a"));
  CHECK(merge.attempts[3].source == 1);
}

TEST_CASE("shards of one host are one host; a second run of the same cells there is told apart", "[evidence]") {
  const auto merged = [](const std::vector<std::string>& second) {
    return merge_runs({source("r-1", "a", {kReferenceId}), source("r-2", "a", second)});
  };
  const RunMerge shards = merged({kCandidateId});
  REQUIRE(shards.plan.hosts.size() == 1);
  CHECK(shards.plan.hosts[0].runs == std::vector<std::string>{"r-1", "r-2"});
  CHECK(shards.plan.cells.size() == 3);
  const RunMerge twice = merged({kReferenceId});
  REQUIRE(twice.plan.hosts.size() == 2);
  CHECK(twice.plan.hosts[1].label == "a-2");
  CHECK(cell_called(twice, name_on_host(kReferenceId, "a-2")).cell.coordinates.at("host") == "a-2");
}

TEST_CASE("a merged run can be merged with a third", "[evidence]") {
  const std::vector<MergeSource> two{source("r-1", "a", {kReferenceId}), source("r-2", "b", {kReferenceId})};
  const RunMerge first = merge_runs(two);
  MergeSource inner;
  inner.run = {first.info, first.plan, {}, ""};
  for (const PlannedCell& planned : first.plan.cells) inner.run.cells.push_back({planned.cell.request.cell_id, {}});
  for (const MergedAttempt& each : first.attempts) {
    for (CellRecord& cell : inner.run.cells) {
      if (cell.cell_id == each.request.cell_id) cell.attempts.push_back(*each.record);
    }
  }
  const RunMerge all = merge_runs({inner, source("r-3", "gpu-a", {kReferenceId, kGpuId})});
  CHECK(all.plan.hosts.size() == 3);
  REQUIRE(all.info.sources.size() == 3);
  CHECK(all.info.sources[1].run_id == "r-2");
  CHECK(all.info.sources[1].host == "b");
  CHECK(cell_called(all, name_on_host(kReferenceId, "gpu-a")).cell.coordinates.at("host") == "gpu-a");
  CHECK(cell_called(all, kGpuId).cell.reference_cell_id == name_on_host(kReferenceId, "gpu-a"));
  CHECK_THROWS_WITH(merge_runs({inner, two[1]}), Contains("run r-2 is given twice"));
}

TEST_CASE("equal sources give an equal run id, others another", "[evidence]") {
  const auto id_of = [](const std::string& second) {
    return merge_runs({source("r-20260101-000000-0001", "a", {kReferenceId}), source(second, "b", {kGpuId})})
        .info.run_id;
  };
  const std::string id = id_of("r-20260101-000009-0002");
  CHECK(id == id_of("r-20260101-000009-0002"));
  CHECK(id.rfind("r-20260101-000009-m", 0) == 0);
  CHECK(id != id_of("r-20260101-000009-0003"));
}

TEST_CASE("runs that cannot be one run are refused with the reason", "[evidence]") {
  const MergeSource first = source("r-1", "a", {kReferenceId});
  MergeSource second = source("r-2", "b", {kReferenceId});
  std::string why;
  SECTION("another matrix") {
    second.run.info.matrix_digest = "1e1e";
    why = "the runs are of different matrices: r-1 of m (sha256 0f0f0f0f0f0f), r-2 of m (sha256 1e1e)";
  }
  SECTION("another version") {
    second.run.info.reprobench_version = "0.2.0";
    why = "made by different versions: r-1 by reprobench 0.1.0, r-2 by 0.2.0";
  }
  SECTION("no end") {
    second.run.info.ended_utc = "";
    why = "run r-2 never ended";
  }
  SECTION("the same run") {
    second = first;
    why = "run r-1 is given twice";
  }
  SECTION("other options of the same matrix") {
    second.run.plan.cells[0].cell.repeat = 5;
    why = "cell aaaaaaaaaaaa was planned differently in run r-1 and in run r-2: `repeat` differs";
  }
  SECTION("another stack of the same name") {
    second.run.plan.declared["stack-a"] = {{"cudnn", "9.10.2"}};
    MergeSource other = first;
    other.run.plan.declared["stack-a"] = {{"cudnn", "9.13.0"}};
    CHECK_THROWS_WITH(merge_runs({other, second}), Contains("stack stack-a is declared with other components"));
    return;
  }
  CHECK_THROWS_WITH(merge_runs({first, second}), Contains(why));
  CHECK_THROWS_AS(merge_runs({first}), MergeRefused);
}

}  // namespace
}  // namespace reprobench
