// What the ranks of an attempt do together, whatever library carries it. Every rank calls the same functions in the
// same order; each returns when this rank's result is there.
#pragma once

#include <memory>
#include <stdexcept>
#include <string_view>

namespace at {
class Tensor;
}

namespace reprobench {

// The library has no such collective, which all ranks find alike, before anything was sent.
class UnsupportedCollective : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Tensors are contiguous. A failure is whatever the library throws (rank_group.hpp puts it into words).
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  virtual std::string_view library() const = 0;  // "gloo"

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

// Over Gloo, on this host. Throws RunFailure "unsupported" where this worker was built without its headers, and
// "port_in_use" where rank 0 was to open the store at a port that is not free.
std::unique_ptr<ProcessGroup> join_gloo(const Meeting& meeting);

}  // namespace reprobench
