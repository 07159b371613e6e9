// Which faults a selftest plants, where, and how often it asks; selftest_test.cpp has what it says of their answers.
#include "ci/catch.hpp"
#include "matrix/base/usage_error.hpp"
#include "matrix/inquiry/selftest/selftest_fixture.hpp"

namespace reprobench {
namespace {

using namespace selftest_scene;

TEST_CASE("faults of operators that a model has not are left out, and nothing is judged without batches",
          "[selftest]") {
  ScriptedReplays replays;
  replays.planted = as_planted;
  SelftestSettings settings = few_steps();
  settings.workloads = {{"mlp", "base"}};
  settings.batches = 0;
  settings.clean_pairs = 0;
  const auto rows = run(replays, settings);
  CHECK(rows.size() == selftest_faults().size() - 13 + 1);
  for (const SelftestRow& row : rows) {
    CHECK(row.word.empty());
    CHECK(row.passed);
  }
}

TEST_CASE("each fault is planted in every workload that can have it, or in the first of them alone", "[selftest]") {
  ScriptedReplays replays;
  replays.planted = as_planted;
  SelftestSettings settings = only({"weight_ulp", "gelu_constant", "threads=2"});
  settings.workloads = {{"mlp", "base"}, {"gpt2", "tiny"}};
  settings.once = GENERATE(false, true);
  std::vector<std::string> rows;
  for (const SelftestRow& row : run(replays, settings)) rows.push_back(row.workload + " " + row.fault);
  std::vector<std::string> expected = {"mlp/base nothing",
                                       "mlp/base weight_ulp",
                                       "mlp/base threads=2",
                                       "gpt2/tiny nothing",
                                       "gpt2/tiny weight_ulp",
                                       "gpt2/tiny gelu_constant",
                                       "gpt2/tiny gelu_constant beside cpu_isa=default",
                                       "gpt2/tiny threads=2"};
  if (settings.once)
    std::erase_if(expected,
                  [](const std::string& row) { return row == "gpt2/tiny weight_ulp" || row == "gpt2/tiny threads=2"; });
  CHECK(rows == expected);
}

TEST_CASE("faults in operators are explained as often as asked, and an answer that is not right turns the row red",
          "[selftest]") {
  ScriptedReplays replays;  // whose captures hold nothing in fp64: nobody can judge an operator
  replays.planted = as_planted;
  SelftestSettings settings = only({"reduction_order", "tf32", "threads=2", "cpu_isa=default", "weight_ulp"});
  settings.placements = 3;
  settings.explained = 2;
  const auto rows = run(replays, settings);
  for (const char* fault : {"reduction_order", "tf32"}) {
    const SelftestRow& row = row_of(rows, fault);
    CAPTURE(fault);
    CHECK(row.explained == 2);
    CHECK(row.explained_right == 0);
    CHECK(row.answer == "undecided at aten::addmm");
    CHECK_FALSE(row.passed);
  }
  CHECK(row_of(rows, "tf32").problem ==
        "explained as undecided at aten::addmm in 2 of 2, expected wrong; the first at " +
            first_place(replays, "tf32") +
            ": what is on record of aten::addmm does not give its bound; the measured side is 1.66e+04 times as far "
            "from fp64 as the expected one");
  CHECK(row_of(rows, "threads=2").explained == 1);
  CHECK(row_of(rows, "cpu_isa=default").explained == 0);  // it changed no bit
  CHECK(row_of(rows, "cpu_isa=default").passed);
  CHECK(row_of(rows, "weight_ulp").expected_answer.empty());
  CHECK(row_of(rows, "weight_ulp").explained == 0);
  CHECK(replays.calls_left() == 1 + settings.faults.size());  // what explanations ran is gone
}

TEST_CASE("a setting with which the stack does not repeat itself is asked again, and only so often", "[selftest]") {
  ScriptedReplays replays;
  SelftestSettings settings = only({"threads=2", "reduction_order"});
  settings.batches = 4;
  settings.explained = 1;
  int held = 0;
  const int wrong_processes = GENERATE(0, 1, 99);
  replays.planted = [&](const CellRequest& request) {
    std::vector<Deviation> deviations = as_planted(request);
    const bool is_held = request.replay && request.replay->hold_state && request.knobs.at("threads") == "2";
    // Every second process at most, so that it is never the same twice.
    if (is_held && held++ < wrong_processes && held % 2 == 1) {
      deviations.push_back({"optimizer fc1.weight aten::addcdiv_", 1, kNever, -1, times(1.0001)});
    }
    return deviations;
  };
  const auto rows = run(replays, settings);
  const SelftestRow& row = row_of(rows, "threads=2");
  CHECK(row.explained == 1);
  CHECK(row_of(rows, "reduction_order").unrepeated == 0);
  if (wrong_processes == 0) CHECK(row.unrepeated == 0);
  if (wrong_processes == 1) CHECK(row.unrepeated == 1);
  CHECK(row.word == (wrong_processes == 99 ? "defect" : "rounding"));
  CHECK(row.answer.starts_with("defect") == (wrong_processes == 99));
  if (wrong_processes == 99) {
    CHECK(row.unrepeated == 3);
    CHECK_FALSE(row.passed);
    CHECK(row.problem.find("does not repeat itself") != std::string::npos);
  }
}

TEST_CASE("a run that crashes when it is asked again takes no wrong answer back", "[selftest]") {
  ScriptedReplays replays;
  SelftestSettings settings = only({"threads=2"});
  settings.batches = 4;
  settings.explained = 1;
  int held = 0;
  replays.planted = [&](const CellRequest& request) {
    std::vector<Deviation> deviations = as_planted(request);
    const bool is_held = request.replay && request.replay->hold_state && request.knobs.at("threads") == "2";
    if (is_held && held++ == 0) {
      deviations.push_back({"optimizer fc1.weight aten::addcdiv_", 1, kNever, -1, times(1.0001)});
    }
    return deviations;
  };
  int asked = 0;
  replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose == "fault-0" && asked++ > 0) outcome.attempt.end = AttemptEnd::crash;
  };
  const auto rows = run(replays, settings);
  const SelftestRow& row = row_of(rows, "threads=2");
  CHECK(asked == 2);
  CHECK(row.unrepeated == 1);
  CHECK(row.explained == 1);
  CHECK(row.answer.starts_with("defect"));
  CHECK_FALSE(row.passed);
}

