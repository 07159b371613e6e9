#include "matrix/inquiry/compared_sides.hpp"

#include <csignal>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/base/usage_error.hpp"
#include "matrix/inquiry/scripted_replays.hpp"

namespace reprobench {
namespace {

// A cell of a stored run, "STACK DEVICE HOST PRECISION", and how its attempts went.
struct SampleCell {
  std::string id;  // 12 hex digits
  std::string stack = "a";
  std::string device = "cpu";
  std::string host = {};
  std::string precision = "fp32";
  std::string reference = {};  // an id
  TraceLevel level = TraceLevel::step;
  std::vector<std::string> ends = {"completed"};  // or "crash", "nan"
};

void write_attempt(const SampleCell& cell, const std::string& end, CellRequest request, RunDirectory& run) {
  SampleAttempt sample;
  sample.request = request;
  const std::string digest(32, 'a');
  sample.lines.front() = to_json(TraceHeader{request.cell_id, request.nonce, digest});
  if (cell.level == TraceLevel::tensor) sample.record_tensors();
  sample.exit.nonce = sample.result.nonce = request.nonce;
  sample.result.cell_id = request.cell_id;
  if (end == "crash") {
    sample.exit.exit_code.reset();
    sample.exit.signal = SIGSEGV;
  }
  if (end == "nan") {
    sample.exit.exit_code = 1;
    sample.result.failure = WorkerFailure{"non_finite_loss", "loss is not finite", 3};
  }
  sample.write(run.begin_attempt(request) / rank_folder_name(0));
  run.end_attempt(request, AttemptEnd::completed, "");
}

std::filesystem::path store_run(
    const std::filesystem::path& store, const std::string& run_id, const std::vector<SampleCell>& cells,
    const std::function<void(Cell&)>& change = [](Cell&) {}) {
  Plan plan;
  plan.matrix = "sample";
  for (const SampleCell& stored : cells) {
    Cell cell;
    cell.request = SampleAttempt().request;
    cell.request.nonce = "";
    cell.request.cell_id = stored.id;
    cell.request.stack = stored.stack;
    cell.request.device = stored.device;
    cell.request.trace = stored.level;
    cell.request.knobs["precision"] = stored.precision;
    cell.slug = fmt::format("smoke-mlp-{}", stored.id);
    cell.coordinates = {{"stack", stored.stack}, {"device", stored.device}, {"precision", stored.precision}};
    if (!stored.host.empty()) cell.coordinates["host"] = stored.host;
    if (!stored.reference.empty()) cell.reference_cell_id = stored.reference;
    change(cell);
    plan.cells.push_back({cell, std::nullopt, {}});
  }
  RunInfo info = sample_info();
  info.run_id = run_id;
  RunDirectory run = RunDirectory::create(store, std::nullopt, info, plan);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    CellRequest request = plan.cells[i].cell.request;
    for (const std::string& end : cells[i].ends) {
      request.nonce = fmt::format("{:016x}", 16 * i + static_cast<std::size_t>(request.repeat) + 1);
      write_attempt(cells[i], end, request, run);
      ++request.repeat;
    }
  }
  return run.folder();
}

// Ids that can be told apart: "1" is 111111111111.
std::string id(char digit) { return std::string(12, digit); }

// "11: 22" for a cell 111111111111 of the one run with 222222222222 of the other.
std::vector<std::string> names_of(const StoredPairs& found) {
  const auto short_name = [](const ComparedSide& side) { return side.label.substr(side.label.find(':') + 1, 2); };
  std::vector<std::string> names;
  for (const auto& [a, b] : found.pairs) names.push_back(short_name(a) + ": " + short_name(b));
  return names;
}

std::vector<std::string> paired(const std::vector<SampleCell>& ours, const std::vector<SampleCell>& theirs) {
  TemporaryFolder store;
  const auto measured = store_run(store.path, "ours", ours);
  const auto expected = store_run(store.path, "theirs", theirs);
  try {
    return names_of(sides_of_runs({measured, ""}, {expected, ""}));
  } catch (const UsageError& error) {
    return {error.what()};
  }
}

using Names = std::vector<std::string>;

const Names kNothing{"ours and theirs have no cell in common"};

TEST_CASE("a cell pairs with the nearest of the other run: itself, else another stack's, else another device's",
          "[compared_sides]") {
  struct Row {
    const char* what;
    std::vector<SampleCell> theirs;
    Names pairs;
  };
  const std::vector<SampleCell> ours{{id('1'), "a", "cpu", "h1"}};
  const Row row = GENERATE(
      Row{"the same cell", {{id('2'), "a", "cpu", "h1"}}, {"11: 22"}},
      Row{"whatever stands before it", {{id('3'), "b", "cpu", "h1"}, {id('2'), "a", "cpu", "h1"}}, {"11: 22"}},
      Row{"whatever stands behind it", {{id('2'), "a", "cpu", "h1"}, {id('3'), "b", "cpu", "h1"}}, {"11: 22"}},
      Row{"of two hosts' its own", {{id('3'), "a", "cpu", "h2"}, {id('2'), "a", "cpu", "h1"}}, {"11: 22"}},
      Row{"of two other hosts' the first", {{id('2'), "a", "cpu", "h2"}, {id('3'), "a", "cpu", "h3"}}, {"11: 22"}},
      Row{"of another host before another stack",
          {{id('3'), "b", "cpu", "h1"}, {id('2'), "a", "cpu", "h2"}},
          {"11: 22"}},
      Row{"the only other stack", {{id('2'), "b", "cpu", "h1"}}, {"11: 22"}},
      Row{"one of two other stacks is a guess", {{id('2'), "b", "cpu", "h1"}, {id('3'), "c", "cpu", "h1"}}, kNothing},
      Row{"of other stacks that of its host", {{id('3'), "b", "cpu", "h2"}, {id('2'), "c", "cpu", "h1"}}, {"11: 22"}},
      Row{"another stack before another device",
          {{id('3'), "a", "sm_90", "h1"}, {id('2'), "b", "cpu", "h2"}},
          {"11: 22"}},
      Row{"the only other device", {{id('2'), "a", "sm_90", "h1"}}, {"11: 22"}},
      Row{"one of two other devices is a guess", {{id('2'), "a", "sm_80", ""}, {id('3'), "a", "sm_90", ""}}, kNothing},
      Row{"two guesses do not spoil a nearer one",
          {{id('3'), "b", "cpu", "h1"}, {id('4'), "c", "cpu", "h1"}, {id('2'), "a", "cpu", "h1"}},
          {"11: 22"}},
      Row{"nor two guessed devices the only other stack",
          {{id('3'), "a", "sm_80", "h1"}, {id('4'), "a", "sm_90", "h1"}, {id('2'), "b", "cpu", "h1"}},
          {"11: 22"}},
      Row{"a nearer guess does not become the only one",
          {{id('3'), "a", "sm_90", "h1"}, {id('2'), "b", "cpu", "h1"}, {id('4'), "c", "cpu", "h1"}},
          kNothing},
      Row{"another stack on another device", {{id('2'), "b", "sm_90", "h1"}}, kNothing},
      Row{"another precision", {{id('2'), "a", "cpu", "h1", "bf16"}}, kNothing});
  CAPTURE(row.what);
  CHECK(paired(ours, row.theirs) == row.pairs);
}

TEST_CASE("every cell of the measured run finds its own partner", "[compared_sides]") {
  CHECK(paired({{id('1')}, {id('2'), "a", "cpu", "", "bf16"}, {id('3'), "a", "cpu", "", "fp64"}},
               {{id('5'), "a", "cpu", "", "bf16"}, {id('4')}}) == Names{"11: 44", "22: 55"});
}

TEST_CASE("suite, model and preset tell cells apart", "[compared_sides]") {
  const auto change = GENERATE(
      std::function<void(Cell&)>([](Cell& cell) { cell.request.suite = "other"; }),
      [](Cell& cell) { cell.request.workload.model = "gpt2"; },
      [](Cell& cell) { cell.request.workload.preset = "other"; });
  TemporaryFolder store;
  const auto measured = store_run(store.path, "ours", {{id('1')}});
  const auto expected = store_run(store.path, "theirs", {{id('2')}}, change);
  CHECK_THROWS_AS(sides_of_runs({measured, ""}, {expected, ""}), UsageError);
}

TEST_CASE("a side is the first attempt that trained to its end or to a loss that is not finite", "[compared_sides]") {
  TemporaryFolder store;
  const auto [ends, repeat] = GENERATE(std::pair(Names{"crash", "completed", "completed"}, 1),
                                       std::pair(Names{"nan", "completed"}, 0), std::pair(Names{"crash", "nan"}, 1));
  CAPTURE(ends);
  SampleCell cell{id('1')};
  cell.ends = ends;
  const auto folder = store_run(store.path, "r", {cell}, [](Cell& planned) {
    planned.injections[1] = {"weight_ulp", 2, "w", 7};
  });
  const auto pairs = sides_of_runs({folder, ""}, {folder, ""}).pairs;
  REQUIRE(pairs.size() == 1);
  const ComparedSide& side = pairs.front().first;
  CHECK(side.label == "r:111111111111");
  CHECK(side.attempt.repeat == repeat);
  CHECK(side.request.inject.has_value() == (repeat == 1));
  CHECK(std::filesystem::exists(side.folder / "trace.jsonl"));
}

TEST_CASE("a cell without an attempt to compare stays in its pair and says why", "[compared_sides]") {
  TemporaryFolder store;
  SampleCell crashed{id('1')};
  crashed.ends = {"crash"};
  SampleCell deleted{id('1')};
  deleted.ends = {};
  const auto whole = store_run(store.path, "whole", {{id('1')}});
  const auto missing = [&](const SampleCell& cell, const std::string& name) {
    const auto folder = store_run(store.path, name, {cell});
    const StoredPairs found = sides_of_runs({folder, ""}, {whole, ""});
    REQUIRE(found.pairs.size() == 1);
    CHECK(found.pairs.front().second.missing.empty());
    return found.pairs.front().first.missing;
  };
  CHECK_THAT(missing(crashed, "crashed"), Catch::StartsWith("did not train to its end: crash: SIGSEGV"));
  CHECK(missing(deleted, "deleted") == "has no attempt");
  CHECK_THROWS_WITH(sides_of_runs({whole, ""}, {whole, "smoke-mlp-11111111111"}),
                    "there is no cell of run whole `smoke-mlp-11111111111`; did you mean `smoke-mlp-111111111111`?");
}

TEST_CASE("a cell whose only attempts were deleted is a side without evidence", "[compared_sides]") {
  TemporaryFolder store;
  SampleCell candidate{id('2'), "b"};
  candidate.reference = id('1');
  const auto folder = store_run(store.path, "r", {{id('1')}, candidate});
  std::filesystem::remove_all(folder / "cells" / id('1'));
  const StoredPairs found = sides_within_run({folder, ""});
  REQUIRE(found.pairs.size() == 1);
  CHECK_FALSE(found.pairs.front().second.missing.empty());
}

TEST_CASE("cells of either run that have no partner are named", "[compared_sides]") {
  TemporaryFolder store;
  const auto ours = store_run(store.path, "ours", {{id('1')}, {id('2'), "a", "cpu", "", "bf16"}});
  const auto theirs = store_run(store.path, "theirs", {{id('1')}, {id('3'), "a", "cpu", "", "fp64"}});
  CHECK(sides_of_runs({ours, ""}, {theirs, ""}).without_partner == Names{"ours:222222222222", "theirs:333333333333"});
  CHECK(sides_of_runs({ours, "1111"}, {theirs, ""}).without_partner.empty());
}

TEST_CASE("those repeats are compared that differ", "[compared_sides]") {
  TemporaryFolder store;
  SampleCell cell{id('1')};
  cell.ends = {"completed", "completed", "completed"};
  const auto folder = store_run(store.path, "r", {cell});
  const StoredPairs found = sides_of_runs({folder, ""}, {folder, ""});
  const auto taken = [&](auto change) {
    SidePair pair = found.pairs.front();
    change(pair);
    take_differing_repeats(pair);
    return std::pair(pair.first.attempt.repeat, pair.second.attempt.repeat);
  };
  const auto chain = [](ComparedSide& side, std::size_t repeat) -> std::string& {
    return side.stored->repeats[repeat].lead().result->chain;
  };
  CHECK(taken([](SidePair&) {}) == std::pair(0, 0));
  CHECK(taken([&](SidePair& pair) { chain(pair.first, 2) = "other"; }) == std::pair(2, 0));
  CHECK(taken([&](SidePair& pair) { chain(pair.second, 1) = "other"; }) == std::pair(0, 1));
  CHECK(taken([&](SidePair& pair) {
          chain(pair.first, 2) = "other";
          pair.first.missing = "gone";
        }) == std::pair(0, 0));
}

TEST_CASE("a cell is called by its slug or by four digits of its id and more", "[compared_sides]") {
  TemporaryFolder store;
  const auto folder = store_run(store.path, "r", {{"1111aaaa1111"}, {"1111bbbb1111", "b"}});
  const auto second = [&](const std::string& name) {
    return sides_of_runs({folder, "smoke-mlp-1111aaaa1111"}, {folder, name}).pairs.front().second.label;
  };
  CHECK(second("1111b") == "r:1111bbbb1111");
  CHECK(second("1111") == "r:1111aaaa1111");
  CHECK(second("smoke-mlp-1111bbbb1111") == "r:1111bbbb1111");
  CHECK_THROWS_AS(second("111"), UsageError);
  CHECK_THROWS_AS(second("bbbb"), UsageError);
}

TEST_CASE("two cells named by hand are compared whatever they are; one name alone looks for a partner",
          "[compared_sides]") {
  TemporaryFolder store;
  const auto folder = store_run(store.path, "r", {{id('1')}, {id('2'), "b", "sm_90", "", "bf16"}});
  CHECK(names_of(sides_of_runs({folder, "1111"}, {folder, "2222"})) == Names{"11: 22"});
  CHECK(names_of(sides_of_runs({folder, "2222"}, {folder, ""})) == Names{"22: 22"});
  CHECK_THROWS_AS(sides_of_runs({folder, "2222"}, {store_run(store.path, "s", {{id('1')}}), ""}), UsageError);
}

TEST_CASE("within a run every cell that was to run is held against its reference", "[compared_sides]") {
  TemporaryFolder store;
  SampleCell reference{id('1')};
  SampleCell candidate{id('2'), "b"};
  SampleCell exact_reference{id('3'), "a", "cpu", "", "fp64"};
  SampleCell exact{id('4'), "b", "cpu", "", "fp64"};
  SampleCell alone{id('5'), "c"};  // its reference crashed
  SampleCell crashed{id('6'), "a", "cpu", "", "bf16"};
  candidate.reference = id('1');
  exact.reference = id('3');
  alone.reference = id('6');
  crashed.ends = {"crash"};
  if (GENERATE(true, false)) exact.level = exact_reference.level = TraceLevel::tensor;
  const auto folder = store_run(store.path, "r", {reference, candidate, exact_reference, exact, alone, crashed});
  const StoredPairs found = sides_within_run({folder, ""});
  CHECK(names_of(found) == Names{"22: 11", "44: 33", "55: 66"});
  CHECK(found.skipped == 0);
  CHECK(names_of(sides_within_run({folder, id('4')})) == Names{"44: 33"});
  CHECK_THROWS_WITH(sides_within_run({folder, id('3')}),
                    Catch::Contains("has no reference in it; name a second cell, run or stack to compare it with"));
  CHECK_THROWS_WITH(sides_within_run({folder, "nowhere"}), Catch::Contains("there is no cell of run r `nowhere`"));
  CHECK_THROWS_AS(sides_within_run({store_run(store.path, "s", {reference}), ""}), UsageError);
}

TEST_CASE("a side's trace is read once, and a completed one has to be whole", "[compared_sides]") {
  TemporaryFolder store;
  SampleCell cell{id('1')};
  const bool is_completed = GENERATE(true, false);
  if (!is_completed) cell.ends = {"nan"};
  const auto folder = store_run(store.path, "r", {cell});
  ComparedSide side = sides_of_runs({folder, ""}, {folder, ""}).pairs.front().first;
  CHECK_FALSE(side.attempt.lead().trace);
  const auto path = side.folder / "trace.jsonl";
  SECTION("whole") {
    read_trace_of(side);
    CHECK(side.attempt.lead().trace->steps.size() == 3);
    std::filesystem::remove(path);
    CHECK_NOTHROW(read_trace_of(side));
  }
  SECTION("cut") {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 10);
    if (is_completed) CHECK_THROWS_AS(read_trace_of(side), StoreError);
    if (!is_completed) CHECK_NOTHROW(read_trace_of(side));
  }
}

