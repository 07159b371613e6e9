// What an explanation makes of replays that fail, take another course than the run, or leave less than was asked for.
#include <fstream>

#include "ci/catch.hpp"
#include "matrix/inquiry/explain/explanation_fixture.hpp"
#include "matrix/inquiry/explain/source_diagnosis.hpp"
#include "matrix/inquiry/pair_inquiry.hpp"

namespace reprobench {
namespace {

TEST_CASE("a side whose replay takes another course is said not to repeat itself", "[explanation]") {
  const std::string purpose = GENERATE("a-operators", "b-operators");
  const std::string stack = purpose == "a-operators" ? "stack-b" : "stack-a";
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 4, 4, 7}};
  replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose == purpose) outcome.attempt.lead().trace->steps.back().chain = "another";
  };
  const auto comparison = compare_stacks(replays, explained(8));
  REQUIRE(comparison.explanation->notes.size() == 1);
  CHECK(has(comparison.explanation->notes.front(),
            stack + " does not repeat itself: the replay did not give the run's bits up to step 4"));
  CHECK(comparison.explanation->lockstep->word == LockstepWord::rounding);
  CHECK(comparison.explanation->diagnosis->word == ExplainedWord::undecided);
  CHECK(judged_by(comparison, FailOn::defect) == Match::not_comparable);
  CHECK(judged_by(comparison, FailOn::another_computation) == Match::not_comparable);
}

TEST_CASE("a defect that a replay does not show, because it depends on the process, is not judged", "[explanation]") {
  ScriptedReplays replays;
  const auto measured = [&] {
    replays.stacks["stack-b"] = {{"parameter fc1.weight", 3, 3, 2}};
    ComparedSide side = replays.side("stack-b", synthetic_request());
    replays.stacks.clear();
    return side;
  }();
  const auto comparison = compare_cells(measured, replays.side("stack-a", synthetic_request()), explained(8), replays);
  REQUIRE(comparison.explanation);
  CHECK_FALSE(comparison.explanation->call);
  CHECK(comparison.explanation->diagnosis->word == ExplainedWord::undecided);
  CHECK(judged_by(comparison, FailOn::defect) == Match::not_comparable);
}

TEST_CASE("a replay that fails or leaves less than asked for costs the explanation and nothing else", "[explanation]") {
  struct Spoiled {
    const char* purpose;
    std::string file;  // to remove; empty: the process crashed
    bool cut = false;
    const char* says;
  };
  const Spoiled spoiled = GENERATE(Spoiled{"b-operators", "", false, "replay `b-operators` on stack-a ended as crash"},
                                   Spoiled{"a-tensors", "", false, "replay `a-tensors` on stack-b ended as crash"},
                                   Spoiled{"a-operators", "operators.jsonl", false, "operators.jsonl"},
                                   Spoiled{"b-operators", "operators.jsonl", true, "operators.jsonl"},
                                   Spoiled{"b-tensors", "operator.safetensors", false, "operator.safetensors"},
                                   Spoiled{"a-tensors", "operator.safetensors", true, "operator.safetensors"},
                                   Spoiled{"c-fp64", "gradients-5.safetensors", false, "gradients-5.safetensors"});
  CAPTURE(spoiled.purpose, spoiled.file, spoiled.cut);
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 4, 4, 7}};
  replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose != spoiled.purpose) return;
    const auto path = outcome.folder / spoiled.file;
    if (spoiled.file.empty()) {
      outcome.attempt.end = AttemptEnd::crash;
    } else if (spoiled.cut) {
      std::filesystem::resize_file(path, std::filesystem::file_size(path) - 10);
    } else {
      std::filesystem::remove(path);
    }
  };
  const auto comparison = compare_stacks(replays, explained(2));
  CHECK(comparison.word == Match::differs);
  CHECK(comparison.trace.first->step == 4);
  CHECK_FALSE(comparison.explanation);
  REQUIRE(comparison.unanswered.size() == 1);
  CHECK(has(comparison.unanswered.front(), spoiled.says));
  CHECK(has(comparison.sentence, "; not answered: explanation: "));
}

