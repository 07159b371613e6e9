#include "matrix/inquiry/pair_inquiry.hpp"

#include "ci/catch.hpp"
#include "matrix/exec/kept_document.hpp"
#include "matrix/inquiry/ensemble.hpp"
#include "matrix/inquiry/explain/source_diagnosis.hpp"
#include "matrix/inquiry/scripted_replays.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

// One weight of a run moved before its first step, as `weight_ulp` asks for.
std::vector<Deviation> moved_weight(const CellRequest& request) {
  if (!request.inject) return {};
  return {{"parameter " + request.inject->tensor, 1, 1, request.inject->element}};
}

PairQuestions questions_for(const ScriptedReplays& replays) {
  PairQuestions questions;
  questions.explain.lockstep_batches = 0;
  questions.members = 4;
  questions.store = replays.folder() / "store";
  questions.devices = {"cpu"};
  return questions;
}

// "stack-b" adds one unit in the last place in step 3.
SidePair diverging_pair(ScriptedReplays& replays) {
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 3, 3, 7}};
  return {replays.side("stack-b", synthetic_request()), replays.side("stack-a", synthetic_request())};
}

const Announce kSilent = [](const std::string&) {};

TEST_CASE("what was not asked for is not run", "[inquiry]") {
  ScriptedReplays replays;
  auto pair = diverging_pair(replays);
  const auto comparison = inquire(pair, questions_for(replays), replays, kSilent);
  CHECK(comparison.word == Match::differs);
  CHECK(replays.calls.empty());
  CHECK_FALSE(comparison.explanation);
  CHECK_FALSE(comparison.trajectory);
  CHECK_FALSE(comparison.equivalence);
}

TEST_CASE("sides of equal bits are asked nothing more", "[inquiry]") {
  ScriptedReplays replays;
  SidePair pair{replays.side("stack-b", synthetic_request()), replays.side("stack-a", synthetic_request())};
  PairQuestions questions = questions_for(replays);
  questions.explain.explain = questions.trajectory = true;
  questions.seeds = 2;
  CHECK(inquire(pair, questions, replays, kSilent).word == Match::equal);
  CHECK(replays.calls.empty());
}

TEST_CASE("a device that this host has not is named, and nothing is replayed", "[inquiry]") {
  ScriptedReplays replays;
  auto pair = diverging_pair(replays);
  (GENERATE(true, false) ? pair.first : pair.second).request.device = "sm_90";
  PairQuestions questions = questions_for(replays);
  questions.trajectory = true;
  questions.explain.explain = GENERATE(true, false);
  const auto comparison = inquire(pair, questions, replays, kSilent);
  CHECK(comparison.sentence.ends_with("; not replayed: this host has no sm_90") == questions.explain.explain);
  CHECK(replays.calls.empty());
}

TEST_CASE("class C: a rounding stays within an ensemble of moved weights, a defect does not", "[inquiry]") {
  ScriptedReplays replays;
  replays.planted = moved_weight;
  auto pair = diverging_pair(replays);
  PairQuestions questions = questions_for(replays);
  questions.trajectory = true;
  CHECK(inquire(pair, questions, replays, kSilent).trajectory->word == "within");
  replays.stacks["stack-b"] = {{"forward fc1 aten::addmm", 3, 3, -1, times(1.01)}};
  pair.first = replays.side("stack-b", synthetic_request());
  CHECK(inquire(pair, questions, replays, kSilent).trajectory->word == "outside");
}

TEST_CASE("class C: the ensemble is one around the expected side", "[inquiry]") {
  ScriptedReplays replays;
  auto pair = diverging_pair(replays);
  PairQuestions questions = questions_for(replays);
  questions.trajectory = true;
  inquire(pair, questions, replays, kSilent);
  REQUIRE(replays.calls.size() == 1);
  CHECK(replays.calls.front().size() == 4);
  for (const ReplayTask& task : replays.calls.front()) CHECK(task.request.stack == "stack-a");
}

