#include "matrix/cli/text/stack_answer_text.hpp"

#include "ci/catch.hpp"
#include "matrix/cli/doctor/preflight.hpp"

namespace reprobench {
namespace {

const CompatFacts& facts() {
  static const CompatFacts kFacts = load_compat_facts(REPROBENCH_SOURCE_ROOT "/matrix/facts/compat-facts.json");
  return kFacts;
}

StackSpec stack(const std::string& torch) {
  StackSpec spec;
  spec.name = "stack-a";
  spec.components = {{"torch", torch}, {"cuda", "12.8"}};
  return spec;
}

PlannedCell on(const char* device, bool is_left_out = false) {
  PlannedCell planned;
  planned.cell.request.stack = "stack-a";
  planned.cell.request.device = device;
  if (is_left_out) planned.skip = Skip{kDeselected, ""};
  return planned;
}

std::string told(const std::string& torch, const std::vector<PlannedCell>& cells) {
  Plan plan;
  plan.cells = cells;
  return known_defects_text(plan, {{"stack-a", stack(torch)}}, facts());
}

TEST_CASE("known defects are told once a stack, on the devices that its cells ask for", "[cli]") {
  CHECK(told("2.8.0+cu128", {on("sm_90"), on("sm_90"), on("sm_80")}) == "known defects stack-a: conv3d-bf16-wrong\n");
  CHECK(told("2.8.0+cu128", {on("cpu")}).empty());
  CHECK(told("2.8.0+cu128", {on("cpu"), on("sm_90", /*is_left_out=*/true)}).empty());
  CHECK(told("2.7.1+cu128", {on("sm_90")}).empty());
  CHECK(told("2.7.1+cu128", {on("sm_90"), on("sm_120")}) == "known defects stack-a: sm120-nan-2.7\n");
}

TEST_CASE("a defect of one device is none of another", "[cli]") {
  KnownDefect of_cpu;
  of_cpu.id = "of-cpu";
  of_cpu.on_cpu = true;
  of_cpu.components.emplace("torch", VersionRange::parse("2.8"));
  CompatFacts changed = facts();
  changed.known_defects = {of_cpu};
  CHECK(defects_on(stack("2.8.0+cu128"), {"cpu"}, changed).size() == 1);
  CHECK(defects_on(stack("2.8.0+cu128"), {"sm_90"}, changed).empty());
  CHECK(defects_on(stack("2.8.0+cu128"), {"cpu", "sm_90"}, changed).size() == 1);
}

TEST_CASE("the doctor warns of known defects, and says where to read more", "[cli]") {
  const PreflightLines lines = defect_lines(stack("2.8.0+cu128"), {"cpu", "sm_90"}, facts());
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].finding == Finding::warn);
  CHECK(lines[0].check == "stack-a");
  CHECK(
      lines[0].detail ==
      "known defect conv3d-bf16-wrong (numerics): conv3d in bf16 is silently wrong; seen with cuDNN 9.8 to 9.10, gone "
      "in 9.13");
  CHECK(lines[0].remedy == "its source: pytorch/pytorch issue 163539");
  CHECK(defect_lines(stack("2.8.0+cu128"), {"cpu"}, facts()).empty());
}

TEST_CASE("what a worker loaded has known defects, too", "[cli]") {
  const auto checks = [](const std::string& provider, const std::string& blas, const std::string& onednn) {
    Fingerprint fingerprint;
    fingerprint.blas_provider = provider;
    fingerprint.components = {{"blas", "", blas, ""}, {"onednn", "", onednn, ""}};
    std::vector<std::string> said;
    for (const PreflightLine& line : defect_lines(stack("2.8.0+cu128"), {"cpu"}, facts(), fingerprint)) {
      said.push_back(line.detail.substr(0, line.detail.find(':')));
    }
    return said;
  };

  CHECK(checks("mkl", "2024.2", "3.7.1") == std::vector<std::string>{"known defect mkl-vml-first-call (numerics)"});
  CHECK(checks("mkl", "2024.1", "3.12.0") ==
        std::vector<std::string>{"known defect onednn-bf16-conv3d-strided (numerics)"});
  CHECK(checks("mkl", "2025.0", "3.12.3") ==
        std::vector<std::string>{"known defect onednn-fp16-matmul-slow (throughput)"});
  CHECK(checks("openblas", "2024.2", "").empty());
  CHECK(checks("mkl", "", "").empty());
}

}  // namespace
}  // namespace reprobench
