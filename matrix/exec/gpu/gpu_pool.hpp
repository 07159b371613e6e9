// Which attempt gets which GPU. Inside this runner a GPU belongs to one attempt at a time; between runners on one host
// a lock file a GPU decides (reliability rule R11): timed cells hold it alone, others may share it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/contract/device/gpu_facts.hpp"

namespace reprobench {

// $REPROBENCH_LOCK_DIR, else /run/lock, else the folder for temporary files: one place for all users of a host.
std::filesystem::path gpu_lock_folder();

// GPUs an attempt may use; given back when it is destroyed.
class GpuLease {
 public:
  GpuLease() = default;
  const std::vector<GpuFacts>& gpus() const { return gpus_; }

 private:
  friend class GpuPool;
  std::vector<GpuFacts> gpus_;
  std::vector<FileDescriptor> locks_;
};

class GpuPool {
 public:
  GpuPool(std::vector<GpuFacts> gpus, std::filesystem::path lock_folder);

  // `count` free GPUs of a class ("sm_90"), the first ones of the host that are free: repeats and arms that are
  // compared meet the same card. Nothing if they are not to be had now. Throws StoreError where a lock cannot be made.
  std::optional<GpuLease> try_lease(const std::string& wanted_class, int count, bool exclusive);
  void give_back(const GpuLease& lease);

  // No further attempt gets this GPU in this run.
  void quarantine(const std::string& uuid, const std::string& reason);

  // Why no wait will ever bring `count` GPUs of the class: "GPU-… is quarantined: Xid 79 …". Empty: they may come.
  std::string hopeless_because(const std::string& wanted_class, int count) const;

 private:
  struct Entry {
    GpuFacts gpu;
    bool is_leased = false;
    std::string quarantined_because;
  };

  std::vector<Entry> entries_;
  std::filesystem::path lock_folder_;
};

// What CUDA_VISIBLE_DEVICES says for these GPUs.
std::string visible_devices(const std::vector<GpuFacts>& gpus);

}  // namespace reprobench
