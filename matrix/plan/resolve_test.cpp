#include "matrix/plan/resolve.hpp"

#include <fstream>

#include "ci/catch.hpp"
#include "matrix/plan/compat_rules.hpp"
#include "matrix/plan/plan_fixture.hpp"

using namespace reprobench;

namespace {

const CompatFacts& shipped_facts() {
  static const CompatFacts kFacts = load_compat_facts(REPROBENCH_SOURCE_ROOT "/matrix/facts/compat-facts.json");
  return kFacts;
}

StackSpec wheel_stack(const std::string& torch, const std::string& cuda) {
  StackSpec stack;
  stack.name = "s";
  stack.components = {{"torch", torch}, {"cuda", cuda}};
  return stack;
}

struct Case {
  StackSpec stack = wheel_stack("2.9.0+cu128", "12.8");
  HostFacts host = cpu_host();
  std::string device = "cpu";
  int world_size = 1;
  KnobValues knobs;
  TraceLevel trace = TraceLevel::step;
  WorkloadRequest workload = {"mlp", "base", 20, 32};
  StackAvailability availability;
  std::vector<CellThreshold> thresholds;
};

PlannedCell resolve_one(const Case& c) {
  Cell cell;
  cell.request.stack = c.stack.name;
  cell.request.device = c.device;
  cell.request.world_size = c.world_size;
  cell.request.knobs = c.knobs;
  cell.request.trace = c.trace;
  cell.request.workload = c.workload;
  cell.thresholds = c.thresholds;
  const StackCatalog catalog{{{c.stack.name, c.stack}}, {{c.stack.name, c.availability}}};
  std::vector<PlannedCell> cells = {{cell, std::nullopt, {}}};
  resolve(cells, catalog, shipped_facts(), c.host);
  return cells.front();
}

std::string outcome_of(const Case& c) {
  const PlannedCell planned = resolve_one(c);
  return planned.skip ? planned.skip->rule + ": " + planned.skip->reason : "runs";
}

const char* const kH100 = "NVIDIA H100";

}  // namespace

TEST_CASE("a cell that nothing speaks against runs, without a note", "[plan]") {
  CHECK(outcome_of({}) == "runs");
  CHECK(resolve_one({}).notes.empty());
  Case gpu;
  gpu.device = "sm_90";
  gpu.host = gpu_host(kH100, "9.0", "570.124.06");
  CHECK(outcome_of(gpu) == "runs");
  CHECK(resolve_one(gpu).notes.empty());
}

TEST_CASE("a stack that is not installed yet does not skip its cells", "[plan]") {
  Case c;
  c.availability.installed = false;
  CHECK(outcome_of(c) == "runs");
}

TEST_CASE("a GPU class the host lacks is named with what the host has", "[plan]") {
  Case c;
  c.device = "sm_90";
  CHECK(outcome_of(c) == "device-class: needs a GPU of class sm_90, this host has none");
  c.host = gpu_host("NVIDIA A100", "8.0", "570.124.06");
  CHECK(outcome_of(c) == "device-class: needs a GPU of class sm_90, this host has sm_80 (NVIDIA A100)");
}

TEST_CASE("a wheel that never existed is refused with the variants that do", "[plan]") {
  Case c;
  c.stack = wheel_stack("2.9.0+cu118", "11.8");
  CHECK(outcome_of(c) ==
        "no-wheel: torch 2.9.0 never shipped with CUDA 11.8; it exists with CUDA 12.6, 12.8, 12.9, 13.0");
}

TEST_CASE("a driver under the floor of its CUDA major is refused", "[plan]") {
  Case c;
  c.device = "sm_90";
  c.host = gpu_host(kH100, "9.0", "520.61.05");
  CHECK(outcome_of(c) == "driver-floor: driver 520.61.05 is under 525.60.13, the floor of CUDA 12");
  c.host.driver = "525.60.13";
  CHECK(outcome_of(c) == "runs");
}

TEST_CASE("between floor and toolkit driver a cell runs with a note", "[plan]") {
  Case c;
  c.device = "sm_90";
  c.host = gpu_host(kH100, "9.0", "550.54.14");
  CHECK(outcome_of(c) == "runs");
  CHECK(resolve_one(c).notes ==
        std::vector<std::string>{"driver 550.54.14 is under toolkit 12.8.1's 570.124.06: minor-version mode, no PTX of "
                                 "this toolkit can be compiled"});
}

