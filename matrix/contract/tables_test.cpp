// Tables that are read by name or number, against rows written out by hand, and the small functions on them.
#include <algorithm>

#include "ci/catch.hpp"
#include "matrix/base/safetensors.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/contract/attempt_memory.hpp"
#include "matrix/contract/device/clock_event.hpp"
#include "matrix/contract/device/gpu_facts.hpp"
#include "matrix/contract/device/telemetry.hpp"
#include "matrix/contract/device/xid.hpp"
#include "matrix/contract/outcome.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/contract/replay.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

TEST_CASE("the Xids that a program causes are the application's, all others the device's", "[contract]") {
  const auto numbers_of = [](XidClass kind) {
    std::vector<int> numbers;
    for (int number = 0; number < 200; ++number) {
      const bool is_listed = describe_xid(number).find("(unlisted)") == std::string::npos;
      if (is_listed && class_of_xid(number) == kind) numbers.push_back(number);
    }
    return numbers;
  };
  CHECK(numbers_of(XidClass::application) == std::vector<int>{13, 31, 43, 45, 68, 109});
  CHECK(numbers_of(XidClass::device) == std::vector<int>{48, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120});
  CHECK(class_of_xid(14) == XidClass::device);
  CHECK(describe_xid(79) == "Xid 79 (GPU has fallen off the bus)");
  CHECK(describe_xid(14) == "Xid 14 (unlisted)");
  CHECK(xids().size() == 17);
  CHECK(std::ranges::all_of(xids(), [](const Xid& xid) { return !xid.source.empty() && xid.driver_branch[0] == 'R'; }));
}

TEST_CASE("clock events have NVML's bits, and those by which the card protects itself invalidate", "[contract]") {
  using Words = std::vector<std::string>;
  CHECK(clock_event_words(0).empty());
  CHECK(clock_event_words(0x1ff) == Words{"gpu_idle", "applications_clocks", "sw_power_cap", "hw_slowdown",
                                          "sync_boost", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake",
                                          "display_clocks"});
  for (std::size_t i = 0; i < clock_events().size(); ++i) CHECK(clock_events()[i].bit == std::uint64_t{1} << i);
  CHECK(clock_event_words(0x1200 | kSwPowerCap) == Words{"sw_power_cap", "0x200", "0x1000"});
  CHECK(clock_event_words(std::uint64_t{1} << 63) == Words{"0x8000000000000000"});
  CHECK(invalidating_events(~std::uint64_t{0}) == 0xe8);
  CHECK(invalidating_events(0x117) == 0);
  CHECK(std::ranges::count(clock_events(), ClockEventEffect::compared, &ClockEvent::effect) == 1);
  CHECK(clock_events()[2].effect == ClockEventEffect::compared);
}

TEST_CASE("a reading is garbage beyond the bound of its quantity", "[contract]") {
  std::string table;
  for (std::size_t i = 0; i < kQuantities; ++i) {
    const QuantityInfo& info = info_of(static_cast<Quantity>(i));
    table += std::string(info.word) + "=" + std::to_string(info.largest) + " ";
  }
  CHECK(table ==
        "sm_clock_mhz=10000 memory_clock_mhz=50000 temperature_c=200 power_mw=10000000 power_limit_mw=10000000 "
        "utilisation_percent=100 memory_used_bytes=1125899906842624 power_violation_ns=4611686018427387904 "
        "thermal_violation_ns=4611686018427387904 ecc_uncorrected=4611686018427387904 "
        "ecc_uncorrected_ever=4611686018427387904 pcie_generation=16 pcie_lanes=64 "
        "process_memory_bytes=1125899906842624 energy_mj=4611686018427387904 clock_events=4611686018427387904 ");
}

TEST_CASE("every end of an attempt is on the side of who did it", "[contract]") {
  using enum AttemptEnd;
  for (const AttemptEnd end :
       {nonzero, crash, cuda_oom, host_oom, disk_limit, worker_error, contract, leaked, timeout, hang, xid}) {
    CHECK(side_of(end) == Side::product);
  }
  for (const AttemptEnd end : {launch, store, lost, gpu_hw}) CHECK(side_of(end) == Side::infra);
  CHECK(side_of(interrupted) == Side::user);
  CHECK(side_of(completed) == Side::none);
}

