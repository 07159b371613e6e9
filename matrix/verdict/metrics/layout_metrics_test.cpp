// What is said of trainings on several ranks, from traces made by hand.
#include "ci/catch.hpp"
#include "matrix/verdict/metrics/layout_fixture.hpp"

namespace reprobench {
namespace {

using layout::evidence_of;
using layout::kAlone;
using layout::missing_of;
using layout::result_of;
using layout::tensor;
using layout::tensor_of;
using layout::two_ranks;

TEST_CASE("ranks of a training agree on all that is reduced, and on nothing else", "[verdict][ranks]") {
  CellEvidence cell = two_ranks();
  tensor_of(cell, 1, 0, TensorRole::buffer, "running_mean").digest = "its own";
  const Measurement same = differing_ranks_of_training(cell, nullptr);
  CHECK(same.value == 0);
  CHECK(same.statement == "2 ranks hold the same parameters, gradients and optimizer state in all 3 steps");
}

TEST_CASE("the first step and tensor in which a rank differs are named with it", "[verdict][ranks]") {
  CellEvidence cell = two_ranks();
  tensor_of(cell, 1, 1, TensorRole::optimizer_state, "w.exp_avg").digest = "other";
  tensor_of(cell, 1, 1, TensorRole::parameter_gradient, "w").digest = "other";
  tensor_of(cell, 1, 3, TensorRole::parameter, "w").digest = "other";
  const Measurement measured = differing_ranks_of_training(cell, nullptr);
  CHECK(measured.value == 2);
  CHECK(measured.statement == "in repeat 0 rank 1 differs from rank 0 in 1 of 3 steps and the state after them");
  REQUIRE(measured.divergence);
  CHECK(measured.divergence->step == 2);
  CHECK(measured.divergence->tensor == "w");
  CHECK(measured.divergence->role == "parameter_gradient");
  CHECK(measured.divergence->measured_digest == "other");
  CHECK(measured.divergence->against == "rank 0");
}

TEST_CASE("of three ranks the one that stands alone is named, be it the first", "[verdict][ranks]") {
  for (const std::size_t odd : {0U, 1U, 2U}) {
    CellEvidence cell = evidence_of({{"0"}, {"1"}, {"2"}});
    tensor_of(cell, odd, 3, TensorRole::parameter, "w").digest = "other";
    const Measurement measured = differing_ranks_of_training(cell, nullptr);
    CHECK(measured.value == 1);
    CHECK(measured.statement == "in repeat 0 rank " + std::to_string(odd) + " differs from rank " +
                                    (odd == 0 ? "1" : "0") + " in the state after the last step");
    CHECK(measured.divergence->measured_digest == "other");
  }
}

TEST_CASE("a later repeat whose ranks differ more speaks for the cell", "[verdict][ranks]") {
  CellEvidence cell = two_ranks();
  cell.repeats.push_back(cell.repeats[0]);
  cell.repeats[1].repeat = 1;
  cell.repeats[1].ranks[1].trace->tensors[0].tensors[1].digest = "other";
  const Measurement measured = differing_ranks_of_training(cell, nullptr);
  CHECK(measured.repeat == 1);
  CHECK(measured.statement == "in repeat 1 rank 1 differs from rank 0 in 1 of 3 steps");
}

TEST_CASE("a later repeat that has other bits than one rank speaks for the cell", "[verdict][ranks]") {
  const CellEvidence alone = evidence_of({{"0", "1"}});
  CellEvidence cell = two_ranks();
  cell.repeats.push_back(cell.repeats[0]);
  cell.repeats[1].repeat = 1;
  CHECK(differing_from_one_rank(cell, &alone).value == 0);
  for (RankRecord& rank : cell.repeats[1].ranks) rank.trace->tensors[0].tensors[1].digest = "other";
  CHECK(differing_from_one_rank(cell, &alone).value == 1);
  CHECK(differing_from_one_rank(cell, &alone).repeat == 1);
}

// Two ranks of ZeRO: the weight's optimizer state on the second, with stage 2 its gradient, with stage 3 itself too.
CellEvidence sharing(const char* zero_stage) {
  CellEvidence cell = two_ranks();
  for (std::size_t rank : {0U, 1U}) {
    RankRecord& record = cell.repeats[0].ranks[rank];
    record.result->knobs_resolved["zero_stage"] = zero_stage;
    for (TensorsRecord& tensors : record.trace->tensors) {
      if (tensors.is_final) tensors.tensors.push_back(tensor(TensorRole::optimizer_state, "w.exp_avg"));
      if (rank == 1) continue;
      std::erase_if(tensors.tensors, [&](const TensorRecord& one) {
        return one.role == TensorRole::optimizer_state ||
               (zero_stage[0] >= '2' && one.role == TensorRole::parameter_gradient && one.name == "w") ||
               (zero_stage[0] == '3' && one.role == TensorRole::parameter);
      });
    }
  }
  return cell;
}

CellEvidence alone_with_final_state() {
  CellEvidence cell = evidence_of({{"0", "1"}});
  cell.repeats[0].ranks[0].trace->tensors[3].tensors.push_back(tensor(TensorRole::optimizer_state, "w.exp_avg"));
  return cell;
}

TEST_CASE("what ranks share out is asked of the rank that holds it", "[verdict][ranks]") {
  const CellEvidence alone = alone_with_final_state();
  CHECK(differing_ranks_of_training(sharing("1"), nullptr).statement ==
        "2 ranks hold the same parameters and gradients, and among them the optimizer state, in all 3 steps");
  CHECK(differing_ranks_of_training(sharing("2"), nullptr).statement ==
        "2 ranks hold the same parameters, and among them all gradients and optimizer state, in all 3 steps");
  CHECK(differing_ranks_of_training(sharing("3"), nullptr).statement ==
        "2 ranks hold among them all parameters, gradients and optimizer state in all 3 steps");
  for (const char* stage : {"1", "2", "3"}) {
    CHECK(differing_from_one_rank(sharing(stage), &alone).value == 0);
    CellEvidence cell = sharing(stage);
    tensor_of(cell, 1, 1, TensorRole::optimizer_state, "w.exp_avg").digest = "other";
    CHECK(differing_ranks_of_training(cell, nullptr).value == 0);  // nobody else holds it
    const Measurement measured = differing_from_one_rank(cell, &alone);
    CHECK(measured.value == 1);
    CHECK(measured.statement == "differs from on-1 in 1 of 3 steps, first on rank 1");
    CHECK(measured.divergence->tensor == "w.exp_avg");
  }
}

TEST_CASE("a gradient of one micro-batch is its rank's own, in whatever way the sums are shared out",
          "[verdict][ranks]") {
  const CellEvidence alone = alone_with_final_state();
  const char* stage = GENERATE("0", "1", "2", "3");
  CellEvidence cell = stage[0] == '0' ? two_ranks() : sharing(stage);
  // Each rank's own part is another one.
  tensor_of(cell, 1, 1, TensorRole::parameter_gradient, "w#1").digest = "part";
  CHECK(differing_ranks_of_training(cell, nullptr).value == 0);
  if (stage[0] != '0') {
    CHECK(differing_from_one_rank(cell, &alone).statement == "differs from on-1 in 1 of 3 steps, first on rank 1");
  }
  // Every rank has as many of its own, and a rank that lacks one recorded something else.
  std::erase_if(cell.repeats[0].ranks[1].trace->tensors[1].tensors,
                [](const TensorRecord& one) { return one.name == "w#1"; });
  CHECK(missing_of(cell) == "repeat 0: rank 1 recorded other tensors than rank 0 of step 2");
}

TEST_CASE("a tensor that several ranks hold pieces of accuses none of them alone", "[verdict][ranks]") {
  CellEvidence cell = two_ranks();
  for (RankRecord& rank : cell.repeats[0].ranks) rank.result->knobs_resolved["zero_stage"] = "1";
  for (const std::size_t rank : {0U, 1U}) {
    tensor_of(cell, rank, 1, TensorRole::optimizer_state, "w.exp_avg").digest = "other";
    cell.repeats[0].ranks[rank].trace->tensors[3].tensors.push_back(tensor(TensorRole::optimizer_state, "w.exp_avg"));
  }
  const CellEvidence alone = alone_with_final_state();
  CHECK(differing_from_one_rank(cell, &alone).statement ==
        "differs from on-1 in 1 of 3 steps, first in what ranks 0, 1 hold of it together");
  tensor_of(cell, 1, 0, TensorRole::optimizer_state, "w.exp_avg").digest = "lost on the way";
  const Measurement ranks = differing_ranks_of_training(cell, nullptr);
  CHECK(ranks.value == 1);
  CHECK(ranks.statement == "in repeat 0 rank 1 differs from rank 0 in 1 of 3 steps");
  CHECK(ranks.divergence->tensor == "w.exp_avg");
}

TEST_CASE("what no rank recorded of a sharded training is missing, not equal", "[verdict][ranks]") {
  const auto erase = [](CellEvidence& cell, std::size_t record, TensorRole role, const std::string& name) {
    for (RankRecord& rank : cell.repeats[0].ranks) {
      std::erase_if(rank.trace->tensors[record].tensors,
                    [&](const TensorRecord& one) { return one.role == role && one.name == name; });
    }
  };
  const CellEvidence alone = alone_with_final_state();
  CellEvidence cell = sharing("2");
  erase(cell, 1, TensorRole::parameter_gradient, "w");
  CHECK(missing_of(cell) == "repeat 0: no rank recorded the gradient of `w` of step 2");
  CHECK(missing_of(cell, alone) == "no rank recorded `w` of step 2");
  cell = sharing("3");
  erase(cell, 1, TensorRole::parameter, "w");
  CHECK(missing_of(cell) == "repeat 0: no rank recorded `w` of step 2");
  CHECK(missing_of(cell, alone) == "no rank recorded `w` of step 2");
  cell = sharing("3");
  erase(cell, 3, TensorRole::parameter, "w");
  CHECK(missing_of(cell) == "repeat 0: no rank recorded `w` of the state after the last step");
  cell = sharing("1");
  erase(cell, 2, TensorRole::optimizer_state, "w.exp_avg");
  CHECK(missing_of(cell) == "repeat 0: no rank recorded any optimizer state of step 3");
  CHECK(missing_of(cell, alone) == "no rank recorded `w.exp_avg` of step 3");
  cell = sharing("1");
  for (RankRecord& rank : cell.repeats[0].ranks) {
    rank.trace->tensors[0].tensors.push_back(tensor(TensorRole::parameter_gradient, "b"));
    rank.trace->tensors[2].tensors.push_back(tensor(TensorRole::parameter_gradient, "b"));
    rank.trace->tensors[2].tensors.push_back(tensor(TensorRole::optimizer_state, "b.exp_avg"));
  }
  CHECK(missing_of(cell) == "repeat 0: no rank recorded `b.exp_avg` of step 1");
  std::erase_if(cell.repeats[0].ranks[0].trace->tensors[0].tensors, [](const auto& one) { return one.name == "b"; });
  CHECK(missing_of(cell) == "repeat 0: rank 1 recorded other tensors than rank 0 of step 1");
  cell = sharing("1");
  for (RankRecord& rank : cell.repeats[0].ranks) {
    rank.trace->tensors[2].tensors.push_back(tensor(TensorRole::parameter_gradient, "b"));
    rank.trace->tensors[2].tensors.push_back(tensor(TensorRole::optimizer_state, "b.exp_avg"));
  }
  CHECK(missing_of(cell) == "repeat 0: no rank recorded `b.exp_avg` of the state after the last step");
  // Without the knob nothing may be elsewhere.
  cell = sharing("1");
  for (RankRecord& rank : cell.repeats[0].ranks) rank.result->knobs_resolved.erase("zero_stage");
  CHECK(missing_of(cell) == "repeat 0: rank 1 recorded other tensors than rank 0 of step 1");
  CHECK(missing_of(cell, alone) == "rank 0 recorded no `w.exp_avg` of step 1");
}

TEST_CASE("the fullest rank's optimizer state is held against its share of one rank's", "[verdict][ranks]") {
  CellEvidence alone = evidence_of({{"0", "1"}});
  CellEvidence cell = two_ranks();
  result_of(alone, 0).optimizer_state_bytes = 800;
  result_of(cell, 0).optimizer_state_bytes = 300;
  result_of(cell, 1).optimizer_state_bytes = 500;
  const Measurement measured = optimizer_state_share(cell, &alone);
  CHECK(measured.value == 1.25);
  CHECK(measured.statement == "rank 1 of 2 keeps 500 B of optimizer state, on-1 keeps 800 B");
  result_of(cell, 0).optimizer_state_bytes = result_of(cell, 1).optimizer_state_bytes = 800;
  CHECK(optimizer_state_share(cell, &alone).value == 2);  // everything everywhere
  result_of(cell, 0).optimizer_state_bytes = 0;
  result_of(cell, 1).optimizer_state_bytes =
      799;  // a rank that says it keeps less than it does, or a state that nobody keeps
  CHECK(optimizer_state_share(cell, &alone).missing ==
        "the ranks of repeat 0 say that they keep 799 B together, on-1 keeps 800 B");
  result_of(cell, 0).optimizer_state_bytes = -1;
  CHECK(optimizer_state_share(cell, &alone).missing == "rank 0 of repeat 0 measured none");
  result_of(alone, 0).optimizer_state_bytes = 0;
  CHECK(optimizer_state_share(cell, &alone).missing == "the optimizer keeps no state");
  result_of(alone, 0).optimizer_state_bytes = -1;
  CHECK(optimizer_state_share(cell, &alone).missing == "on-1 measured no optimizer state");
}

TEST_CASE("the fullest rank's peak of model state is held against one rank's", "[verdict][ranks]") {
  CellEvidence alone = evidence_of({{"0", "1"}});
  CellEvidence cell = two_ranks();
  result_of(alone, 0).model_state_peak_bytes = 1000;
  result_of(cell, 0).model_state_peak_bytes = 650;
  result_of(cell, 1).model_state_peak_bytes = 600;
  const Measurement measured = model_state_share(cell, &alone);
  CHECK(measured.value == 0.65);
  CHECK(measured.statement == "rank 0 of 2 held 650 B of model state, on-1 held 1000 B");
  result_of(cell, 0).model_state_peak_bytes = 399;
  CHECK(model_state_share(cell, &alone).missing ==
        "the ranks of repeat 0 say that they held 999 B together, on-1 held 1000 B");
  result_of(cell, 1).model_state_peak_bytes = -1;
  CHECK(model_state_share(cell, &alone).missing == "rank 1 of repeat 0 measured none");
  for (const std::int64_t none : {0, -1}) {
    result_of(alone, 0).model_state_peak_bytes = none;
    CHECK(model_state_share(cell, &alone).missing == "on-1 measured no model state");
  }
}

TEST_CASE("ranks whose evidence is missing do not agree", "[verdict][ranks]") {
  CHECK(missing_of(kAlone) == "needs several ranks, the cell has 1");
  CellEvidence cell = two_ranks();
  cell.repeats[0].ranks[1].trace->tensors.pop_back();
  CHECK(missing_of(cell) == "repeat 0: rank 1 has tensors of 3 of 3 steps");
  CHECK(missing_of(cell, kAlone) == "rank 1 has tensors of 3 of 3 steps");
  cell = two_ranks();
  cell.repeats[0].ranks[1].trace->tensors[1].tensors.pop_back();
  CHECK(missing_of(cell) == "repeat 0: rank 1 recorded other tensors than rank 0 of step 2");
  cell = two_ranks();
  tensor_of(cell, 1, 2, TensorRole::parameter_gradient, "w").name = "v";
  CHECK(missing_of(cell) == "repeat 0: `w` of step 3 was not recorded by every rank");
  cell = two_ranks();
  cell.repeats[0].ranks[0].trace->header.level = GENERATE(TraceLevel::step, TraceLevel::recent);
  CHECK(missing_of(cell) == "repeat 0: digests of every tensor are needed: `trace: tensor`");
}

TEST_CASE("a layout has the bits of one rank that does its micro-batches", "[verdict][ranks]") {
  CellEvidence cell = two_ranks();
  tensor_of(cell, 1, 0, TensorRole::buffer, "running_mean").digest = "its own";
  const Measurement same = differing_from_one_rank(cell, &kAlone);
  CHECK(same.value == 0);
  CHECK(same.statement == "has the bits of on-1 in all 3 steps");
}

TEST_CASE("a difference is followed through the reduction to the rank that sent it", "[verdict][ranks]") {
  CellEvidence cell = two_ranks();
  // Its part of a gradient is wrong, so both ranks have the same wrong sum.
  for (const std::size_t rank : {0U, 1U}) tensor_of(cell, rank, 1, TensorRole::parameter_gradient, "w").digest = "sum";
  tensor_of(cell, 1, 1, TensorRole::parameter_gradient, "w#1").digest = "part";
  tensor_of(cell, 0, 2, TensorRole::parameter, "w").digest = "later";
  CHECK(differing_ranks_of_training(cell, nullptr).value == 1);  // step 3 alone
  const Measurement measured = differing_from_one_rank(cell, &kAlone);
  CHECK(measured.value == 2);
  CHECK(measured.statement == "differs from on-1 in 2 of 3 steps, first on rank 1");
  CHECK(measured.divergence->step == 2);
  CHECK(measured.divergence->tensor == "w#1");
  CHECK(measured.divergence->against == "on-1");
}

TEST_CASE("a rank with another batch is named by it, though every rank has another loss", "[verdict][ranks]") {
  CellEvidence cell = two_ranks();
  for (const std::size_t rank : {0U, 1U}) tensor_of(cell, rank, 0, TensorRole::loss, "loss").digest = "other";
  tensor_of(cell, 1, 0, TensorRole::forward_output, "fc1#1").digest = "other";
  tensor_of(cell, 1, 0, TensorRole::input, "input#1").digest = "other";
  const Measurement measured = differing_from_one_rank(cell, &kAlone);
  CHECK(measured.statement == "differs from on-1 in 1 of 3 steps, first on rank 1");
  CHECK(measured.divergence->tensor == "input#1");
}

TEST_CASE("a layout is not held against one that did, or recorded, something else", "[verdict][ranks]") {
  CHECK(missing_of(evidence_of({{"0"}, {"2"}}), kAlone) == "on-1 recorded no `input#2` of step 1");
  CHECK(missing_of(evidence_of({{"0"}, {"0"}}), kAlone) == "no rank recorded `input#1` of step 1");
  CellEvidence cell = two_ranks();
  std::erase_if(cell.repeats[0].ranks[1].trace->tensors[1].tensors,
                [](const TensorRecord& one) { return one.role == TensorRole::loss; });
  CHECK(missing_of(cell, kAlone) == "rank 1 recorded no `loss` of step 2");
  cell = two_ranks();
  for (RankRecord& rank : cell.repeats[0].ranks) rank.result->knobs_resolved["threads"] = "2";
  CHECK(missing_of(cell, kAlone) == "a rank has `2` threads, on-1 has `1`");
  cell = two_ranks();
  for (RankRecord& rank : cell.repeats[0].ranks) rank.result->knobs_resolved["accumulate"] = "3";
  CHECK(missing_of(cell, kAlone) == "accumulate is `3`: equal bits are promised for 1, 2, 4 and further powers of two");
}

}  // namespace
}  // namespace reprobench
