#include "matrix/contract/attempt_segment.hpp"

#include <algorithm>

#include "ci/catch.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

CellRequest stopping_request() {
  CellRequest request;
  request.nonce = "0123456789abcdef";
  request.workload = {"mlp", "base", 20, 32};
  request.workload.resume_after = 8;
  request.gemm_peak_samples = 5;
  return request;
}

TEST_CASE("an attempt is one process, or three where its workload says `resume_after`") {
  CellRequest request = stopping_request();
  CHECK(segments_of(request).size() == 3);
  request.replay = Replay{};
  CHECK(segments_of(request).size() == 1);
  request.replay.reset();
  request.workload.resume_after = 0;
  REQUIRE(segments_of(request).size() == 1);
  CHECK(segments_of(request)[0] == AttemptSegment::whole);
}

TEST_CASE("the two later segments share the steps of the whole and one folder of checkpoints") {
  const CellRequest whole = request_of_segment(stopping_request(), AttemptSegment::whole, "/run/r0");
  const CellRequest stopped = request_of_segment(stopping_request(), AttemptSegment::stopped, "/run/r0");
  const CellRequest resumed = request_of_segment(stopping_request(), AttemptSegment::resumed, "/run/r0");
  CHECK_FALSE(whole.checkpoint);
  CHECK(first_step_of(whole) == 1);
  CHECK(last_step_of(whole) == 20);
  CHECK(first_step_of(stopped) == 1);
  CHECK(last_step_of(stopped) == 8);
  CHECK(first_step_of(resumed) == 9);
  CHECK(whole.gemm_peak_samples == 5);
  CHECK(stopped.gemm_peak_samples == 0);  // nobody times it
  CHECK(resumed.gemm_peak_samples == 0);
  CHECK(last_step_of(resumed) == 20);
  CHECK_FALSE(stopped.checkpoint->resume);
  CHECK(resumed.checkpoint->resume);
  CHECK(stopped.checkpoint->folder == "/run/r0/stopped/checkpoints");
  CHECK(resumed.checkpoint->folder == stopped.checkpoint->folder);
  // The workload, and with it its digest and its schedule, is the same in all three.
  CHECK(to_json(stopped.workload) == to_json(whole.workload));
  CHECK(to_json(resumed.workload) == to_json(whole.workload));
}

CellRequest elastic_request(int ranks, const char* accumulate, std::int64_t resumed_on) {
  CellRequest request = stopping_request();
  request.world_size = ranks;
  request.knobs = with_defaults({{"accumulate", accumulate}, {"zero_stage", "2"}, {"threads", "4"}});
  request.workload.resume_world_size = resumed_on;
  return request;
}

TEST_CASE("on other ranks the same micro-batches are resumed, in as many threads a rank") {
  for (const int ranks : {1, 2, 4}) {
    CellRequest request = elastic_request(2, "2", ranks);
    const CellRequest resumed = request_of_segment(request, AttemptSegment::resumed, "/run/r0");
    CHECK(resumed.world_size == ranks);
    CHECK(micro_batches_of(resumed) == 4);
    CHECK(resumed.knobs.at("zero_stage") == "2");
    CHECK(knobs_of_rank(resumed).at("threads") == "2");
    for (const AttemptSegment segment : {AttemptSegment::whole, AttemptSegment::stopped}) {
      CHECK(request_of_segment(request, segment, "/run/r0").world_size == 2);
      CHECK(request_of_segment(request, segment, "/run/r0").knobs == request.knobs);
    }
    CHECK(most_ranks_of(request) == std::max(2, ranks));
    request.device = "cpu";
    CHECK(gpus_of(request) == 0);
    request.device = "sm_90";
    CHECK(gpus_of(request) == std::max(2, ranks));
  }
  // Four threads that three ranks share are one each, and so they stay.
  CellRequest uneven = elastic_request(3, "2", 2);
  CHECK(knobs_of_rank(request_of_segment(uneven, AttemptSegment::resumed)).at("threads") == "1");
  CHECK(micro_batches_of(request_of_segment(uneven, AttemptSegment::resumed)) == 6);
  uneven.workload.resume_world_size = 0;
  CHECK(request_of_segment(uneven, AttemptSegment::resumed).world_size == 3);
  CHECK(most_ranks_of(uneven) == 3);
  uneven.workload.resume_world_size = 6;
  uneven.replay = Replay{};  // has no segments
  CHECK(most_ranks_of(uneven) == 3);
}

TEST_CASE("micro-batches that the ranks cannot share out evenly have no layout") {
  CHECK(resumed_accumulate(elastic_request(2, "2", 4)) == 1);
  CHECK(resumed_accumulate(elastic_request(2, "2", 1)) == 4);
  CHECK(resumed_accumulate(elastic_request(2, "3", 0)) == 3);
  CHECK_FALSE(resumed_accumulate(elastic_request(2, "2", 3)));
  CHECK_FALSE(resumed_accumulate(elastic_request(2, "1", 4)));
}

TEST_CASE("no process of an attempt answers to another's nonce") {
  const CellRequest request = stopping_request();
  CHECK(request_of_segment(request, AttemptSegment::whole).nonce == request.nonce);
  CHECK(request_of_segment(request, AttemptSegment::stopped).nonce == request.nonce + ".stopped");
  CHECK(request_of_segment(request, AttemptSegment::resumed).nonce == request.nonce + ".resumed");
}

TEST_CASE("a fault of going on is planted in the process that goes on, any other in all three") {
  CellRequest request = stopping_request();
  for (const char* kind : {"resume_from_step_0", "resume_without_optimizer_state", "resume_without_buffers",
                           "resume_without_loss_scale", "resume_without_data_position", "resume_shard_misplaced"}) {
    request.inject = Injection{kind, 9, "", 0, 0};
    CHECK_FALSE(request_of_segment(request, AttemptSegment::whole).inject);
    CHECK_FALSE(request_of_segment(request, AttemptSegment::stopped).inject);
    CHECK(request_of_segment(request, AttemptSegment::resumed).inject);
  }
  request.inject = Injection{"weight_ulp", 3, "fc1.weight", 0, 0};
  for (const AttemptSegment segment : segments_of(request)) CHECK(request_of_segment(request, segment).inject);
}

TEST_CASE("a request with checkpoints is read as it was written, and none that stops at its last step") {
  CellRequest request = request_of_segment(stopping_request(), AttemptSegment::resumed, "/run/r0");
  request.cell_id = "cell";
  request.suite = "resume";
  request.stack = "stack";
  request.device = "cpu";
  request.knobs = with_defaults({});
  CHECK(to_json(request_from_json(to_json(request))) == to_json(request));
  request.workload.resume_world_size = 4;
  CHECK(to_json(request_from_json(to_json(request))) == to_json(request));
  request.workload.resume_after = 20;
  CHECK_THROWS_AS(request_from_json(to_json(request)), ContractError);
  request.workload.resume_after = 0;  // with ranks to go on, and nothing to go on with
  CHECK_THROWS_AS(request_from_json(to_json(request)), ContractError);
}

}  // namespace
}  // namespace reprobench