Injection fault_of(std::string_view kind) {
  Injection fault;
  fault.kind = kind;
  return fault;
}

TEST_CASE("a fault is planted in a parameter, a probe or where a run goes on", "[contract]") {
  const auto names = [](auto wanted) {
    std::string text;
    for (const InjectionKind& kind : injection_kinds()) {
      if (wanted(kind)) text += std::string(kind.name) + " ";
    }
    return text;
  };
  CHECK(names([](const InjectionKind& kind) { return kind.names_parameter; }) ==
        "weight_ulp weight_nan weight_huge weight_sign gradient_ulp gradient_inf moment_ulp weight_stuck "
        "adam_written_out adam_epsilon_unscaled atomic_add "
        "offload_device_mismatch offload_stale_parameter ");
  const std::string of_probe =
      "result_bit result_wrong operation_slow rank_killed rank_stopped collective_skipped collective_shape "
      "collective_dtype collective_order rendezvous_lost operand_bit ";
  const std::string of_resuming =
      "resume_from_step_0 resume_without_optimizer_state resume_without_buffers resume_without_loss_scale "
      "resume_without_data_position resume_shard_misplaced ";
  CHECK(names([](const InjectionKind& kind) { return kind.of_probe; }) == of_probe);
  CHECK(names([](const InjectionKind& kind) { return kind.of_resuming; }) == of_resuming);
  CHECK(names([](const InjectionKind& kind) { return is_of_probe(fault_of(kind.name)); }) == of_probe);
  CHECK(names([](const InjectionKind& kind) { return is_of_resuming(fault_of(kind.name)); }) == of_resuming);
  CHECK(names([](const InjectionKind& kind) { return !kind.names_parameter && !kind.of_probe && !kind.of_resuming; }) ==
        "adam_epsilon optimizer_momentum skip_update updates_stop update_halved batch_stuck targets_shifted "
        "loader_slow process_killed "
        "process_stopped stale_batch "
        "wrong_batch sample_repeated sample_dropped reduction_order "
        "tf32 "
        "accumulate_16_bit layer_norm_epsilon gelu_scale softmax_scale order_and_decay running_variance_biased "
        "running_momentum "
        "gelu_constant gelu_written_out attention_scale cast_inserted gelu_bias norm_epsilon attention_fused "
        "parameters_kept_whole bucket_late "
        "bucket_order replica_stale replica_gradient_lost ");
  CHECK_FALSE(is_of_probe(fault_of("no_such_kind")));
  CHECK_FALSE(is_of_resuming(fault_of("no_such_kind")));
}

TEST_CASE("ranks and accumulation make micro-batches together", "[contract]") {
  CellRequest request;
  CHECK(micro_batches_of(request) == 1);
  request.world_size = 3;
  CHECK(micro_batches_of(request) == 3);
  request.knobs["accumulate"] = "4";
  CHECK(micro_batches_of(request) == 12);
  request.world_size = 1;
  request.knobs["replicas"] = "2";
  CHECK(micro_batches_of(request) == 8);
}

TEST_CASE("each probe has its operations and presets, and only collectives take several ranks", "[contract]") {
  std::string table;
  for (const ProbeInfo& probe : probes()) {
    table += std::string(probe.name) + (probe.of_ranks ? " of ranks" : "") + ":";
    for (const std::string_view preset : probe.presets) table += " " + std::string(preset);
    table += " " + std::to_string(probe.operations.size()) + "; ";
    CHECK(find_probe(probe.name) == &probe);
    for (const ProbeOperation& operation : probe.operations) {
      INFO(operation.name);
      CHECK_FALSE(operation.name.empty());
      CHECK_FALSE(operation.unit.empty());
      CHECK_FALSE(operation.summary.empty());
      CHECK(find_probe_operation(operation.name) != nullptr);
    }
  }
  CHECK(table ==
        "device_smoke: base 9; device_memory: base 13; device_peer: base 4; device_compute: base 3; "
        "device_stress: base long 1; "
        "collectives of ranks: base sweep full 8; operators: base orders 1; package: base 3; ");
  CHECK(find_probe("device") == nullptr);
  CHECK(find_probe_operation("device")->unit == "count");
  CHECK(find_probe_operation("pointer_chase")->unit == "ns");
  CHECK(find_probe_operation("attention")->unit == "TFLOP/s");
  CHECK(find_probe_operation("no_such") == nullptr);
  CHECK(probe_names().size() == 8);
  CHECK(probe_operation_names().size() == 42);
  CHECK(measurement_labels().size() == 10);
}

