#include <fstream>
#include <set>

#include "ci/catch.hpp"
#include "matrix/contract/capability.hpp"
#include "matrix/contract/device/telemetry.hpp"
#include "matrix/contract/exit_record.hpp"
#include "matrix/contract/outcome.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

CellRequest some_request() {
  CellRequest request;
  request.cell_id = "3f9c1e0a7b52";
  request.nonce = "0123456789abcdef";
  request.rank = 1;
  request.repeat = 1;
  request.suite = "determinism";
  request.workload = {"mlp", "default", 200, 32};
  request.stack = "torch-2.9.0-cu128";
  request.device = "cpu";
  request.knobs = with_defaults({{"precision", "bf16"}});
  request.trace = TraceLevel::tensor;
  request.turn_steps = 20;
  request.inject = Injection{"weight_ulp", 20, "fc1.weight", 5};
  return request;
}

TEST_CASE("a request survives its document", "[contract]") {
  const CellRequest request = some_request();
  CHECK(to_json(request_from_json(to_json(request))) == to_json(request));
}

TEST_CASE("what only several ranks need is written for them alone", "[contract]") {
  CellRequest request = some_request();
  CHECK_FALSE(to_json(request).contains("collective_timeout_ms"));
  CHECK_FALSE(to_json(request)["inject"].contains("rank"));
  request.world_size = 4;
  request.collective_timeout_ms = 20'000;
  request.inject->rank = 3;
  const CellRequest read = request_from_json(to_json(request));
  CHECK(read.collective_timeout_ms == 20'000);
  CHECK(read.inject->rank == 3);
}

TEST_CASE("matrix products are timed after a training of one rank that nobody replays", "[contract]") {
  CellRequest request = some_request();
  CHECK_FALSE(measures_gemm_peak(request));
  CHECK_FALSE(to_json(request).contains("gemm_peak_samples"));
  request.gemm_peak_samples = 5;
  CHECK(measures_gemm_peak(request));
  CHECK(request_from_json(to_json(request)).gemm_peak_samples == 5);
  SECTION("several ranks would time each other") { request.world_size = 2; }
  SECTION("a replay is not timed") { request.replay.emplace(); }
  SECTION("a probe times what it is for") { request.workload.probe = "device_smoke"; }
  CHECK_FALSE(measures_gemm_peak(request));
}

TEST_CASE("the operations of a step are a number or have a reason, never both or neither", "[contract]") {
  CellResult result;
  result.cell_id = "3f9c1e0a7b52";
  result.nonce = "0123456789abcdef";
  CHECK_FALSE(to_json(result).contains("model_flops"));
  result.model_flops = ModelFlops{13'090'816, "", 32, "matrix products, PaLM appendix B", "fp32"};
  const CellResult read = result_from_json(to_json(result));
  CHECK(read.model_flops->flops_per_step == 13'090'816);
  CHECK(read.model_flops->convention == "matrix products, PaLM appendix B");
  nlohmann::json spoilt = to_json(result);
  SECTION("both") { spoilt["model_flops"]["missing"] = "why"; }
  SECTION("neither") { spoilt["model_flops"]["flops_per_step"] = 0; }
  SECTION("no convention") { spoilt["model_flops"]["convention"] = ""; }
  SECTION("of no samples") { spoilt["model_flops"]["samples"] = 0; }
  CHECK_THROWS_AS(result_from_json(spoilt), ContractError);
}

TEST_CASE("ranks share the threads of their attempt, and each has one", "[contract]") {
  CellRequest request = some_request();
  const auto threads = [&](const char* asked, int ranks) {
    request.knobs["threads"] = asked;
    request.world_size = ranks;
    return knobs_of_rank(request).at("threads");
  };
  CHECK(threads("4", 1) == "4");
  CHECK(threads("4", 2) == "2");
  CHECK(threads("5", 2) == "2");
  CHECK(threads("1", 2) == "1");
  CHECK(request.knobs.at("threads") == "1");
  request.knobs["replicas"] = "2";
  CHECK(threads("4", 1) == "2");  // as many as one of two ranks has
  CHECK(threads("1", 1) == "1");
}

TEST_CASE("what belongs to an attempt is no part of the canonical request", "[contract]") {
  CellRequest other = some_request();
  other.cell_id = "";
  other.nonce = "ffffffffffffffff";
  other.rank = 1;
  other.turn_steps = 10;
  other.repeat = 2;
  other.attempt = 1;
  other.poison_allocator = true;
  other.collective_timeout_ms = 5;
  other.gemm_peak_samples = 5;
  other.inject.reset();
  CHECK(canonical_request(other) == canonical_request(some_request()));
  other.knobs["threads"] = "2";
  CHECK(canonical_request(other) != canonical_request(some_request()));
}

TEST_CASE("what calls take of a file is part of a request, and where the file lies is not", "[contract]") {
  CellRequest request = some_request();
  request.inject.reset();
  request.turn_steps = 0;
  request.trace = TraceLevel::step;
  request.workload = {"", "base", 0, 0, "operators", 2};
  request.workload.calls = {"relu(f32[2] from 'x')"};
  const nlohmann::json without = canonical_request(request);
  CHECK(without.dump().find("tensors") == std::string::npos);
  request.workload.tensors_sha256 = std::string(64, 'a');
  request.workload.tensors_file = "/mine/t.safetensors";
  const CellRequest read = request_from_json(to_json(request));
  CHECK(read.workload.tensors_sha256 == request.workload.tensors_sha256);
  CHECK(read.workload.tensors_file == request.workload.tensors_file);
  CHECK(canonical_request(request) != without);
  CellRequest moved = request;
  moved.workload.tensors_file = "/elsewhere/t.safetensors";
  CHECK(canonical_request(moved) == canonical_request(request));
  request.workload.tensors_file.clear();
  CHECK_THROWS_WITH(request_from_json(to_json(request)),
                    "request: the document `tensors_file` and `tensors_sha256` go together");
  request.workload.tensors_file = moved.workload.tensors_file;
  request.workload.calls.clear();
  CHECK_THROWS_AS(request_from_json(to_json(request)), ContractError);
}

TEST_CASE("a request with a field of the wrong type or missing names the field", "[contract]") {
  nlohmann::json request = to_json(some_request());
  request["repeat"] = "one";
  CHECK_THROWS_WITH(request_from_json(request), "request: `repeat` is not an integer");
  request.erase("repeat");
  CHECK_THROWS_WITH(request_from_json(request), "request: `repeat` is missing");
}

TEST_CASE("another major or a newer minor is refused, each with both numbers", "[contract]") {
  nlohmann::json request = to_json(some_request());
  request["version"]["minor"] = kContractVersion.minor + 1;
  CHECK_THROWS_WITH(request_from_json(request), "request: version 2.1 cannot be read by contract 2.0");
  request["version"] = {{"major", kContractVersion.major + 1}, {"minor", 0}};
  CHECK_THROWS_WITH(request_from_json(request), "request: version 3.0 cannot be read by contract 2.0");
}

TEST_CASE("a document of contract 1 is refused by the name of the version that reads it", "[contract]") {
  nlohmann::json request = to_json(some_request());
  request["version"] = {{"major", 1}, {"minor", 4}};
  CHECK_THROWS_WITH(request_from_json(request),
                    "request: version 1.4 cannot be read by contract 2.0; reprobench 0.2.0 is the last that reads it");
}

TEST_CASE("a document of another schema is refused", "[contract]") {
  nlohmann::json request = to_json(some_request());
  request["schema"] = "reprobench/result";
  CHECK_THROWS_WITH(request_from_json(request),
                    "request: schema is \"reprobench/result\", expected `reprobench/request`");
}

TEST_CASE("results, exit records and capabilities survive their documents", "[contract]") {
  CellResult result;
  result.cell_id = "3f9c1e0a7b52";
  result.nonce = "0123456789abcdef";
  result.rank = 1;
  result.failure = WorkerFailure{"exception", "out of range", 7};
  result.fingerprint.components.push_back({"torch", "2.9.0", "2.9.0+cu128", "site/torch/lib/libtorch_cpu.so"});
  result.fingerprint.libraries.push_back({"site/torch/lib/libc10.so", "00ff"});
  result.fingerprint.flags["deterministic_algorithms"] = "on";
  CHECK(to_json(result_from_json(to_json(result))) == to_json(result));

  ExitRecord exit;
  exit.nonce = result.nonce;
  exit.rank = 1;
  exit.signal = 11;
  exit.stopped_by = StoppedBy::runner;
  exit.max_rss_bytes = 1 << 20;
  CHECK(to_json(exit_record_from_json(to_json(exit))) == to_json(exit));

  Capability capability;
  capability.torch_version = "2.9.0+cu128";
  capability.devices = {"cpu", "sm_90"};
  DeviceFacts gpu;
  gpu.name = "NVIDIA H200";
  gpu.compute_capability = "9.0";
  capability.gpus.push_back(gpu);
  capability.fingerprint.device = gpu;
  capability.knobs.push_back({"tf32", {"off"}, "no CUDA device"});
  capability.workloads.push_back({"mlp", "multi-layer perceptron", {{"default", 101'770, 32}}});
  CHECK(to_json(capability_from_json(to_json(capability))) == to_json(capability));
}

TEST_CASE("what NCCL told is part of the result of ranks on GPUs, or why it told nothing", "[contract]") {
  CellResult result;
  result.cell_id = "3f9c1e0a7b52";
  result.nonce = "0123456789abcdef";
  CHECK_FALSE(to_json(result).contains("nccl"));
  result.nccl = NcclFacts{{{0, 1, "P2P/CUMEM", "peer", 24}}, "not available", ""};
  const CellResult read = result_from_json(to_json(result));
  REQUIRE(read.nccl);
  CHECK(read.nccl->nvls == "not available");
  REQUIRE(read.nccl->transports.size() == 1);
  CHECK(read.nccl->transports[0].channels == 24);
  result.nccl->problem = "NCCL wrote no log";
  CHECK_THROWS_AS(result_from_json(to_json(result)), ContractError);
  result.nccl = NcclFacts{{}, "", "NCCL wrote no log"};
  CHECK(result_from_json(to_json(result)).nccl->problem == "NCCL wrote no log");
  result.nccl->nvls = "perhaps";
  CHECK_THROWS_AS(result_from_json(to_json(result)), ContractError);
}

TEST_CASE("what computed a step is part of a training's result, each row known or with the reason", "[contract]") {
  CellResult result;
  result.cell_id = "3f9c1e0a7b52";
  result.nonce = "0123456789abcdef";
  CHECK_FALSE(to_json(result).contains("implementations"));
  result.implementations.emplace();
  CHECK_THROWS_AS(result_from_json(to_json(result)), ContractError);  // neither rows nor why there are none
  result.implementations->unknown = "the kernels of a GPU are not watched after a training";
  CHECK(result_from_json(to_json(result)).implementations->unknown == result.implementations->unknown);
  OperationImplementation row{"aten::mm", "(8,4), (4,2)", "float32", "mkl SGEMM for AVX2", "", 3};
  result.implementations->operations = {row};
  CHECK_THROWS_AS(result_from_json(to_json(result)), ContractError);  // both
  result.implementations->unknown.clear();
  result.implementations->left_out = 2;
  const StepImplementations read = result_from_json(to_json(result)).implementations.value();
  CHECK((read.operations == result.implementations->operations));
  CHECK(read.left_out == 2);
  result.implementations->operations[0].unknown = "no switch";
  CHECK_THROWS_AS(result_from_json(to_json(result)), ContractError);
  result.implementations->operations[0].implementation.clear();
  CHECK(result_from_json(to_json(result)).implementations->operations[0].unknown == "no switch");
  result.implementations->operations[0].calls = 0;
  CHECK_THROWS_AS(result_from_json(to_json(result)), ContractError);
}

TEST_CASE("every outcome, end and dimension is found by its word", "[contract]") {
  for (int i = 0; i <= static_cast<int>(Outcome::unfinished); ++i) {
    CHECK(from_word<Outcome>(to_string(static_cast<Outcome>(i))) == static_cast<Outcome>(i));
  }
  for (int i = 0; i <= static_cast<int>(AttemptEnd::gpu_hw); ++i) {
    CHECK(from_word<AttemptEnd>(to_string(static_cast<AttemptEnd>(i))) == static_cast<AttemptEnd>(i));
  }
  for (int i = 0; i <= static_cast<int>(Dimension::communication); ++i) {
    CHECK(from_word<Dimension>(to_string(static_cast<Dimension>(i))) == static_cast<Dimension>(i));
  }
  CHECK_FALSE(from_word<Outcome>("green"));
}

TEST_CASE("only a completed attempt is nobody's fault", "[contract]") {
  for (int i = 0; i <= static_cast<int>(AttemptEnd::gpu_hw); ++i) {
    const auto end = static_cast<AttemptEnd>(i);
    CHECK((side_of(end) == Side::none) == (end == AttemptEnd::completed));
  }
}

TEST_CASE("knobs have unique names, accept their default and fill in what is left out", "[contract]") {
  std::set<std::string_view> names;
  for (const Knob& knob : knobs()) {
    CHECK(names.insert(knob.name).second);
    CHECK(accepts(knob, knob.default_value));
    CHECK_FALSE(accepts(knob, "no such value"));
  }
  const KnobValues values = with_defaults({{"threads", "4"}});
  CHECK(values.size() == knobs().size());
  CHECK(values.at("threads") == "4");
  CHECK(knob_environment(values).at("OMP_NUM_THREADS") == "4");
  CHECK_FALSE(accepts(*find_knob("threads"), "0"));
  CHECK_FALSE(accepts(*find_knob("threads"), "010"));
  for (const char* amount : {"0", "0.5", "1.0", "12"}) CHECK(accepts(*find_knob("max_grad_norm"), amount));
  for (const char* none : {"", ".5", "1.", "01", "-1", "1e3", "1.2.3", "inf", "1234567890"}) {
    CHECK_FALSE(accepts(*find_knob("max_grad_norm"), none));
  }
}

TEST_CASE("documents of contract 2.0 are read, and are the same when they are written again", "[contract]") {
  const std::string folder = REPROBENCH_SOURCE_ROOT "/matrix/contract/testdata/2.0/";
  const auto document_in = [&](const char* file) {
    std::ifstream stream(folder + file);
    return nlohmann::json::parse(stream);
  };
  CHECK(to_json(request_from_json(document_in("request.json"))) == document_in("request.json"));
  CHECK(to_json(result_from_json(document_in("result.json"))) == document_in("result.json"));
  CHECK(to_json(exit_record_from_json(document_in("exit.json"))) == document_in("exit.json"));
  CHECK(to_json(capability_from_json(document_in("capability.json"))) == document_in("capability.json"));
  const auto each_line = [&](const char* file, auto through) {
    std::ifstream stream(folder + file);
    int lines = 0;
    for (std::string line; std::getline(stream, line); ++lines) {
      const auto stated = nlohmann::json::parse(line).at("seq").get<std::int64_t>();
      const auto body = std::get<nlohmann::json>(parse_trace_line(line, stated));
      CHECK(through(body.at("kind").get<std::string>(), body) == body);
    }
    CHECK(lines == 3);
  };
  each_line("trace.jsonl", [](const std::string& kind, const nlohmann::json& body) {
    if (kind == "header") return to_json(trace_header_from_json(body));
    return kind == "step" ? to_json(step_record_from_json(body)) : to_json(tensors_record_from_json(body));
  });
  each_line("telemetry.jsonl", [](const std::string& kind, const nlohmann::json& body) {
    if (kind == "header") return to_json(telemetry_header_from_json(body));
    return kind == "sample" ? to_json(telemetry_sample_from_json(body)) : to_json(telemetry_end_from_json(body));
  });
}

TEST_CASE("an exit record stopped by an unknown word is refused", "[contract]") {
  ExitRecord exit;
  exit.nonce = "0123456789abcdef";
  nlohmann::json json = to_json(exit);
  json["stopped_by"] = "cosmic ray";
  CHECK_THROWS_WITH(exit_record_from_json(json),
                    "exit: `stopped_by` is `cosmic ray`, none of nobody, runner, runner_death");
}

}  // namespace
}  // namespace reprobench
