// Operator calls of two runs: what is held against what, and what is never called equal.
#include <functional>

#include "ci/catch.hpp"
#include "matrix/verdict/atlas/operator_atlas.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

const std::vector<std::string> kCalls = {"relu(f32[2])", "exp(f32[2])", "exp(f32[3])"};

// Run `id` with the cells of stack-a (2.10.0, the first one) and stack-b (2.9.0), each of one process of its own.
RunRecord run_called(const std::string& id) {
  RunRecord run = sample::run(1, 1, {});
  run.info.run_id = id;
  run.plan.declared["stack-a"]["torch"] = "2.10.0";
  run.plan.declared["stack-b"]["torch"] = "2.9.0";
  for (std::size_t cell : {0, 1}) {
    CellRequest& request = run.plan.cells[cell].cell.request;
    request.workload = {"", "base", 0, 0, "operators", 1};
    request.workload.calls = kCalls;
    request.device = "cpu";
    CellResult& result = *run.cells[cell].attempts.front().lead().result;
    result.nonce = id + request.cell_id;
    result.measurements.clear();
    for (const std::string& call : kCalls) result.measurements.push_back(sample::call_record(call, '0'));
  }
  return run;
}

CellRequest& request_of(RunRecord& run, std::size_t cell) { return run.plan.cells[cell].cell.request; }
CellResult& result_of(RunRecord& run, std::size_t cell) { return *run.cells[cell].attempts.front().lead().result; }

void change_everywhere(RunRecord& run, const std::function<void(CellRequest&)>& change) {
  for (std::size_t cell : {0, 1}) change(request_of(run, cell));
}

OperatorAtlas atlas_of(const RunRecord& ours, const RunRecord& theirs) {
  return operator_atlas(AtlasSide{ours, ""}, AtlasSide{theirs, ""}).value();
}

// Of a column, by the rows.
std::vector<CallWord> words_of(const OperatorAtlas& atlas, std::size_t column) {
  std::vector<CallWord> words;
  for (const AtlasRow& row : atlas.rows) words.push_back(row.by_column[column].word);
  return words;
}

const std::vector<CallWord> kAllUnknown(3, CallWord::unknown);
const std::vector<CallWord> kAllEqual(3, CallWord::equal);

TEST_CASE("each column of a run stands against the same stack's of the other, releases in order", "[verdict]") {
  const OperatorAtlas atlas = atlas_of(run_called("today"), run_called("last-week"));
  CHECK(atlas.run == "today");
  CHECK(atlas.expected_run == "last-week");
  REQUIRE(atlas.columns.size() == 4);
  const char* expected[][3] = {{"today", "stack-b", "2.9.0"},
                               {"today", "stack-a", "2.10.0"},
                               {"last-week", "stack-b", "2.9.0"},
                               {"last-week", "stack-a", "2.10.0"}};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(atlas.columns[i].run == expected[i][0]);
    CHECK(atlas.columns[i].name == expected[i][1]);
    CHECK(atlas.columns[i].release == expected[i][2]);
    CHECK(atlas.columns[i].not_compared.empty());
    CHECK(atlas.columns[i].changed.empty());
    CHECK(words_of(atlas, i) == kAllEqual);
    CHECK(reference_of(atlas, i) == (i < 2 ? std::optional(i + 2) : std::nullopt));
  }
}

TEST_CASE("bits that differ from a shape on are found in the column whose they are", "[verdict]") {
  RunRecord today = run_called("today");
  result_of(today, 1).measurements[2] = sample::call_record(kCalls[2], '1');
  const OperatorAtlas atlas = atlas_of(today, run_called("last-week"));
  CHECK(words_of(atlas, 0) == std::vector{CallWord::equal, CallWord::equal, CallWord::rounding});
  CHECK(words_of(atlas, 1) == kAllEqual);
  CHECK(words_of(atlas, 2) == kAllEqual);  // by itself
  // What the other run has changed is seen as well, and in no other column.
  const OperatorAtlas turned = atlas_of(run_called("last-week"), today);
  CHECK(turned.rows[2].by_column[0].word == CallWord::rounding);
  CHECK(words_of(turned, 1) == kAllEqual);
}

