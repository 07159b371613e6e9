// The files of the repository itself: they have to plan on a machine without a GPU.
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/plan/plan_fixture.hpp"
#include "matrix/plan/resolve.hpp"

using namespace reprobench;

namespace {

const std::filesystem::path kRoot = REPROBENCH_SOURCE_ROOT;

std::map<std::string, SuiteSpec> shipped_suites() {
  std::map<std::string, SuiteSpec> suites;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "suites" / "definitions")) {
    SuiteSpec suite = load_suite(entry.path().string(), test_vocabulary());
    suites.emplace(suite.name, std::move(suite));
  }
  return suites;
}

std::vector<PlannedCell> plan_of(const std::string& matrix_name, const HostFacts& host) {
  const MatrixSpec matrix = load_matrix((kRoot / "matrix" / matrix_name).string(), test_vocabulary());
  StackCatalog catalog{load_stacks((kRoot / "matrix" / "stacks").string()), {}};
  // Adopted, or made of an image, and so no files of the repository.
  for (const char* name : {"here", "candidate", "reference"}) {
    catalog.stacks.emplace(name, catalog.stacks.at("torch-2.9.0-cu128"));
  }
  check_stacks(matrix, catalog);
  const CompatFacts facts = load_compat_facts(kRoot / "matrix" / "facts" / "compat-facts.json");
  return plan_cells(matrix, shipped_suites(), catalog, facts, host);
}

}  // namespace

TEST_CASE("the v2.9 matrix has 517 cells; a host without a GPU runs the 119 on the CPU", "[plan]") {
  const auto cells = plan_of("v2.9.yaml", cpu_host());
  CHECK(cells.size() == 517);
  int runnable = 0;
  for (const PlannedCell& planned : cells) {
    const bool on_cpu = planned.cell.request.device == "cpu";
    CHECK(planned.skip.has_value() == !on_cpu);
    if (!planned.skip) ++runnable;
    INFO(planned.cell.slug << ": " << (planned.notes.empty() ? "" : planned.notes.front()));
    if (on_cpu) CHECK(planned.notes.empty());
  }
  CHECK(runnable == 119);
}

TEST_CASE("no shipped matrix leaves a required cell a dimension in which nothing can fail", "[plan]") {
  int matrices = 0;
  int required = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "matrix")) {
    if (entry.path().extension() != ".yaml") continue;
    ++matrices;
    for (const PlannedCell& planned : plan_of(entry.path().filename(), cpu_host())) {
      INFO(entry.path() << " " << planned.cell.slug);
      for (const Gap& gap : planned.cell.gaps) FAIL_CHECK(gap.sentence);
      required += planned.cell.required ? 1 : 0;
    }
  }
  CHECK(matrices > 15);
  CHECK(required > 100);
}

TEST_CASE("on CPUs every parameter's gradient has a bound of its own, by its precision", "[plan]") {
  std::set<std::string> asked;
  for (const PlannedCell& planned : plan_of("v2.9.yaml", cpu_host())) {
    if (planned.cell.request.suite != "determinism") continue;
    const bool is_on_cpu = planned.cell.request.device == "cpu";
    const std::string precision = knob_of(planned.cell, "precision");
    INFO(planned.cell.slug);
    for (const CellThreshold& threshold : planned.cell.thresholds) {
      if (threshold.metric != "numerics.first_gradient_tensor_rel") continue;
      CHECK(is_on_cpu);
      CHECK(threshold.gate == Gate::armed);
      CHECK(threshold.bound.limit == (precision == "fp32" ? 2e-5 : precision == "bf16" ? 0.1 : 1e-13));
      asked.insert(precision + " " + planned.cell.request.workload.name());
    }
  }
  CHECK(asked.contains("fp32 vlm"));
  CHECK(asked.contains("fp32 clip"));
}