TEST_CASE("a selftest says what it is at, and how many answers there are yet", "[selftest]") {
  ScriptedReplays replays;
  replays.planted = as_planted;
  SelftestSettings settings = few_steps();
  settings.batches = 0;
  settings.explained = 2;
  settings.faults = {"tf32"};
  std::vector<std::string> said;
  run_selftest(settings, two_models(), replays, [&](const std::string& line) { said.push_back(line); });
  CHECK(said == std::vector<std::string>{"gpt2/tiny: tf32", "gpt2/tiny: tf32, 0 of 2 explained",
                                         "gpt2/tiny: tf32, 1 of 2 explained", ""});
}

TEST_CASE("places are drawn from the seed, within the tensors and the steps", "[selftest]") {
  const auto places = [](std::uint64_t seed) {
    ScriptedReplays replays;
    replays.planted = as_planted;
    SelftestSettings settings =
        only({"weight_ulp", "weight_sign", "sample_repeated", "reduction_order", "gelu_written_out"});
    settings.seed = seed;
    settings.placements = 8;
    run(replays, settings);
    std::vector<std::string> drawn;
    std::map<std::string, std::set<std::int64_t>> elements;
    for (const auto& tasks : replays.calls) {
      for (const ReplayTask& task : tasks) {
        if (!task.request.inject) continue;
        const Injection& fault = *task.request.inject;
        const bool is_beside_a_knob = task.request.knobs.at("cpu_isa") == "default";
        CHECK(fault.step >= (fault.kind == "weight_sign" || is_beside_a_knob ? 1 : 2));
        CHECK(fault.step < settings.steps);
        CHECK(fault.element < 60);
        if (fault.kind == "weight_sign") {  // of a bias while it is zero
          CHECK(fault.step == 1);
          CHECK(fault.tensor.ends_with(".bias"));
          CHECK(fault.element < 10);
        }
        if (fault.kind.starts_with("sample_")) CHECK(fault.element < 8);
        elements[fault.kind].insert(fault.element);
        drawn.push_back(fmt::format("{} {} {} {}", fault.kind, fault.step, fault.tensor, fault.element));
      }
    }
    for (const char* kind : {"weight_ulp", "weight_sign", "sample_repeated", "reduction_order"}) {
      CAPTURE(kind);
      CHECK(elements[kind].size() > 2);
    }
    return drawn;
  };
  const auto of_one = places(1);
  CHECK(places(1) == of_one);
  CHECK(places(2) != of_one);
}

TEST_CASE("every place is drawn before one is drawn again", "[selftest]") {
  const auto steps_drawn = [](int placements) {
    ScriptedReplays replays;
    replays.planted = as_planted;
    SelftestSettings settings = few_steps();
    settings.batches = 0;
    settings.faults = {"wrong_batch"};  // in any of the steps 2 to 11, and nowhere else
    settings.placements = placements;
    run(replays, settings);
    std::multiset<std::int64_t> steps;
    for (const auto& tasks : replays.calls) {
      for (const ReplayTask& task : tasks) {
        if (task.request.inject) steps.insert(task.request.inject->step);
      }
    }
    return steps;
  };
  CHECK(steps_drawn(10) == std::multiset<std::int64_t>{2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(steps_drawn(13).size() == 13);
}

TEST_CASE("a selftest cannot go on without its clean run, or on a workload that is not there", "[selftest]") {
  ScriptedReplays replays;
  SelftestSettings settings = few_steps();
  SECTION("clean run") {
    replays.spoil = [](const ReplayTask& task, ReplayOutcome& outcome) {
      if (task.purpose == "clean") outcome.attempt.end = AttemptEnd::crash;
    };
    CHECK_THROWS_AS(run(replays), ReplayFailed);
  }
  SECTION("workload") {
    settings.workloads = {{"gpt2", "huge"}};
    CHECK_THROWS_AS(run(replays, settings), UsageError);
  }
}

}  // namespace
}  // namespace reprobench