TEST_CASE("a side without the tensors of its last steps is refused, however it ended", "[compared_sides]") {
  TemporaryFolder store;
  SampleAttempt sample;
  sample.record_tensors(TraceLevel::recent);
  sample.lines.erase(sample.lines.begin() + 5);
  sample.lines.pop_back();
  sample.write(store.path / "rank-0");
  ComparedSide side{"nan", sample.request, {}, store.path / "rank-0"};
  side.attempt.nonce = sample.request.nonce;
  side.attempt.end = AttemptEnd::worker_error;
  CHECK_THROWS_WITH(read_trace_of(side), Catch::Contains("the tensors of step 3 are on record nowhere"));
  side.attempt.lead().trace.reset();
  sample.lines.insert(sample.lines.begin() + 5, to_json(TensorsRecord{3, false, {}}));
  sample.write(store.path / "rank-0");
  CHECK_NOTHROW(read_trace_of(side));
}

TEST_CASE("the trace of each rank is read from its own folder, and has to be its own", "[compared_sides]") {
  TemporaryFolder store;
  SampleAttempt sample;
  sample.write(store.path / "rank-0");
  const bool is_its_own = GENERATE(true, false);
  sample.lines.front() = to_json(TraceHeader{sample.request.cell_id,
                                             sample.request.nonce,
                                             std::string(32, 'a'),
                                             sample.request.trace,
                                             {},
                                             is_its_own ? 1 : 0});
  sample.write(store.path / "rank-1");
  ComparedSide side{"two ranks", sample.request, {}, store.path / "rank-0", StoredCell{}};
  side.stored->run_folder = store.path;
  side.attempt.nonce = sample.request.nonce;
  side.attempt.end = AttemptEnd::completed;
  side.attempt.ranks.resize(2);
  side.attempt.ranks[0].folder = "rank-0";
  side.attempt.ranks[1].folder = "rank-1";
  if (!is_its_own) {
    CHECK_THROWS_WITH(read_trace_of(side), Catch::Contains("rank 0 does not match expected 1"));
    return;
  }
  read_trace_of(side);
  REQUIRE(side.attempt.ranks[1].trace);
  CHECK(side.attempt.ranks[1].trace->header.rank == 1);
  CHECK(side.attempt.ranks[1].trace->steps.size() == 3);
}

