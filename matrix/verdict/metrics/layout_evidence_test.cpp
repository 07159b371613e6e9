// Ties of repeats and ranks, and records that cannot be held against each other.
#include "ci/catch.hpp"
#include "matrix/verdict/metrics/layout_fixture.hpp"

namespace reprobench {
namespace {

using layout::evidence_of;
using layout::kAlone;
using layout::missing_of;
using layout::result_of;
using layout::tensor_of;
using layout::two_ranks;

TEST_CASE("of repeats whose ranks differ as much the first speaks, and of ranks as full the first",
          "[verdict][ranks]") {
  CellEvidence cell = two_ranks();
  tensor_of(cell, 1, 0, TensorRole::parameter, "w").digest = "other";
  cell.repeats.push_back(cell.repeats[0]);
  cell.repeats[1].repeat = 1;
  CHECK(differing_ranks_of_training(cell, nullptr).repeat == 0);
  CellEvidence alone = evidence_of({{"0", "1"}});
  result_of(alone, 0).model_state_peak_bytes = 1000;
  for (AttemptRecord& attempt : cell.repeats) {
    for (RankRecord& rank : attempt.ranks) rank.result->model_state_peak_bytes = 500;
  }
  CHECK(model_state_share(cell, &alone).repeat == 0);
  CHECK(model_state_share(cell, &alone).statement == "rank 0 of 2 held 500 B of model state, on-1 held 1000 B");
  cell.repeats[1].ranks[1].result->model_state_peak_bytes = 501;
  CHECK(model_state_share(cell, &alone).repeat == 1);
}

TEST_CASE("every power of two of micro-batches adds up a part of one sum, and no other number", "[verdict][ranks]") {
  const auto missing_with = [](const std::string& accumulate) {
    CellEvidence cell = two_ranks();
    for (RankRecord& rank : cell.repeats[0].ranks) rank.result->knobs_resolved["accumulate"] = accumulate;
    return missing_of(cell, kAlone);
  };
  for (const char* power : {"1", "2", "4", "8", "16", "32", "64", "128", "256", "512"}) {
    CHECK(missing_with(power).empty());
  }
  for (const char* other : {"", "0", "3", "6", "12", "511"}) CHECK(missing_with(other).starts_with("accumulate is `"));
}

TEST_CASE("a layout whose threads are not known, or that did other steps, is not held against another",
          "[verdict][ranks]") {
  CellEvidence cell = two_ranks();
  CellEvidence alone = evidence_of({{"0", "1"}});
  for (CellEvidence* one : {&cell, &alone}) {
    for (RankRecord& rank : one->repeats[0].ranks) rank.result->knobs_resolved.erase("threads");
  }
  CHECK(missing_of(cell, alone) == "a rank has `` threads, on-1 has ``");
  CellEvidence shorter = evidence_of({{"0", "1"}});
  Trace& trace = *shorter.repeats[0].lead().trace;
  trace.steps.pop_back();
  trace.tensors.erase(trace.tensors.begin() + 2);
  CHECK(missing_of(two_ranks(), shorter) == "of other steps than on-1");
  cell = two_ranks();
  cell.repeats[0].ranks[1].trace->steps.pop_back();
  CHECK(missing_of(cell) == "repeat 0: rank 1 has tensors of 4 of 3 steps");
}

TEST_CASE("records of other steps, or of a state where others have a step, are not the same", "[verdict][ranks]") {
  for (const bool is_of_step : {true, false}) {
    CellEvidence cell = two_ranks();
    TensorsRecord& record = cell.repeats[0].ranks[1].trace->tensors[1];
    if (is_of_step) {
      record.step = 7;
    } else {
      record.is_final = true;
    }
    CHECK(missing_of(cell) == "repeat 0: rank 1 recorded other tensors than rank 0 of step 2");
    CHECK(missing_of(cell, kAlone) == (is_of_step ? "on-1 recorded no `input#1` of step 7"
                                                  : "on-1 recorded no `input#1` of the state after the last step"));
  }
  CellEvidence cell = two_ranks();
  tensor_of(cell, 1, 2, TensorRole::forward_output, "fc1#1").role = TensorRole::grad_output;
  CHECK(missing_of(cell) == "repeat 0: `fc1#0` of step 3 was not recorded by every rank");
  cell = two_ranks();
  tensor_of(cell, 1, 2, TensorRole::parameter_gradient, "w#1").name = "w";
  CHECK(missing_of(cell) == "repeat 0: `w#0` of step 3 was not recorded by every rank");
}

}  // namespace
}  // namespace reprobench