TEST_CASE("speed, memory and communication are armed for the candidate and recorded for the others", "[plan]") {
  // No card has shown these yet.
  const std::set<std::string> on_the_cpu = {"throughput.step_time_p99", "throughput.slowest_steps_time",
                                            "throughput.slowest_quarter_step_time", "throughput.time_outside_steps"};
  std::set<std::string> compared = {"throughput.step_time", "throughput.mean_step_time",
                                    "throughput.start_to_first_step", "comm.latency_ratio", "memory.peak_anonymous"};
  compared.insert(on_the_cpu.begin(), on_the_cpu.end());
  std::map<std::string, int> armed;
  for (const PlannedCell& planned : plan_of("v2.9.yaml", cpu_host())) {
    for (const CellThreshold& threshold : planned.cell.thresholds) {
      if (!compared.contains(threshold.metric)) continue;
      const bool candidate = planned.cell.request.stack == "torch-2.9.0-cu128";
      const bool is_unknown = on_the_cpu.contains(threshold.metric) && planned.cell.request.device != "cpu";
      CHECK((threshold.gate == Gate::armed) == (candidate && !is_unknown));
      if (threshold.gate == Gate::armed) ++armed[threshold.metric];
    }
  }
  CHECK(armed["throughput.step_time"] + armed["memory.peak_anonymous"] == 16);
  CHECK(armed["throughput.mean_step_time"] == armed["throughput.step_time"]);
  CHECK(armed["throughput.start_to_first_step"] == armed["throughput.step_time"]);
  for (const std::string& metric : on_the_cpu) CHECK(armed[metric] == 2);
  CHECK(armed["comm.latency_ratio"] == 3);  // on the CPU and two classes of GPU
}

TEST_CASE("a healthy card of any class can miss no armed bound of the gpu matrix on speed or memory", "[plan]") {
  const std::set<std::string> all = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};
  const std::set<std::string> told_by_peak = {"sm_80", "sm_90", "sm_100"};
  std::map<std::string, std::set<std::string>> armed;
  for (const PlannedCell& planned : plan_of("gpu.yaml", cpu_host())) {
    const std::string& device = planned.cell.request.device;
    if (device == "cpu") continue;
    for (const CellThreshold& threshold : planned.cell.thresholds) {
      if (threshold.gate != Gate::armed || threshold.metric.starts_with("numerics.")) continue;
      armed[threshold.metric + " " + threshold.of.text()].insert(device);
    }
  }
  const std::map<std::string, std::set<std::string>> expected = {
      {"device.wrong_results ", all},
      {"device.stress_mismatches repeated_gemm", all},
      {"device.capacity ", all},
      {"device.latency matmul", all},
      {"device.flop_share tensor_core_matmul dtype=bf16 to peak", told_by_peak},
      {"device.flop_share tensor_core_matmul dtype=tf32 to peak", told_by_peak}};
  CHECK(armed == expected);
}

TEST_CASE("each fp32 training of the gpu matrix that repeats itself is held against the CPU's", "[plan]") {
  const auto cells = plan_of("gpu.yaml", cpu_host());
  const auto trained_on_cpu = [&](const CellRequest& gpu) {
    return std::ranges::any_of(cells, [&](const PlannedCell& planned) {
      const CellRequest& cpu = planned.cell.request;
      return cpu.device == "cpu" && cpu.suite == gpu.suite && cpu.stack == gpu.stack && cpu.knobs == gpu.knobs &&
             cpu.workload.name() == gpu.workload.name();
    });
  };
  std::map<std::string, int> asked;
  for (const PlannedCell& planned : cells) {
    const CellRequest& request = planned.cell.request;
    if (request.suite != "determinism" || request.device == "cpu") continue;
    const auto armed = [&](const char* metric) {
      return std::ranges::count(planned.cell.thresholds, metric, &CellThreshold::metric);
    };
    const bool is_fp32 = knob_of(planned.cell, "precision") == "fp32";
    INFO(planned.cell.slug);
    CHECK(armed("numerics.cpu_first_step_rel") == (is_fp32 ? 1 : 0));
    CHECK(armed("numerics.by_construction_mismatches") == 1);
    CHECK(trained_on_cpu(request) == is_fp32);
    if (is_fp32) ++asked[request.workload.name()];
  }
  CHECK(asked == std::map<std::string, int>{{"mlp", 7}, {"gpt2", 7}});
}

