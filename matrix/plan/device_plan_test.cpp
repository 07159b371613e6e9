// Probes in a plan: data sheets, thresholds by operation, and the shipped matrix of the device suites.
#include <filesystem>
#include <set>

#include "ci/catch.hpp"
#include "matrix/plan/plan_fixture.hpp"
#include "matrix/plan/plan_json.hpp"
#include "matrix/plan/resolve.hpp"

using namespace reprobench;

namespace {

const std::filesystem::path kCheckout = REPROBENCH_SOURCE_ROOT;

CompatFacts facts() { return load_compat_facts(kCheckout / "matrix" / "facts" / "compat-facts.json"); }

std::vector<PlannedCell> device_plan(const HostFacts& host) {
  std::map<std::string, SuiteSpec> suites;
  for (const char* name : {"device_smoke", "device_memory", "device_compute", "device_stress", "device_peer"}) {
    suites.emplace(name,
                   load_suite((kCheckout / "suites" / "definitions" / name).string() + ".yaml", test_vocabulary()));
  }
  const MatrixSpec matrix = load_matrix((kCheckout / "matrix" / "device.yaml").string(), test_vocabulary());
  const StackCatalog catalog{load_stacks((kCheckout / "matrix" / "stacks").string()), {}};
  return plan_cells(matrix, suites, catalog, facts(), host);
}

const PlannedCell& cell_of(const std::vector<PlannedCell>& cells, const std::string& slug) {
  for (const PlannedCell& planned : cells) {
    if (planned.cell.slug == slug) return planned;
  }
  throw std::runtime_error("no cell " + slug);
}

constexpr const char* kMemoryOnHopper = "device_memory-torch-2.9.0-cu128-sm_90";

}  // namespace

TEST_CASE("a data sheet is found by exactly the name a driver gives the GPU", "[plan]") {
  const CompatFacts known = facts();
  const DevicePeaks* h200 = known.find_peaks("NVIDIA H200");
  REQUIRE(h200 != nullptr);
  CHECK(h200->memory_gb_per_s == 4800);
  CHECK(h200->tflop_per_s.at("bf16") == 989);
  CHECK(*h200->nvlink_gb_per_s == 450);
  CHECK(*h200->host_link_gb_per_s == Approx(63.0).epsilon(0.01));
  CHECK(known.find_peaks("NVIDIA A100-SXM4-80GB")->memory_gb_per_s == 2039);
  CHECK(known.find_peaks("NVIDIA A10")->gpu == "A10");
  CHECK(known.find_peaks("Tesla T4")->tflop_per_s.count("bf16") == 0);
  CHECK(known.find_peaks("NVIDIA H100 80GB HBM3 MIG 1g.10gb") == nullptr);
  CHECK(known.find_peaks("NVIDIA") == nullptr);
}

TEST_CASE("a probe's cell carries the data sheet of the host's GPU, and its id does not depend on it", "[plan]") {
  const auto hopper = device_plan(gpu_host("NVIDIA H100 80GB HBM3", "9.0", "570.124.06"));
  const auto unheard_of = device_plan(gpu_host("NVIDIA Unheard Of", "9.0", "570.124.06"));
  const PlannedCell& known = cell_of(hopper, kMemoryOnHopper);
  REQUIRE(known.cell.request.peaks);
  CHECK(known.cell.request.peaks->gpu == "H100 SXM");
  CHECK_FALSE(cell_of(unheard_of, kMemoryOnHopper).cell.request.peaks);
  CHECK_FALSE(cell_of(hopper, "device_memory-torch-2.9.0-cu128-cpu").cell.request.peaks);
  CHECK(known.cell.request.cell_id == cell_of(unheard_of, kMemoryOnHopper).cell.request.cell_id);
}