TEST_CASE("a stack without a partner stands against the only other one, and never against one of several",
          "[verdict]") {
  RunRecord ours = run_called("ours");
  RunRecord theirs = run_called("theirs");
  ours.plan.cells[0].skip = Skip{"deselected", "not asked for"};
  theirs.plan.cells[1].skip = Skip{"deselected", "not asked for"};
  const OperatorAtlas atlas = atlas_of(ours, theirs);
  REQUIRE(atlas.columns.size() == 2);
  CHECK(atlas.columns[0].name == "stack-b");
  CHECK(atlas.columns[0].against == 1U);
  CHECK(atlas.columns[1].name == "stack-a");
  CHECK(words_of(atlas, 0) == kAllEqual);
  // Now two of theirs are as near.
  theirs = run_called("theirs");
  ours.plan.cells[1].cell.request.stack = ours.plan.cells[1].cell.coordinates["stack"] = "stack-c";
  const OperatorAtlas guess = atlas_of(ours, theirs);
  REQUIRE(guess.columns.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK_FALSE(guess.columns[i].against);
    CHECK(guess.columns[i].not_compared == "no cell of the other run is its partner");
    CHECK(words_of(guess, i) == kAllUnknown);
  }
}

TEST_CASE("calls that one list alone has are unknown on both sides, and the lists are said to differ", "[verdict]") {
  RunRecord longer = run_called("longer");
  change_everywhere(longer, [](CellRequest& request) { request.workload.calls.push_back("tan(f32[2])"); });
  for (std::size_t cell : {0, 1}) {
    result_of(longer, cell).measurements.push_back(sample::call_record("tan(f32[2])", '0'));
    result_of(longer, cell).workload_digest = std::string(32, 'f');  // it covers the list
  }
  const OperatorAtlas atlas = atlas_of(longer, run_called("shorter"));
  REQUIRE(atlas.rows.size() == 4);
  CHECK(words_of(atlas, 0) == std::vector{CallWord::equal, CallWord::equal, CallWord::equal, CallWord::unknown});
  CHECK(atlas.rows[3].by_column[0].why == "the reference's list has no such call");
  REQUIRE(atlas.columns[0].changed.size() == 1);
  CHECK(atlas.columns[0].changed[0].what == "list");
  CHECK(atlas.columns[0].changed[0].measured == "4 calls, 1 of them here alone");
  CHECK(atlas.columns[0].changed[0].expected == "3 calls, 0 of them here alone");
  const OperatorAtlas turned = atlas_of(run_called("shorter"), longer);
  CHECK(turned.rows[3].by_column[0].word == CallWord::unknown);
  CHECK(turned.rows[3].by_column[0].why == "its list has no such call");
}

// Why the first column of `ours`, changed so, is not held against that of an unchanged run.
std::string refused_because(const std::function<void(RunRecord& run)>& change) {
  RunRecord ours = run_called("ours");
  change(ours);
  const OperatorAtlas atlas = atlas_of(ours, run_called("theirs"));
  REQUIRE(atlas.columns[0].name == "stack-b");
  if (!atlas.columns[0].not_compared.empty()) {
    CHECK(words_of(atlas, 0) == kAllUnknown);
    CHECK(atlas.rows[0].by_column[0].why == atlas.columns[0].not_compared);
  }
  CHECK(words_of(atlas, 1) == kAllEqual);  // the other stack is what it was
  return atlas.columns[0].not_compared;
}

TEST_CASE("other seeds, precisions, files of tensors or numbers of ranks are refused, by name", "[verdict]") {
  CHECK(refused_because([](RunRecord&) {}).empty());
  CHECK(refused_because([](RunRecord& run) { request_of(run, 1).knobs["seed"] = "7"; }) ==
        "the workloads differ: seed 7 against 1");
  CHECK(refused_because([](RunRecord& run) { request_of(run, 1).knobs["precision"] = "bf16"; }) ==
        "the workloads differ: precision bf16 against fp32");
  CHECK(refused_because([](RunRecord& run) {
          request_of(run, 1).workload.tensors_sha256 = std::string(64, 'a');
          request_of(run, 1).knobs["seed"] = "7";
        }) == "the workloads differ: tensors aaaaaaaa against none, seed 7 against 1");
  CHECK(refused_because([](RunRecord& run) { request_of(run, 1).world_size = 2; }) ==
        "the workloads differ: world_size 2 against 1");
}