TEST_CASE("required in the v2.9 matrix are the candidate's CPU cells", "[plan]") {
  for (const PlannedCell& planned : plan_of("v2.9.yaml", cpu_host())) {
    const CellRequest& request = planned.cell.request;
    CHECK(planned.cell.required == (request.device == "cpu" && request.stack == "torch-2.9.0-cu128"));
  }
}

TEST_CASE("required of two images are the candidate's cells on the CPU and on each GPU of the host", "[plan]") {
  const auto devices = [](const HostFacts& host) {
    std::set<std::string> required;
    for (const PlannedCell& planned : plan_of("image.yaml", host)) {
      const CellRequest& request = planned.cell.request;
      if (planned.cell.required) required.insert(request.stack + " " + request.device);
      if (request.device != "cpu") CHECK(request.world_size == 1);
    }
    return required;
  };
  CHECK(devices(cpu_host()) == std::set<std::string>{"candidate cpu"});
  CHECK(devices(gpu_host("NVIDIA H200", "9.0", "570.124.06")) ==
        std::set<std::string>{"candidate cpu", "candidate sm_90"});
}

TEST_CASE("collectives of v2.9 have two ranks on every device, armed thresholds, and a reason where no such GPU is",
          "[plan]") {
  const auto gate_of = [](const PlannedCell& planned, const std::string& metric, const std::string& of = "") {
    std::string gates;
    for (const CellThreshold& threshold : planned.cell.thresholds) {
      if (threshold.metric != metric || threshold.of.text() != of) continue;
      gates += to_string(threshold.gate);
      if (!of.empty()) gates += " " + threshold.bound.text;
    }
    return gates;
  };
  int cells = 0;
  for (const PlannedCell& planned : plan_of("v2.9.yaml", cpu_host())) {
    if (planned.cell.request.suite != "comm") continue;
    INFO(planned.cell.slug);
    ++cells;
    const bool on_cpu = planned.cell.request.device == "cpu";
    CHECK(planned.cell.request.world_size == 2);
    const bool has_cuda = planned.cell.request.stack != "debian-torch-1.13.1";
    const std::string reason = on_cpu ? "runs" : has_cuda ? "device-class" : "no-kernel-image";
    CHECK((planned.skip ? planned.skip->rule : "runs") == reason);
    for (const char* metric :
         {"comm.wrong_results", "comm.call_mismatches", "comm.rank_mismatches", "comm.repeat_mismatches"}) {
      CHECK(gate_of(planned, metric) == "armed");
    }
    const std::string latency = on_cpu ? "armed max: 50ms" : "armed max: 5ms";
    CHECK(gate_of(planned, "comm.latency_p50", "all_reduce size=8B") == latency);
    CHECK(gate_of(planned, "comm.bus_bandwidth", "all_reduce size=1MiB") == "armed min: 0.02GB/s");
    CHECK(gate_of(planned, "comm.bus_bandwidth", "all_reduce size=64MiB") == (on_cpu ? "" : "armed min: 1GB/s"));
    CHECK(gate_of(planned, "comm.bus_bandwidth_share", "all_reduce size=256MiB") ==
          (on_cpu ? "" : "record_only min: 70%"));
  }
  CHECK(cells == 15);
}

TEST_CASE("the cpu matrix runs on the CPU alone, each cell beside one reference point of its precision", "[plan]") {
  const auto cells = plan_of("cpu.yaml", cpu_host());
  CHECK(cells.size() == 280);
  int references = 0;
  for (const PlannedCell& planned : cells) {
    INFO(planned.cell.slug);
    CHECK_FALSE(planned.skip);
    if (!planned.cell.reference_cell_id) ++references;
  }
  CHECK(references == 24);  // of each workload one in fp32 and one in fp64, and one that is stopped and resumed
}

