// A training on a GPU beside the same one on the CPU.
#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace beside_cpu {
namespace {

using sample::candidate;
using sample::threshold;

constexpr auto kUpTo = Bound::Kind::max;

// One stack on the CPU and on a GPU, where the gradients of every step are 1e-6 from the CPU's and nothing else is.
RunRecord on_both(const CellThreshold& asked) {
  RunRecord run = sample::run(2, 1.0, {asked});
  Cell& cpu = run.plan.cells[0].cell;
  Cell& gpu = run.plan.cells[1].cell;
  cpu.request.stack = gpu.request.stack;
  cpu.coordinates = gpu.coordinates;
  cpu.request.device = cpu.coordinates["device"] = "cpu";
  gpu.request.device = gpu.coordinates["device"] = "sm_90";
  gpu.reference_cell_id.reset();
  for (AttemptRecord& attempt : candidate(run).attempts) {
    const AttemptRecord other = sample::attempt(attempt.repeat, 3e5, "other");
    auto& tensors = attempt.lead().trace->tensors;
    for (std::size_t step = 0; step < tensors.size(); ++step) {
      for (std::size_t i = 0; i < tensors[step].tensors.size(); ++i) {
        if (tensors[step].tensors[i].role != TensorRole::parameter_gradient) continue;
        tensors[step].tensors[i] = other.lead().trace->tensors[step].tensors[i];
      }
    }
  }
  return run;
}

CheckResult check_of(const RunRecord& run) { return candidate(judge(run)).checks.at(0); }

TEST_CASE("a GPU's first step is held against the cell that trains the same on the CPU", "[verdict][gpu]") {
  RunRecord run = on_both(threshold("numerics.cpu_first_step_rel", kUpTo, 1e-5, false));
  CHECK(check_of(run).status == CheckStatus::passed);
  CHECK(*check_of(run).measured == Approx(1e-6).epsilon(1e-6));
  CHECK(check_of(run).sentence ==
        "the first step's loss is 0 and its gradients are 1e-06 from those of " + run.plan.cells[0].cell.slug);
  run.plan.cells[1].cell.coordinates["host"] = "gpu";  // merged from another host
  run.plan.cells[0].cell.coordinates["host"] = "cpu";
  CHECK(check_of(run).status == CheckStatus::passed);
  run.plan.cells[1].cell.thresholds = {threshold("numerics.cpu_first_step_rel", kUpTo, 1e-7, false)};
  CHECK(check_of(run).status == CheckStatus::failed);
}

TEST_CASE("the first step's loss counts, and no later one's", "[verdict][gpu]") {
  RunRecord run = on_both(threshold("numerics.cpu_first_step_rel", kUpTo, 1e-5, false));
  auto& steps = candidate(run).attempts[0].lead().trace->steps;
  const double loss = *exact_float_from_json(steps[0].loss);
  steps[1].loss = exact_float(2 * loss);
  CHECK(check_of(run).status == CheckStatus::passed);
  steps[0].loss = exact_float(loss * 1.001);
  CHECK(check_of(run).status == CheckStatus::failed);
  CHECK(*check_of(run).measured == Approx(1e-3));
}

TEST_CASE("without the same training on the CPU there is nothing to hold a GPU's first step against",
          "[verdict][gpu]") {
  RunRecord run = on_both(threshold("numerics.cpu_first_step_rel", kUpTo, 1e-5, false));
  Cell& cpu = run.plan.cells[0].cell;
  std::string reason = "no_reference";
  SECTION("in another precision") { cpu.request.knobs["precision"] = "bf16"; }
  SECTION("of another stack") { cpu.coordinates["stack"] = "another"; }
  SECTION("left out") { run.plan.cells[0].skip = Skip{"deselected", ""}; }
  SECTION("none that completed") {
    run.cells[0].attempts[0].end = AttemptEnd::crash;
    reason = "reference_failed";
  }
  SECTION("of another workload") {
    for (AttemptRecord& attempt : run.cells[0].attempts) attempt.lead().result->workload_digest = std::string(32, '1');
    reason = "not_comparable";
  }
  CHECK(check_of(run).status == CheckStatus::inconclusive);
  CHECK(check_of(run).reason == reason);
  CHECK(candidate(judge(run)).outcome == Outcome::inconclusive);
}

TEST_CASE("a cell on the CPU is not asked how far it is from the CPU", "[verdict]") {
  RunRecord run = on_both(threshold("numerics.cpu_first_step_rel", kUpTo, 1e-5, false));
  run.plan.cells[1].cell.request.device = "cpu";
  CHECK(candidate(judge(run)).checks.empty());
}

TEST_CASE("the CPU's cell stands for the workload, wherever it is in the plan", "[verdict][gpu]") {
  RunRecord run = on_both(threshold("numerics.by_construction_mismatches", kUpTo, 0, false));
  std::swap(run.plan.cells[0], run.plan.cells[1]);
  const auto check_of_first = [&] { return judge(run).cells.at(0).checks.at(0); };
  CHECK(check_of_first().status == CheckStatus::passed);
  for (AttemptRecord& attempt : candidate(run).attempts) {  // all of them alike, so that they repeat
    for (TensorRecord& tensor : attempt.lead().trace->tensors.front().tensors) {
      if (tensor.role == TensorRole::parameter) tensor.digest = "other";
    }
  }
  CHECK(check_of_first().status == CheckStatus::failed);
  CHECK(check_of_first().divergence->against == run.plan.cells[1].cell.slug);
}

}  // namespace
}  // namespace beside_cpu
}  // namespace reprobench
