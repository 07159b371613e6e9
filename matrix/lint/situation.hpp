// The situation for which a configuration is judged: model, ranks, machine, and the environment of the command. Data
// only; the facts about this machine are gathered elsewhere (machine.hpp, matrix/host).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/device/host_facts.hpp"
#include "matrix/plan/compat_facts.hpp"
#include "matrix/spec/stack_spec.hpp"

namespace reprobench {

// A number and its source: "--world-size", "WORLD_SIZE", "this host".
struct SourcedNumber {
  std::int64_t value = 0;
  std::string source;
};

// A folder that states are offloaded to.
struct OffloadFolder {
  bool is_folder = false;
  bool is_writable = false;
  bool is_in_memory = false;  // tmpfs or ramfs
  std::string resolved;       // without links; empty if nothing is there
  std::int64_t free_bytes = 0;
};

// The stack that will train: torch, its CUDA, and the drivers that they need.
struct StackNeeds {
  std::string name;
  std::string torch;
  std::string cuda_toolkit;    // empty: built without CUDA, or not known
  std::string driver_floor;    // the lowest driver that runs this CUDA major; empty: not known
  std::string driver_bundled;  // the driver the toolkit itself installs
};

StackNeeds needs_of(const StackSpec& stack, const CompatFacts& facts);

struct LintSituation {
  std::optional<SourcedNumber> world_size;
  std::optional<SourcedNumber> gpus_per_host;
  std::optional<SourcedNumber> gpu_memory_bytes;
  std::optional<SourcedNumber> host_memory_bytes;
  std::optional<std::int64_t> parameters;
  std::string model;                                // "gpt2/124m", if it was named
  std::optional<std::int64_t> largest_layer;        // parameters of the largest layer
  std::string deepspeed_version;                    // empty: not known
  std::string offload_root;                         // offload must stay below it; empty: not asked
  std::vector<std::string> ignored;                 // paths of keys for which the caller takes responsibility
  std::map<std::string, std::string> environment;   // RANK, WORLD_SIZE, MASTER_ADDR ... if they are set
  std::optional<bool> master_port_is_taken;         // nothing: not checked, or the master is elsewhere
  std::map<std::string, OffloadFolder> folders;     // by nvme_path
  std::optional<std::int64_t> shared_memory_bytes;  // of /dev/shm
  std::optional<HostFacts> host;
  std::optional<StackNeeds> stack;
};

}  // namespace reprobench