TEST_CASE("files of tensors that begin alike are not one file", "[verdict]") {
  RunRecord ours = run_called("ours");
  RunRecord theirs = run_called("theirs");
  request_of(ours, 1).workload.tensors_sha256 = std::string(64, 'a');
  request_of(theirs, 1).workload.tensors_sha256 = std::string(63, 'a') + "b";
  CHECK_THAT(atlas_of(ours, theirs).columns[0].not_compared, Catch::StartsWith("the workloads differ: tensors"));
}

TEST_CASE("equal requests whose workers name another work are refused, in every process", "[verdict]") {
  const auto change = [](RunRecord& run) { result_of(run, 1).workload_digest = std::string(32, '9'); };
  CHECK_THAT(refused_because(change),
             Catch::StartsWith("the workload digests differ: 99999999999999999999999999999999"));
  CHECK_THAT(refused_because([&](RunRecord& run) {
               run.plan.cells[1].cell.repeat = 2;
               run.cells[1].attempts.push_back(run.cells[1].attempts.front());
               run.cells[1].attempts.back().repeat = 1;
               change(run);
             }),
             Catch::StartsWith("the workload digests differ"));
}

TEST_CASE("a cell is not held against itself, wherever its run was copied to", "[verdict]") {
  RunRecord copy = run_called("run");
  copy.info.run_id = "copy";
  const OperatorAtlas atlas = atlas_of(copy, run_called("run"));
  for (std::size_t i : {0, 1}) {
    CHECK(atlas.columns[i].not_compared == "both are what one and the same process left: that says nothing");
    CHECK(words_of(atlas, i) == kAllUnknown);
  }
}

TEST_CASE("a cell that crashed, was cut short or lost a call on either side is never equal", "[verdict]") {
  for (const bool is_ours : {true, false}) {
    RunRecord ours = run_called("ours");
    RunRecord theirs = run_called("theirs");
    RunRecord& broken = is_ours ? ours : theirs;
    result_of(broken, 1).measurements.erase(result_of(broken, 1).measurements.begin() + 1);
    CHECK(words_of(atlas_of(ours, theirs), 0) == std::vector{CallWord::equal, CallWord::unknown, CallWord::equal});
    broken.cells[1].attempts.front().end = AttemptEnd::crash;
    CHECK(words_of(atlas_of(ours, theirs), 0) == kAllUnknown);
    CHECK_THAT(atlas_of(ours, theirs).columns[is_ours ? 0 : 2].problem, Catch::StartsWith("crash"));
    broken.cells[1].attempts.clear();
    CHECK(words_of(atlas_of(ours, theirs), 0) == kAllUnknown);
  }
}

TEST_CASE("what changed is named: knobs, versions, machines, reprobench; builds where no version did", "[verdict]") {
  const auto changed = [](const std::function<void(RunRecord & run)>& change) {
    RunRecord ours = run_called("ours");
    change(ours);
    const OperatorAtlas atlas = atlas_of(ours, run_called("theirs"));
    std::string names;
    for (const SideDifference& one : atlas.columns[0].changed) names += one.what + "; ";
    return names;
  };
  CHECK(changed([](RunRecord& run) { request_of(run, 1).knobs["threads"] = "2"; }) == "knob threads; ");
  CHECK(changed([](RunRecord& run) { run.info.reprobench_version = "0.1.0"; }) == "reprobench; ");
  CHECK(changed([](RunRecord& run) { result_of(run, 1).fingerprint.cpu_model = "another"; }) == "cpu; ");
  CHECK(changed([](RunRecord& run) {
          run.plan.host.host_name = "b";
          run.plan.host.glibc = "2.36";
          run.plan.host.driver = "570.1";  // of a GPU that these cells do not use
        }) == "host; glibc; ");
  CHECK(changed([](RunRecord& run) {
          run.plan.hosts = {{"gpu-a", {"r"}, {}}, {"gpu-b", {"r"}, {}}};
          run.plan.hosts[1].facts.driver = "570.1";
          run.plan.cells[1].cell.coordinates["host"] = "gpu-b";
          request_of(run, 1).device = "sm_90";
        }) == "driver; ");
  const auto rebuilt = [](RunRecord& run) { result_of(run, 1).fingerprint.libraries = {{"/a/libtorch_cpu.so", "b"}}; };
  CHECK(changed(rebuilt) == "build of libtorch_cpu.so; ");
  CHECK(changed([&](RunRecord& run) {
          rebuilt(run);
          result_of(run, 1).fingerprint.components = {{"torch", "2.9.0", "2.9.0", ""}};
        }) == "torch; ");
}

