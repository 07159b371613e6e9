#include "matrix/contract/exclusion.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

CellRequest training(const KnobValues& knobs) {
  CellRequest request;
  request.device = "cpu";
  request.trace = TraceLevel::step;
  request.workload.model = "mlp";
  request.workload.batch_size = 32;
  request.knobs = knobs;
  return request;
}

// "unsupported: overlap=on with zero_stage=1": the cause and the two settings, without the reason.
std::string found(CellRequest request, int ranks) {
  request.world_size = ranks;
  const auto exclusion = exclusion_of(request, settings_of(request.knobs));
  if (!exclusion) return "";
  CHECK(exclusion->sentence.find(": ") + 10 < exclusion->sentence.size());
  return std::string(exclusion->cause) + ": " + exclusion->sentence.substr(0, exclusion->sentence.find(": "));
}

std::string on_cpu(const KnobValues& knobs, int ranks = 1) { return found(training(knobs), ranks); }

std::string on_gpu(const KnobValues& knobs, int ranks = 1) {
  CellRequest request = training(knobs);
  request.device = "sm_90";
  return found(request, ranks);
}

TEST_CASE("what nobody chose excludes nothing, on any number of ranks and on a GPU", "[contract]") {
  for (const int ranks : {1, 4}) {
    CHECK(on_cpu({}, ranks).empty());
    CHECK(on_cpu(with_defaults({}), ranks).empty());
    CHECK(on_gpu(with_defaults({}), ranks).empty());
  }
}

TEST_CASE("a value that only another one gives a meaning is a bad request", "[contract]") {
  CHECK(on_cpu({{"warmup_steps", "4"}}) == "bad_request: warmup_steps=4 with lr_schedule=preset");
  CHECK(on_cpu({{"warmup_steps", "4"}, {"lr_schedule", "warmup_cosine"}}).empty());
  CHECK(on_cpu({{"loader_prefetch", "3"}}) == "bad_request: loader_prefetch=3 with loader_threads=0");
  CHECK(on_cpu({{"loader_prefetch", "3"}, {"loader_threads", "1"}}).empty());
  const KnobValues interval{{"loss_scale_growth_interval", "5"}, {"precision", "fp16"}};
  CHECK(on_cpu(interval) == "bad_request: loss_scale_growth_interval=5 with loss_scale=constant");
  CHECK(on_cpu({{"loss_scale", "dynamic"}}) == "bad_request: loss_scale=dynamic with precision=fp32");
  CHECK(on_cpu({{"loss_scale", "dynamic"}, {"precision", "fp16"}, {"loss_scale_growth_interval", "5"}}).empty());
  CellRequest replayed = training({{"loss_scale", "dynamic"}, {"precision", "fp64"}});
  replayed.replay.emplace();
  CHECK(found(replayed, 1).empty());  // in another precision than the run's
  CHECK(on_cpu({{"gathered_weights", "bf16"}}) == "bad_request: gathered_weights=bf16 with no checkpoints");
  CellRequest resumed = training({{"gathered_weights", "bf16"}});
  resumed.workload.resume_after = 2;
  CHECK(found(resumed, 1).empty());
  resumed.workload.resume_after = 0;
  resumed.checkpoint.emplace();
  CHECK(found(resumed, 1).empty());
}

TEST_CASE("ranks exchange gradients and states in one way at a time", "[contract]") {
  CHECK(on_cpu({{"overlap", "on"}, {"zero_stage", "1"}}, 2) == "unsupported: overlap=on with zero_stage=1");
  CHECK(on_cpu({{"overlap", "on"}, {"accumulate", "2"}}, 2) == "unsupported: overlap=on with accumulate=2");
  for (const KnobValues& alone :
       {KnobValues{{"overlap", "on"}, {"zero_stage", "1"}}, KnobValues{{"overlap", "on"}, {"accumulate", "2"}}}) {
    CHECK(on_cpu(alone, 1).empty());  // one rank exchanges nothing
  }
  CHECK(on_cpu({{"overlap", "on"}}, 2).empty());
  CHECK(on_gpu({{"overlap", "on"}}, 2) == "unsupported: overlap=on with device=sm_90");
  CHECK(on_gpu({{"overlap", "on"}}, 1).empty());
  CHECK(on_gpu({{"zero_stage", "3"}}, 2) == "unsupported: zero_stage=3 with device=sm_90");
  CHECK(on_gpu({{"zero_stage", "3"}}, 1).empty());
  CHECK(on_gpu({{"zero_stage", "2"}, {"max_grad_norm", "0.5"}}, 2) ==
        "unsupported: zero_stage=2 with max_grad_norm=0.5");
  CHECK(on_gpu({{"zero_stage", "1"}, {"max_grad_norm", "0.5"}}, 2).empty());
  CHECK(on_gpu({{"zero_stage", "2"}}, 2).empty());
  CHECK(on_cpu({{"zero_stage", "2"}, {"max_grad_norm", "0.5"}}, 2).empty());
}