Capability workloads() {
  Capability capability;
  capability.workloads = {{"mlp", "", {{"base", 114, 8}, {"wide", 1140, 4}}}, {"gpt2", "", {{"tiny", 114, 2}}}};
  return capability;
}

TEST_CASE("stacks train the workload that was chosen, each with its own knobs and every tensor digested",
          "[compared_sides]") {
  ScriptedReplays replays;
  WorkloadChoice choice;
  choice.steps = 3;
  choice.measured_knobs = {{"seed", "2"}};
  struct Row {
    std::string model, preset;
    std::int64_t asked_batch_size;
    std::string trained_preset;
    std::int64_t batch_size;
  };
  const Row row = GENERATE(Row{"mlp", "", 0, "base", 8}, Row{"mlp", "wide", 0, "wide", 4},
                           Row{"gpt2", "", 1, "tiny", 1}, Row{"gpt2", "tiny", 16, "tiny", 16});
  choice.model = row.model;
  choice.preset = row.preset;
  choice.batch_size = row.asked_batch_size;
  const SidePair pair = sides_of_stacks("stack-b", "stack-a", choice, workloads(), replays);
  CHECK(pair.first.label == "stack-b");
  CHECK(pair.second.label == "stack-a");
  CHECK(pair.first.request.knobs.at("seed") == "2");
  CHECK(pair.second.request.knobs.at("seed") == "1");
  for (const ComparedSide* side : {&pair.first, &pair.second}) {
    CHECK(side->request.workload.model == row.model);
    CHECK(side->request.workload.preset == row.trained_preset);
    CHECK(side->request.workload.batch_size == row.batch_size);
    CHECK(side->attempt.lead().trace->steps.size() == 3);
    CHECK(side->attempt.lead().trace->tensors.size() == 4);  // one a step, and the final state
  }
  CHECK(replays.calls.size() == 1);
  const ComparedSide one = side_of_stack("stack-a", choice, workloads(), replays);
  CHECK(one.request.stack == "stack-a");
  CHECK(one.request.knobs.at("seed") == "1");
}

