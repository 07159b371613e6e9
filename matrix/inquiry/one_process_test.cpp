// Trainings that ranks or replicas share out: their difference is explained in one process, where that has their bits.
#include "matrix/inquiry/one_process.hpp"

#include "ci/catch.hpp"
#include "matrix/inquiry/pair_inquiry.hpp"
#include "matrix/inquiry/scripted_replays.hpp"

namespace reprobench {
namespace {

const Announce kToNobody = [](const std::string&) {};
const Deviation kOneUnitInStep3{"forward fc1 aten::addmm", 3, 3, 7};

// "stack-b" adds one unit in the last place in step 3. What one process of a stack makes otherwise than its two
// replicas is in `alone`.
class TwoReplicas {
 public:
  TwoReplicas() {
    replays.stacks["stack-b"] = {kOneUnitInStep3};
    replays.planted = [this](const CellRequest& request) {
      const bool is_alone = setting_in<&Settings::accumulate>(request.knobs) == 2;
      return is_alone ? alone[request.stack] : std::vector<Deviation>{};
    };
  }

  ComparedSide side(const std::string& stack) {
    CellRequest request = synthetic_request();
    request.knobs["replicas"] = "2";
    request.trace = level;
    return replays.side(stack, request);
  }

  CellComparison inquired() {
    SidePair pair{side("stack-b"), side("stack-a")};
    PairQuestions questions;
    questions.explain.explain = true;
    questions.explain.lockstep_batches = 4;
    questions.store = replays.folder() / "store";
    questions.devices = {"cpu"};
    return inquire(pair, questions, replays, kToNobody);
  }

  ScriptedReplays replays;
  TraceLevel level = TraceLevel::tensor;
  std::map<std::string, std::vector<Deviation>> alone;
};

TEST_CASE("one process does all micro-batches, with nothing shared out and no rank's fault", "[inquiry]") {
  CellRequest request = synthetic_request();
  request.world_size = 4;
  request.knobs = with_defaults({{"accumulate", "2"}, {"zero_stage", "3"}, {"overlap", "on"}, {"threads", "2"}});
  request.workload.resume_after = 3;
  request.inject = Injection{"weight_ulp", 1, "w", 0};
  CHECK(is_shared_out(request));
  const CellRequest alone = in_one_process(request);
  CHECK_FALSE(is_shared_out(alone));
  CHECK(alone.world_size == 1);
  CHECK((alone.knobs == with_defaults({{"accumulate", "8"}, {"threads", "2"}})));
  CHECK(alone.workload.resume_after == 0);
  CHECK_FALSE(alone.inject);

  request.world_size = 1;
  request.knobs = with_defaults({{"replicas", "2"}});
  CHECK(is_shared_out(request));
  CHECK(in_one_process(request).inject);
  request.knobs = with_defaults({{"accumulate", "2"}});
  CHECK_FALSE(is_shared_out(request));
}

TEST_CASE("the difference of replicas is explained in one process that has their bits", "[inquiry]") {
  TwoReplicas scene;
  const CellComparison found = scene.inquired();
  CHECK(found.word == Match::differs);
  REQUIRE(found.one_process);
  CHECK(found.one_process->word == Match::equal);
  CHECK(found.sentence.starts_with("equal bits up to step 2; first difference in step 3"));
  CHECK(found.sentence.find("; one process that does all 2 micro-batches has the bits of the 2 replicas on both sides; "
                            "there, equal bits up to step 2") != std::string::npos);
  REQUIRE(found.explanation);
  CHECK(found.explanation->call->measured.name == "aten::addmm");
  CHECK(judged_by(found, FailOn::another_computation) == Match::equal);
  for (const auto& tasks : scene.replays.calls) {
    for (const ReplayTask& task : tasks) CHECK_FALSE(is_shared_out(task.request));
  }
  CHECK(scene.replays.calls.front().size() == 2);
}

TEST_CASE("where sharing out changes the measured side alone it is to blame", "[inquiry]") {
  TwoReplicas scene;
  scene.alone["stack-b"] = {{"forward fc1 aten::addmm", 2, 2, 7}};
  const CellComparison found = scene.inquired();
  REQUIRE(found.one_process);
  CHECK(found.one_process->word == Match::differs);
  CHECK(found.one_process->sentence.starts_with(
      "what 2 replicas of the measured side train differs from one process in"));
  CHECK(found.one_process->sentence.find("in step 2 forward_output `fc1`") != std::string::npos);
  CHECK_FALSE(found.explanation);
  CHECK(judged_by(found, FailOn::defect) == Match::differs);
}

TEST_CASE("replicas of the expected side that one process does not make are judged by nothing", "[inquiry]") {
  TwoReplicas scene;
  scene.alone["stack-a"] = {{"forward fc1 aten::addmm", 2, 2, 7}};
  if (GENERATE(true, false)) scene.alone["stack-b"] = scene.alone["stack-a"];
  const CellComparison found = scene.inquired();
  REQUIRE(found.one_process);
  CHECK(found.one_process->word == Match::not_comparable);
  CHECK(judged_by(found, FailOn::another_computation) == Match::not_comparable);
}

TEST_CASE("a process that cannot be trained leaves the difference open", "[inquiry]") {
  TwoReplicas scene;
  scene.replays.spoil = [](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose == "b-one-process") outcome.attempt.end = AttemptEnd::hang;
  };
  const CellComparison found = scene.inquired();
  CHECK_FALSE(found.one_process);
  REQUIRE(found.unanswered.size() == 1);
  CHECK(found.unanswered.front().starts_with("the same in one process: replay `b-one-process` on stack-a ended as"));
  CHECK(judged_by(found, FailOn::another_computation) == Match::not_comparable);
}

TEST_CASE("replicas without every tensor on record are trained again, and have to have their losses", "[inquiry]") {
  TwoReplicas scene;
  scene.level = TraceLevel::step;
  scene.replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 3, 3, 7}};
  const bool repeats_itself = GENERATE(true, false);
  scene.replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    if (!repeats_itself && task.purpose == "b-every-tensor") outcome.attempt.lead().trace->steps.back().loss = 0;
  };
  const CellComparison found = scene.inquired();
  REQUIRE(found.one_process);
  CHECK((found.one_process->word == Match::equal) == repeats_itself);
  CHECK(found.explanation.has_value() == repeats_itself);
  CHECK((found.one_process->sentence == "stack-a has other losses once every tensor is on record") != repeats_itself);
}

TEST_CASE("of several ranks the one that differs first is named", "[inquiry]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {kOneUnitInStep3};
  SidePair pair{replays.side("stack-a", synthetic_request()), replays.side("stack-a", synthetic_request())};
  for (ComparedSide* side : {&pair.first, &pair.second}) {
    side->request.world_size = 2;
    side->attempt.ranks.push_back(side->attempt.lead());
  }
  const auto compared = [&] { return compare_cells(pair.first, pair.second, {}, replays); };
  CHECK(compared().word == Match::equal);
  pair.first.attempt.ranks[1] = replays.side("stack-b", synthetic_request()).attempt.lead();
  CHECK(compared().word == Match::differs);
  CHECK(compared().sentence.find("first difference in step 3, forward_output `fc1` on rank 1") != std::string::npos);
}

}  // namespace
}  // namespace reprobench