TEST_CASE("a flat layout and what is kept on the host have one place each", "[contract]") {
  CHECK(on_cpu({{"offload", "optimizer"}}).empty());
  CHECK(on_cpu({{"offload", "optimizer"}, {"optimizer_layout", "flat"}}) ==
        "unsupported: offload=optimizer with optimizer_layout=flat");
  CHECK(on_gpu({{"offload", "optimizer"}}, 2) == "unsupported: offload=optimizer with device=sm_90");
  CHECK(on_gpu({{"offload", "optimizer"}}, 1).empty());
  const char* both = "optimizer_and_param";
  CHECK(on_cpu({{"offload", both}, {"zero_stage", "3"}}, 2).empty());
  CHECK(on_cpu({{"offload", both}, {"zero_stage", "2"}}, 2) ==
        "unsupported: offload=optimizer_and_param with zero_stage=2");
  CHECK(on_cpu({{"offload", both}, {"zero_stage", "3"}}, 1) ==
        "unsupported: offload=optimizer_and_param with world_size=1");
  CHECK(on_cpu({{"optimizer_layout", "flat"}}, 2).empty());
  CHECK(on_cpu({{"optimizer_layout", "flat"}, {"zero_stage", "1"}}, 2) ==
        "unsupported: optimizer_layout=flat with zero_stage=1");
  CHECK(on_cpu({{"optimizer_layout", "flat"}, {"zero_stage", "1"}}, 1).empty());
  CHECK(on_gpu({{"optimizer_layout", "flat"}}) == "unsupported: optimizer_layout=flat with device=sm_90");
}

TEST_CASE("a captured step shows nothing inside, waits for nothing and has one shape", "[contract]") {
  const auto graph_with = [](const std::string& knob, const std::string& value) {
    return on_gpu({{"cuda_graph", "on"}, {knob, value}});
  };
  CHECK(on_gpu({{"cuda_graph", "on"}}).empty());
  CHECK(graph_with("cuda_allocator", "unified") == "unsupported: cuda_graph=on with cuda_allocator=unified");
  CHECK(graph_with("cuda_allocator", "malloc_async").empty());
  CHECK(graph_with("max_grad_norm", "1") == "unsupported: cuda_graph=on with max_grad_norm=1");
  CHECK(graph_with("sequence_lengths", "bucketed") == "unsupported: cuda_graph=on with sequence_lengths=bucketed");
  CHECK(graph_with("offload", "optimizer") == "unsupported: cuda_graph=on with offload=optimizer");
  CHECK(graph_with("accumulate", "4") == "unsupported: cuda_graph=on with 4 micro-batches");
  CHECK(on_gpu({{"cuda_graph", "on"}}, 2) == "unsupported: cuda_graph=on with 2 micro-batches");
  CHECK(on_gpu({{"cuda_graph", "on"}, {"loss_scale", "dynamic"}, {"precision", "fp16"}}) ==
        "unsupported: cuda_graph=on with loss_scale=dynamic");
  CellRequest request = training({{"cuda_graph", "on"}});
  request.trace = TraceLevel::recent;
  CHECK(found(request, 1) == "unsupported: cuda_graph=on with trace=recent");
  request.trace = TraceLevel::step;
  request.inject.emplace().kind = "gradient";
  CHECK(found(request, 1) == "unsupported: cuda_graph=on with inject=gradient");
  request.inject.reset();
  request.replay.emplace();
  CHECK(found(request, 1) == "unsupported: cuda_graph=on with a replay");
}

TEST_CASE("a replay is of one model in one process and writes no checkpoints", "[contract]") {
  CellRequest request = training({});
  request.replay.emplace();
  CHECK(found(request, 1).empty());
  CHECK(found(request, 2) == "unsupported: a replay with world_size=2");
  request.knobs["accumulate"] = "2";
  CHECK(found(request, 1).empty());
  request.knobs["replicas"] = "2";
  CHECK(found(request, 1) == "unsupported: a replay with replicas=2");
  request.knobs.clear();
  request.checkpoint.emplace();
  CHECK(found(request, 1) == "unsupported: a replay with checkpoints");
}

TEST_CASE("settings of the train loop exclude nothing of a probe, which has none", "[contract]") {
  CellRequest request = training({{"offload", "optimizer"}, {"optimizer_layout", "flat"}, {"warmup_steps", "4"}});
  request.workload.model = "";
  request.workload.probe = "device_smoke";
  CHECK(found(request, 1).empty());
  request.knobs = {{"replicas", "2"}};
  CHECK(found(request, 1) == "unsupported: replicas=2 with probe=device_smoke");
  request.device = "sm_90";
  request.knobs = {{"cuda_graph", "on"}, {"cuda_allocator", "unified"}};
  CHECK(found(request, 1) == "unsupported: cuda_graph=on with cuda_allocator=unified");
}

}  // namespace
}  // namespace reprobench
