// Gradients of data-parallel ranks, exchanged while the backward pass goes on (as DDP of PyTorch does, Li et al. 2020,
// "PyTorch Distributed", section 3.2): trained parameters are put into buckets, last ones of the model first, since
// their gradients come first. A bucket whose last gradient has come is sent by a thread of its own.
//
// The plan of buckets is fixed by the model, and every rank sends them in its order, whatever order gradients come in:
// so ranks cannot wait for each other in different calls. Ranks gather what each has, and the training's own thread
// adds it up in the tree of neighbours of gradient_sum.hpp once all is there. Which thread moves bytes, and in which
// pieces, changes no bit.
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

// Parameters by bucket, in the order they are sent: `elements` of each, 0 of a frozen one, which is in none. A bucket
// ends before it would pass `bucket_elements`; a larger parameter has one of its own.
std::vector<std::vector<std::size_t>> bucket_plan(const std::vector<std::int64_t>& elements,
                                                  std::int64_t bucket_elements);

class OverlappedExchange {
 public:
  // `fault` may be one of `bucket_late` (from its step on the first bucket waits for the end of the backward pass) and
  // `bucket_order` (at its step the first two go in each other's place). Both references must outlive this.
  OverlappedExchange(RankGroup& ranks, TrainState& state, const std::optional<Injection>& fault);
  ~OverlappedExchange();
  OverlappedExchange(const OverlappedExchange&) = delete;
  OverlappedExchange& operator=(const OverlappedExchange&) = delete;

  // Runs the backward pass; gradients are sent times `unscale`. Then the state's gradients are this rank's own still.
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