TEST_CASE("a fault of resuming a run lands in those cells alone that do, at the step they resume from", "[plan]") {
  MatrixSpec matrix = load_matrix((kRoot / "matrix" / "cpu.yaml").string(), test_vocabulary());
  matrix.inject = {parse_inject_option("kind=resume_from_step_0,step=9")};
  StackCatalog catalog{load_stacks((kRoot / "matrix" / "stacks").string()), {}};
  check_stacks(matrix, catalog);
  const CompatFacts facts = load_compat_facts(kRoot / "matrix" / "facts" / "compat-facts.json");
  int planted = 0;
  for (const PlannedCell& planned : plan_cells(matrix, shipped_suites(), catalog, facts, cpu_host())) {
    const WorkloadRequest& workload = planned.cell.request.workload;
    CHECK(planned.cell.injections.contains(0) == (workload.resume_after == 8));
    if (!planned.cell.injections.empty()) ++planted;
  }
  CHECK(planted == 10);  // mlp, on five stacks with one and two threads
}

TEST_CASE("the matrix of collectives has every size done between two ranks, one cell at a time", "[plan]") {
  const auto cells = plan_of("collectives.yaml", cpu_host());
  REQUIRE(cells.size() == 1);
  CHECK_FALSE(cells[0].skip);
  CHECK(cells[0].cell.exclusive);
  CHECK(cells[0].cell.request.world_size == 2);
  CHECK(cells[0].cell.request.workload.preset == "full");
  CHECK(cells[0].cell.thresholds.size() == 3);
  for (const CellThreshold& threshold : cells[0].cell.thresholds) CHECK(threshold.gate == Gate::armed);
}

TEST_CASE("the operators matrix makes one list of calls on sixteen releases", "[plan]") {
  const auto cells = plan_of("operators.yaml", cpu_host());
  CHECK(cells.size() == 16);
  for (const PlannedCell& planned : cells) {
    INFO(planned.cell.slug);
    CHECK_FALSE(planned.skip);
    CHECK(planned.cell.request.workload.calls.size() == 142);
    CHECK(planned.cell.request.workload.memory_bytes == std::int64_t{2} << 30);
    const bool is_reference = planned.cell.request.stack == "torch-2.9.0-cu128";
    CHECK(planned.cell.reference_cell_id.has_value() == !is_reference);
    for (const CellThreshold& threshold : planned.cell.thresholds) {
      const bool is_armed = threshold.metric == "numerics.broken_calls" && !is_reference;
      CHECK((threshold.gate == Gate::armed) == is_armed);
    }
  }
}

TEST_CASE("the scaling matrix does two micro-batches on one rank and on two, and times them beside the reference",
          "[plan]") {
  const auto cells = plan_of("scaling.yaml", cpu_host());
  CHECK(cells.size() == 8);
  for (const PlannedCell& planned : cells) {
    INFO(planned.cell.slug);
    CHECK_FALSE(planned.skip);
    CHECK(planned.cell.exclusive);
    CHECK(micro_batches_of(planned.cell.request) == 2);
    CHECK(planned.cell.reference_cell_id.has_value() == (planned.cell.request.stack == "torch-2.9.0-cu128"));
    const bool is_shared = planned.cell.request.world_size == 2;
    CHECK(std::ranges::count(planned.cell.thresholds, "comm.step_share", &CellThreshold::metric) ==
          (is_shared ? 1 : 0));
  }
}

TEST_CASE("the weak scaling matrix gives every rank as many samples, and one rank alone no more", "[plan]") {
  const auto cells = plan_of("weak_scaling.yaml", cpu_host());
  CHECK(cells.size() == 8);
  for (const PlannedCell& planned : cells) {
    INFO(planned.cell.slug);
    CHECK_FALSE(planned.skip);
    CHECK(planned.cell.exclusive);
    const CellRequest& request = planned.cell.request;
    CHECK(micro_batches_of(request) == request.world_size);
    CHECK(request.workload.batch_size == request.world_size * (request.workload.model == "mlp" ? 128 : 4));
    CHECK(std::ranges::count(planned.cell.thresholds, "throughput.weak_scaling_efficiency", &CellThreshold::metric) ==
          1);
  }
}

