#include "matrix/contract/exclusion.hpp"

#include <vector>

namespace reprobench {
namespace {

struct Asked {
  const CellRequest& request;
  const Settings& settings;
};

// One side of an exclusion, and what it is called: "overlap=on", "a GPU".
struct Condition {
  bool (*holds)(const Asked& asked);
  std::string (*words)(const Asked& asked);
};

template <auto Member>
std::string words_of_setting(const Asked& asked) {
  return words_of<Member>(asked.settings);
}

template <auto Member>
constexpr Condition kChosen = {[](const Asked& asked) { return asked.settings.*Member != Settings().*Member; },
                               &words_of_setting<Member>};

template <auto Member, auto Value>
constexpr Condition kIs = {[](const Asked& asked) { return asked.settings.*Member == Value; },
                           &words_of_setting<Member>};

template <auto Member, auto Value>
constexpr Condition kIsNot = {[](const Asked& asked) { return asked.settings.*Member != Value; },
                              &words_of_setting<Member>};

template <auto Member, auto Value>
constexpr Condition kAtLeast = {[](const Asked& asked) { return asked.settings.*Member >= Value; },
                                &words_of_setting<Member>};

constexpr Condition kSeveralRanks = {
    [](const Asked& asked) { return asked.request.world_size > 1; },
    [](const Asked& asked) { return "world_size=" + std::to_string(asked.request.world_size); }};
constexpr Condition kOneRank = {[](const Asked& asked) { return asked.request.world_size == 1; },
                                [](const Asked&) { return std::string("world_size=1"); }};
constexpr Condition kOnGpu = {[](const Asked& asked) { return asked.request.device != "cpu"; },
                              [](const Asked& asked) { return "device=" + asked.request.device; }};
constexpr Condition kProbe = {[](const Asked& asked) { return asked.request.workload.is_probe(); },
                              [](const Asked& asked) { return "probe=" + asked.request.workload.probe; }};
constexpr Condition kTensorTrace = {
    [](const Asked& asked) { return digests_tensors(asked.request.trace); },
    [](const Asked& asked) { return "trace=" + std::string(to_string(asked.request.trace)); }};
constexpr Condition kInjection = {[](const Asked& asked) { return asked.request.inject.has_value(); },
                                  [](const Asked& asked) { return "inject=" + asked.request.inject->kind; }};
constexpr Condition kReplay = {[](const Asked& asked) { return asked.request.replay.has_value(); },
                               [](const Asked&) { return std::string("a replay"); }};
constexpr Condition kNoReplay = {[](const Asked& asked) { return !asked.request.replay; },
                                 [](const Asked&) { return std::string("a run"); }};
constexpr Condition kCheckpoints = {[](const Asked& asked) { return asked.request.checkpoint.has_value(); },
                                    [](const Asked&) { return std::string("checkpoints"); }};
constexpr Condition kNoCheckpoints = {
    [](const Asked& asked) { return !asked.request.checkpoint && asked.request.workload.resume_after == 0; },
    [](const Asked&) { return std::string("no checkpoints"); }};
constexpr Condition kSeveralMicroBatches = {
    [](const Asked& asked) {
      return asked.request.world_size * asked.settings.replicas * asked.settings.accumulate > 1;
    },
    [](const Asked& asked) {
      return std::to_string(asked.request.world_size * asked.settings.replicas * asked.settings.accumulate) +
             " micro-batches";
    }};

constexpr std::string_view kUnsupported = "unsupported";
constexpr std::string_view kBadRequest = "bad_request";

// All conditions of a row together; the first two of them are named.
struct Row {
  std::string_view cause;
  std::vector<Condition> all;
  std::string_view why;
  bool of_probes = false;  // else of trainings alone
};

constexpr Condition kReplicas = kAtLeast<&Settings::replicas, 2>;
constexpr Condition kGraph = kIs<&Settings::cuda_graph, true>;
constexpr Condition kFlat = kIs<&Settings::optimizer_layout, OptimizerLayout::flat>;
constexpr Condition kOffload = kChosen<&Settings::offload>;
constexpr Condition kOverlap = kIs<&Settings::overlap, true>;
constexpr Condition kZero = kChosen<&Settings::zero_stage>;
constexpr Condition kClipping = kChosen<&Settings::max_grad_norm>;
constexpr Condition kDynamicScale = kIs<&Settings::loss_scale, LossScale::dynamic>;

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      // A value that only another one gives a meaning.
      {kBadRequest,
       {kChosen<&Settings::warmup_steps>, kIsNot<&Settings::lr_schedule, LrSchedule::warmup_cosine>},
       "there is a warm-up with `lr_schedule: warmup_cosine` alone"},
      {kBadRequest,
       {kChosen<&Settings::loader_prefetch>, kIs<&Settings::loader_threads, 0>},
       "batches are made ahead by loader threads, and there are none"},
      {kBadRequest,
       {kChosen<&Settings::loss_scale_growth_interval>, kIsNot<&Settings::loss_scale, LossScale::dynamic>},
       "a loss scale grows with `loss_scale: dynamic` alone"},
      {kBadRequest,
       {kDynamicScale, kIsNot<&Settings::precision, Precision::fp16>, kNoReplay},
       "gradients of any other precision than fp16 reach as far down as its weights do"},
      {kBadRequest,
       {kChosen<&Settings::gathered_weights>, kNoCheckpoints},
       "gathered weights are written beside checkpoints, and this run writes none"},
      {kUnsupported, {kReplay, kCheckpoints}, "a replay has no checkpoints"},

