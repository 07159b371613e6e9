#include "matrix/inquiry/selftest/selftest.hpp"

#include "ci/catch.hpp"
#include "matrix/base/usage_error.hpp"
#include "matrix/inquiry/scripted_replays.hpp"
#include "matrix/inquiry/selftest/selftest_table.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// What a worker makes of an injection, on the synthetic network.
std::vector<Deviation> as_planted(const CellRequest& request) {
  if (request.knobs.at("threads") == "2") return {{"forward fc1 aten::addmm", 1, kNever, 3}};
  if (!request.inject) return {};
  const Injection& fault = *request.inject;
  const auto once = [&](const std::string& site, std::function<double(double, Rounding)> change = next_up) {
    return std::vector<Deviation>{{site, fault.step, fault.step, fault.element, std::move(change)}};
  };
  const auto from_then_on = [&](const std::string& site, std::int64_t element,
                                std::function<double(double, Rounding)> change) {
    return std::vector<Deviation>{{site, fault.step, kNever, element, std::move(change)}};
  };
  if (fault.kind == "weight_ulp") return once("parameter " + fault.tensor);
  if (fault.kind == "weight_sign") return once("parameter " + fault.tensor, times(-1));
  if (fault.kind == "weight_nan") return once("parameter " + fault.tensor, becomes(std::nan("")));
  if (fault.kind == "gradient_ulp") return once("gradient " + fault.tensor);
  if (fault.kind == "moment_ulp") return once("moment " + fault.tensor);
  if (fault.kind == "skip_update") return once("moment fc1.weight", times(0.5));
  if (fault.kind == "adam_written_out") return from_then_on("optimizer " + fault.tensor + " aten::lerp_", 3, next_up);
  if (fault.kind == "adam_epsilon_unscaled") {
    return from_then_on("optimizer " + fault.tensor + " aten::addcdiv_", -1, times(1.0001));
  }
  if (fault.kind == "gelu_written_out" || fault.kind == "attention_fused")
    return from_then_on("forward fc1 aten::addmm", 3, next_up);
  if (fault.kind == "adam_epsilon") return from_then_on("optimizer fc1.weight aten::addcdiv_", -1, times(1.0001));
  if (fault.kind == "reduction_order") return from_then_on("forward fc2 aten::addmm", fault.element % 32, next_up);
  if (fault.kind.ends_with("batch") || fault.kind.starts_with("sample")) return from_then_on("input", -1, times(1.5));
  return from_then_on("forward fc1 aten::addmm", -1, times(1.001));
}

SelftestSettings few_steps() {
  SelftestSettings settings;
  settings.stack = "stack-a";
  settings.workloads = {{"gpt2", "tiny"}};
  settings.batches = 4;
  settings.clean_pairs = 2;
  settings.explained = 0;
  return settings;
}

// These kinds alone, and only found and placed.
SelftestSettings only(std::vector<std::string> faults) {
  SelftestSettings settings = few_steps();
  settings.batches = 0;
  settings.faults = std::move(faults);
  return settings;
}

Capability two_models() {
  Capability capability;
  capability.workloads = {{"mlp", "", {{"base", 114, 8}}}, {"gpt2", "", {{"tiny", 114, 8}}}};
  return capability;
}

std::vector<SelftestRow> run(ScriptedReplays& replays, const SelftestSettings& settings = few_steps()) {
  return run_selftest(settings, two_models(), replays, [](const std::string&) {});
}

const SelftestRow& row_of(const std::vector<SelftestRow>& rows, const std::string& fault) {
  return *std::find_if(rows.begin(), rows.end(), [&](const SelftestRow& row) { return row.fault == fault; });
}

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

// "step=3,tensor=fc1.weight,element=17" of the first one that was planted.
std::string first_place(const ScriptedReplays& replays, std::string_view kind) {
  for (const auto& tasks : replays.calls) {
    for (const ReplayTask& task : tasks) {
      if (!task.request.inject || task.request.inject->kind != kind) continue;
      const Injection& fault = *task.request.inject;
      const std::string tensor = fault.tensor.empty() ? "" : ",tensor=" + fault.tensor;
      return fmt::format("step={}{},element={}", fault.step, tensor, fault.element);
    }
  }
  return "";
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
