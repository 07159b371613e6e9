#include "matrix/verdict/metrics/bitwise.hpp"

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using sample::candidate;
using sample::threshold;

CellEvidence evidence(const std::string& slug, const std::string& device = "cpu") {
  return {slug, device, "", {sample::attempt(0, 1000)}};
}

TensorsRecord initial(const std::string& weight_digest) {
  return {1,
          false,
          {{"input", TensorRole::input, "float32", {2}, "aa", std::nullopt},
           {"fc1.weight", TensorRole::parameter, "float32", {2}, weight_digest, std::nullopt},
           {"fc1", TensorRole::forward_output, "float32", {2}, weight_digest + "00", std::nullopt}}};
}

TEST_CASE("bits are promised where everything that arithmetic depends on is equal", "[verdict]") {
  const CellEvidence base = evidence("a");
  CHECK(not_bitwise_because(base, evidence("b")).empty());
  CHECK(not_bitwise_because(base, evidence("b", "sm_90")) == "cpu against sm_90");
  const auto changed = [&](const auto& change) {
    CellEvidence other = evidence("b");
    change(other.repeats.front().lead().result->fingerprint);
    return not_bitwise_because(base, other);
  };
  CHECK(changed([](Fingerprint& f) { f.cpu_model = "other"; }) == "cpu none against `other`");
  CHECK(changed([](Fingerprint& f) { f.device_name = "NVIDIA H100"; }) == "device none against `NVIDIA H100`");
  CHECK(changed([](Fingerprint& f) {
          f.device = DeviceFacts{};
          f.device->name = "NVIDIA H100 PCIe";
          f.device->sm_count = 114;
        }) == "device none against `NVIDIA H100 PCIe, 114 SMs`");
  CHECK(changed([](Fingerprint& f) { f.threads = 2; }) == "threads `1` against `2`");
  CHECK(changed([](Fingerprint& f) {
          f.components = {{"cudnn", "9.8", "9.10.2", ""}};
        }) == "cudnn not loaded against `9.10.2`");
  CHECK(changed([](Fingerprint& f) {
          f.libraries = {{"/opt/x/libtorch_cpu.so", "00ff"}};
        }) == "build of libtorch_cpu.so none against `00ff`");
  CHECK(changed([](Fingerprint& f) {
          f.environment = {{"OMP_NUM_THREADS", "2"}};
        }) == "variable OMP_NUM_THREADS none against `2`");
}

TEST_CASE("the same library in another folder promises the same bits", "[verdict]") {
  CellEvidence a = evidence("a");
  CellEvidence b = evidence("b");
  a.repeats[0].lead().result->fingerprint.libraries = {{"/opt/one/libtorch_cpu.so", "00ff"}};
  b.repeats[0].lead().result->fingerprint.libraries = {{"/home/two/libtorch_cpu.so", "00ff"}};
  CHECK(not_bitwise_because(a, b).empty());
}

TEST_CASE("inputs and initial weights are held against any cell of the workload, computed values are not",
          "[verdict]") {
  CellEvidence anchor = evidence("a");
  CellEvidence cell = evidence("b", "sm_90");
  anchor.repeats[0].lead().trace->tensors = {initial("11")};
  cell.repeats[0].lead().trace->tensors = {initial("11")};
  cell.repeats[0].lead().trace->tensors[0].tensors[2].digest = "ff";
  CHECK(*by_construction_mismatches(cell, &anchor).value == 0);
  CHECK(by_construction_mismatches(cell, &anchor).statement ==
        "workload digest, learning rate and samples of 20 steps, 2 inputs and first parameters are those of a");
  cell.repeats[0].lead().trace->tensors = {initial("22")};
  const Measurement found = by_construction_mismatches(cell, &anchor);
  CHECK(*found.value == 1);
  CHECK(found.divergence->tensor == "fc1.weight");
  CHECK(found.divergence->against == "a");
  cell.repeats[0].lead().result->workload_digest = "another";
  const Measurement both = by_construction_mismatches(cell, &anchor);
  CHECK(*both.value == 2);
  CHECK(both.statement ==
        "2 times other than a: workload digest, learning rate and samples of 20 steps, 2 inputs and first parameters");
}

TEST_CASE("every first tensor that differs counts, of every repeat and rank, and the first is named", "[verdict]") {
  CellEvidence anchor = evidence("a");
  anchor.repeats[0].ranks.push_back(anchor.repeats[0].lead());
  for (RankRecord& rank : anchor.repeats[0].ranks) rank.trace->tensors = {initial("11")};
  CellEvidence cell = anchor;
  cell.slug = "b";
  cell.repeats.push_back(cell.repeats[0]);
  CHECK(by_construction_mismatches(cell, &anchor).value == 0);
  auto& of_second_rank = cell.repeats[0].ranks[1].trace->tensors[0].tensors;
  of_second_rank[0].digest = "ff";
  of_second_rank[1].name = "renamed";
  cell.repeats[1].lead().trace->tensors = {initial("22")};
  const Measurement found = by_construction_mismatches(cell, &anchor);
  CHECK(found.value == 3);
  REQUIRE(found.divergence);
  CHECK(found.divergence->step == 1);
  CHECK(found.divergence->tensor == "input");
  CHECK(found.divergence->role == "input");
  CHECK(found.divergence->measured_digest == "ff");
  CHECK(found.divergence->expected_digest == "aa");
}