// The captures of that replay hold another value than the one that the replay before put on record.
std::function<void(const ReplayTask&, ReplayOutcome&)> other_values_captured(const std::string& purpose,
                                                                             const std::string& file,
                                                                             const std::string& tensor) {
  return [=](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose != purpose) return;
    std::fstream captured(outcome.folder / file, std::ios::in | std::ios::out | std::ios::binary);
    const auto offset = [&] {
      const auto tensors = SafetensorsFile::open(outcome.folder / file);
      return find_tensor(tensors.tensors(), tensor)->offset_bytes;
    }();
    captured.seekg(static_cast<std::streamoff>(offset));
    const auto lowest_bits = static_cast<char>(captured.get() ^ 1);
    captured.seekp(static_cast<std::streamoff>(offset));
    captured.put(lowest_bits);
  };
}

TEST_CASE("a call captured with other values than are on record is not judged by them", "[explanation]") {
  ScriptedReplays replays;
  const std::string purpose = GENERATE("a-tensors", "b-tensors");
  const std::string tensor = GENERATE("input.0", "input.2", "output.0");
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 4, 4, 7}};
  CHECK(compare_stacks(replays, explained(8)).explanation->diagnosis->word == ExplainedWord::rounding);
  replays.spoil = other_values_captured(purpose, "operator.safetensors", tensor);
  const auto comparison = compare_stacks(replays, explained(8));
  const Explanation& found = *comparison.explanation;
  CHECK_FALSE(found.element);
  CHECK_FALSE(found.budget);
  CHECK(found.diagnosis->word == ExplainedWord::undecided);
  CHECK(has(found.no_budget,
            fmt::format("stack-{} does not repeat itself: {} of aten::addmm was captured with other values than are on "
                        "record",
                        purpose == "a-tensors" ? "b" : "a", tensor)));
  CHECK_FALSE(repeats_itself(found));
  CHECK(has(found.diagnosis->sentence, found.no_budget));
}

TEST_CASE("a source captured otherwise is a defect all the same where the steps say so", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {
      {"forward fc2 aten::addmm", 4, std::numeric_limits<std::int64_t>::max(), -1, times(1 + 0x1p-12)}};
  replays.spoil = other_values_captured("b-tensors", "operator.safetensors", "input.0");
  const auto comparison = compare_stacks(replays, explained(8));
  CHECK(comparison.explanation->is_captured_otherwise);
  CHECK(comparison.explanation->diagnosis->word == ExplainedWord::defect);
}

TEST_CASE("a subgraph, or one call of it, captured with other values than are on record is not judged by them",
          "[explanation]") {
  ScriptedReplays replays;
  const std::string purpose = GENERATE("a-tensors", "b-tensors");
  const auto [number, tensor] =
      GENERATE(std::pair<std::size_t, const char*>(0, "input.1"), std::pair<std::size_t, const char*>(1, "output.0"));
  replays.stacks["stack-b"] = {{"decomposed act", 4, 4, -1, times(1)}};
  replays.spoil = other_values_captured(purpose, operator_tensors_file(number), tensor);
  const auto comparison = compare_stacks(replays, explained(8));
  const Explanation& found = *comparison.explanation;
  REQUIRE(found.region);
  CHECK_FALSE(found.element);
  CHECK_FALSE(found.budget);
  CHECK_FALSE(found.module);
  CHECK(found.diagnosis->word == ExplainedWord::undecided);
}

TEST_CASE("a replay without any operator call is not taken for one of equal operators", "[explanation]") {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = {{"forward fc2 aten::addmm", 4, 4, 7}};
  replays.spoil = [](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose.ends_with("-operators")) std::filesystem::resize_file(outcome.folder / kOperatorsFile, 0);
  };
  const auto comparison = compare_stacks(replays, explained());
  CHECK_FALSE(comparison.explanation);
  CHECK(comparison.unanswered.size() == 1);
}

}  // namespace
}  // namespace reprobench