TEST_CASE("drivers compare as numbers, not as text", "[plan]") {
  Case c;
  c.device = "sm_90";
  c.host = gpu_host(kH100, "9.0", "1000.1");
  CHECK(outcome_of(c) == "runs");
}

TEST_CASE("a driver branch past an architecture's last one is refused", "[plan]") {
  Case c;
  c.stack = wheel_stack("2.9.0+cu126", "12.6");
  c.device = "sm_70";
  c.host = gpu_host("Tesla V100", "7.0", "590.44.01");
  CHECK(outcome_of(c) ==
        "driver-branch-end: driver 590.44.01 no longer knows sm_70 (Volta 7.x): R580 was its last branch");
  c.host.driver = "580.95.05";
  CHECK(outcome_of(c) == "runs");
}

TEST_CASE("a GPU the wheel has no machine code and no PTX for is refused", "[plan]") {
  Case c;
  c.stack = wheel_stack("2.1.0+cu121", "12.1");
  c.stack.cxx11_abi = 0;
  c.device = "sm_120";
  c.host = gpu_host("RTX PRO 6000", "12.0", "580.95.05");
  CHECK(outcome_of(c).find("no-kernel-image: the torch 2.1 cu121 wheel has no kernels for compute capability 12.0") ==
        0);
}

TEST_CASE("machine code of a lower minor of the same major will do", "[plan]") {
  Case c;
  c.device = "sm_89";
  c.host = gpu_host("L4", "8.9", "570.124.06");
  CHECK(outcome_of(c) == "runs");
}

TEST_CASE("PTX serves a later GPU only with a driver as new as the toolkit", "[plan]") {
  Case c;
  c.stack = wheel_stack("2.8.0+cu129", "12.9");
  c.device = "sm_121";
  c.host = gpu_host("GB10", "12.1", "580.95.05");
  CHECK(outcome_of(c) == "runs");
  c.device = "sm_130";
  c.host = gpu_host("later", "13.0", "580.95.05");
  CHECK(outcome_of(c) == "runs");
  c.host.driver = "570.124.06";
  CHECK(outcome_of(c).find("no-kernel-image") == 0);
}

TEST_CASE("a stack without CUDA has no kernels for a GPU", "[plan]") {
  Case c;
  c.stack = wheel_stack("1.13.1", "");
  c.stack.components.erase("cuda");
  c.stack.source = StackSource::system;
  c.device = "sm_90";
  c.host = gpu_host(kH100, "9.0", "570.124.06");
  CHECK(outcome_of(c) == "no-kernel-image: s has no CUDA, so no kernels for sm_90");
}

TEST_CASE("micro-batches that the ranks which go on cannot share out are skipped, with the numbers", "[plan]") {
  Case c;
  c.world_size = 2;
  c.knobs = {{"accumulate", "2"}};
  c.workload.resume_after = 8;
  for (const int ranks : {0, 1, 2, 4}) {
    c.workload.resume_world_size = ranks;
    CHECK(outcome_of(c) == "runs");
  }
  for (const int ranks : {3, 8}) {
    c.workload.resume_world_size = ranks;
    CHECK(outcome_of(c) ==
          "resumed-micro-batches: 4 micro-batches (world_size 2, accumulate 2) are not to be shared out evenly among "
          "the " +
              std::to_string(ranks) + " ranks that go on with them (resume_world_size)");
  }
  c.device = "sm_90";
  c.world_size = 1;
  c.knobs = {{"accumulate", "4"}};
  c.workload.resume_world_size = 4;
  CHECK(outcome_of(c) != "runs");
}

TEST_CASE("a system stack the host cannot have is skipped with what was found", "[plan]") {
  Case c;
  c.availability.problem = "libtorch-dev 1.13.1 is not installed; found 2.1.2";
  CHECK(outcome_of(c) == "system-stack-absent: libtorch-dev 1.13.1 is not installed; found 2.1.2");
}

