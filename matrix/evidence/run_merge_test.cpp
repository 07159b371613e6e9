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
              std::string(64, 'a'),
              {},
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

TEST_CASE("what a difference is goes into a merge for a cell that keeps its reference", "[evidence]") {
  MergeSource first = source("r-1", "a", {kReferenceId, kCandidateId});
  MergeSource second = source("r-2", "b", {kReferenceId, kCandidateId});
  const auto diagnose = [](MergeSource& source, ExplainedWord word) {
    source.run.diagnoses[kCandidateId] = {kCandidateId, kReferenceId, word, "of " + source.run.info.run_id};
  };
  diagnose(first, ExplainedWord::rounding);
  diagnose(second, ExplainedWord::defect);
  const RunMerge merge = merge_runs({first, second});
  REQUIRE(merge.diagnoses.size() == 2);
  CHECK(merge.diagnoses[0].cell_id == "bbbbbbbbbbbb@a");
  CHECK(merge.diagnoses[0].reference_cell_id == "aaaaaaaaaaaa@a");
  CHECK(merge.diagnoses[0].word == ExplainedWord::rounding);
  CHECK(merge.diagnoses[0].sentence == "of r-1");
  CHECK(merge.diagnoses[1].cell_id == "bbbbbbbbbbbb@b");
  CHECK(merge.diagnoses[1].reference_cell_id == "aaaaaaaaaaaa@b");
  CHECK(merge.diagnoses[1].word == ExplainedWord::defect);
}

TEST_CASE("what a difference is stays out of a merge that holds the cell against another reference", "[evidence]") {
  MergeSource first = source("r-1", "a", {kReferenceId});
  MergeSource second = source("r-2", "b", {kCandidateId});
  second.run.diagnoses[kCandidateId] = {kCandidateId, kReferenceId, ExplainedWord::rounding, "of r-2"};
  CHECK(merge_runs({first, second}).diagnoses.empty());
  second = source("r-2", "b", {kReferenceId, kCandidateId});
  second.run.diagnoses[kCandidateId] = {kCandidateId, kGpuId, ExplainedWord::rounding, "of r-2"};
  CHECK(merge_runs({first, second}).diagnoses.empty());
}