TEST_CASE("class D: every seed is trained on both sides, measured first", "[inquiry]") {
  ScriptedReplays replays;
  auto pair = diverging_pair(replays);
  PairQuestions questions = questions_for(replays);
  questions.seeds = 3;
  const auto comparison = inquire(pair, questions, replays, kSilent);
  REQUIRE(replays.calls.size() == 1);
  const auto& tasks = replays.calls.front();
  REQUIRE(tasks.size() == 6);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    CHECK(tasks[i].request.knobs.at("seed") == std::to_string(i / 2 + 1));
    CHECK(tasks[i].request.stack == (i % 2 == 0 ? "stack-b" : "stack-a"));
    CHECK(tasks[i].request.trace == TraceLevel::step);
    CHECK_FALSE(tasks[i].request.replay);
  }
  REQUIRE(comparison.equivalence);
  CHECK(comparison.equivalence->seeds == 3);
  CHECK(comparison.equivalence->equivalent);
}

TEST_CASE("class D: the curves of each seed are held against those of the same seed", "[inquiry]") {
  ScriptedReplays replays;
  auto pair = diverging_pair(replays);
  replays.stacks["stack-b"] = {{"forward loss aten::mse_loss", 1, 99, 0, times(1.2)}};
  PairQuestions questions = questions_for(replays);
  questions.seeds = 3;
  CHECK_FALSE(inquire(pair, questions, replays, kSilent).equivalence->equivalent);
}

TEST_CASE("a failed replay costs one part of one pair; the others are asked", "[inquiry]") {
  ScriptedReplays replays;
  replays.planted = moved_weight;
  auto pair = diverging_pair(replays);
  PairQuestions questions = questions_for(replays);
  questions.explain.explain = questions.trajectory = true;
  questions.seeds = 2;
  std::string failing = GENERATE("b-operators", "member-1", "b-seed-2");
  CAPTURE(failing);
  replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose == failing) outcome.attempt.end = AttemptEnd::hang;
  };
  const auto comparison = inquire(pair, questions, replays, kSilent);
  CHECK(comparison.word == Match::differs);
  CHECK(comparison.explanation.has_value() == (failing != "b-operators"));
  CHECK(comparison.trajectory.has_value() == (failing != "member-1"));
  CHECK(comparison.equivalence.has_value() == (failing != "b-seed-2"));
  REQUIRE(comparison.unanswered.size() == 1);
  CHECK(comparison.unanswered.front().find(failing) != std::string::npos);
  failing = "";
  CHECK(inquire(pair, questions, replays, kSilent).unanswered.empty());
}

TEST_CASE("the word of several pairs is that of the worst", "[inquiry]") {
  const auto overall = [](std::vector<Match> words) {
    std::vector<CellComparison> comparisons;
    for (const Match word : words) comparisons.emplace_back().word = word;
    return overall_word(comparisons, {}, FailOn::any);
  };
  CHECK(overall_word({}, {{}, {"r:111111111111"}}, FailOn::any) == Match::not_comparable);
  CHECK(overall({Match::equal, Match::equal}) == Match::equal);
  CHECK(overall({Match::not_comparable, Match::equal}) == Match::not_comparable);
  CHECK(overall({Match::equal, Match::not_comparable, Match::differs}) == Match::differs);
  CHECK(overall({Match::differs, Match::not_comparable}) == Match::differs);
}

TEST_CASE("what fails is chosen; what nobody judged, a NaN or doubtful evidence never counts as equal", "[inquiry]") {
  struct Row {
    const char* what;
    std::optional<LockstepWord> fp64;
    bool constants_differ;
    bool not_finite;
    bool doubtful;
    Match another_computation;
    Match defect;
    bool unmade = false;  // no call made the difference
    bool losses_apart = false;
  };
  using enum LockstepWord;
  using enum Match;
  const Row row = GENERATE(Row{"rounding", rounding, false, false, false, equal, equal},
                           Row{"other constants", rounding, true, false, false, differs, equal},
                           Row{"defect", defect, false, false, false, differs, differs},
                           Row{"undecided", undecided, false, false, false, not_comparable, not_comparable},
                           Row{"not explained", {}, false, false, false, not_comparable, not_comparable},
                           Row{"a NaN", rounding, false, true, false, differs, differs},
                           Row{"made by no call", rounding, false, false, false, not_comparable, not_comparable, true},
                           Row{"made by no call, a defect", defect, false, false, false, differs, differs, true},
                           Row{"losses", rounding, false, false, false, differs, differs, false, true},
                           Row{"a repeat that crashed", rounding, false, false, true, not_comparable, not_comparable});
  CAPTURE(row.what);
  CellComparison comparison;
  comparison.word = differs;
  if (row.fp64) {
    Explanation& explanation = comparison.explanation.emplace();
    explanation.lockstep.emplace().word = *row.fp64;
    explanation.call.emplace().constants_differ = row.constants_differ;
    explanation.diagnosis = source_diagnosis(explanation, explanation);
  }
  if (row.unmade) comparison.explanation->diagnosis.reset();
  if (row.not_finite) comparison.non_finite.emplace();
  if (row.losses_apart) comparison.losses_apart = "the losses of step 1 are 1 apart";
  if (row.doubtful) comparison.doubts.push_back("of x 2 of 3 repeats completed");
  CHECK(judged_by(comparison, FailOn::any) == differs);
  CHECK(judged_by(comparison, FailOn::another_computation) == row.another_computation);
  CHECK(judged_by(comparison, FailOn::defect) == row.defect);
  comparison.word = not_comparable;
  CHECK(judged_by(comparison, FailOn::defect) == not_comparable);
}