TEST_CASE("the workloads matrix trains eight workloads from three seeds, and each has its band", "[plan]") {
  const auto cells = plan_of("workloads.yaml", cpu_host());
  CHECK(cells.size() == 96);
  for (const PlannedCell& planned : cells) {
    INFO(planned.cell.slug);
    CHECK_FALSE(planned.skip);
    int bands = 0;
    int of_seeds = 0;
    for (const CellThreshold& threshold : planned.cell.thresholds) {
      if (threshold.gate != Gate::armed) continue;
      if (threshold.metric == "numerics.end_loss" && threshold.bound.low) ++bands;
      if (threshold.metric == "numerics.alike_seeds") ++of_seeds;
    }
    CHECK(bands == 1);
    CHECK(of_seeds == 1);
  }
}

TEST_CASE("the limits matrix holds every small training against matrix products", "[plan]") {
  const auto cells = plan_of("limits.yaml", cpu_host());
  CHECK(cells.size() == 11);
  for (const PlannedCell& planned : cells) {
    INFO(planned.cell.slug);
    CHECK_FALSE(planned.skip);
    CHECK(planned.cell.request.gemm_peak_samples > 0);
    CHECK(planned.cell.exclusive);
  }
}

TEST_CASE("the parallel matrix shares four micro-batches out in twelve ways", "[plan]") {
  const auto cells = plan_of("parallel.yaml", cpu_host());
  CHECK(cells.size() == 144);
  for (const PlannedCell& planned : cells) {
    INFO(planned.cell.slug);
    CHECK_FALSE(planned.skip);
    CHECK(micro_batches_of(planned.cell.request) == 4);
    const auto armed = [&](const char* metric) {
      return std::ranges::count(planned.cell.thresholds, metric, &CellThreshold::metric);
    };
    CHECK(armed("numerics.layout_mismatches") == 1);
    CHECK(armed("numerics.replica_mismatches") == (knob_of(planned.cell, "replicas") == "1" ? 0 : 1));
    int of_ranks = 0;
    int of_shards = 0;
    int of_parameters = 0;
    for (const CellThreshold& threshold : planned.cell.thresholds) {
      if (threshold.metric == "numerics.rank_mismatches") ++of_ranks;
      if (threshold.metric == "memory.optimizer_state_share") ++of_shards;
      if (threshold.metric == "memory.model_state_share") ++of_parameters;
    }
    CHECK(of_ranks == (planned.cell.request.world_size > 1 ? 1 : 0));
    CHECK(of_shards == (knob_of(planned.cell, "zero_stage") == "0" ? 0 : 1));
    CHECK(of_parameters == (knob_of(planned.cell, "zero_stage") == "3" ? 1 : 0));
    const auto of_overlap = std::ranges::count(planned.cell.thresholds, "comm.overlap_share", &CellThreshold::metric);
    CHECK(of_overlap == (knob_of(planned.cell, "overlap") == "on" ? 1 : 0));
  }
}

TEST_CASE("the elastic matrix goes on with four micro-batches on one rank and on four, at each stage of ZeRO",
          "[plan]") {
  const auto cells = plan_of("elastic.yaml", cpu_host());
  CHECK(cells.size() == 3 * 4 * 2 * 4);
  std::map<std::string, int> ways;
  for (const PlannedCell& planned : cells) {
    INFO(planned.cell.slug);
    CHECK_FALSE(planned.skip);
    const CellRequest& request = planned.cell.request;
    CHECK(request.world_size == 2);
    CHECK(micro_batches_of(request) == 4);
    ++ways[fmt::format("{} on {}", knob_of(planned.cell, "zero_stage"), request.workload.resume_world_size)];
    CHECK(std::ranges::count(planned.cell.thresholds, "numerics.resume_mismatches", &CellThreshold::metric) == 1);
  }
  CHECK(ways.size() == 8);
  for (const auto& [way, count] : ways) CHECK(count == 12);
}

