#include "suites/worker/request_checks.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

#include <c10/core/Device.h>

#include "matrix/base/available_memory.hpp"
#include "matrix/contract/replicas.hpp"
#include "models/state_bytes.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {

const Model& model_named(std::span<const Model* const> all, std::string_view name) {
  for (const Model* model : all) {
    if (model->name() == name) return *model;
  }
  throw RunFailure("bad_request", "there is no model `" + std::string(name) + "`");
}

const ModelPreset& preset_named(const Model& model, const std::string& name) {
  for (const ModelPreset& preset : model.presets()) {
    if (preset.name == name) return preset;
  }
  throw RunFailure("bad_request", "model `" + std::string(model.name()) + "` has no preset `" + name + "`");
}

namespace {

// What ranks on GPUs cannot share out yet.
void check_ranks_on_gpus(const CellRequest& request) {
  if (request.world_size < 2 || request.device == "cpu") return;
  const auto number = [&](const char* knob) {
    const auto found = request.knobs.find(knob);
    return found == request.knobs.end() ? 0.0 : std::stod(found->second);
  };
  if (number("zero_stage") > 2) {
    throw RunFailure("unsupported",
                     "`zero_stage: 3` on GPUs: parameters are gathered in operators of one thread, and a GPU's "
                     "backward pass runs on another");
  }
  if (number("zero_stage") > 1 && number("max_grad_norm") > 0) {
    throw RunFailure("unsupported",
                     "`max_grad_norm` with `zero_stage: 2` on GPUs: shards add up the norm by blocks, on the host, "
                     "and one GPU adds it up otherwise");
  }
  const auto asks = [&](const char* knob, const char* rest) {
    const auto found = request.knobs.find(knob);
    return found != request.knobs.end() && found->second != rest;
  };
  if (asks("overlap", "off")) {
    throw RunFailure("unsupported",
                     "`overlap: on` on GPUs: the thread that sends gradients does not wait for the device's queue, in "
                     "which the backward pass still makes them");
  }
  if (asks("offload", "none")) {
    throw RunFailure("unsupported", "`offload` of several ranks on GPUs: shards on the host are not exchanged by NCCL");
  }
}

}  // namespace

void check_request(const CellRequest& request) {
  if (request.workload.steps < 1) throw RunFailure("bad_request", "`steps` is not positive");
  check_ranks_on_gpus(request);
  if (const auto why = why_no_replicas(request, request.world_size)) throw RunFailure("unsupported", *why);
  if (request.replay && request.checkpoint) throw RunFailure("unsupported", "a replay has no checkpoints");
  if (request.poison_allocator && std::getenv("MALLOC_PERTURB_") == nullptr) {
    throw RunFailure("bad_request", "`poison_allocator` is asked for, but MALLOC_PERTURB_ is not set");
  }
}

void check_whole_steps(const CellRequest& request, const Layout& layout, const ComputeDevice& device,
                       const KnobValues& resolved) {
  if (device.records_steps() && (request.inject || request.replay || digests_tensors(request.trace))) {
    throw RunFailure("unsupported",
                     "a recorded step shows nothing inside: no faults, replays or traces of every tensor");
  }
  if (device.records_steps() && std::stod(resolved.at("max_grad_norm")) > 0) {
    throw RunFailure("unsupported", "a recorded step waits for nothing, and `max_grad_norm` waits for the norm");
  }
  if (device.records_steps() && resolved.at("loss_scale") == "dynamic") {
    throw RunFailure(
        "unsupported",
        "a recorded step waits for nothing, and `loss_scale: dynamic` waits for whether gradients are finite");
  }
  if (device.records_steps() && resolved.at("sequence_lengths") != "fixed") {
    throw RunFailure("unsupported", "a recorded step has one shape, and `sequence_lengths` changes it");
  }
  if (layout.is_whole()) return;
  if (request.replay) throw RunFailure("unsupported", "a replay does steps of one micro-batch on one rank");
  if (device.records_steps()) throw RunFailure("unsupported", "a recorded step has one micro-batch on one rank");
}

OptimizerLayout optimizer_layout_of(const KnobValues& resolved, const Layout& layout, const c10::Device& where,
                                    bool records_steps) {
  if (resolved.at("optimizer_layout") == "per_tensor") return OptimizerLayout::per_tensor;
  const auto refuse = [](const char* why) {
    throw RunFailure("unsupported", std::string("`optimizer_layout: flat`: ") + why);
  };
  if (!where.is_cpu()) refuse("its update is a loop on the CPU, and the parameters are on a GPU");
  if (records_steps) refuse("its update is no operator of LibTorch, which a recorded step is made of");
  if (sharding_of(layout, resolved).is_on()) refuse("with `zero_stage` no rank has a buffer of all parameters");
  return OptimizerLayout::flat;
}

Offload offload_of(const KnobValues& resolved, const Layout& layout, OptimizerLayout optimizer_layout,
                   bool records_steps) {
  const std::string& value = resolved.at("offload");
  if (value == "none") return Offload::none;
  const auto refuse = [&](const char* why) { throw RunFailure("unsupported", "`offload: " + value + "`: " + why); };
  if (optimizer_layout == OptimizerLayout::flat) refuse("`optimizer_layout: flat` updates its buffers where they lie");
  if (records_steps) refuse("a recorded step is work of the device alone, and the host would update");
  if (value == "optimizer") return Offload::optimizer;
  if (!sharding_of(layout, resolved).shares_parameters()) {
    refuse("parameters are gathered from the host with `zero_stage: 3` on several ranks alone");
  }
  return Offload::optimizer_and_param;
}

bool overlaps(const KnobValues& resolved, const Layout& layout) {
  if (resolved.at("overlap") == "off" || layout.ranks == 1) return false;
  const auto refuse = [](const char* why) { throw RunFailure("unsupported", std::string("`overlap: on`: ") + why); };
  if (sharding_of(layout, resolved).is_on()) refuse("with `zero_stage` gradients and parameters pass in other ways");
  if (layout.accumulated > 1) refuse("with `accumulate` a rank's own gradients are added up first");
  return true;
}

void check_memory(const Model& model, const ModelPreset& preset, Precision precision, const ComputeDevice& device,
                  int replicas) {
  if (!device.where().is_cpu()) return;
  StateBytes bytes = state_bytes(model, preset, precision == Precision::fp64 ? 8 : 4);
  for (std::int64_t StateBytes::*each : {&StateBytes::parameters, &StateBytes::gradients, &StateBytes::buffers}) {
    bytes.*each *= replicas;
  }
  const std::int64_t available_bytes = available_memory_bytes();
  if (bytes.total() <= available_bytes) return;
  std::array<char, 64> have{};
  std::snprintf(have.data(), have.size(), "%.1f GB are available", static_cast<double>(available_bytes) * 1e-9);
  throw RunFailure("host_oom", std::string(model.name()) + "/" + std::string(preset.name) + " keeps " +
                                   arithmetic_of(bytes) + "; " + have.data());
}

}  // namespace reprobench
