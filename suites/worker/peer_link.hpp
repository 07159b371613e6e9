// Two devices of one process and the copies between them. They are GPUs (cuda/peer_copies.cpp) or, in tests, two places
// in the host's memory.
#pragma once

#include <cstdint>
#include <span>

namespace at {
class Tensor;
}
namespace c10 {
struct Device;
}

namespace reprobench {

// A copy between two contiguous tensors of one size and type, on different devices.
struct PeerCopy {
  const at::Tensor& from;
  const at::Tensor& to;
};

class PeerLink {
 public:
  virtual ~PeerLink() = default;

  // Where tensors of device 0, or of device 1, lie.
  virtual c10::Device where(int device) const = 0;

  // Whether a device may reach the memory of the other one itself; without that a copy goes through the host's.
  virtual bool reaches(int from, int to) const = 0;

  // Makes each of the copies `calls` times, one after the other, in a queue of the device it comes from. The queues
  // begin together. Waits for all of them, and returns the time from their beginning to the end of the last one. There
  // may be at most one copy from each device. Throws RunFailure.
  virtual double time_ns(std::span<const PeerCopy> copies, std::int64_t calls) = 0;
};

}  // namespace reprobench