TEST_CASE("rounding does not excuse a course that drifts away, or a question without an answer", "[inquiry]") {
  CellComparison comparison;
  comparison.word = Match::differs;
  Explanation& explanation = comparison.explanation.emplace();
  explanation.lockstep.emplace().word = LockstepWord::rounding;
  explanation.call.emplace();
  explanation.diagnosis = source_diagnosis(explanation, explanation);
  const auto judged = [&] { return judged_by(comparison, FailOn::defect); };
  CHECK(judged() == Match::equal);
  comparison.trajectory.emplace().word = "within";
  comparison.equivalence.emplace().equivalent = true;
  CHECK(judged() == Match::equal);
  SECTION("outside the ensemble") { comparison.trajectory->word = "outside"; }
  SECTION("of a trajectory") { comparison.trajectory->word = "not_judged"; }
  SECTION("loss curves that are not shown to be equivalent") { comparison.equivalence->equivalent = false; }
  SECTION("whose replay failed") { comparison.unanswered = {"trajectory: out of memory"}; }
  CHECK(judged() == (comparison.trajectory->word == "outside" ? Match::differs : Match::not_comparable));
  CHECK(judged_by_replays(comparison, FailOn::defect) == Match::equal);
}

TEST_CASE("the count says what was compared and what was not", "[inquiry]") {
  std::vector<CellComparison> comparisons(4);
  comparisons[0].word = comparisons[1].word = Match::equal;
  comparisons[2].word = Match::differs;
  CHECK(count_text(comparisons, {}) == "4 pairs compared: 2 equal, 1 differ, 1 not comparable");
  comparisons.resize(1);
  StoredPairs found;
  found.without_partner = {"a:1", "b:2"};
  found.skipped = 3;
  found.probes = 4;
  CHECK(count_text(comparisons, found) ==
        "1 pair compared: 1 equal; 2 without a partner: a:1, b:2; 3 skipped; 4 of probes, judged by checks alone");
  comparisons[0].ratios.resize(2);
  CHECK(count_text(comparisons, {}) == "1 pair compared: 1 equal");
  comparisons[0].ratios[1].status = CheckStatus::failed;
  const std::string said = " on speed or memory {} not hold, which is no part of the exit code";
  CHECK(count_text(comparisons, {}) == "1 pair compared: 1 equal; 1 bound" + fmt::format(fmt::runtime(said), "does"));
  comparisons[0].ratios[0].status = CheckStatus::failed;
  CHECK(count_text(comparisons, {}) == "1 pair compared: 1 equal; 2 bounds" + fmt::format(fmt::runtime(said), "do"));
}

