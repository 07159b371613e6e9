// What is said of a training that was stopped and resumed, from traces made by hand.
#include "matrix/verdict/metrics/resume_metrics.hpp"

#include <functional>

#include "ci/catch.hpp"
#include "matrix/verdict/metrics/resume_fixture.hpp"

namespace reprobench::resume {
namespace {

Measurement measured_with(const std::function<void(CellEvidence&)>& change) {
  CellEvidence cell = stopped_and_resumed();
  change(cell);
  return differing_after_resuming(cell, nullptr);
}

void change_step(Trace& trace, std::size_t index, TensorRole role) {
  trace.steps[index].root = "another root";
  for (TensorRecord& tensor : trace.tensors[index].tensors) {
    if (tensor.role == role) tensor.digest = "another digest";
  }
}

TEST_CASE("two processes with the bits of one are said to have them, of all steps") {
  const Measurement measured = measured_with([](CellEvidence&) {});
  CHECK(measured.value == 0);
  CHECK(measured.statement == "in repeat 0 2 + 3 steps in two processes have the bits of 5 in one");
}

TEST_CASE("a step with other bits counts wherever it is, and its first tensor is named") {
  const Measurement first = measured_with([](CellEvidence& c) { change_step(stopped_trace(c), 0, TensorRole::input); });
  CHECK(first.value == 1);
  CHECK(first.divergence->step == 1);
  const Measurement behind =
      measured_with([](CellEvidence& c) { change_step(resumed_trace(c), 0, TensorRole::optimizer_state); });
  CHECK(behind.value == 1);
  CHECK(behind.divergence->step == 3);
  CHECK(behind.divergence->tensor == "w.exp_avg");
  CHECK(behind.divergence->against == "the process that was never stopped");
  CHECK(behind.statement == "in repeat 0 of 2 + 3 steps in two processes 1 have other bits than in one");
  // The last step alone: a comparison of it alone would have done for the one above.
  CHECK(measured_with([](CellEvidence& c) { change_step(resumed_trace(c), 2, TensorRole::input); }).value == 1);
}

TEST_CASE("of tensors of one role the first in the model's order is named, whatever they are called") {
  const Measurement measured = measured_with([](CellEvidence& c) {
    for (Trace* trace : {&whole_trace(c), &stopped_trace(c), &resumed_trace(c)}) {
      for (TensorsRecord& record : trace->tensors) {
        if (record.is_final) continue;
        for (const char* name : {"z", "a"}) {
          record.tensors.push_back(tensor_at(TensorRole::forward_output, name, record.step));
        }
      }
    }
    for (TensorRecord& tensor : resumed_trace(c).tensors[0].tensors) {
      if (tensor.role == TensorRole::forward_output && (tensor.name == "z" || tensor.name == "a")) tensor.digest += "!";
    }
  });
  REQUIRE(measured.divergence);
  CHECK(measured.divergence->tensor == "z");
}

TEST_CASE("the states count beside the steps: stopped in, loaded, and last") {
  for (std::size_t tensor = 0; tensor < 4; ++tensor) {
    const Measurement stopped = measured_with([&](CellEvidence& c) {
      stopped_trace(c).tensors.back().tensors[tensor].digest = "another digest";
      resumed_trace(c).header.resumed->state = to_hex(root_of_tensors(stopped_trace(c).tensors.back()));
    });
    CHECK(stopped.value == 1);
    CHECK(stopped.statement.find("so has the state that was stopped in") != std::string::npos);
    const Measurement last = measured_with(
        [&](CellEvidence& c) { resumed_trace(c).tensors.back().tensors[tensor].digest = "another digest"; });
    CHECK(last.value == 1);
    CHECK(last.statement.find("the last state differs") != std::string::npos);
  }
  const Measurement loaded =
      measured_with([](CellEvidence& c) { resumed_trace(c).header.resumed->state = "state of another step"; });
  CHECK(loaded.value == 1);
  CHECK(loaded.divergence->step == 2);
  CHECK(loaded.divergence->role == "loaded state");
  CHECK(loaded.divergence->tensor.empty());
  CHECK(loaded.divergence->measured_digest == "state of another step");
  CHECK(loaded.divergence->expected_digest == to_hex(root_of_tensors(state_after(2))));
}

TEST_CASE("without proof that the second process went on from the first one's checkpoint there is no value") {
  using Change = std::function<void(CellEvidence&)>;
  const std::pair<const char*, Change> cases[] = {
      {"nothing was stopped", [](CellEvidence& c) { attempt_of(c).segments.clear(); }},
      {"nothing was stopped", [](CellEvidence& c) { attempt_of(c).segments.pop_back(); }},
      {"nothing was stopped", [](CellEvidence& c) { std::swap(attempt_of(c).segments[0], attempt_of(c).segments[1]); }},
      {"nothing was stopped", [](CellEvidence& c) { attempt_of(c).segments[0].segment = AttemptSegment::resumed; }},
      {"nothing was stopped", [](CellEvidence& c) { attempt_of(c).segments[1].segment = AttemptSegment::stopped; }},
      {"nothing was stopped", [](CellEvidence& c) { attempt_of(c).segments.push_back(attempt_of(c).segments[1]); }},
      {"the stopped process did no step", [](CellEvidence& c) { stopped_trace(c).steps.clear(); }},
      {"no process was stopped before the last step", [](CellEvidence& c) { whole_trace(c).steps.clear(); }},
      {"whole process has not every tensor of the steps 1 to 5",
       [](CellEvidence& c) { whole_trace(c).steps.front().step = 2; }},
      {"whole process has not every tensor",
       [](CellEvidence& c) { whole_trace(c).steps.erase(whole_trace(c).steps.begin() + 1); }},
      {"whole process has not every tensor", [](CellEvidence& c) { whole_trace(c).tensors.pop_back(); }},
      {"whole process has not every tensor", [](CellEvidence& c) { whole_trace(c).tensors.back().is_final = false; }},
      {"stopped process has not every tensor of the steps 1 to 2",
       [](CellEvidence& c) { stopped_trace(c).steps.front().step = 2; }},
      {"stopped process has not every tensor",
       [](CellEvidence& c) { stopped_trace(c).tensors.back().is_final = false; }},
      {"resumed process has not every tensor of the steps 3 to 5",
       [](CellEvidence& c) { resumed_trace(c).steps.front().step = 4; }},
      {"resumed process has not every tensor", [](CellEvidence& c) { resumed_trace(c).steps.back().step = 6; }},
      {"resumed process has not every tensor",
       [](CellEvidence& c) { resumed_trace(c).tensors.back().is_final = false; }},
      {"`trace: tensor`", [](CellEvidence& c) { stopped_trace(c).header.level = TraceLevel::step; }},
      {"`trace: tensor`", [](CellEvidence& c) { resumed_trace(c).header.level = TraceLevel::step; }},
      {"`trace: tensor`", [](CellEvidence& c) { resumed_trace(c).header.level = TraceLevel::recent; }},
      {"the resumed process went on after step 1, the other was stopped after 2",
       [](CellEvidence& c) { resumed_trace(c).header.resumed->after_step = 1; }},
      {"the stopped process wrote no checkpoint of step 2",  // as its last one
       [](CellEvidence& c) {
         attempt_of(c).segments[0].ranks[0].result->checkpoints->written.push_back({1, "checkpoint-1", "checksum"});
       }},
      {"the resumed process went on from checkpoint-1 with checksum other, not from the checkpoint-2 with checksum "
       "that "
       "was written",
       [](CellEvidence& c) {
         resumed_trace(c).header.resumed->file = "checkpoint-1";
         resumed_trace(c).header.resumed->checksum = "other";
       }},
      {"does not say that it went on", [](CellEvidence& c) { resumed_trace(c).header.resumed.reset(); }},
      {"went on after step 1", [](CellEvidence& c) { resumed_trace(c).header.resumed->after_step = 1; }},
      {"with checksum other", [](CellEvidence& c) { resumed_trace(c).header.resumed->checksum = "other"; }},
      {"went on from checkpoint-1", [](CellEvidence& c) { resumed_trace(c).header.resumed->file = "checkpoint-1"; }},
      {"went on from", [](CellEvidence& c) { resumed_trace(c).header.resumed->written_by = "n"; }},
      {"another chain", [](CellEvidence& c) { resumed_trace(c).header.resumed->chain = "chain of 1"; }},
      {"wrote no checkpoint", [](CellEvidence& c) { attempt_of(c).segments[0].ranks[0].result->checkpoints.reset(); }},
      {"wrote no checkpoint",
       [](CellEvidence& c) { attempt_of(c).segments[0].ranks[0].result->checkpoints->written.clear(); }},
      {"wrote no checkpoint",
       [](CellEvidence& c) { attempt_of(c).segments[0].ranks[0].result->checkpoints->written[0].step = 1; }},
      {"digests differ", [](CellEvidence& c) { resumed_trace(c).header.workload_digest = "another"; }},
      {"digests differ", [](CellEvidence& c) { stopped_trace(c).header.workload_digest = "another"; }},
      {"the process that is to be whole began from a checkpoint",
       [](CellEvidence& c) { attempt_of(c).ranks[0].trace->header.resumed = resumed_trace(c).header.resumed; }},
      {"that was stopped began from a checkpoint",
       [](CellEvidence& c) { stopped_trace(c).header.resumed = resumed_trace(c).header.resumed; }},
      // One process that ran straight on, whatever the other says.
      {"no process was stopped before the last step",
       [](CellEvidence& c) { stopped_trace(c) = trace_of_steps(1, kStepsOfWhole); }},
      {"resumed process has not every tensor",
       [](CellEvidence& c) {
         const auto said = resumed_trace(c).header.resumed;
         resumed_trace(c) = trace_of_steps(1, kStepsOfWhole);
         resumed_trace(c).header.resumed = said;
       }},
      {"resumed process has not every tensor",
       [](CellEvidence& c) { resumed_trace(c).steps.erase(resumed_trace(c).steps.begin()); }},
      {"resumed process has not every tensor", [](CellEvidence& c) { resumed_trace(c).tensors.pop_back(); }},
      {"stopped process has not every tensor", [](CellEvidence& c) { stopped_trace(c).tensors.pop_back(); }},
      {"`trace: tensor`", [](CellEvidence& c) { attempt_of(c).ranks[0].trace->header.level = TraceLevel::step; }},
  };
  for (const auto& [why, change] : cases) {
    const Measurement measured = measured_with(change);
    INFO(why << " / " << measured.missing << measured.statement);
    CHECK_FALSE(measured.value);
    CHECK(measured.missing.find(why) != std::string::npos);
  }
}

TEST_CASE("of several repeats the worst speaks, and one without proof leaves all without a value") {
  CellEvidence cell = stopped_and_resumed();
  cell.repeats.push_back(cell.repeats.front());
  cell.repeats[1].repeat = 1;
  change_step(*cell.repeats[1].segments[1].ranks[0].trace, 1, TensorRole::input);
  const Measurement worst = differing_after_resuming(cell, nullptr);
  CHECK(worst.value == 1);
  CHECK(worst.repeat == 1);
  cell.repeats[1].segments[1].ranks[0].trace->header.resumed.reset();
  CHECK_FALSE(differing_after_resuming(cell, nullptr).value);
}

TEST_CASE("of repeats that are as bad the first speaks, and of ranks the worst") {
  CellEvidence cell = stopped_and_resumed();
  change_step(resumed_trace(cell), 1, TensorRole::input);
  cell.repeats.push_back(cell.repeats.front());
  cell.repeats[1].repeat = 1;
  CHECK(differing_after_resuming(cell, nullptr).repeat == 0);
  AttemptRecord& second = cell.repeats[1];
  have_two_ranks(second);
  change_step(*second.segments[1].ranks[1].trace, 2, TensorRole::input);
  const Measurement worst = differing_after_resuming(cell, nullptr);
  CHECK(worst.value == 2);
  CHECK(worst.repeat == 1);
  second.segments[0].ranks[1].trace->header.workload_digest = "another";
  CHECK(differing_after_resuming(cell, nullptr).missing ==
        "repeat 1: the processes did not run the same workload: their digests differ");
}

TEST_CASE("all that differs is told in one sentence, and the first place of it named") {
  const Measurement all = measured_with([](CellEvidence& c) {
    change_step(stopped_trace(c), 1, TensorRole::input);
    change_step(resumed_trace(c), 0, TensorRole::input);
    stopped_trace(c).tensors.back().tensors[0].digest = "another digest";
    resumed_trace(c).tensors.back().tensors[0].digest = "another digest";
  });
  CHECK(all.value == 5);
  CHECK(all.statement ==
        "in repeat 0 of 2 + 3 steps in two processes 2 have other bits than in one, and so has the state that was "
        "stopped in; what was loaded is not the state that was stopped in; the last state differs");
  CHECK(all.divergence->step == 2);
  CHECK(all.divergence->tensor == "input");
}

}  // namespace
}  // namespace reprobench::resume