TEST_CASE("replicas of one process are skipped beside what is not built for them, each with the setting", "[plan]") {
  const auto outcome = [](const KnobValues& knobs, int world_size = 1) {
    Case c;
    c.knobs = knobs;
    c.knobs["replicas"] = "2";
    c.world_size = world_size;
    return outcome_of(c);
  };
  CHECK(outcome({}) == "runs");
  CHECK(outcome({{"accumulate", "4"}, {"precision", "bf16"}, {"max_grad_norm", "1.0"}}) == "runs");
  CHECK(outcome({{"zero_stage", "0"}, {"overlap", "off"}}) == "runs");  // as the knobs are when nobody asks
  CHECK(outcome({}, 2) ==
        "replicas: replicas=2 with world_size=2: a step's batch is shared out among ranks or among replicas of one "
        "process, not both");
  CHECK(outcome({{"zero_stage", "1"}}) ==
        "replicas: replicas=2 with zero_stage=1: the optimizer's states are shared out among ranks, and replicas have "
        "none: replica 0 updates");
  CHECK(outcome({{"offload", "optimizer"}}) ==
        "replicas: replicas=2 with offload=optimizer: what goes to the host is one model's state, and replicas have "
        "weights of their own beside it");
  CHECK(outcome({{"overlap", "on"}}) ==
        "replicas: replicas=2 with overlap=on: gradients are exchanged among ranks, and those of replicas are added up "
        "where they lie");
  CHECK(
      outcome({{"optimizer_layout", "flat"}}) ==
      "replicas: replicas=2 with optimizer_layout=flat: the weights of one replica would be pieces of a buffer, those "
      "of the others tensors");
  CHECK(
      outcome({{"gradient_checkpointing", "on"}}) ==
      "replicas: replicas=2 with gradient_checkpointing=on: blocks are computed again by one thread of a process, and "
      "each replica has its own");
}

TEST_CASE("replicas are of a training on the CPU that goes on with no other ranks", "[plan]") {
  Case c;
  c.knobs = {{"replicas", "2"}};
  c.workload.resume_after = 8;
  CHECK(outcome_of(c) == "runs");
  c.workload.resume_world_size = 2;
  CHECK(outcome_of(c) ==
        "replicas: replicas=2 with world_size=2: a step's batch is shared out among ranks or among replicas of one "
        "process, not both");
  c.workload.resume_after = c.workload.resume_world_size = 0;
  c.device = "sm_90";
  c.host = gpu_host(kH100, "9.0", "570.124.06", 2);
  CHECK(outcome_of(c) ==
        "replicas: replicas=2 with device=sm_90: replicas are threads on the CPU; digests and times of several GPUs of "
        "one process are not taken");
  c = {};
  c.knobs = {{"replicas", "2"}};
  c.workload.probe = "device_smoke";
  CHECK(outcome_of(c) ==
        "replicas: replicas=2 with probe=device_smoke: a probe has no model of which there could be several");
}

TEST_CASE("a batch that replicas cannot cut evenly is skipped, with the numbers", "[plan]") {
  Case c;
  c.knobs = {{"replicas", "4"}, {"accumulate", "2"}};
  CHECK(outcome_of(c) == "runs");
  c.knobs = {{"replicas", "4"}, {"accumulate", "3"}};
  CHECK(outcome_of(c) ==
        "micro-batches: a batch of 32 makes no 12 equal micro-batches (world_size 1, replicas 4, accumulate 3)");
}

TEST_CASE("a training takes several ranks on the CPU, if its batch is cut evenly", "[plan]") {
  Case c;
  c.world_size = 4;
  c.knobs = {{"accumulate", "2"}};
  CHECK(outcome_of(c) == "runs");
  c.knobs = {{"accumulate", "3"}};
  CHECK(outcome_of(c) == "micro-batches: a batch of 32 makes no 12 equal micro-batches (world_size 4, accumulate 3)");
  c.world_size = 1;
  CHECK(outcome_of(c) == "micro-batches: a batch of 32 makes no 3 equal micro-batches (world_size 1, accumulate 3)");
  c.world_size = 2;
  c.knobs = {};
  c.device = "sm_90";
  c.host = gpu_host(kH100, "9.0", "570.124.06", 2);
  CHECK(outcome_of(c) == "runs");
  c.world_size = 4;
  CHECK(outcome_of(c) ==
        "device-count: needs 4 GPUs of class sm_90 (1 for each of 4 ranks), and of those that this host has 2 may be "
        "used");
}

