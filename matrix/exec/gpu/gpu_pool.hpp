// Decides which attempt gets which GPU. Inside this runner a GPU belongs to one attempt at a time. Between runners on
// one host a lock file for each GPU decides (reliability rule R11): timed cells hold it alone, others may share it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/contract/device/gpu_facts.hpp"

namespace reprobench {

// $REPROBENCH_LOCK_DIR, else /run/lock, else the folder for temporary files: one place for all users of a host.
std::filesystem::path gpu_lock_folder();

// GPUs that an attempt may use. They are given back when the lease is destroyed.
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

  // `count` free GPUs of a class ("sm_90"), the first free ones of the host, so that repeats and arms that are compared
  // get the same card. Nothing if they are not available now. Throws StoreError if a lock file cannot be made.
  std::optional<GpuLease> try_lease(const std::string& wanted_class, int count, bool exclusive);
  void give_back(const GpuLease& lease);

  // From now on no attempt of this run gets this GPU.
  void quarantine(const std::string& uuid, const std::string& reason);

  // Why waiting will never bring `count` GPUs of the class: "GPU-… is quarantined: Xid 79 …". Empty if they may become
  // free.
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

// The value of CUDA_VISIBLE_DEVICES for these GPUs.
std::string visible_devices(const std::vector<GpuFacts>& gpus);

}  // namespace reprobench