      {kUnsupported, {kReplicas, kProbe}, "a probe has no model of which there could be several", true},
      {kUnsupported,
       {kReplicas, kSeveralRanks},
       "a step's batch is shared out among ranks or among replicas of one process, not both"},
      {kUnsupported,
       {kReplicas, kOnGpu},
       "replicas are threads on the CPU; digests and times of several GPUs of one process are not taken"},
      {kUnsupported,
       {kReplicas, kZero},
       "the optimizer's states are shared out among ranks, and replicas have none: replica 0 updates"},
      {kUnsupported,
       {kReplicas, kOffload},
       "what goes to the host is one model's state, and replicas have weights of their own beside it"},
      {kUnsupported,
       {kReplicas, kOverlap},
       "gradients are exchanged among ranks, and those of replicas are added up where they lie"},
      {kUnsupported,
       {kReplicas, kFlat},
       "the weights of one replica would be pieces of a buffer, those of the others tensors"},
      {kUnsupported,
       {kReplicas, kIs<&Settings::gradient_checkpointing, true>},
       "blocks are computed again by one thread of a process, and each replica has its own"},

      {kUnsupported,
       {kIs<&Settings::zero_stage, 3>, kOnGpu, kSeveralRanks},
       "parameters are gathered in operators of one thread, and a GPU's backward pass runs on another"},
      {kUnsupported,
       {kAtLeast<&Settings::zero_stage, 2>, kClipping, kOnGpu, kSeveralRanks},
       "shards add up the norm by blocks, on the host, and one GPU adds it up otherwise"},
      {kUnsupported,
       {kOverlap, kOnGpu, kSeveralRanks},
       "the thread that sends gradients does not wait for the device's queue, in which the backward pass still makes "
       "them"},
      {kUnsupported,
       {kOverlap, kZero, kSeveralRanks},
       "with ZeRO, gradients and parameters are exchanged in other ways"},
      {kUnsupported,
       {kOverlap, kChosen<&Settings::accumulate>, kSeveralRanks},
       "a rank adds up the gradients of its own micro-batches first"},
      {kUnsupported, {kOffload, kOnGpu, kSeveralRanks}, "shards on the host are not exchanged by NCCL"},
      {kUnsupported, {kOffload, kFlat}, "a flat layout updates its buffers where they lie"},
      {kUnsupported,
       {kIs<&Settings::offload, Offload::optimizer_and_param>, kIsNot<&Settings::zero_stage, 3>},
       "parameters are gathered from the host with `zero_stage: 3` on several ranks alone"},
      {kUnsupported,
       {kIs<&Settings::offload, Offload::optimizer_and_param>, kOneRank},
       "parameters are gathered from the host with `zero_stage: 3` on several ranks alone"},
      {kUnsupported, {kFlat, kOnGpu}, "its update is a loop on the CPU, and the parameters are on a GPU"},
      {kUnsupported, {kFlat, kZero, kSeveralRanks}, "with ZeRO no rank has a buffer of all parameters"},

      {kUnsupported, {kGraph, kTensorTrace}, "a captured step shows no tensors inside, and every tensor is traced"},
      {kUnsupported, {kGraph, kInjection}, "a captured step has no place for a fault"},
      {kUnsupported, {kGraph, kReplay}, "a captured step shows nothing inside that a replay could record"},
      {kUnsupported,
       {kGraph, kIs<&Settings::cuda_allocator, CudaAllocator::unified>},
       "a capture allows no allocation of managed memory",
       true},
      {kUnsupported, {kGraph, kClipping}, "a captured step waits for nothing, and clipping waits for the norm"},
      {kUnsupported,
       {kGraph, kDynamicScale},
       "a captured step waits for nothing, and a dynamic scale waits for whether gradients are finite"},
      {kUnsupported,
       {kGraph, kIs<&Settings::sequence_lengths, SampleLengths::bucketed>},
       "a captured step has one shape, and the length of samples changes it"},
      {kUnsupported, {kGraph, kFlat}, "its update is no operator of LibTorch, which a captured step is made of"},
      {kUnsupported, {kGraph, kOffload}, "a captured step is work of the device alone, and the host would update"},
      {kUnsupported, {kGraph, kSeveralMicroBatches}, "a captured step has one micro-batch on one rank"},
      {kUnsupported, {kReplay, kSeveralRanks}, "a replay is of one process"},
      {kUnsupported, {kReplay, kReplicas}, "a replay records the operators of one model"},
  };
  return kRows;
}

}  // namespace

std::optional<Exclusion> exclusion_of(const CellRequest& request, const Settings& settings) {
  const Asked asked{request, settings};
  for (const Row& row : rows()) {
    if (request.workload.is_probe() && !row.of_probes) continue;
    if (!std::ranges::all_of(row.all, [&](const Condition& condition) { return condition.holds(asked); })) continue;
    return Exclusion{row.cause,
                     row.all[0].words(asked) + " with " + row.all[1].words(asked) + ": " + std::string(row.why)};
  }
  return std::nullopt;
}

}  // namespace reprobench
