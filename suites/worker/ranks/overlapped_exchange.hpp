// Gradients of data-parallel ranks, exchanged while the backward pass runs (as DDP of PyTorch does, Li et al. 2020,
// "PyTorch Distributed", section 3.2). Trained parameters are put into buckets, the model's last ones first, since
// their gradients come first. When the last gradient of a bucket has come, a separate thread sends the bucket.
//
// The plan of buckets is fixed by the model, and every rank sends them in the plan's order, whatever order gradients
// come in. So ranks cannot wait for each other in different calls. Ranks gather the gradients of all, and the
// training's own thread adds them up in the tree of neighbours of gradient_sum.hpp once all are there. The thread that
// moves bytes, and the pieces it moves, change no bit.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "matrix/contract/request.hpp"
#include "suites/worker/ranks/exchange.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

class RankGroup;

// The parameters of each bucket, in the order they are sent. `elements` has the size of each parameter, 0 for a frozen
// one, which is in no bucket. A bucket ends before it would exceed `bucket_elements`; a larger parameter has a bucket
// of its own.
std::vector<std::vector<std::size_t>> bucket_plan(const std::vector<std::int64_t>& elements,
                                                  std::int64_t bucket_elements);

class OverlappedExchange {
 public:
  // `fault` may be one of `bucket_late` and `bucket_order`. With `bucket_late`, from its step on the first bucket waits
  // for the end of the backward pass. With `bucket_order`, at its step the first two buckets are sent in swapped order.
  // Both references must outlive this.
  OverlappedExchange(RankGroup& ranks, TrainState& state, const std::optional<Injection>& fault);
  ~OverlappedExchange();
  OverlappedExchange(const OverlappedExchange&) = delete;
  OverlappedExchange& operator=(const OverlappedExchange&) = delete;

  // Runs the backward pass; gradients are sent times `unscale`. Afterwards the state's gradients are still this rank's
  // own.
  void during(std::int64_t step, double unscale, const std::function<void()>& backward);

  // Waits for the last bucket and makes every gradient the sum over all ranks times `share`. Throws what failed in an
  // exchange.
  ExchangeTimes finish(double share);

 private:
  struct Bucket;
  using Clock = std::chrono::steady_clock;

  void came(std::size_t parameter, const at::Tensor& gradient);
  void send_in_order();
  void exchange(Bucket& bucket);
  void mark_ready(Bucket& bucket);

  RankGroup& ranks_;
  TrainState& state_;
  std::optional<Injection> fault_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;  // by parameter
  double unscale_ = 1;
  bool holds_first_ = false;
  Clock::time_point backward_ended_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> order_;  // buckets, as they are sent
  std::size_t sent_ = 0;            // buckets of this step that were exchanged
  bool runs_ = false;               // between during() and finish()
  bool stops_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace reprobench