TEST_CASE("what is no JSON object is no document", "[contract]") {
  CHECK_THROWS_WITH(require_document(nlohmann::json::array(), "plan"), "plan: the document is not a JSON object");
  CHECK_THROWS_WITH(require_document(nlohmann::json("plan"), "plan"), "plan: the document is not a JSON object");
  CHECK(require_document(document("plan"), "plan") == kContractVersion.minor);
}

TEST_CASE("a GPU that no cell can be given says why", "[contract]") {
  GpuFacts gpu;
  gpu.uuid = "GPU-a";
  for (const char* fine : {"", "default", "exclusive_process"}) {
    gpu.compute_mode = fine;
    CHECK(unusable_because(gpu).empty());
  }
  gpu.mig = "off";
  CHECK(unusable_because(gpu).empty());
  gpu.uuid.clear();
  CHECK(unusable_because(gpu) == "the driver tells no UUID to name it by");
  gpu.compute_mode = "prohibited";
  CHECK(unusable_because(gpu) == "its compute mode is prohibited");
  gpu.mig = "on";
  CHECK(unusable_because(gpu) == "MIG mode is on");
}

TEST_CASE("the memory of an attempt is the sum of its parts, each named", "[contract]") {
  AttemptMemory need;
  std::int64_t gigabytes = 1;
  for (std::int64_t* part : {&need.parameter_bytes, &need.gradient_bytes, &need.optimizer_bytes, &need.scratch_bytes,
                             &need.buffer_bytes, &need.activation_bytes, &need.hole_bytes, &need.process_bytes}) {
    *part = gigabytes * 1'000'000'000;
    gigabytes *= 2;
  }
  CHECK(need.total() == 255'000'000'000);
  CHECK(arithmetic_of(need) ==
        "255.0 GB: 1.0 parameters + 2.0 gradients + 4.0 optimizer + 8.0 scratch + 16.0 buffers + 32.0 activations + "
        "64.0 holes + 128.0 process");
  CHECK(memory_predictions_from_json(to_json(MemoryPredictions{{need}})).needs.at(0).total() == need.total());
}

TEST_CASE("elements of a safetensors file have these sizes", "[contract]") {
  std::string table;
  for (const SafetensorsDtype& dtype : safetensors_dtypes()) {
    table += std::string(dtype.name) + "/" + std::string(dtype.torch_name) + "=" + std::to_string(dtype.bytes) + " ";
    CHECK(safetensors_dtype(dtype.name) == &dtype);
    CHECK(safetensors_dtype_of_torch(dtype.torch_name) == &dtype);
  }
  CHECK(table ==
        "BOOL/bool=1 U8/uint8=1 I8/int8=1 F8_E5M2/float8_e5m2=1 F8_E4M3/float8_e4m3fn=1 I16/int16=2 U16/uint16=2 "
        "F16/float16=2 BF16/bfloat16=2 I32/int32=4 U32/uint32=4 F32/float32=4 F64/float64=8 I64/int64=8 U64/uint64=8 ");
  CHECK(safetensors_dtype("float32") == nullptr);
  CHECK(safetensors_dtype_of_torch("F32") == nullptr);
}

TEST_CASE("snapshots are named by their step, and SHA-256 is that of FIPS 180", "[contract]") {
  CHECK(snapshot_file(12) == "state-12.safetensors");
  CHECK(gradients_file(12) == "gradients-12.safetensors");
  CHECK(sha256_of_text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 in_parts;
  in_parts.update("a");
  in_parts.update("bc");
  CHECK(to_hex(in_parts.finish()) == sha256_of_text("abc"));
}

}  // namespace
}  // namespace reprobench