TEST_CASE("a named cell stands against its partner alone, and two that were named against each other", "[verdict]") {
  const RunRecord ours = run_called("ours");
  const RunRecord theirs = run_called("theirs");
  const auto names = [](const OperatorAtlas& atlas) {
    std::string text;
    for (const AtlasColumn& column : atlas.columns) text += column.run + ":" + column.name + " ";
    return text;
  };
  const auto alone = operator_atlas(AtlasSide{ours, "aaaa"}, AtlasSide{theirs, ""}).value();
  CHECK(names(alone) == "ours:stack-a theirs:stack-a ");
  CHECK(alone.columns[0].against == 1U);
  CHECK(words_of(alone, 0) == kAllEqual);
  const auto both = operator_atlas(AtlasSide{ours, "aaaa"}, AtlasSide{theirs, "bbbb"}).value();
  CHECK(names(both) == "ours:stack-a theirs:stack-b ");
  CHECK(words_of(both, 0) == kAllEqual);
  // Nor is the own run's other cell the same cell.
  CHECK(words_of(operator_atlas(AtlasSide{ours, "aaaa"}, AtlasSide{ours, "bbbb"}).value(), 0) == kAllEqual);
}

TEST_CASE("cells that were named are partners whatever they differ in, and one that is not there is nobody's",
          "[verdict]") {
  const RunRecord ours = run_called("ours");
  RunRecord theirs = run_called("theirs");
  theirs.plan.cells[1].cell.coordinates["threads"] = request_of(theirs, 1).knobs["threads"] = "2";
  const auto named = operator_atlas(AtlasSide{ours, "aaaa"}, AtlasSide{theirs, "bbbb"}).value();
  CHECK(named.columns.at(0).against == 1U);
  CHECK(words_of(named, 0) == kAllEqual);
  for (const bool is_ours : {true, false}) {
    const auto alone =
        operator_atlas(AtlasSide{ours, is_ours ? "aaaa" : "no such cell"}, AtlasSide{theirs, is_ours ? "cccc" : "bbbb"})
            .value();
    REQUIRE(alone.columns.size() == 1);
    CHECK(alone.columns[0].not_compared == "no cell of the other run is its partner");
    CHECK(words_of(alone, 0) == kAllUnknown);
  }
}

TEST_CASE("faults of either run make the comparison a drill", "[verdict]") {
  RunRecord ours = run_called("ours");
  RunRecord theirs = run_called("theirs");
  ours.plan.cells[1].cell.injections[0] = theirs.plan.cells[1].cell.injections[0] = Injection{"result_bit", 2, "", 0};
  CHECK(atlas_of(ours, theirs).planted ==
        std::vector<std::string>{"result_bit in call 2 of suite-mlp-stack-b of run ours",
                                 "result_bit in call 2 of suite-mlp-stack-b of run theirs"});
}

TEST_CASE("where one run made no calls the other's columns are there without a partner", "[verdict]") {
  const RunRecord other = sample::run(1, 1, {});
  CHECK_FALSE(operator_atlas(AtlasSide{other, ""}, AtlasSide{other, ""}));
  for (const bool is_ours : {true, false}) {
    const RunRecord run = run_called("run");
    const OperatorAtlas atlas = is_ours ? atlas_of(run, other) : atlas_of(other, run);
    REQUIRE(atlas.columns.size() == 2);
    CHECK(words_of(atlas, 0) == kAllUnknown);
    CHECK_FALSE(atlas.columns[0].not_compared.empty());
  }
}

}  // namespace
}  // namespace reprobench
