#include "matrix/inquiry/selftest/selftest.hpp"

#include "ci/catch.hpp"
#include "matrix/inquiry/selftest/selftest_fixture.hpp"

namespace reprobench {
namespace {

using namespace selftest_scene;

TEST_CASE("faults that do what they say are all found, placed and judged", "[selftest]") {
  ScriptedReplays replays;
  replays.planted = as_planted;
  const auto rows = run(replays);
  CHECK(rows.size() == selftest_faults().size() + 1);
  for (const SelftestRow& row : rows) {
    CAPTURE(row.fault, row.problem, row.word, row.found, row.located);
    CHECK(row.passed);
    CHECK(row.workload == "gpt2/tiny");
    const bool is_knob = row.fault.find('=') != std::string::npos && row.fault.find(" beside ") == std::string::npos;
    CHECK(row.planted == (is_knob ? 1 : 2));
    if (row.fault == "nothing" || row.fault == "cpu_isa=default" || row.fault == "attention=flash") continue;
    CHECK(row.found == row.planted);
    CHECK(row.located == row.planted);
  }
  CHECK(row_of(rows, "cpu_isa=default").without_effect == 1);
  CHECK(row_of(rows, "tf32").error_ratio > 3);
  CHECK_FALSE(row_of(rows, "tf32").worst_tensor.empty());
}

TEST_CASE("a detector that finds nothing turns every row red that plants a change of bits", "[selftest]") {
  ScriptedReplays replays;  // nothing planted: what a blind detector sees
  const auto rows = run(replays);
  for (const SelftestFault& fault : selftest_faults()) {
    const bool may_keep_bits = fault.place == PlantedAt::anywhere || fault.place == PlantedAt::own_update ||
                               fault.target == FaultTarget::product;
    const SelftestRow& row = row_of(rows, name_of(fault));
    CAPTURE(row.fault);
    if (fault.place == PlantedAt::not_comparable || may_keep_bits) continue;
    CHECK_FALSE(row.passed);
    CHECK(row.found == 0);
    CHECK(row.without_effect == 2);
    CHECK(row.problem == "2 of 2 not found; the first at " + first_place(replays, fault.kind));
  }
}

TEST_CASE("a fault named at another place turns its row red", "[selftest]") {
  ScriptedReplays replays;
  replays.planted = [](const CellRequest& request) {
    CellRequest moved = request;
    if (request.inject) ++moved.inject->step;
    return as_planted(moved);
  };
  SelftestSettings settings = few_steps();
  settings.batches = 0;
  const auto rows = run(replays, settings);
  for (const SelftestFault& fault : selftest_faults()) {
    if (fault.kind.find('=') != std::string_view::npos || fault.place == PlantedAt::next_parameters) continue;
    if (!fault.beside.empty()) continue;  // the knob makes the first difference
    const SelftestRow& row = row_of(rows, name_of(fault));
    CAPTURE(row.fault, row.problem);
    CHECK_FALSE(row.passed);
    CHECK(row.located == 0);
    if (row.found < 2) continue;
    CHECK(row.problem == "2 of 2 named at another place; the first at " + first_place(replays, fault.kind));
  }
}

TEST_CASE("another tensor than the one named is another place", "[selftest]") {
  ScriptedReplays replays;
  replays.planted = [](const CellRequest& request) {
    CellRequest moved = request;
    if (request.inject) moved.inject->tensor = request.inject->tensor == "fc1.bias" ? "fc2.bias" : "fc1.bias";
    if (request.inject) moved.inject->element = 0;
    return as_planted(moved);
  };
  const auto rows = run(replays, only({"weight_ulp", "gradient_ulp", "moment_ulp", "weight_sign"}));
  for (const char* fault : {"weight_ulp", "gradient_ulp", "moment_ulp", "weight_sign"}) {
    CAPTURE(fault);
    CHECK(row_of(rows, fault).found == 2);
    CHECK(row_of(rows, fault).located == 0);
    CHECK(row_of(rows, fault).problem == "2 of 2 named at another place; the first at " + first_place(replays, fault));
  }
}

TEST_CASE("another role than the one planted is another place, in the same step, too", "[selftest]") {
  ScriptedReplays replays;
  const std::map<std::string, std::string> acts_as{{"weight_ulp", "gradient_ulp"}, {"gradient_ulp", "weight_ulp"},
                                                   {"moment_ulp", "gradient_ulp"}, {"weight_sign", "gradient_ulp"},
                                                   {"sample_repeated", "tf32"},    {"sample_dropped", "tf32"},
                                                   {"stale_batch", "skip_update"}, {"wrong_batch", "reduction_order"},
                                                   {"skip_update", "wrong_batch"}, {"adam_epsilon", "wrong_batch"}};
  replays.planted = [&](const CellRequest& request) {
    CellRequest other = request;
    if (request.inject && acts_as.count(request.inject->kind) > 0) {
      other.inject->kind = acts_as.at(request.inject->kind);
      if (other.inject->kind.ends_with("_ulp")) other.inject->element = 0;
      if (request.inject->kind == "adam_epsilon") ++other.inject->step;
    }
    return as_planted(other);
  };
  std::vector<std::string> faults;
  for (const auto& [fault, other] : acts_as) faults.push_back(fault);
  const auto rows = run(replays, only(faults));
  for (const auto& [fault, other] : acts_as) {
    CAPTURE(fault, other, row_of(rows, fault).problem);
    CHECK(row_of(rows, fault).found == 2);
    CHECK(row_of(rows, fault).located == 0);
  }
}

TEST_CASE("an update that is wrong a step early is not in its place", "[selftest]") {
  ScriptedReplays replays;
  replays.planted = [](const CellRequest& request) {
    CellRequest moved = request;
    if (request.inject) --moved.inject->step;
    return as_planted(moved);
  };
  CHECK(row_of(run(replays, only({"adam_epsilon"})), "adam_epsilon").located == 0);
}

TEST_CASE("a run that a fault ended by chance, or that trained something else, is found at another place",
          "[selftest]") {
  ScriptedReplays replays;
  replays.planted = [](const CellRequest& request) {
    CellRequest other = request;
    if (request.inject && request.inject->kind == "weight_ulp") other.inject->kind = "weight_nan";
    return as_planted(other);
  };
  replays.spoil = [](const ReplayTask& task, ReplayOutcome& outcome) {
    const bool is_meant = task.request.inject && task.request.inject->kind == "gradient_ulp";
    if (is_meant) outcome.attempt.lead().result->workload_digest = "other";
  };
  const auto rows = run(replays, only({"weight_ulp", "gradient_ulp", "seed=2"}));
  for (const char* fault : {"weight_ulp", "gradient_ulp"}) {
    CAPTURE(fault);
    CHECK(row_of(rows, fault).found == 2);
    CHECK(row_of(rows, fault).located == 0);
    CHECK_FALSE(row_of(rows, fault).passed);
  }
  CHECK(row_of(rows, "seed=2").located == 1);
}

TEST_CASE("faults that are named are planted and no others, and one that is none is refused", "[selftest]") {
  ScriptedReplays replays;
  replays.planted = as_planted;
  SelftestSettings settings = few_steps();
  settings.batches = 0;
  settings.faults = {"gelu_constant", "threads=2"};
  std::vector<std::string> asked;
  for (const SelftestRow& row : run(replays, settings)) asked.push_back(row.fault);
  CHECK(asked ==
        std::vector<std::string>{"nothing", "gelu_constant", "gelu_constant beside cpu_isa=default", "threads=2"});
  settings.faults = {"gelu_constnt"};
  CHECK_THROWS_WITH(run(replays, settings), Catch::Contains("did you mean `gelu_constant`?"));
}

TEST_CASE("a fault beside a knob is planted from the first step on, where the knob differs", "[selftest]") {
  ScriptedReplays replays;
  replays.planted = as_planted;
  SelftestSettings settings = few_steps();
  settings.batches = 0;
  settings.faults = {"gelu_written_out"};
  run(replays, settings);
  int beside = 0;
  for (const auto& tasks : replays.calls) {
    for (const ReplayTask& task : tasks) {
      if (!task.request.inject || task.request.knobs.at("cpu_isa") != "default") continue;
      ++beside;
      CHECK(task.request.inject->step == 1);
      CHECK(task.request.inject->kind == "gelu_written_out");
    }
  }
  CHECK(beside == 2);
}

TEST_CASE("a knob that was to change the workload and did not turns its row red", "[selftest]") {
  ScriptedReplays replays;
  replays.planted = as_planted;
  std::string usual;
  replays.spoil = [&](const ReplayTask& task, ReplayOutcome& outcome) {
    if (usual.empty()) usual = outcome.attempt.lead().result->workload_digest;
    if (task.request.knobs.at("seed") == "2") outcome.attempt.lead().result->workload_digest = usual;
  };
  const auto row = row_of(run(replays, only({"seed=2"})), "seed=2");
  CHECK(row.found == 1);
  CHECK(row.located == 0);
  CHECK_FALSE(row.passed);
}

TEST_CASE("the judged step is the one after the common state, with the fault in it", "[selftest]") {
  ScriptedReplays replays;
  replays.planted = as_planted;
  run(replays);
  for (const auto& tasks : replays.calls) {
    for (const ReplayTask& task : tasks) {
      if (!task.request.replay || !task.request.replay->hold_state) continue;
      const Replay& replay = *task.request.replay;
      CHECK(replay.first_step == 11);
      CHECK(replay.last_step == 14);
      CHECK(replay.from_state.ends_with("clean/state-10.safetensors"));
      CHECK((task.request.knobs.at("precision") == "fp64") == (task.purpose == "fp64"));
      if (task.request.inject) CHECK(task.request.inject->step == 11);
    }
  }
}

TEST_CASE("of several tensors the worst is named beside what was judged", "[selftest]") {
  const auto [worst, other] = GENERATE(std::pair("fc2.bias", "fc1.weight"), std::pair("fc1.weight", "fc2.bias"),
                                       std::pair("fc2.weight", "fc1.bias"));
  ScriptedReplays replays;
  const auto off = [&](const CellRequest& request, const char* tensor, double factor) {
    return Deviation{std::string("gradient ") + tensor, request.inject->step, kNever, -1, times(factor)};
  };
  const std::string worst_name = worst;
  const std::string other_name = other;
  replays.planted = [&](const CellRequest& request) {
    const bool is_defect = request.inject && request.inject->kind == "gelu_scale";
    const bool is_rounding = request.inject && request.inject->kind == "reduction_order";
    if (is_defect) {
      return std::vector{off(request, worst_name.c_str(), 1.5), off(request, other_name.c_str(), 1.001)};
    }
    // Two units in the last place of one tensor, nothing of the others.
    if (is_rounding) return std::vector{off(request, worst_name.c_str(), 1 + 3e-7)};
    return as_planted(request);
  };
  const auto rows = run(replays);
  CHECK(row_of(rows, "gelu_scale").word == "defect");
  CHECK(row_of(rows, "gelu_scale").worst_tensor == "gradient/" + worst_name);
  CHECK(row_of(rows, "reduction_order").word == "rounding");
  CHECK(row_of(rows, "reduction_order").worst_tensor == "gradient/" + worst_name);
  CHECK(row_of(rows, "reduction_order").pooled_ratio > 0);
}

TEST_CASE("a defect judged rounding, and a rounding judged a defect, turn their rows red", "[selftest]") {
  ScriptedReplays replays;
  replays.planted = [](const CellRequest& request) {
    CellRequest other = request;
    if (request.inject && request.inject->kind == "tf32") other.inject->kind = "reduction_order";
    if (request.inject && request.inject->kind == "reduction_order") other.inject->kind = "tf32";
    return as_planted(other);
  };
  SelftestSettings settings = few_steps();
  settings.faults = {"tf32", "reduction_order", "gelu_scale"};
  const auto rows = run(replays, settings);
  CHECK(row_of(rows, "tf32").problem == "judged rounding, expected defect");
  CHECK(row_of(rows, "reduction_order").problem == "judged defect, expected rounding");
  CHECK_FALSE(row_of(rows, "tf32").passed);
  CHECK_FALSE(row_of(rows, "reduction_order").passed);
  CHECK(row_of(rows, "gelu_scale").passed);
}

TEST_CASE("a clean run of other bits is a false alarm", "[selftest]") {
  ScriptedReplays replays;
  replays.planted = as_planted;
  replays.spoil = [](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose == "again-1") outcome.attempt.lead().trace->steps[3].root = "other";
  };
  const auto rows = run(replays, only({"weight_ulp"}));
  CHECK(rows.front().fault == "nothing");
  CHECK(rows.front().planted == 2);
  CHECK(rows.front().false_alarms == 1);
  CHECK_FALSE(rows.front().passed);
}

TEST_CASE("a faulty run that ends otherwise than planted is a problem, however it ends", "[selftest]") {
  ScriptedReplays replays;
  replays.planted = as_planted;
  replays.spoil = [](const ReplayTask& task, ReplayOutcome& outcome) {
    if (task.purpose == "fault-0" && task.request.inject && task.request.inject->kind == "gradient_ulp") {
      outcome.attempt.end = AttemptEnd::crash;
    }
  };
  const auto rows = run(replays, only({"gradient_ulp", "weight_nan"}));
  CHECK_FALSE(row_of(rows, "gradient_ulp").passed);
  CHECK(row_of(rows, "gradient_ulp").found == 1);
  CHECK(row_of(rows, "weight_nan").located == 2);
  CHECK(row_of(rows, "weight_nan").passed);
}

}  // namespace
}  // namespace reprobench