TEST_CASE("what a stack's worker said it cannot do is a note, as the worker has the last word", "[plan]") {
  Case c;
  c.knobs = {{"blas", "openblas"}, {"threads", "2"}};
  CHECK(resolve_one(c).notes.empty());  // no worker was asked
  c.availability.knobs = {{"blas", {"default", "reference"}, "not installed: libopenblas.so.0"}, {"threads", {}, ""}};
  CHECK(outcome_of(c) == "runs");
  CHECK(resolve_one(c).notes ==
        std::vector<std::string>{"the worker of s will refuse knob blas=openblas, as it stood when it was built: not "
                                 "installed: libopenblas.so.0"});
  c.knobs = {{"blas", "reference"}};
  CHECK(resolve_one(c).notes.empty());
  c.knobs = {};
  c.availability.knobs = {{"blas", {}, "none"}};  // the default is not asked for
  CHECK(resolve_one(c).notes.empty());
}

TEST_CASE("collectives take several ranks, each with a GPU of its own, and a probe of the device one", "[plan]") {
  Case c;
  c.workload = {"", "base", 0, 0, "collectives", 5};
  CHECK(outcome_of(c) == "world-size: collectives measures what passes between ranks, and world_size is 1");
  c.world_size = 2;
  CHECK(outcome_of(c) == "runs");
  c.device = "sm_90";
  c.host = gpu_host(kH100, "9.0", "570.124.06", 2);
  CHECK(outcome_of(c) == "runs");
  Case device;
  device.workload = {"", "base", 0, 0, "device_smoke", 5};
  device.world_size = 2;
  CHECK(outcome_of(device) == "world-size: device_smoke has one rank, and world_size is 2");
}

TEST_CASE("a probe of what is between GPUs takes two of them in one process", "[plan]") {
  Case c;
  c.workload = {"", "base", 0, 0, "device_peer", 5};
  CHECK(outcome_of(c) == "no-peer: device_peer measures between 2 devices of one process, and a CPU has no peer");
  c.device = "sm_90";
  CHECK(outcome_of(c) == "device-class: needs a GPU of class sm_90, this host has none");
  c.host = gpu_host(kH100, "9.0", "570.124.06", 1);
  CHECK(outcome_of(c) ==
        "device-count: needs 2 GPUs of class sm_90 (device_peer measures between them), and of those that this host "
        "has 1 may be used");
  c.host = gpu_host(kH100, "9.0", "570.124.06", 2);
  CHECK(outcome_of(c) == "runs");
  c.host.gpus[1].compute_mode = "prohibited";
  CHECK(outcome_of(c).starts_with("device-count: "));
  c.host.gpus[1] = c.host.gpus[0];
  c.host.gpus[1].compute_capability = "8.0";
  CHECK(outcome_of(c).starts_with("device-count: "));
  c.host = gpu_host(kH100, "9.0", "570.124.06", 4);
  c.world_size = 2;
  CHECK(outcome_of(c) == "world-size: device_peer has one rank, and world_size is 2");
}

TEST_CASE("instructions the CPU lacks are refused", "[plan]") {
  Case c;
  c.knobs = {{"cpu_isa", "avx512"}};
  CHECK(outcome_of(c) == "cpu-isa: knob cpu_isa=avx512 needs instructions this CPU lacks; Test CPU has avx2");
  c.knobs = {{"cpu_isa", "avx2"}};
  CHECK(outcome_of(c) == "runs");
}

TEST_CASE("TF32 needs a GPU that has it", "[plan]") {
  Case c;
  c.knobs = {{"tf32", "on"}};
  CHECK(outcome_of(c) == "knob-needs-gpu: knob tf32=on has no meaning on the CPU");
  c.device = "sm_75";
  CHECK(outcome_of(c).find("tf32-needs-sm80: knob tf32=on needs a GPU of class sm_80 or later") == 0);
}

TEST_CASE("bf16 needs a GPU that has it, and is done on any CPU", "[plan]") {
  Case c;
  c.knobs = {{"precision", "bf16"}};
  CHECK(outcome_of(c) == "runs");
  c.device = "sm_75";
  CHECK(outcome_of(c).find("bf16-needs-sm80: knob precision=bf16 needs a GPU of class sm_80 or later") == 0);
}