// No card has been measured here, so no rate of one decides. Tensor cores that are not used at all are another matter.
TEST_CASE("of a card only wrong results decide, and what no healthy card can miss", "[plan]") {
  std::set<std::string> armed;
  int recorded = 0;
  for (const PlannedCell& planned : device_plan(gpu_host("NVIDIA H100 80GB HBM3", "9.0", "570.124.06"))) {
    if (planned.cell.request.device != "sm_90") continue;
    for (const CellThreshold& threshold : planned.cell.thresholds) {
      recorded += threshold.gate == Gate::record_only ? 1 : 0;
      if (threshold.gate != Gate::armed) continue;
      armed.insert(threshold.metric + " " + threshold.of.text() + " " + threshold.bound.text);
    }
  }
  CHECK(armed == std::set<std::string>{"device.wrong_results  max: 0", "device.capacity  min: 64MiB",
                                       "device.latency matmul max: 10ms",
                                       "device.flop_share tensor_core_matmul dtype=bf16 to peak min: 25%",
                                       "device.flop_share tensor_core_matmul dtype=tf32 to peak min: 25%",
                                       "device.stress_mismatches repeated_gemm max: 0"});
  CHECK(recorded > 0);
}

// Half of an L4's TF32 rate is its fp32 cores': a share of the peak cannot tell them from tensor cores.
TEST_CASE("where a share of peak is armed, fp32 cores alone stay well below it by the data sheet", "[plan]") {
  const CompatFacts known = facts();
  const auto without_tensor_cores = [&](const char* gpu, const char* dtype) {
    const auto& rates = known.find_peaks(gpu)->tflop_per_s;
    return rates.at("fp32") / rates.at(dtype);
  };
  for (const char* dtype : {"bf16", "tf32"}) {
    for (const char* gpu :
         {"NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA H200", "NVIDIA B200"}) {
      CHECK(without_tensor_cores(gpu, dtype) < 0.14);
    }
    CHECK(without_tensor_cores("NVIDIA L4", dtype) > 0.24);
    CHECK(without_tensor_cores("NVIDIA A10", dtype) > 0.24);
  }
}

TEST_CASE("a probe's cell comes back from a plan file with its data sheet and thresholds", "[plan]") {
  const auto cells = device_plan(gpu_host("NVIDIA H100 80GB HBM3", "9.0", "570.124.06"));
  const PlannedCell& planned = cell_of(cells, kMemoryOnHopper);
  const PlannedCell read = planned_cell_from_json(to_json(planned));
  CHECK(to_json(read) == to_json(planned));
  CHECK(read.cell.request.peaks->memory_gb_per_s == 3350);
  CHECK(read.cell.thresholds.size() == planned.cell.thresholds.size());
  CHECK(read.cell.request.workload.probe == "device_memory");
}

TEST_CASE("of a metric every operation keeps its own bound, and a gate without `of` is for all of them", "[plan]") {
  const SuiteSpec suite = parse_suite(
      "schema: 1\nname: smoke\nworkloads: [{probe: device_memory, preset: base, samples: 2}]\nthresholds:\n"
      "  device.bandwidth:\n    - {min: 100GB/s, of: triad}\n    - {min: 200GB/s, of: copy}\n",
      "smoke.yaml", test_vocabulary());
  const auto thresholds_with = [&](const std::string& more) {
    const MatrixSpec matrix = parse_test_matrix("axes:\n  stack: [s]\n  device: [cpu]\n" + more);
    return expand(matrix, {{"smoke", suite}}).at(0).cell.thresholds;
  };
  const auto plain = thresholds_with("");
  REQUIRE(plain.size() == 2);
  const auto stricter = thresholds_with("thresholds:\n  device.bandwidth: {min: 150GB/s, of: triad}\n");
  REQUIRE(stricter.size() == 2);
  CHECK(stricter[0].bound.limit == 150);
  CHECK(stricter[1].bound.limit == 200);
  const auto of_triad = thresholds_with("thresholds:\n  device.bandwidth: {gate: record_only, of: triad}\n");
  CHECK(of_triad[0].gate == Gate::record_only);
  CHECK(of_triad[1].gate == Gate::armed);
  for (const CellThreshold& threshold : thresholds_with("thresholds:\n  device.bandwidth: {gate: record_only}\n")) {
    CHECK(threshold.gate == Gate::record_only);
  }
}

TEST_CASE("the device matrix runs on the CPU of a host without a GPU, for five stacks", "[plan]") {
  int runnable = 0;
  for (const PlannedCell& planned : device_plan(cpu_host())) {
    CHECK(planned.skip.has_value() == (planned.cell.request.device != "cpu"));
    runnable += planned.skip ? 0 : 1;
    for (const CellThreshold& threshold : planned.cell.thresholds) {
      if (!planned.skip) CHECK(threshold.of.share_of != kDataSheetPeak);
    }
  }
  CHECK(runnable == 20);
}
