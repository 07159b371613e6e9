#include "matrix/plan/resolve.hpp"

#include <fstream>

#include "ci/catch.hpp"
#include "matrix/plan/resolve_fixture.hpp"

using namespace reprobench;

TEST_CASE("a cell that nothing speaks against runs, without a note", "[plan]") {
  CHECK(outcome_of({}) == "runs");
  CHECK(resolve_one({}).notes.empty());
  ResolveCase gpu;
  gpu.device = "sm_90";
  gpu.host = gpu_host(kH100, "9.0", "570.124.06");
  CHECK(outcome_of(gpu) == "runs");
  CHECK(resolve_one(gpu).notes.empty());
}

TEST_CASE("a stack that is not installed yet does not skip its cells", "[plan]") {
  ResolveCase c;
  c.availability.installed = false;
  CHECK(outcome_of(c) == "runs");
}

TEST_CASE("a GPU class the host lacks is named with what the host has", "[plan]") {
  ResolveCase c;
  c.device = "sm_90";
  CHECK(outcome_of(c) == "device-class: needs a GPU of class sm_90, this host has none");
  c.host = gpu_host("NVIDIA A100", "8.0", "570.124.06");
  CHECK(outcome_of(c) == "device-class: needs a GPU of class sm_90, this host has sm_80 (NVIDIA A100)");
}

TEST_CASE("a wheel that never existed is refused with the variants that do", "[plan]") {
  ResolveCase c;
  c.stack = wheel_stack("2.9.0+cu118", "11.8");
  CHECK(outcome_of(c) ==
        "no-wheel: torch 2.9.0 never shipped with CUDA 11.8; it exists with CUDA 12.6, 12.8, 12.9, 13.0");
}

TEST_CASE("a driver under the floor of its CUDA major is refused", "[plan]") {
  ResolveCase c;
  c.device = "sm_90";
  c.host = gpu_host(kH100, "9.0", "520.61.05");
  CHECK(outcome_of(c) == "driver-floor: driver 520.61.05 is under 525.60.13, the floor of CUDA 12");
  c.host.driver = "525.60.13";
  CHECK(outcome_of(c) == "runs");
}

TEST_CASE("between floor and toolkit driver a cell runs with a note", "[plan]") {
  ResolveCase c;
  c.device = "sm_90";
  c.host = gpu_host(kH100, "9.0", "550.54.14");
  CHECK(outcome_of(c) == "runs");
  CHECK(resolve_one(c).notes ==
        std::vector<std::string>{"driver 550.54.14 is under toolkit 12.8.1's 570.124.06: minor-version mode, no PTX of "
                                 "this toolkit can be compiled"});
}

TEST_CASE("drivers compare as numbers, not as text", "[plan]") {
  ResolveCase c;
  c.device = "sm_90";
  c.host = gpu_host(kH100, "9.0", "1000.1");
  CHECK(outcome_of(c) == "runs");
}

TEST_CASE("a driver branch past an architecture's last one is refused", "[plan]") {
  ResolveCase c;
  c.stack = wheel_stack("2.9.0+cu126", "12.6");
  c.device = "sm_70";
  c.host = gpu_host("Tesla V100", "7.0", "590.44.01");
  CHECK(outcome_of(c) ==
        "driver-branch-end: driver 590.44.01 no longer knows sm_70 (Volta 7.x): R580 was its last branch");
  c.host.driver = "580.95.05";
  CHECK(outcome_of(c) == "runs");
}

TEST_CASE("a GPU the wheel has no machine code and no PTX for is refused", "[plan]") {
  ResolveCase c;
  c.stack = wheel_stack("2.1.0+cu121", "12.1");
  c.stack.cxx11_abi = 0;
  c.device = "sm_120";
  c.host = gpu_host("RTX PRO 6000", "12.0", "580.95.05");
  CHECK(outcome_of(c).find("no-kernel-image: the torch 2.1 cu121 wheel has no kernels for compute capability 12.0") ==
        0);
}

TEST_CASE("machine code of a lower minor of the same major will do", "[plan]") {
  ResolveCase c;
  c.device = "sm_89";
  c.host = gpu_host("L4", "8.9", "570.124.06");
  CHECK(outcome_of(c) == "runs");
}

TEST_CASE("PTX serves a later GPU only with a driver as new as the toolkit", "[plan]") {
  ResolveCase c;
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
  ResolveCase c;
  c.stack = wheel_stack("1.13.1", "");
  c.stack.components.erase("cuda");
  c.stack.source = StackSource::system;
  c.device = "sm_90";
  c.host = gpu_host(kH100, "9.0", "570.124.06");
  CHECK(outcome_of(c) == "no-kernel-image: s has no CUDA, so no kernels for sm_90");
}

TEST_CASE("a system stack the host cannot have is skipped with what was found", "[plan]") {
  ResolveCase c;
  c.availability.problem = "libtorch-dev 1.13.1 is not installed; found 2.1.2";
  CHECK(outcome_of(c) == "system-stack-absent: libtorch-dev 1.13.1 is not installed; found 2.1.2");
}

