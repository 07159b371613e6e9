// Which cell a layout of ranks is held against.
#include "ci/catch.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using sample::candidate;
using sample::threshold;

TEST_CASE("a layout is held against the cell that does its micro-batches on one rank, wherever it stands",
          "[verdict]") {
  RunRecord run = sample::run(1, 1.0, {threshold("numerics.layout_mismatches", Bound::Kind::max, 0, false)});
  Cell& shared = run.plan.cells[1].cell;
  Cell& other = run.plan.cells[0].cell;
  shared.request.world_size = 2;
  other.request.stack = shared.request.stack;
  other.coordinates = shared.coordinates;
  other.coordinates["accumulate"] = "2";
  CHECK(candidate(judge(run)).checks.at(0).reason == "no_reference");
  CHECK(candidate(judge(run)).checks.at(0).sentence == "no cell of this plan does its 2 micro-batches on one rank");
  CHECK(candidate(judge(run)).outcome == Outcome::inconclusive);
  other.request.knobs = {{"accumulate", "2"}};
  CHECK(candidate(judge(run)).checks.at(0).reason == "missing_metric");
  other.request.knobs["precision"] = "bf16";
  CHECK(candidate(judge(run)).checks.at(0).reason == "no_reference");
  other.request.knobs.erase("precision");
  const KnobValues layouts{{"zero_stage", "2"}, {"offload", "optimizer"}};
  for (const auto& [layout, value] : layouts) {  // what it shares out is part of the layout
    shared.request.knobs[layout] = shared.coordinates[layout] = value;
    CHECK(candidate(judge(run)).checks.at(0).reason == "missing_metric");
  }
  run.plan.cells[0].skip = Skip{"no-wheel", ""};
  CHECK(candidate(judge(run)).checks.at(0).sentence == other.slug + " was skipped");
  shared.request.knobs["accumulate"] = "2";
  shared.request.world_size = 1;  // with offload its state lies in two places, which may not show
  CHECK(candidate(judge(run)).checks.at(0).sentence == other.slug + " was skipped");
  shared.request.knobs.erase("offload");
  CHECK(candidate(judge(run)).checks.empty());
  shared.request.knobs["replicas"] = "2";  // of one process, as two ranks are of two
  shared.request.knobs.erase("accumulate");
  CHECK(candidate(judge(run)).checks.at(0).sentence == other.slug + " was skipped");
  shared.request.knobs.erase("replicas");
  shared.request.knobs["accumulate"] = "2";
  shared.request.knobs["offload"] = "none";
  CHECK(candidate(judge(run)).checks.empty());
  run.plan.cells[0].skip.reset();
  shared.request.world_size = 2;
  shared.request.knobs.erase("accumulate");
  other.request.knobs["offload"] = "optimizer";  // nobody is held against a cell that has to prove itself
  CHECK(candidate(judge(run)).checks.at(0).reason == "no_reference");
}

TEST_CASE("ranks with a batch each are held against the cell that has one such batch on one rank", "[verdict]") {
  RunRecord run = sample::run(7, 1.0, {threshold("throughput.weak_scaling_efficiency", Bound::Kind::min, 0.5, false)});
  Cell& shared = run.plan.cells[1].cell;
  Cell& alone = run.plan.cells[0].cell;
  shared.request.world_size = 2;
  alone.request.stack = shared.request.stack;
  alone.coordinates = shared.coordinates;
  shared.request.workload.batch_size = 64;
  alone.request.workload.batch_size = 32;
  shared.coordinates["workload"] = "mlp.b64";
  alone.coordinates["workload"] = "mlp.b32";
  const auto check = [&] { return candidate(judge(run)).checks.at(0); };
  // The digests differ, as they do where the batches do.
  for (AttemptRecord& attempt : run.cells[0].attempts) attempt.lead().result->workload_digest = std::string(32, '1');
  CHECK(check().status == CheckStatus::passed);
  CHECK(check().sentence.starts_with("weak scaling: "));
  run.cells[0].attempts[3].lead().result->workload_digest = std::string(32, '2');
  CHECK(check().reason == "not_comparable");  // which of them was timed, nobody can say
  run.cells[0].attempts[3].lead().result->workload_digest = std::string(32, '1');

  const auto is_apart = [&](auto change) {
    const Cell before = alone;
    change(alone.request);
    const CheckResult result = check();
    alone = before;
    return result.reason == "no_reference" && result.status == CheckStatus::inconclusive;
  };
  CHECK(is_apart([](CellRequest& request) { request.workload.batch_size = 64; }));
  CHECK(is_apart([](CellRequest& request) { request.workload.batch_size = 33; }));
  CHECK(is_apart([](CellRequest& request) { request.workload.model = "gpt2"; }));
  CHECK(is_apart([](CellRequest& request) { request.workload.preset = "other"; }));
  CHECK(is_apart([](CellRequest& request) { request.workload.steps += 1; }));
  CHECK(is_apart([](CellRequest& request) { request.knobs["precision"] = "bf16"; }));
  CHECK(is_apart([](CellRequest& request) { request.knobs["accumulate"] = "2"; }));  // other shapes of its calls
  CHECK(is_apart([](CellRequest& request) { request.world_size = 2; }));
  for (const char* axis : {"stack", "device"}) {
    const Cell before = alone;
    alone.coordinates[axis] = "another";
    CHECK(check().reason == "no_reference");
    alone = before;
  }
  shared.request.workload.batch_size = 65;
  CHECK(check().sentence == "no cell of this plan trains on one rank the 32 of 65 samples that each of 2 ranks does");
  shared.request.workload.batch_size = 64;
  run.plan.cells[0].skip = Skip{"no-wheel", ""};
  CHECK(check().sentence == alone.slug + " was skipped");
  shared.request.world_size = 1;
  CHECK(candidate(judge(run)).checks.empty());
}

TEST_CASE("ranks that train apart fail a cell that nobody asked for it", "[verdict][ranks]") {
  RunRecord run = sample::run(3, 1.0, {sample::threshold("memory.peak_rss", Bound::Kind::max, 1e12, false)});
  AttemptRecord& attempt = sample::candidate(run).attempts[1];
  attempt.ranks.resize(2, attempt.lead());
  CHECK(sample::candidate(judge(run)).outcome == Outcome::passed);
  attempt.ranks[1].trace->steps[0].loss = exact_float(0.25f);
  const CellVerdict cell = sample::candidate(judge(run));
  CHECK(cell.outcome == Outcome::failed);
  CHECK(cell.reason == "ranks_apart");
  CHECK(cell.log_folder == "cells/x/r1");
}

}  // namespace
}  // namespace reprobench