TEST_CASE("shards of one host are one host; a second run of the same cells there is told apart", "[evidence]") {
  const auto merged = [](const std::vector<std::string>& second) {
    return merge_runs({source("r-1", "a", {kReferenceId}), source("r-2", "a", second)});
  };
  const RunMerge shards = merged({kCandidateId});
  REQUIRE(shards.plan.hosts.size() == 1);
  CHECK(shards.plan.hosts[0].runs == std::vector<std::string>{"r-1", "r-2"});
  CHECK(shards.plan.cells.size() == 3);
  // They are of one host and did not run side by side.
  CHECK(cell_called(shards, kReferenceId).cell.run == "r-1");
  CHECK(cell_called(shards, kCandidateId).cell.run == "r-2");
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

PlannedCell& planned_in(MergeSource& source, const std::string& id) {
  for (PlannedCell& planned : source.run.plan.cells) {
    if (planned.cell.request.cell_id == id) return planned;
  }
  throw std::runtime_error("no cell " + id);
}

TEST_CASE("what only the host knows that runs a cell keeps no runs apart, in either order", "[evidence]") {
  MergeSource cpu = source("r-1", "cpu-a", {kReferenceId, kCandidateId});
  MergeSource gpu = source("r-2", "gpu-a", {kGpuId});
  SECTION("the data sheet of its GPU") { planned_in(gpu, kGpuId).cell.request.peaks.emplace().gpu = "NVIDIA H100"; }
  SECTION("the memory it will take") {
    planned_in(gpu, kGpuId).cell.memory_bytes = 1;
    planned_in(cpu, kCandidateId).cell.memory_bytes = 2;
  }
  SECTION("faults and notes") {
    planned_in(gpu, kGpuId).cell.injections[0] = {"weight_ulp", 2, "fc1.weight", 5, 0};
    planned_in(gpu, kGpuId).notes = {"driver 1 is under 2"};
  }
  SECTION("where the file of a bound lies") {
    CellThreshold here;
    here.loosens = "max: 1 (here.yaml:3:4)";
    planned_in(cpu, kGpuId).cell.thresholds = std::vector<CellThreshold>{here};
    planned_in(cpu, kGpuId).cell.gaps = {{Dimension::memory, "unarmed", "by here.yaml:3:4"}};
    planned_in(gpu, kGpuId).cell.gaps = {{Dimension::memory, "unarmed", "by elsewhere.yaml:3:4"}};
    CellThreshold elsewhere;
    elsewhere.mark = elsewhere.gate_mark = {"elsewhere.yaml", 3, 4};
    elsewhere.loosens = "max: 1 (elsewhere.yaml:3:4)";
    planned_in(gpu, kGpuId).cell.thresholds = std::vector<CellThreshold>{elsewhere};
  }
  for (const bool cpu_first : {true, false}) {
    const RunMerge merge = cpu_first ? merge_runs({cpu, gpu}) : merge_runs({gpu, cpu});
    const Cell& ran = cell_called(merge, kGpuId).cell;
    CHECK(ran.request.peaks.has_value() == planned_in(gpu, kGpuId).cell.request.peaks.has_value());
    CHECK(ran.memory_bytes == planned_in(gpu, kGpuId).cell.memory_bytes);
    CHECK(ran.injections.size() == planned_in(gpu, kGpuId).cell.injections.size());
  }
}

TEST_CASE("what a bound of the suite was, and a question that nobody can answer, are the matrix's", "[evidence]") {
  const auto merged_with = [](const CellThreshold& ours, const std::vector<Gap>& gaps) {
    MergeSource one = source("r-1", "a", {kReferenceId});
    MergeSource other = source("r-2", "b", {kCandidateId});
    planned_in(one, kReferenceId).cell.thresholds = std::vector<CellThreshold>(1);
    planned_in(other, kReferenceId).cell.thresholds = std::vector<CellThreshold>{ours};
    planned_in(other, kReferenceId).cell.gaps = gaps;
    merge_runs({one, other});
  };
  CellThreshold loosened;
  loosened.loosens = "max: 1 (s.yaml:3:4)";
  CHECK_THROWS_WITH(merged_with(loosened, {}), Contains("`thresholds` differs"));
  CHECK_THROWS_WITH(merged_with({}, {{Dimension::memory, "unarmed", "by s.yaml:3:4"}}), Contains("`gaps` differs"));
}

TEST_CASE("a field that one plan alone has is a difference, whichever comes first", "[evidence]") {
  MergeSource one = source("r-1", "a", {kReferenceId});
  MergeSource other = source("r-2", "b", {kCandidateId});
  planned_in(other, kReferenceId).cell.request.turn_steps = 5;
  CHECK_THROWS_WITH(merge_runs({one, other}), Contains("in run r-1 and in run r-2: `turn_steps` differs"));
  CHECK_THROWS_WITH(merge_runs({other, one}), Contains("in run r-2 and in run r-1: `turn_steps` differs"));
}

TEST_CASE("a merge spans its runs: the first start, the last end, the sum of their times", "[evidence]") {
  MergeSource one = source("r-20260101-000000-0001", "a", {kReferenceId});
  MergeSource other = source("r-20260102-000000-0002", "b", {kCandidateId});
  one.run.info.started_utc = "2026-01-01T00:00:00Z";
  one.run.info.ended_utc = "2026-01-03T00:00:00Z";
  one.run.info.duration_ns = 5;
  one.run.info.interrupted = true;
  other.run.info.started_utc = "2026-01-02T00:00:00Z";
  other.run.info.ended_utc = "2026-01-02T12:00:00Z";
  other.run.info.duration_ns = 7;
  for (const bool one_first : {true, false}) {
    const RunInfo info = (one_first ? merge_runs({one, other}) : merge_runs({other, one})).info;
    CHECK(info.started_utc == "2026-01-01T00:00:00Z");
    CHECK(info.ended_utc == "2026-01-03T00:00:00Z");
    CHECK(info.duration_ns == 12);
    CHECK(info.run_id.starts_with("r-20260102-000000-m"));
    CHECK(info.command_line.empty());
    CHECK(info.program_sha256.empty());
    CHECK_FALSE(info.interrupted);
    REQUIRE(info.sources.size() == 2);
    const RunSource& first = info.sources[one_first ? 0 : 1];
    CHECK(first.run_id == "r-20260101-000000-0001");
    CHECK(first.host == "a");
    CHECK(first.started_utc == "2026-01-01T00:00:00Z");
    CHECK(first.ended_utc == "2026-01-03T00:00:00Z");
    CHECK(first.duration_ns == 5);
    CHECK(first.interrupted);
  }
}

TEST_CASE("a source's label is its host's name, and a merged run brings its own along", "[evidence]") {
  MergeSource one = source("r-1", "a", {kReferenceId});
  one.label = "rack-7";
  const RunMerge merge = merge_runs({one, source("r-2", "b", {kCandidateId})});
  CHECK(merge.plan.hosts.at(0).label == "rack-7");
  CHECK(merge.info.sources.at(0).host == "rack-7");
  CHECK(cell_called(merge, kReferenceId).cell.coordinates.at("host") == "rack-7");
  MergeSource inner;
  inner.run = {merge.info, merge.plan, {}, ""};
  for (const PlannedCell& planned : merge.plan.cells) inner.run.cells.push_back({planned.cell.request.cell_id, {}});
  inner.label = "again";
  CHECK_THROWS_WITH(merge_runs({inner, source("r-3", "c", {kGpuId})}),
                    Contains("is a merged one and brings its host labels along"));
}

TEST_CASE("a machine with other facts is another host, though it has the same name", "[evidence]") {
  MergeSource other = source("r-2", "a", {kCandidateId});
  other.run.plan.host.cores = 99;
  const RunMerge merge = merge_runs({source("r-1", "a", {kReferenceId}), other});
  REQUIRE(merge.plan.hosts.size() == 2);
  CHECK(merge.plan.hosts[1].label == "a-2");
  CHECK(cell_called(merge, kCandidateId).notes == std::vector<std::string>{"its reference ran on host a"});
}

TEST_CASE("a cell that one host could run and none did is open, not skipped", "[evidence]") {
  MergeSource able = source("r-2", "b", {kReferenceId});
  planned_in(able, kGpuId).skip.reset();
  for (const bool able_first : {true, false}) {
    const MergeSource unable = source("r-1", "a", {kReferenceId});
    CHECK_FALSE(cell_called(able_first ? merge_runs({able, unable}) : merge_runs({unable, able}), kGpuId).skip);
  }
}

TEST_CASE("cells that were named are named in the merge only if every run named its own", "[evidence]") {
  std::vector<MergeSource> sources{source("r-1", "a", {kReferenceId}), source("r-2", "b", {kReferenceId})};
  for (MergeSource& each : sources) leave_out(each, {kCandidateId, kGpuId}, "--cell aaaaaaaaaaaa");
  sources[0].run.plan.request.names_cells = true;
  CHECK_FALSE(merge_runs(sources).plan.request.names_cells);
  sources[1].run.plan.request.names_cells = true;
  const PlanRequest request = merge_runs(sources).plan.request;
  CHECK(request.names_cells);
  CHECK(request.selected_by == std::vector<std::string>{"--cell aaaaaaaaaaaa"});  // said once
}

}  // namespace
}  // namespace reprobench
