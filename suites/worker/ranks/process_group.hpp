// The collectives of the ranks of an attempt, by whatever library. Every rank calls the same functions in the same
// order; each returns when this rank's result is there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace at {
class Tensor;
}
namespace c10 {
struct Device;
}

namespace reprobench {

// The library has no such collective. All ranks find that alike, before anything was sent.
class UnsupportedCollective : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// This rank's library or device failed in a collective: no other rank is to be asked for it.
class CollectiveError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Tensors are contiguous and lie on `where()`. A failure that may be another rank's is whatever the library throws
// (rank_group.hpp puts it into words).
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  virtual std::string_view library() const = 0;  // "gloo", "nccl"
  virtual c10::Device where() const = 0;

  // The time of the last call by the device's own clock: from the place in its queue before the call to the place after
  // it. Nothing if the host made the call; then the host's clock has the time.
  virtual std::optional<std::int64_t> device_time_ns() { return std::nullopt; }

  // The log of the library since this was last called; empty if the library writes none.
  virtual std::string take_log() { return {}; }

  virtual void all_reduce(at::Tensor& values) = 0;        // sum, in place
  virtual void reduce(at::Tensor& values, int root) = 0;  // sum, in place at the root; of no meaning elsewhere
  virtual void broadcast(at::Tensor& values, int root) = 0;
  virtual void all_gather(const at::Tensor& own, at::Tensor& all) = 0;      // `all`: every rank's, in their order
  virtual void reduce_scatter(const at::Tensor& all, at::Tensor& own) = 0;  // `own`: this rank's part of the sum
  virtual void all_to_all(const at::Tensor& sent, at::Tensor& received) = 0;
  virtual void shift(const at::Tensor& sent, at::Tensor& received) = 0;  // to the next rank, from the one before
  virtual void barrier() = 0;
};

struct Meeting;  // meeting.hpp

// Joins the ranks of a meeting, or throws the reason why they did not meet.
using JoinGroup = std::unique_ptr<ProcessGroup> (*)(const Meeting& meeting);

// Joins over Gloo, on this host. Throws RunFailure "unsupported" where this worker was built without its headers, and
// "port_in_use" where rank 0 was to open the store at a port that is not free.
std::unique_ptr<ProcessGroup> join_gloo(const Meeting& meeting);

}  // namespace reprobench