TEST_CASE("a fault of going on may sit in a rank that only those have who go on", "[plan]") {
  const auto planted_in = [](const char* rank) {
    MatrixSpec matrix = load_matrix((kRoot / "matrix" / "elastic.yaml").string(), test_vocabulary());
    matrix.inject = {parse_inject_option("kind=resume_from_step_0,step=6,rank=" + std::string(rank))};
    StackCatalog catalog{load_stacks((kRoot / "matrix" / "stacks").string()), {}};
    check_stacks(matrix, catalog);
    const CompatFacts facts = load_compat_facts(kRoot / "matrix" / "facts" / "compat-facts.json");
    int planted = 0;
    for (const PlannedCell& planned : plan_cells(matrix, shipped_suites(), catalog, facts, cpu_host())) {
      if (planned.cell.injections.empty()) continue;
      ++planted;
      CHECK(planned.cell.request.workload.resume_world_size > std::stoi(rank));
    }
    return planted;
  };
  CHECK(planted_in("0") == 24);  // mlp, on three stacks, at four stages, on one rank and on four
  CHECK(planted_in("3") == 12);
}

TEST_CASE("the offload matrix holds every cell against one rank that keeps all of its state in one place", "[plan]") {
  const auto cells = plan_of("offload.yaml", cpu_host());
  CHECK(cells.size() == 3 * 4 * 14);
  std::set<std::string> plain;  // workload, stack and micro-batches of the cells the others are held against
  std::set<std::string> held;
  std::set<std::string> layouts;
  for (const PlannedCell& planned : cells) {
    INFO(planned.cell.slug);
    CHECK_FALSE(planned.skip);
    const CellRequest& request = planned.cell.request;
    const std::string offload(knob_of(planned.cell, "offload"));
    const std::string what =
        request.workload.model + request.workload.preset + request.stack + std::to_string(micro_batches_of(request));
    (request.world_size == 1 && offload == "none" ? plain : held).insert(what);
    layouts.insert(std::to_string(request.world_size) + " " + std::string(knob_of(planned.cell, "zero_stage")) + " " +
                   offload);
    const auto armed = [&](const char* metric) {
      return std::ranges::count_if(planned.cell.thresholds, [&](const CellThreshold& threshold) {
        return threshold.metric == metric && threshold.gate == Gate::armed;
      });
    };
    CHECK(armed("numerics.layout_mismatches") == 1);
    CHECK(armed("memory.model_state_bound_share") == 1);
    CHECK(armed("memory.device_state_bound_share") == (offload == "none" ? 0 : 1));
  }
  CHECK(plain == held);
  CHECK(layouts == std::set<std::string>{"1 0 none", "1 0 optimizer", "2 1 optimizer", "2 2 optimizer", "2 3 none",
                                         "2 3 optimizer", "2 3 optimizer_and_param", "4 1 optimizer", "4 2 optimizer",
                                         "4 3 none", "4 3 optimizer", "4 3 optimizer_and_param"});
}

TEST_CASE("the recompute matrix holds each training against its own stack's that keeps everything", "[plan]") {
  const auto cells = plan_of("recompute.yaml", cpu_host());
  CHECK(cells.size() == 5 * 2 * (7 + 2));
  std::map<std::string, const PlannedCell*> by_id;
  for (const PlannedCell& planned : cells) by_id[planned.cell.request.cell_id] = &planned;
  for (const PlannedCell& planned : cells) {
    INFO(planned.cell.slug);
    CHECK_FALSE(planned.skip);
    const bool recomputes = knob_of(planned.cell, "gradient_checkpointing") == "on";
    REQUIRE(planned.cell.reference_cell_id.has_value() == recomputes);
    if (!recomputes) continue;
    const Cell& reference = by_id.at(*planned.cell.reference_cell_id)->cell;
    CHECK(reference.request.stack == planned.cell.request.stack);
    CHECK(knob_of(reference, "gradient_checkpointing") == "off");
    const auto of_memory =
        std::ranges::count(planned.cell.thresholds, "memory.peak_anonymous_share", &CellThreshold::metric);
    CHECK(of_memory == (planned.cell.request.workload.batch_size == 128 ? 1 : 0));
  }
}

