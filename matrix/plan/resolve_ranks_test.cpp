// Which cells with several ranks, replicas or GPUs a host can run.
#include "ci/catch.hpp"
#include "matrix/plan/resolve_fixture.hpp"

using namespace reprobench;

TEST_CASE("micro-batches that the ranks which go on cannot share out are skipped, with the numbers", "[plan]") {
  ResolveCase c;
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
              std::to_string(ranks) + " ranks that resume them (resume_world_size)");
  }
  c.device = "sm_90";
  c.world_size = 1;
  c.knobs = {{"accumulate", "4"}};
  c.workload.resume_world_size = 4;
  CHECK(outcome_of(c) != "runs");
}

TEST_CASE("replicas of one process are skipped beside what is not built for them, each with the setting", "[plan]") {
  const auto outcome = [](const KnobValues& knobs, int world_size = 1) {
    ResolveCase c;
    c.knobs = knobs;
    c.knobs["replicas"] = "2";
    c.world_size = world_size;
    return outcome_of(c);
  };
  CHECK(outcome({}) == "runs");
  CHECK(outcome({{"accumulate", "4"}, {"precision", "bf16"}, {"max_grad_norm", "1.0"}}) == "runs");
  CHECK(outcome({{"zero_stage", "0"}, {"overlap", "off"}}) == "runs");  // as the knobs are when nobody asks
  CHECK(outcome({}, 2) ==
        "excluded-settings: replicas=2 with world_size=2: a step's batch is shared out among ranks or among replicas "
        "of one "
        "process, not both");
  CHECK(outcome({{"zero_stage", "1"}}) ==
        "excluded-settings: replicas=2 with zero_stage=1: the optimizer's states are shared out among ranks, and "
        "replicas have "
        "none: replica 0 updates");
  CHECK(outcome({{"offload", "optimizer"}}) ==
        "excluded-settings: replicas=2 with offload=optimizer: what goes to the host is one model's state, and "
        "replicas have "
        "weights of their own beside it");
  CHECK(outcome({{"overlap", "on"}}) ==
        "excluded-settings: replicas=2 with overlap=on: gradients are exchanged among ranks, and those of replicas are "
        "added up "
        "where they lie");
  CHECK(outcome({{"optimizer_layout", "flat"}}) ==
        "excluded-settings: replicas=2 with optimizer_layout=flat: the weights of one replica would be pieces of a "
        "buffer, those "
        "of the others tensors");
  CHECK(outcome({{"gradient_checkpointing", "on"}}) ==
        "excluded-settings: replicas=2 with gradient_checkpointing=on: blocks are computed again by one thread of a "
        "process, and "
        "each replica has its own");
}

TEST_CASE("replicas are of a training on the CPU that goes on with no other ranks", "[plan]") {
  ResolveCase c;
  c.knobs = {{"replicas", "2"}};
  c.workload.resume_after = 8;
  CHECK(outcome_of(c) == "runs");
  c.workload.resume_world_size = 2;
  CHECK(outcome_of(c) ==
        "excluded-settings: replicas=2 with world_size=2: a step's batch is shared out among ranks or among replicas "
        "of one "
        "process, not both");
  c.workload.resume_after = c.workload.resume_world_size = 0;
  c.device = "sm_90";
  c.host = gpu_host(kH100, "9.0", "570.124.06", 2);
  CHECK(outcome_of(c) ==
        "excluded-settings: replicas=2 with device=sm_90: replicas are threads on the CPU; digests and times of "
        "several GPUs of "
        "one process are not taken");
  c = {};
  c.knobs = {{"replicas", "2"}};
  c.workload.probe = "device_smoke";
  CHECK(outcome_of(c) ==
        "excluded-settings: replicas=2 with probe=device_smoke: a probe has no model of which there could be several");
}

TEST_CASE("a training is skipped whose ranks could not resume it with their share of the micro-batches", "[plan]") {
  ResolveCase c;
  c.world_size = 4;
  c.knobs = {{"overlap", "on"}};
  c.workload.resume_after = 8;
  CHECK(outcome_of(c) == "runs");
  c.workload.resume_world_size = 4;
  CHECK(outcome_of(c) == "runs");
  c.workload.resume_world_size = 2;  // each does two of the four micro-batches
  CHECK(outcome_of(c) ==
        "excluded-settings: overlap=on with accumulate=2: a rank adds up the gradients of its own micro-batches first");
  c.workload.resume_world_size = 1;
  CHECK(outcome_of(c) == "runs");  // one rank exchanges nothing
  c.knobs = {{"overlap", "on"}, {"zero_stage", "1"}};
  CHECK(outcome_of(c).starts_with("excluded-settings: overlap=on with zero_stage=1: "));
}

TEST_CASE("a batch that replicas cannot cut evenly is skipped, with the numbers", "[plan]") {
  ResolveCase c;
  c.knobs = {{"replicas", "4"}, {"accumulate", "2"}};
  CHECK(outcome_of(c) == "runs");
  c.knobs = {{"replicas", "4"}, {"accumulate", "3"}};
  CHECK(outcome_of(c) ==
        "micro-batches: a batch of 32 makes no 12 equal micro-batches (world_size 1, replicas 4, accumulate 3)");
}

TEST_CASE("a training takes several ranks on the CPU, if its batch is cut evenly", "[plan]") {
  ResolveCase c;
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

TEST_CASE("collectives take several ranks, each with a GPU of its own, and a probe of the device one", "[plan]") {
  ResolveCase c;
  c.workload = {"", "base", 0, 0, "collectives", 5};
  CHECK(outcome_of(c) == "world-size: collectives measures what passes between ranks, and world_size is 1");
  c.world_size = 2;
  CHECK(outcome_of(c) == "runs");
  c.device = "sm_90";
  c.host = gpu_host(kH100, "9.0", "570.124.06", 2);
  CHECK(outcome_of(c) == "runs");
  ResolveCase device;
  device.workload = {"", "base", 0, 0, "device_smoke", 5};
  device.world_size = 2;
  CHECK(outcome_of(device) == "world-size: device_smoke has one rank, and world_size is 2");
}

TEST_CASE("the probe of a package is skipped until one is named", "[plan]") {
  ResolveCase c;
  c.workload = {"", "base", 0, 0, "package", 5};
  CHECK_THAT(outcome_of(c), Catch::StartsWith("no-package: the probe `package` runs an AOTInductor package of yours: "
                                              "`--package FILE.pt2`"));
  c.workload.package_file = "/my.pt2";
  c.workload.package_sha256 = std::string(64, 'a');
  CHECK(outcome_of(c) == "runs");
}

TEST_CASE("a probe of what is between GPUs takes two of them in one process", "[plan]") {
  ResolveCase c;
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