TEST_CASE("fused attention is planned only where LibTorch has a kernel for it", "[plan]") {
  Case c;
  c.host = gpu_host(kH100, "9.0", "570.124.06", 1);
  c.device = "sm_90";
  c.knobs = {{"attention", "flash"}};
  CHECK(outcome_of(c) == "fused-attention: knob attention=flash is for 16-bit numbers on a GPU, and precision is fp32");
  c.knobs["precision"] = "bf16";
  CHECK(outcome_of(c) == "runs");
  c.knobs["attention"] = "cudnn";
  CHECK(outcome_of(c).find("fused-attention: knob attention=cudnn is not deterministic in backward") == 0);
  c.knobs["determinism"] = "default";
  CHECK(outcome_of(c) == "runs");
  c.device = "sm_75";
  c.knobs["precision"] = "fp16";
  CHECK(outcome_of(c).find("fused-attention: knob attention=cudnn needs a GPU of class sm_80 or later") == 0);
  c.device = "cpu";
  c.knobs = {{"attention", "flash"}};
  CHECK(outcome_of(c) == "runs");
}

TEST_CASE("a step cannot be captured in unified memory", "[plan]") {
  Case c;
  c.host = gpu_host(kH100, "9.0", "570.124.06", 1);
  c.device = "sm_90";
  c.knobs = {{"cuda_allocator", "unified"}};
  CHECK(outcome_of(c) == "runs");
  c.knobs["cuda_graph"] = "on";
  CHECK(outcome_of(c).find("graph-needs-device-memory: knob cuda_graph=on") == 0);
}

TEST_CASE("every knob of the GPU is refused on the CPU, and its default is not", "[plan]") {
  for (const Knob& knob : knobs()) {
    if (knob.acts_on != ActsOn::gpu) continue;
    Case c;
    c.knobs = {{std::string(knob.name), std::string(knob.values.back())}};
    INFO(knob.name);
    REQUIRE(knob.values.back() != knob.default_value);
    CHECK(outcome_of(c).find("knob-needs-gpu: knob " + std::string(knob.name)) == 0);
    c.knobs = {{std::string(knob.name), std::string(knob.default_value)}};
    CHECK(outcome_of(c) == "runs");
  }
}

TEST_CASE("a captured step cannot be traced tensor by tensor", "[plan]") {
  Case c;
  c.host = gpu_host(kH100, "9.0", "570.124.06", 1);
  c.device = "sm_90";
  c.knobs = {{"cuda_graph", "on"}};
  CHECK(outcome_of(c) == "runs");
  c.trace = TraceLevel::tensor;
  CHECK(outcome_of(c).find("graph-needs-step-trace: knob cuda_graph=on") == 0);
}

TEST_CASE("a host the wheels are not built for is refused", "[plan]") {
  Case c;
  c.host.architecture = "aarch64";
  CHECK(outcome_of(c) == "wheel-architecture: the wheels of s are built for x86_64; this host is aarch64");
  Case old;
  old.host.glibc = "2.17";
  CHECK(outcome_of(old) == "glibc-floor: glibc 2.17 is under 2.28, the floor of s");
}

TEST_CASE("a declared component that the wheel does not carry is a note with both values", "[plan]") {
  Case c;
  c.stack.components["cudnn"] = "9.1.0";
  c.stack.components["nccl"] = "2.27.5";
  CHECK(outcome_of(c) == "runs");
  CHECK(resolve_one(c).notes ==
        std::vector<std::string>{"s declares cuDNN 9.1.0 where the torch 2.9 cu128 wheel has 9.10.2.21"});
  c.stack.components["cudnn"] = "9.10.2";
  CHECK(resolve_one(c).notes.empty());
}

TEST_CASE("what the facts do not know is said, not guessed", "[plan]") {
  Case c;
  c.stack = wheel_stack("2.99.0+cu199", "19.9");
  CHECK(outcome_of(c) == "runs");
  CHECK(resolve_one(c).notes ==
        std::vector<std::string>{
            "no compat facts about torch 2.99: its CUDA, driver and GPU requirements are not checked"});
}