TEST_CASE("the inputs of every step are made by construction, its parameters those of the first alone", "[verdict]") {
  const auto of_steps = [](const std::string& slug, const std::string& later_input, const std::string& later_weight) {
    CellEvidence cell = evidence(slug);
    TensorsRecord second = initial(later_weight);
    second.step = 2;
    second.tensors[0].digest = later_input;
    cell.repeats[0].lead().trace->tensors = {initial("11"), second};
    return cell;
  };
  const CellEvidence anchor = of_steps("a", "bb", "22");
  CHECK(by_construction_mismatches(of_steps("b", "bb", "33"), &anchor).value == 0);
  const Measurement stuck = by_construction_mismatches(of_steps("b", "aa", "22"), &anchor);
  CHECK(stuck.value == 1);
  REQUIRE(stuck.divergence);
  CHECK(stuck.divergence->step == 2);
  CHECK(stuck.divergence->tensor == "input");
}

TEST_CASE("the learning rate and the samples of every step are made by construction", "[verdict]") {
  const CellEvidence anchor = evidence("a");
  const auto changed = [&](const auto& change) {
    CellEvidence cell = evidence("b");
    change(cell.repeats[0].lead().trace->steps[6]);
    return by_construction_mismatches(cell, &anchor);
  };
  const Measurement rate = changed([](StepRecord& step) { step.learning_rate = 0.5; });
  CHECK(rate.value == 1);
  REQUIRE(rate.divergence);
  CHECK(rate.divergence->step == 7);
  CHECK(rate.divergence->role == fmt::format("learning rate 0.5, {} samples instead of learning rate {}, {} samples",
                                             anchor.repeats[0].lead().trace->steps[6].samples,
                                             anchor.repeats[0].lead().trace->steps[6].learning_rate,
                                             anchor.repeats[0].lead().trace->steps[6].samples));
  CHECK(changed([](StepRecord& step) { step.samples += 1; }).value == 1);
  CHECK(changed([](StepRecord& step) { step.loss = "0x1p+9"; }).value == 0);
}

TEST_CASE("a side without tensors is held to its workload digest and its steps alone", "[verdict]") {
  const CellEvidence whole = [] {
    CellEvidence cell = evidence("a");
    cell.repeats[0].lead().trace->tensors = {initial("11")};
    return cell;
  }();
  for (const int kind : {0, 1, 2}) {
    CellEvidence without = whole;
    without.slug = "b";
    auto& tensors = without.repeats[0].lead().trace->tensors;
    if (kind == 0) tensors.clear();
    if (kind == 1) tensors[0].is_final = true;
    if (kind == 2) tensors[0].step = 2;
    const std::string alone = "workload digest, learning rate and samples of 20 steps are those of ";
    CHECK(by_construction_mismatches(without, &whole).statement == alone + "a");
    CHECK(by_construction_mismatches(whole, &without).statement == alone + "b");
    CHECK(constructed_part(*without.repeats[0].lead().trace).tensors.size() == (kind == 2 ? 1 : 0));
  }
  const Trace part = constructed_part(*whole.repeats[0].lead().trace);
  REQUIRE(part.tensors.size() == 1);
  CHECK(part.tensors[0].tensors.size() == 2);
  CHECK(part.header.workload_digest == whole.repeats[0].lead().trace->header.workload_digest);
}

TEST_CASE("another workload digest separates two cells before the first step, each with its own", "[verdict]") {
  CellEvidence anchor = evidence("a");
  CellEvidence cell = evidence("b");
  for (CellEvidence* one : {&anchor, &cell}) one->repeats[0].lead().trace->tensors = {initial("11")};
  anchor.repeats[0].lead().result->workload_digest = "theirs";
  cell.repeats[0].lead().result->workload_digest = "ours";
  const Measurement found = by_construction_mismatches(cell, &anchor);
  CHECK(*found.value == 1);
  REQUIRE(found.divergence);
  CHECK(found.divergence->role == "workload digest");
  CHECK(found.divergence->step == 0);
  CHECK(found.divergence->tensor.empty());
  CHECK(found.divergence->against == "a");
  CHECK(found.divergence->measured_digest == "ours");
  CHECK(found.divergence->expected_digest == "theirs");
}