TEST_CASE("a workload is said to begin once nothing speaks against it, and before it runs", "[compared_sides]") {
  ScriptedReplays replays;
  WorkloadChoice choice;
  choice.steps = 3;
  std::vector<std::size_t> calls_before;
  const auto compare = [&] {
    sides_of_stacks("stack-b", "stack-a", choice, workloads(), replays,
                    [&] { calls_before.push_back(replays.calls.size()); });
  };
  choice.preset = "unheard-of";
  CHECK_THROWS_AS(compare(), UsageError);
  CHECK(calls_before.empty());
  choice.preset = "base";
  compare();
  CHECK(calls_before == std::vector<std::size_t>{0});
}

TEST_CASE("a stack whose loss is not finite is a side, one that crashes is not", "[compared_sides]") {
  ScriptedReplays replays;
  WorkloadChoice choice;
  choice.steps = 3;
  SECTION("not finite") {
    replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 2, 2, 0, becomes(std::nan(""))}};
    CHECK(
        sides_of_stacks("stack-b", "stack-a", choice, workloads(), replays).first.attempt.lead().trace->steps.size() ==
        2);
  }
  SECTION("crash") {
    replays.spoil = [](const ReplayTask& task, ReplayOutcome& outcome) {
      if (task.request.stack == "stack-a") outcome.attempt.end = AttemptEnd::crash;
    };
    CHECK_THROWS_AS(sides_of_stacks("stack-b", "stack-a", choice, workloads(), replays), ReplayFailed);
  }
}

TEST_CASE("a model or preset that the stack has not is named with what it has", "[compared_sides]") {
  ScriptedReplays replays;
  WorkloadChoice choice;
  choice.preset = "huge";
  CHECK_THROWS_WITH(side_of_stack("stack-a", choice, workloads(), replays),
                    "there is no preset of `mlp` `huge`; there are base, wide");
  choice.model = "mpl";
  CHECK_THROWS_AS(side_of_stack("stack-a", choice, workloads(), replays), UsageError);
  CHECK(replays.calls.empty());
}

}  // namespace
}  // namespace reprobench
