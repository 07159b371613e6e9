// Whether replicas of one process hold replica 0's weights, from traces made by hand.
#include "matrix/verdict/metrics/replica_metrics.hpp"

#include "ci/catch.hpp"
#include "matrix/verdict/metrics/layout_fixture.hpp"

namespace reprobench {
namespace {

using layout::kAlone;
using layout::result_of;
using layout::tensor;
using layout::tensor_of;

// The training of kAlone in one process with that many replicas.
CellEvidence with_replicas(int replicas) {
  CellEvidence cell = layout::evidence_of({{"0", "1"}});
  result_of(cell, 0).knobs_resolved["replicas"] = std::to_string(replicas);
  for (TensorsRecord& record : cell.repeats[0].ranks[0].trace->tensors) {
    for (int replica = 1; replica < replicas; ++replica) {
      TensorRecord copy = tensor(TensorRole::parameter, "w@" + std::to_string(replica));
      copy.digest = "digest of w";
      record.tensors.push_back(copy);
    }
  }
  return cell;
}

std::string missing_of_replicas(const CellEvidence& cell) { return differing_replicas(cell, nullptr).missing; }

TEST_CASE("replicas that begin every step and end with replica 0's weights have no mismatch", "[verdict][replicas]") {
  const Measurement measured = differing_replicas(with_replicas(3), nullptr);
  CHECK(measured.value == 0);
  CHECK(measured.statement == "3 replicas hold the same parameters in all 3 steps");
  CHECK_FALSE(measured.divergence);
}

TEST_CASE("a replica that was left behind is named, with the first step and tensor", "[verdict][replicas]") {
  CellEvidence cell = with_replicas(3);
  tensor_of(cell, 0, 1, TensorRole::parameter, "w@2").digest = "old";
  tensor_of(cell, 0, 2, TensorRole::parameter, "w@1").digest = "old";
  const Measurement measured = differing_replicas(cell, nullptr);
  CHECK(measured.value == 2);
  CHECK(measured.statement == "in repeat 0 replica 2 begins 2 of 3 steps with other weights than replica 0");
  REQUIRE(measured.divergence);
  CHECK(measured.divergence->step == 2);
  CHECK(measured.divergence->tensor == "w@2");
  CHECK(measured.divergence->measured_digest == "old");
  CHECK(measured.divergence->expected_digest == "digest of w");
  CHECK(measured.divergence->against == "replica 0");
}

TEST_CASE("the weights that replicas end with count as a step of their own", "[verdict][replicas]") {
  CellEvidence cell = with_replicas(2);
  tensor_of(cell, 0, 3, TensorRole::parameter, "w@1").digest = "old";
  CHECK(differing_replicas(cell, nullptr).value == 1);
  CHECK(differing_replicas(cell, nullptr).statement == "in repeat 0 replica 1 ends with other weights than replica 0");
  tensor_of(cell, 0, 0, TensorRole::parameter, "w@1").digest = "old";
  CHECK(differing_replicas(cell, nullptr).value == 2);
  CHECK(differing_replicas(cell, nullptr).statement ==
        "in repeat 0 replica 1 begins 1 of 3 steps, and ends, with other weights than replica 0");
}

TEST_CASE("the repeat whose replicas differ most speaks for the cell", "[verdict][replicas]") {
  CellEvidence cell = with_replicas(2);
  cell.repeats.push_back(cell.repeats[0]);
  cell.repeats[1].repeat = 1;
  for (TensorRecord& one : cell.repeats[1].ranks[0].trace->tensors[1].tensors) {
    if (one.name == "w@1") one.digest = "old";
  }
  CHECK(differing_replicas(cell, nullptr).repeat == 1);
  tensor_of(cell, 0, 2, TensorRole::parameter, "w@1").digest = "old";
  CHECK(differing_replicas(cell, nullptr).repeat == 0);  // of equals the first
}

TEST_CASE("replicas of whose weights there is no full record have no value", "[verdict][replicas]") {
  CellEvidence cell = with_replicas(1);
  CHECK(missing_of_replicas(cell) == "repeat 0: needs several replicas, the process had 1");
  cell = with_replicas(3);
  std::erase_if(cell.repeats[0].ranks[0].trace->tensors[1].tensors,
                [](const TensorRecord& one) { return one.name == "w@2"; });
  CHECK(missing_of_replicas(cell) == "repeat 0: replica 2 recorded no `w` of step 2");
  cell = with_replicas(2);
  cell.repeats[0].ranks[0].trace->tensors[2].tensors.clear();
  CHECK(missing_of_replicas(cell) == "repeat 0: no parameter was recorded of step 3");
  cell = with_replicas(2);
  cell.repeats[0].ranks[0].trace->header.level = GENERATE(TraceLevel::step, TraceLevel::recent);
  CHECK(missing_of_replicas(cell) == "repeat 0: digests of every tensor are needed: `trace: tensor`");
  cell = with_replicas(2);
  cell.repeats[0].ranks[0].trace->tensors.pop_back();
  CHECK(missing_of_replicas(cell) == "repeat 0: rank 0 has tensors of 3 of 3 steps");
}

TEST_CASE("a process with replicas is held against one rank by what is not a copy", "[verdict][replicas]") {
  CellEvidence cell = with_replicas(2);
  CHECK(differing_from_one_rank(cell, &kAlone).value == 0);
  tensor_of(cell, 0, 1, TensorRole::parameter, "w@1").digest = "old";
  CHECK(differing_from_one_rank(cell, &kAlone).value == 0);
  tensor_of(cell, 0, 1, TensorRole::parameter_gradient, "w#1").digest = "of old weights";
  const Measurement measured = differing_from_one_rank(cell, &kAlone);
  CHECK(measured.value == 1);
  REQUIRE(measured.divergence);
  CHECK(measured.divergence->tensor == "w#1");
}

}  // namespace
}  // namespace reprobench