TEST_CASE("what only one side made is a mismatch, and one process alone proves nothing", "[verdict]") {
  CellEvidence anchor = evidence("a");
  CellEvidence cell = evidence("b");
  anchor.repeats[0].lead().trace->tensors = {initial("11")};
  cell.repeats[0].lead().trace->tensors = {initial("11")};
  cell.repeats[0].lead().trace->tensors[0].tensors.erase(cell.repeats[0].lead().trace->tensors[0].tensors.begin() + 1);
  CHECK(*by_construction_mismatches(cell, &anchor).value == 1);
  CHECK_FALSE(by_construction_mismatches(anchor, &anchor).value);
  anchor.repeats.push_back(anchor.repeats.front());
  anchor.repeats[1].lead().trace->tensors = {initial("33")};
  CHECK(*by_construction_mismatches(anchor, &anchor).value == 1);
}

// The candidate on another device than its reference, and on another host.
RunRecord across(std::vector<CellThreshold> thresholds) {
  RunRecord run = sample::run(7, 1.5, std::move(thresholds));
  run.plan.cells[0].cell.request.device = "cpu";
  run.plan.cells[1].cell.request.device = "sm_90";
  run.plan.cells[0].cell.coordinates["host"] = "a";
  run.plan.cells[1].cell.coordinates["host"] = "b";
  return run;
}

TEST_CASE("speed is never compared with that of another device", "[verdict]") {
  const auto verdict = judge(across({threshold("throughput.step_time", Bound::Kind::max_regression, 0.05, true)}));
  CHECK(candidate(verdict).outcome == Outcome::inconclusive);
  CHECK(candidate(verdict).reason == "not_comparable");
  CHECK(candidate(verdict).checks.at(0).sentence ==
        "the speed of cpu of host a says nothing about that of sm_90 of host b");
  RunRecord one_device = across({threshold("throughput.step_time", Bound::Kind::max_regression, 0.05, true)});
  one_device.plan.cells[1].cell.request.device = "cpu";
  CHECK(candidate(judge(one_device)).reason == "not_comparable");
  one_device.plan.cells[1].cell.coordinates["host"] = "a";
  CHECK(candidate(judge(one_device)).outcome == Outcome::failed);
}

TEST_CASE("other bits on another device are not comparable bitwise; equal ones are equal", "[verdict]") {
  const std::vector<CellThreshold> bits = {threshold("numerics.reference_mismatches", Bound::Kind::max, 0, true)};
  CHECK(candidate(judge(across(bits))).outcome == Outcome::passed);
  RunRecord differing = across(bits);
  for (AttemptRecord& attempt : candidate(differing).attempts) attempt = sample::attempt(attempt.repeat, 1000, "other");
  const RunVerdict verdict = judge(differing);
  CHECK(candidate(verdict).outcome == Outcome::inconclusive);
  CHECK(candidate(verdict).checks.at(0).sentence.rfind(
            "not comparable bitwise: sm_90 against cpu; repeat 0 differs from", 0) == 0);
  // On one host and device another stack's bits are counted as before.
  differing.plan.cells[1].cell.request.device = "cpu";
  differing.plan.cells[1].cell.coordinates["host"] = "a";
  CHECK(candidate(judge(differing)).outcome == Outcome::failed);
}

TEST_CASE("initial weights are held against the reference's cell, on whatever device it ran", "[verdict]") {
  RunRecord run = across({threshold("numerics.by_construction_mismatches", Bound::Kind::max, 0, false)});
  CHECK(candidate(judge(run)).outcome == Outcome::passed);
  for (AttemptRecord& attempt : candidate(run).attempts) {
    for (TensorRecord& tensor : attempt.lead().trace->tensors.front().tensors) {
      if (tensor.role == TensorRole::parameter) tensor.digest = "other";
    }
  }
  const RunVerdict verdict = judge(run);
  CHECK(candidate(verdict).outcome == Outcome::failed);
  CHECK(candidate(verdict).checks.at(0).divergence->against == "suite-mlp-stack-a");
}

TEST_CASE("a probe is held against cells of the same probe and as many samples alone", "[verdict]") {
  RunRecord run = across({threshold("numerics.by_construction_mismatches", Bound::Kind::max, 0, false)});
  for (PlannedCell& planned : run.plan.cells) planned.cell.request.workload.probe = "matmul";
  for (AttemptRecord& attempt : candidate(run).attempts) attempt.lead().result->workload_digest = "other";
  CHECK(candidate(judge(run)).outcome == Outcome::failed);
  WorkloadRequest& workload = run.plan.cells[1].cell.request.workload;
  SECTION("another probe") { workload.probe = "stream"; }
  SECTION("more samples") { workload.samples = 20; }
  CHECK(candidate(judge(run)).outcome == Outcome::passed);
}

}  // namespace
}  // namespace reprobench
