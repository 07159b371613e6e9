#include "matrix/plan/coverage.hpp"

#include "ci/catch.hpp"
#include "matrix/plan/compat_rules.hpp"
#include "matrix/plan/plan_fixture.hpp"

namespace reprobench {
namespace {

CompatFacts load_shipped_facts() {
  return load_compat_facts(std::string(REPROBENCH_SOURCE_ROOT) + "/matrix/facts/compat-facts.json");
}

StackSpec stack_of(const std::string& torch, const std::string& cuda) {
  StackSpec stack;
  stack.name = "s";
  stack.source = StackSource::wheel;
  stack.components = {{"torch", torch}, {"cuda", cuda}, {"nccl", "2.27.3"}};
  return stack;
}

std::string coverage_of_class(const StackSpec& stack, const std::string& device) {
  for (const DeviceCoverage& coverage : coverage_of_stack(stack, load_shipped_facts())) {
    if (coverage.device == device) return to_string(coverage);
  }
  return "";
}

TEST_CASE("machine code of a class or of a lower one of its major version is native", "[plan]") {
  const StackSpec stack = stack_of("2.8.0+cu128", "12.8");
  CHECK(coverage_of_class(stack, "sm_90") == "compute native, collectives native");
  CHECK(coverage_of_class(stack, "sm_89") == "compute native, collectives native");
  CHECK(coverage_of_class(stack, "sm_103") == "compute native, collectives native");
  CHECK(coverage_of_class(stack_of("2.8.0+cu126", "12.6"), "sm_100") == "compute none, collectives none");
}

TEST_CASE("a release's line is its first two numbers, and its variant what stands after the plus", "[plan]") {
  const auto text_of = [](const std::string& torch) {
    const TorchBuild build = torch_build(stack_of(torch, "12.8"));
    return build.release + " | " + build.line + " | " + build.variant;
  };
  CHECK(text_of("2.9.0+cu128") == "2.9.0 | 2.9 | cu128");
  CHECK(text_of("2.10") == "2.10 | 2.10 | ");
  CHECK(text_of("2.10+cpu") == "2.10 | 2.10 | cpu");
  CHECK(text_of("2") == "2 |  | ");
  CHECK(torch_build({}).line.empty());
}

TEST_CASE("PTX alone serves compute with a new enough driver, and collectives never", "[plan]") {
  WheelFacts wheel = *load_shipped_facts().find_wheel("2.8", "cu129");
  wheel.kernels_of = {"8.0", "9.0+PTX"};
  const DeviceCoverage coverage = coverage_on("sm_120", stack_of("2.8.0+cu129", "12.9"), &wheel, load_shipped_facts());
  CHECK(to_string(coverage) == "compute ptx (driver 575.57.08 or newer), collectives none");
}

TEST_CASE("a cell of several ranks is refused where collectives have no code, one of a single rank runs", "[plan]") {
  Cell cell;
  cell.request.stack = "s";
  cell.request.device = "sm_130";
  const StackCatalog catalog{{{"s", stack_of("2.8.0+cu129", "12.9")}}, {}};
  const auto planned = [&](int ranks) {
    cell.request.world_size = ranks;
    std::vector<PlannedCell> cells = {{cell, std::nullopt, {}}};
    resolve(cells, catalog, load_shipped_facts(), gpu_host("later", "13.0", "580.95.05", 2));
    return cells.front();
  };
  CHECK_FALSE(planned(1).skip);
  REQUIRE(planned(2).skip);
  CHECK(planned(2).skip->rule == "no-collective-kernel");
  CHECK(planned(2).skip->reason ==
        "s reaches sm_130 through PTX alone, and NCCL carries none: compute runs there, collectives do not");
}

TEST_CASE("a stack without CUDA has nothing for a GPU, one of unknown wheels nothing known", "[plan]") {
  StackSpec cpu = stack_of("1.13.1", "");
  cpu.components = {{"torch", "1.13.1"}};
  CHECK(coverage_of_class(cpu, "sm_90") == "compute none, collectives none");
  CHECK(coverage_of_class(stack_of("9.9.0+cu199", "19.9"), "sm_90") == "compute unknown, collectives unknown");
  StackSpec without_nccl = stack_of("2.8.0+cu128", "12.8");
  without_nccl.components.erase("nccl");
  CHECK(coverage_of_class(without_nccl, "sm_90") == "compute native, collectives none");
}

}  // namespace
}  // namespace reprobench