TEST_CASE("the matrix of loss scales asks for a scale that overflows, and for it after a stop", "[plan]") {
  const auto cells = plan_of("loss_scale.yaml", cpu_host());
  CHECK(cells.size() == 6);
  for (const PlannedCell& planned : cells) {
    INFO(planned.cell.slug);
    CHECK_FALSE(planned.skip);
    CHECK(knob_of(planned.cell, "precision") == "fp16");
    CHECK(knob_of(planned.cell, "loss_scale") == "dynamic");
    CHECK(knob_of(planned.cell, "loss_scale_growth_interval") == "2");
    CHECK(planned.cell.request.workload.resume_after > 0);
  }
}

TEST_CASE("the loader matrix holds threads that load ahead against none, on the same stack", "[plan]") {
  const auto cells = plan_of("loader.yaml", cpu_host());
  CHECK(cells.size() == 2 * 4 * 7);
  std::map<std::string, const PlannedCell*> by_id;
  for (const PlannedCell& planned : cells) by_id[planned.cell.request.cell_id] = &planned;
  for (const PlannedCell& planned : cells) {
    INFO(planned.cell.slug);
    CHECK_FALSE(planned.skip);
    REQUIRE(planned.cell.reference_cell_id.has_value() == (knob_of(planned.cell, "loader_threads") != "0"));
    if (!planned.cell.reference_cell_id) continue;
    const Cell& reference = by_id.at(*planned.cell.reference_cell_id)->cell;
    CHECK(reference.request.stack == planned.cell.request.stack);
    CHECK(knob_of(reference, "loader_threads") == "0");
  }
}

TEST_CASE("the matrix of flat states holds each against the same training of its stack with memory a tensor",
          "[plan]") {
  const auto cells = plan_of("flat_state.yaml", cpu_host());
  CHECK(cells.size() == 2 * 2 * 5);
  std::map<std::string, const PlannedCell*> by_id;
  for (const PlannedCell& planned : cells) by_id[planned.cell.request.cell_id] = &planned;
  for (const PlannedCell& planned : cells) {
    INFO(planned.cell.slug);
    CHECK_FALSE(planned.skip);
    CHECK(planned.cell.request.workload.resume_after > 0);
    const bool is_flat = knob_of(planned.cell, "optimizer_layout") == "flat";
    REQUIRE(planned.cell.reference_cell_id.has_value() == is_flat);
    if (!is_flat) continue;
    const Cell& reference = by_id.at(*planned.cell.reference_cell_id)->cell;
    CHECK(reference.request.stack == planned.cell.request.stack);
    CHECK(knob_of(reference, "optimizer_layout") == "per_tensor");
    const auto of_bits =
        std::ranges::count(planned.cell.thresholds, "numerics.reference_mismatches", &CellThreshold::metric);
    CHECK(of_bits == (planned.cell.request.workload.model == "resnet" ? 1 : 0));
    const auto of_rounding =
        std::ranges::find(planned.cell.thresholds, "numerics.beyond_rounding", &CellThreshold::metric);
    REQUIRE(of_rounding != planned.cell.thresholds.end());
    CHECK(of_rounding->gate == Gate::armed);
  }
}

TEST_CASE("the matrix of changing lengths holds batches made ahead against those a step makes itself", "[plan]") {
  const auto cells = plan_of("bucketed.yaml", cpu_host());
  CHECK(cells.size() == 2 * 2 * 3);
  for (const PlannedCell& planned : cells) {
    INFO(planned.cell.slug);
    CHECK_FALSE(planned.skip);
    CHECK(knob_of(planned.cell, "sequence_lengths") == "bucketed");
    CHECK(planned.cell.request.workload.resume_after > 0);
    CHECK(planned.cell.reference_cell_id.has_value() == (knob_of(planned.cell, "loader_threads") != "0"));
  }
}

TEST_CASE("the smoke matrix runs anywhere", "[plan]") {
  const auto cells = plan_of("smoke.yaml", cpu_host());
  CHECK(cells.size() == 32);
  for (const PlannedCell& planned : cells) CHECK_FALSE(planned.skip);
}