TEST_CASE("what a stack's worker said it cannot do is a note, as the worker has the last word", "[plan]") {
  ResolveCase c;
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

TEST_CASE("instructions the CPU lacks are refused", "[plan]") {
  ResolveCase c;
  c.knobs = {{"cpu_isa", "avx512"}};
  CHECK(outcome_of(c) == "cpu-isa: knob cpu_isa=avx512 needs instructions this CPU lacks; Test CPU has avx2");
  c.knobs = {{"cpu_isa", "avx2"}};
  CHECK(outcome_of(c) == "runs");
}

TEST_CASE("TF32 needs a GPU that has it", "[plan]") {
  ResolveCase c;
  c.knobs = {{"tf32", "on"}};
  CHECK(outcome_of(c) == "knob-needs-gpu: knob tf32=on has no meaning on the CPU");
  c.device = "sm_75";
  CHECK(outcome_of(c).find("tf32-needs-sm80: knob tf32=on needs a GPU of class sm_80 or later") == 0);
}

TEST_CASE("bf16 needs a GPU that has it, and is done on any CPU", "[plan]") {
  ResolveCase c;
  c.knobs = {{"precision", "bf16"}};
  CHECK(outcome_of(c) == "runs");
  c.device = "sm_75";
  CHECK(outcome_of(c).find("bf16-needs-sm80: knob precision=bf16 needs a GPU of class sm_80 or later") == 0);
}

TEST_CASE("fused attention is planned only where LibTorch has a kernel for it", "[plan]") {
  ResolveCase c;
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
  ResolveCase c;
  c.host = gpu_host(kH100, "9.0", "570.124.06", 1);
  c.device = "sm_90";
  c.knobs = {{"cuda_allocator", "unified"}};
  CHECK(outcome_of(c) == "runs");
  c.knobs["cuda_graph"] = "on";
  CHECK(outcome_of(c).find("excluded-settings: cuda_graph=on with cuda_allocator=unified: ") == 0);
}

TEST_CASE("every knob of the GPU is refused on the CPU, and its default is not", "[plan]") {
  for (const Knob& knob : knobs()) {
    if (knob.acts_on != ActsOn::gpu) continue;
    ResolveCase c;
    c.knobs = {{std::string(knob.name), std::string(knob.values.back())}};
    INFO(knob.name);
    REQUIRE(knob.values.back() != knob.default_value);
    CHECK(outcome_of(c).find("knob-needs-gpu: knob " + std::string(knob.name)) == 0);
    c.knobs = {{std::string(knob.name), std::string(knob.default_value)}};
    CHECK(outcome_of(c) == "runs");
  }
}

TEST_CASE("a captured step cannot be traced tensor by tensor", "[plan]") {
  ResolveCase c;
  c.host = gpu_host(kH100, "9.0", "570.124.06", 1);
  c.device = "sm_90";
  c.knobs = {{"cuda_graph", "on"}};
  CHECK(outcome_of(c) == "runs");
  c.trace = TraceLevel::tensor;
  CHECK(outcome_of(c).find("excluded-settings: cuda_graph=on with trace=tensor: ") == 0);
}

TEST_CASE("a host the wheels are not built for is refused", "[plan]") {
  ResolveCase c;
  c.host.architecture = "aarch64";
  CHECK(outcome_of(c) == "wheel-architecture: the wheels of s are built for x86_64; this host is aarch64");
  ResolveCase old;
  old.host.glibc = "2.17";
  CHECK(outcome_of(old) == "glibc-floor: glibc 2.17 is under 2.28, the floor of s");
}

TEST_CASE("a declared component that the wheel does not carry is a note with both values", "[plan]") {
  ResolveCase c;
  c.stack.components["cudnn"] = "9.1.0";
  c.stack.components["nccl"] = "2.27.5";
  CHECK(outcome_of(c) == "runs");
  CHECK(resolve_one(c).notes ==
        std::vector<std::string>{"s declares cuDNN 9.1.0 where the torch 2.9 cu128 wheel has 9.10.2.21"});
  c.stack.components["cudnn"] = "9.10.2";
  CHECK(resolve_one(c).notes.empty());
}

TEST_CASE("what the facts do not know is said, not guessed", "[plan]") {
  ResolveCase c;
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
  ResolveCase c;
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

TEST_CASE("a cell for one GPU runs inside an image that has CUDA, and ranks on several do not", "[plan]") {
  ResolveCase c;
  c.stack.image = "team/pytorch:2.9";
  c.stack.source = StackSource::image;
  c.world_size = 2;
  c.host.cores = 4;
  CHECK(outcome_of(c) == "runs");
  c.device = "sm_90";
  c.host = gpu_host(kH100, "9.0", "570.124.06");
  c.host.gpus.push_back(c.host.gpus.front());
  CHECK(outcome_of(c) ==
        "world-size: s runs inside the image team/pytorch:2.9, where each rank has memory of its own: several GPUs "
        "would not meet as on one host");
  c.world_size = 1;
  CHECK(outcome_of(c) == "runs");
  c.stack.components.erase("cuda");
  CHECK(outcome_of(c) == "no-kernel-image: s has no CUDA, so no kernels for sm_90");
}

TEST_CASE("what is required of a device that is present is required where this host has it", "[plan]") {
  const auto required = [](const std::string& device, const HostFacts& host, bool if_present = true) {
    ResolveCase c;
    c.device = device;
    c.host = host;
    Cell cell = resolve_one(c).cell;
    cell.required = true;
    cell.required_if_present = if_present;
    cell.gaps = {{Dimension::throughput, "unarmed", "x"}};
    std::vector<PlannedCell> cells = {{cell, std::nullopt, {}}};
    resolve(cells, {{{c.stack.name, c.stack}}, {}}, shipped_facts(), host);
    CHECK(cells.front().cell.gaps.empty() != cells.front().cell.required);
    return cells.front().cell.required;
  };
  const HostFacts hopper = gpu_host(kH100, "9.0", "570.124.06");
  CHECK(required("cpu", cpu_host()));
  CHECK(required("sm_90", hopper));
  CHECK_FALSE(required("sm_90", cpu_host()));
  CHECK_FALSE(required("sm_80", hopper));
  CHECK(required("sm_80", hopper, false));
  // Skipped, as it cannot be used, and asked for all the same.
  HostFacts unusable = hopper;
  unusable.gpus.front().mig = "on";
  CHECK(required("sm_90", unusable));
}