TEST_CASE("an ensemble moves weights of its own choice, the same ones every time, and never a bias", "[ensemble]") {
  ScriptedReplays replays;
  replays.planted = moved_weight;
  const ComparedSide base = replays.side("stack-a", synthetic_request());
  const auto store = replays.folder() / "store";
  std::string said;
  const auto first = envelope_around(base, 6, false, store, replays, [&](const std::string& line) { said = line; });
  CHECK(said == "running 6 members around stack-a");
  CHECK(first.is_new);
  CHECK(first.envelope.members == 6);
  CHECK(first.envelope.stack == "stack-a");
  REQUIRE_FALSE(first.envelope.points.empty());
  CHECK(first.envelope.points.back().distance_rel > 0);
  std::set<std::pair<std::string, std::int64_t>> places;
  for (const ReplayTask& task : replays.calls.front()) {
    CHECK(task.request.inject->kind == "weight_ulp");
    CHECK(task.request.inject->step == 1);
    CHECK_FALSE(task.request.inject->tensor.ends_with("bias"));
    CHECK(task.request.inject->element < (task.request.inject->tensor == "fc1.weight" ? 60 : 40));
    places.insert({task.request.inject->tensor, task.request.inject->element});
  }
  CHECK(places.size() == 6);
  SECTION("what is on file is not measured again") {
    const auto known = envelope_around(base, 6, false, store, replays, kSilent);
    CHECK_FALSE(known.is_new);
    CHECK(replays.calls.size() == 1);
    CHECK(known.envelope.points.size() == first.envelope.points.size());
  }
  SECTION("what was changed on file, or is of other members, is") {
    const std::string text = read_file(first.file);
    const auto at = text.find("\"points\"");
    for (const std::string& changed : {text.substr(0, at), text.substr(0, at) + " " + text.substr(at), std::string()}) {
      write_file_atomically(first.file, changed);
      const auto again =
          envelope_around(base, 6, false, store, replays, [&](const std::string& line) { said += line; });
      CHECK(again.is_new);
      CHECK_THAT(said, Catch::Contains("is not what was measured, and left aside"));
      CHECK(to_json(again.envelope) == to_json(first.envelope));
    }
    Envelope other = first.envelope;
    other.members = 5;
    REQUIRE(keep_document(first.file, to_json(other)));
    CHECK(envelope_around(base, 6, false, store, replays, kSilent).is_new);
  }
  SECTION("unless it is asked for, and then with the same members") {
    CHECK(envelope_around(base, 6, true, store, replays, kSilent).is_new);
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(replays.calls[1][i].request.inject->element == replays.calls[0][i].request.inject->element);
    }
  }
  SECTION("another number of members is another envelope") {
    CHECK(envelope_around(base, 5, false, store, replays, kSilent).is_new);
  }
}

TEST_CASE("of an ensemble's run every weight may be moved, what is no weight or has no element never", "[ensemble]") {
  ScriptedReplays replays;
  CellRequest request = synthetic_request();
  request.inject = Injection{"gradient_ulp", 3, "fc1.weight", 0};
  request.replay = Replay{};
  request.replay->last_step = request.workload.steps;
  ComparedSide base = replays.side("stack-a", request);
  auto& tensors = base.attempt.lead().trace->tensors.front().tensors;
  TensorRecord other{"h.0.fc1.bias", TensorRole::parameter, "float32", {3}, "", {}};
  tensors.push_back(other);
  other.name = "h.0.fc1.weight";
  other.shape = {0, 3};
  tensors.push_back(other);
  envelope_around(base, 32, false, replays.folder() / "store", replays, kSilent);
  std::set<std::string> moved;
  for (const ReplayTask& task : replays.calls.front()) {
    moved.insert(task.request.inject->tensor);
    CHECK_FALSE(task.request.replay);
  }
  CHECK(moved == std::set<std::string>{"fc1.weight", "fc2.weight"});
}

TEST_CASE("an envelope on file holds for the run it was measured around and for no other", "[ensemble]") {
  ScriptedReplays replays;
  ComparedSide base = replays.side("stack-a", synthetic_request());
  const auto store = replays.folder() / "store";
  const auto first = envelope_around(base, 4, false, store, replays, kSilent);
  SECTION("of other bits") { base.attempt.lead().result->chain[0] ^= 1; }
  SECTION("of another stack") { base.request.stack = "stack-b"; }
  const auto second = envelope_around(base, 4, false, store, replays, kSilent);
  CHECK(second.is_new);
  CHECK(second.file != first.file);
}

TEST_CASE("an ensemble needs tensors on record and a weight to move", "[ensemble]") {
  ScriptedReplays replays;
  const bool has_tensors = GENERATE(true, false);
  CellRequest request = synthetic_request();
  if (!has_tensors) request.trace = GENERATE(TraceLevel::step, TraceLevel::recent);
  ComparedSide base = replays.side("stack-a", request);
  if (has_tensors) {
    std::erase_if(base.attempt.lead().trace->tensors.front().tensors,
                  [](const TensorRecord& tensor) { return tensor.name.ends_with(".weight"); });
  }
  CHECK_THROWS_WITH(envelope_around(base, 4, false, replays.folder(), replays, kSilent),
                    has_tensors ? "stack-a: a trajectory moves a weight, and this workload has none"
                                : "stack-a: a trajectory needs a run with `trace: tensor`");
  CHECK(replays.calls.empty());
}

}  // namespace
}  // namespace reprobench
