// What is said of a training of several ranks that was stopped and resumed, on as many ranks or on others, from
// traces made by hand.
#include <functional>
#include <stdexcept>

#include "ci/catch.hpp"
#include "matrix/verdict/metrics/resume_fixture.hpp"
#include "matrix/verdict/metrics/resume_metrics.hpp"

namespace reprobench::resume {
namespace {

// What a rank records that does these micro-batches and, with ZeRO 1, holds a part of `w` or of `v`.
Trace trace_of_rank(std::int64_t first, std::int64_t last, const std::vector<int>& micro_batches,
                    const std::vector<std::string>& held) {
  Trace trace = trace_of_steps(first, last);
  for (TensorsRecord& record : trace.tensors) {
    const std::int64_t step = record.step;
    std::erase_if(record.tensors, [](const TensorRecord& tensor) {
      return tensor.role == TensorRole::input || tensor.role == TensorRole::optimizer_state ||
             tensor.role == TensorRole::buffer || tensor.role == TensorRole::scaler_state;
    });
    const std::int64_t updates = record.is_final ? step : step - 1;
    record.tensors.push_back(tensor_at(TensorRole::parameter, "v", updates));
    if (!record.is_final) record.tensors.push_back(tensor_at(TensorRole::parameter_gradient, "v", step));
    for (const int number : micro_batches) {
      if (!record.is_final)
        record.tensors.push_back(tensor_at(TensorRole::input, "input#" + std::to_string(number), step));
    }
    for (const std::string& name : held) {
      record.tensors.push_back(tensor_at(TensorRole::optimizer_state, name + ".exp_avg", step));
    }
  }
  return trace;
}

std::vector<RankRecord> ranks_of(std::int64_t first, std::int64_t last, std::size_t count, const RankRecord& like,
                                 const std::string& nonce) {
  std::vector<RankRecord> ranks;
  for (std::size_t rank = 0; rank < count; ++rank) {
    std::vector<int> micro_batches;
    for (std::size_t i = 0; i < 4 / count; ++i) micro_batches.push_back(static_cast<int>(rank * 4 / count + i));
    // A part of `w` lies on each of the first ranks, `v` on the last.
    std::vector<std::string> held = {rank + 1 == count && count > 1 ? "v" : "w"};
    if (count == 1) held = {"w", "v"};
    ranks.push_back(like);
    ranks.back().trace = trace_of_rank(first, last, micro_batches, held);
    ranks.back().trace->header.nonce = nonce;
    ranks.back().result->checkpoints.reset();
    ranks.back().result->knobs_resolved = {{"zero_stage", "1"}, {"accumulate", std::to_string(4 / count)}};
  }
  return ranks;
}

// Stopped on two ranks and resumed on `ranks`.
CellEvidence resumed_on(std::size_t ranks) {
  CellEvidence cell = stopped_and_resumed();
  AttemptRecord& attempt = attempt_of(cell);
  const ResumedFrom said = *resumed_trace(cell).header.resumed;
  const auto written = attempt.segments[0].ranks[0].result->checkpoints;
  const RankRecord like = attempt.ranks[0];
  attempt.ranks = ranks_of(1, kStepsOfWhole, 2, like, "n");
  attempt.segments[0].ranks = ranks_of(1, kStopsAfter, 2, like, "n.stopped");
  attempt.segments[1].ranks = ranks_of(kStopsAfter + 1, kStepsOfWhole, ranks, like, "n.resumed");
  attempt.segments[0].ranks[0].result->checkpoints = written;
  for (RankRecord& rank : attempt.segments[1].ranks) rank.trace->header.resumed = said;
  prove(attempt);
  return cell;
}

Measurement measured_on(std::size_t ranks, const std::function<void(AttemptRecord&)>& change) {
  CellEvidence cell = resumed_on(ranks);
  change(attempt_of(cell));
  return differing_after_resuming(cell, nullptr);
}

std::vector<RankRecord>& resumed_ranks(AttemptRecord& attempt) { return attempt.segments[1].ranks; }

TensorRecord& tensor_in(RankRecord& rank, std::size_t record, const std::string& name) {
  for (TensorRecord& tensor : rank.trace->tensors[record].tensors) {
    if (tensor.name == name) return tensor;
  }
  throw std::logic_error("no such tensor: " + name);
}

TEST_CASE("two ranks that go on as one, two or four have the bits of two that were never stopped") {
  for (const std::size_t ranks : {1, 2, 4}) {
    const Measurement measured = measured_on(ranks, [](AttemptRecord&) {});
    INFO(measured.missing);
    CHECK(measured.value == 0);
    CHECK(measured.statement == "in repeat 0 2 + 3 steps in two processes of 2 and " + std::to_string(ranks) +
                                    " ranks have the bits of 5 in one of 2");
  }
}

TEST_CASE("a tensor of any rank that goes on otherwise is found, and the rank named, or those that hold it") {
  for (const std::size_t rank : {0, 1, 2, 3}) {
    const std::string name = "input#" + std::to_string(rank);
    const Measurement own =
        measured_on(4, [&](AttemptRecord& a) { tensor_in(resumed_ranks(a)[rank], 2, name).digest = "another digest"; });
    CHECK(own.value == 1);
    CHECK(own.divergence->tensor == name);
    CHECK(own.divergence->step == 5);
    CHECK(own.statement.ends_with("first on rank " + std::to_string(rank) + " of the resumed process"));
    const Measurement parameter =
        measured_on(4, [&](AttemptRecord& a) { tensor_in(resumed_ranks(a)[rank], 0, "v").digest = "another digest"; });
    CHECK(parameter.value == 1);
    CHECK(parameter.divergence->step == 3);
    const Measurement last =
        measured_on(4, [&](AttemptRecord& a) { tensor_in(resumed_ranks(a)[rank], 3, "w").digest = "another digest"; });
    CHECK(last.value == 1);
    CHECK(last.statement.find("the last state differs") != std::string::npos);
  }
  const Measurement held = measured_on(4, [](AttemptRecord& a) {
    for (std::size_t rank : {0, 1, 2}) tensor_in(resumed_ranks(a)[rank], 0, "w.exp_avg").digest = "another digest";
  });
  CHECK(held.value == 1);
  CHECK(held.statement.ends_with("first in what ranks 0, 1, 2 of the resumed process hold of it together"));
  const Measurement sole = measured_on(
      4, [](AttemptRecord& a) { tensor_in(resumed_ranks(a)[3], 0, "v.exp_avg").digest = "another digest"; });
  CHECK(sole.statement.ends_with("first on rank 3 of the resumed process"));
  const Measurement stopped = measured_on(
      4, [](AttemptRecord& a) { tensor_in(a.segments[0].ranks[1], 1, "input#2").digest = "another digest"; });
  CHECK(stopped.value == 1);
  CHECK(stopped.statement.ends_with("first on rank 1 of the stopped process"));
}

TEST_CASE("a rank that loaded another state than was stopped in is named") {
  const Measurement loaded =
      measured_on(4, [](AttemptRecord& a) { resumed_ranks(a)[2].trace->header.resumed->state = "another state"; });
  CHECK(loaded.value == 1);
  CHECK(loaded.divergence->role == "loaded state");
  CHECK(loaded.statement.find("; what rank 2 loaded is not the state that was stopped in") != std::string::npos);
  // The stopped ranks do not agree on what they hold: nothing that was loaded can be it.
  const Measurement torn =
      measured_on(4, [](AttemptRecord& a) { tensor_in(a.segments[0].ranks[1], 2, "w").digest = "another digest"; });
  CHECK(torn.value == 2);
  CHECK(torn.statement.find("what rank 0, 1, 2, 3 loaded") != std::string::npos);
}

TEST_CASE("of several ranks each has to prove itself, and what any of them did not record is missing") {
  using Change = std::function<void(AttemptRecord&)>;
  const auto header = [](AttemptRecord& a, std::size_t rank) -> ResumedFrom& {
    return *resumed_ranks(a)[rank].trace->header.resumed;
  };
  const auto forget = [](RankRecord& rank, std::size_t record, const std::string& name) {
    std::erase_if(rank.trace->tensors[record].tensors, [&](const TensorRecord& tensor) { return tensor.name == name; });
  };
  const std::pair<const char*, Change> cases[] = {
      {"rank 3 of the resumed process does not say that it went on",
       [](AttemptRecord& a) { resumed_ranks(a)[3].trace->header.resumed.reset(); }},
      {"rank 1 of the resumed process went on after step 1", [&](AttemptRecord& a) { header(a, 1).after_step = 1; }},
      {"rank 2 of the resumed process went on from checkpoint-2 with checksum other",
       [&](AttemptRecord& a) { header(a, 2).checksum = "other"; }},
      {"rank 2 of the resumed process went on from checkpoint-1",
       [&](AttemptRecord& a) { header(a, 2).file = "checkpoint-1"; }},
      {"rank 3 of the resumed process went on from", [&](AttemptRecord& a) { header(a, 3).written_by = "n"; }},
      {"rank 1 of the resumed process begins with another chain",
       [&](AttemptRecord& a) { header(a, 1).chain = a.segments[0].ranks[0].trace->steps.back().chain; }},
      {"begins with another chain",  // of one of the ranks that were stopped
       [](AttemptRecord& a) { a.segments[0].ranks[1].trace->steps.back().chain = hex_chain("other"); }},
      {"begins with another chain",
       [](AttemptRecord& a) { a.segments[0].ranks[1].trace->steps.back().chain = "no digest"; }},
      {"began from a checkpoint itself",
       [&](AttemptRecord& a) { a.segments[0].ranks[1].trace->header.resumed = header(a, 0); }},
      {"that is to be whole began from a checkpoint",
       [&](AttemptRecord& a) { a.ranks[1].trace->header.resumed = header(a, 0); }},
      {"rank 1 says that it wrote a checkpoint beside that of rank 0",
       [](AttemptRecord& a) {
         a.segments[0].ranks[1].result->checkpoints = a.segments[0].ranks[0].result->checkpoints;
       }},
      {"the stopped process has other ranks",
       [](AttemptRecord& a) {
         a.segments[0].ranks.pop_back();
         prove(a);
       }},
      {"digests differ", [](AttemptRecord& a) { resumed_ranks(a)[2].trace->header.workload_digest = "another"; }},
      {"rank 2 of the resumed process has not every tensor",
       [](AttemptRecord& a) { resumed_ranks(a)[2].trace->steps.pop_back(); }},
      {"rank 1 of the whole process has not every tensor",
       [](AttemptRecord& a) { a.ranks[1].trace->tensors.pop_back(); }},
      {"`trace: tensor`", [](AttemptRecord& a) { resumed_ranks(a)[3].trace->header.level = TraceLevel::step; }},
      {"`v` of step 3 was not recorded by every rank of the resumed process",
       [&](AttemptRecord& a) { forget(resumed_ranks(a)[1], 0, "v"); }},
      {"no rank of the resumed process recorded `input#2` of step 4",
       [&](AttemptRecord& a) { forget(resumed_ranks(a)[2], 1, "input#2"); }},
      {"no rank recorded `v.exp_avg` of step 4 in the resumed process",
       [&](AttemptRecord& a) { forget(resumed_ranks(a)[3], 1, "v.exp_avg"); }},
      {"no rank recorded `v.exp_avg` of the state after the last step in the resumed process",
       [&](AttemptRecord& a) { forget(resumed_ranks(a)[3], 3, "v.exp_avg"); }},
      {"no rank recorded `v.exp_avg` of step 1 in the whole process",  // nor in the one that was stopped
       [&](AttemptRecord& a) {
         forget(a.ranks[1], 0, "v.exp_avg");
         forget(a.segments[0].ranks[1], 0, "v.exp_avg");
       }},
      {"the whole process recorded no `input#7` of step 3",
       [](AttemptRecord& a) {
         resumed_ranks(a)[0].trace->tensors[0].tensors.push_back(tensor_at(TensorRole::input, "input#7", 3));
       }},
      {"the ranks of the process that was never stopped recorded different `w` of step 2",
       [](AttemptRecord& a) { tensor_in(a.ranks[1], 1, "w").digest = "another digest"; }},
      {"accumulate is `3` on 4 ranks",
       [](AttemptRecord& a) { resumed_ranks(a)[0].result->knobs_resolved["accumulate"] = "3"; }},
      {"accumulate is `3` on 2 ranks", [](AttemptRecord& a) { a.ranks[0].result->knobs_resolved["accumulate"] = "3"; }},
  };
  for (const auto& [why, change] : cases) {
    const Measurement measured = measured_on(4, change);
    INFO(why << " / " << measured.missing << measured.statement);
    CHECK_FALSE(measured.value);
    CHECK(measured.missing.find(why) != std::string::npos);
  }
}

}  // namespace
}  // namespace reprobench::resume