TEST_CASE("a stack no file defines is an error where it is named, with the nearest", "[plan]") {
  const MatrixSpec matrix = parse_test_matrix("axes: {stack: [torch-2.9.0-cu12, torch-2.9.0-cu128]}\n");
  const StackCatalog catalog{{{"torch-2.9.0-cu128", {}}}, {}};
  CHECK_THROWS_WITH(check_stacks(matrix, catalog),
                    "m.yaml:4:16: error[RB009]: unknown stack `torch-2.9.0-cu12`; did you mean `torch-2.9.0-cu128`?");
}

TEST_CASE("a broken stack file is an error for the matrix that names it alone", "[plan]") {
  StackCatalog catalog{{{"torch-2.9.0-cu128", {}}}, {}};
  catalog.broken.emplace("half-written", SpecError({{{"half-written.yaml", 3, 1}, "RB005", "not closed", ""}}));
  CHECK_NOTHROW(check_stacks(parse_test_matrix("axes: {stack: [torch-2.9.0-cu128]}\n"), catalog));
  CHECK_THROWS_WITH(check_stacks(parse_test_matrix("axes: {stack: [half-written, torch-2.9.0-cu128]}\n"), catalog),
                    "half-written.yaml:3:1: error[RB005]: not closed");
}

TEST_CASE("every row of the shipped facts names its sources and a confidence", "[plan]") {
  std::ifstream in(REPROBENCH_SOURCE_ROOT "/matrix/facts/compat-facts.json");
  const nlohmann::json facts = nlohmann::json::parse(in);
  int rows = 0;
  for (const auto& [key, list] : facts.items()) {
    if (!list.is_array()) continue;
    for (const auto& row : list) {
      if (!row.contains("source")) continue;
      ++rows;
      for (const auto& source : row["source"]) {
        INFO(key << ": " << row.dump());
        CHECK(facts["sources"].contains(source.get<std::string>()));
      }
      if (row.contains("confidence")) CHECK(facts["confidence"].contains(row["confidence"].get<std::string>()));
    }
  }
  CHECK(rows > 150);
  for (const char* key : {"torch_wheels", "cuda_min_driver_linux", "cuda_minor_version_floor", "arch_support_end"}) {
    for (const auto& row : facts[key]) {
      INFO(key << ": " << row.dump());
      CHECK(row.contains("source"));
    }
  }
}

TEST_CASE("facts of another shape are refused by field", "[plan]") {
  CHECK_THROWS_WITH(compat_facts_from_json({{"schema", "other"}}),
                    "compat-facts: `schema` is not reprobench-compat-facts/1");
  CHECK_THROWS_WITH(compat_facts_from_json({{"schema", "reprobench-compat-facts/1"}}),
                    "compat-facts: `torch_wheels` is missing");
}

TEST_CASE("matrix products are asked for where a threshold is a share of them, with the card's data sheet", "[plan]") {
  CellThreshold share;
  share.metric = "throughput.gemm_peak_share";
  Case c;
  CHECK(resolve_one(c).cell.request.gemm_peak_samples == 0);
  c.thresholds = {share};
  CHECK(resolve_one(c).cell.request.gemm_peak_samples == 5);
  c.thresholds[0].gate = Gate::record_only;
  CHECK(resolve_one(c).cell.request.gemm_peak_samples == 5);
  c.thresholds[0].metric = "throughput.mfu";
  c.host = gpu_host("NVIDIA H100 80GB HBM3", "9.0", "570.124.06");
  c.device = "sm_90";
  REQUIRE(resolve_one(c).cell.request.peaks);
  CHECK(resolve_one(c).cell.request.peaks->gpu == "H100 SXM");
  CHECK(resolve_one(c).cell.request.gemm_peak_samples == 5);
  c.thresholds[0].metric = "throughput.samples";
  CHECK_FALSE(resolve_one(c).cell.request.peaks);
  CHECK_FALSE(resolve_one(c).cell.request.weight_change);
  c.thresholds[0].metric = "numerics.weight_change_rel";
  CHECK(resolve_one(c).cell.request.weight_change);
  CHECK(resolve_one(c).cell.request.gemm_peak_samples == 0);
  c.thresholds.push_back(share);
  c.workload = {"", "base", 0, 0, "device_smoke", 2};
  CHECK(resolve_one(c).cell.request.gemm_peak_samples == 0);
  CHECK_FALSE(resolve_one(c).cell.request.weight_change);
}
