// How the work of a training is divided: over micro-batches done one after the other, over replicas of the model in one
// process, and over ranks. A rank has all of the state or a part of it. The train loop, its step, the recorder and
// checkpoints know this interface and none of the layouts behind it; make_parallelism() alone knows all of those.
//
// Members that a layout does not override do what one rank with one model does. A step calls them as
//
//   begin_step ▸ run: (forward ▸ backward ▸ unscale_gradients) of each round, sums ▸ gradient_norm ▸ spread_update
//
// and a layout decides in which order the rounds' passes are done, what runs beside them, and which part of parameters,
// gradients and optimizer state every rank has. Every rank calls the same members in the same order; a failure between
// ranks is a RunFailure (rank_group.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "matrix/contract/request.hpp"
#include "suites/worker/ranks/exchange.hpp"
#include "suites/worker/ranks/gradient_sum.hpp"
#include "suites/worker/ranks/layout.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

struct CellResult;
class TensorGuard;

// The step's part: the work that a layout calls for in its order. A round is one micro-batch of every replica.
class StepPasses {
 public:
  virtual ~StepPasses() = default;
  virtual void forward(std::int64_t round) = 0;
  virtual void backward(std::int64_t round) = 0;                      // gradients are unscaled when it returns
  virtual at::Tensor take_loss(int replica, std::int64_t round) = 0;  // the loss of a pass; frees its graph
  virtual void show_gradients(std::int64_t round) = 0;                // before they are added to other rounds'
  virtual void show_gradient(std::size_t parameter) = 0;              // during a backward pass, before it goes
  virtual void end_exchange() = 0;                                    // the exchange since the last pass is over
};

using ReplicaWork = std::function<void(int replica)>;

class Parallelism {
 public:
  virtual ~Parallelism();
  Parallelism(const Parallelism&) = delete;
  Parallelism& operator=(const Parallelism&) = delete;

  const Layout& layout() const { return layout_; }

  // Called once, when the state is the one that the first step begins with. A checkpoint or a replay may have put it
  // there.
  virtual void begin() {}
  virtual void begin_step(std::int64_t) {}

  // Runs the passes of all rounds and adds up their gradients. Leaves in the state the mean over all micro-batches of
  // all ranks, or this rank's part of it where gradients are sharded. Returns the mean loss, the same on every rank.
  virtual at::Tensor run(StepPasses& step);

  // Let every replica do the work of a pass, at the same time. The backward pass differentiates the loss divided by
  // `unscale`.
  virtual void forward(const ReplicaWork& work) { work(0); }
  virtual void backward(double /*unscale*/, const ReplicaWork& work) { work(0); }

  // The tensors that a replica reads, and the gradient of one, undefined where TrainState's would be.
  virtual const at::Tensor& parameter(int replica, std::size_t index) const;
  virtual const at::Tensor& buffer(int replica, std::size_t index) const;
  const at::Tensor& gradient(int replica, std::size_t index) const;

  // These two act on the gradients that the last backward pass left.
  virtual void unscale_gradients(double factor) { state_.scale_gradients(factor); }
  virtual void clear_gradients() { state_.clear_gradients(); }

  // The norm over the gradients of all parameters, wherever these are (state/gradient_norm.hpp).
  virtual double gradient_norm();

  // Called after an update: gives its parameters to every replica and rank. Returns whether anything was transferred.
  virtual bool spread_update(const TensorGuard&) { return false; }

  // The times of the last run(), if it exchanged gradients beside its backward pass.
  virtual std::optional<ExchangeTimes> exchange_times() const { return std::nullopt; }

  // Exchange small facts, so that all ranks decide alike (ranks/exchange.hpp).
  virtual std::vector<WholeNumbers> said_by_all(const WholeNumbers& own) { return {own}; }
  virtual WholeNumbers said_by_first(const WholeNumbers& own) { return own; }
  virtual bool some_rank_says(bool here) { return here; }

  // A parameter (or its gradient, or its optimizer state), put together in its shape from the pieces of all ranks.
  // `piece` is this rank's, undefined where it holds none. It is for the record and for checkpoints, not for the
  // training.
  virtual at::Tensor whole(std::size_t parameter, const at::Tensor& piece);

  // Notes in the result what the library of the collectives wrote about them.
  virtual void note_library(CellResult&) {}

 protected:
  // `state` must outlive this.
  Parallelism(const Layout& layout, TrainState& state);

  // The terms of the replica's last micro-batch: its loss, then its gradients in the model's order.
  virtual std::vector<at::Tensor> terms_of(int replica, const at::Tensor& loss);

  // Turns the sums over this rank's micro-batches, in the order of terms_of(), into what run() leaves and returns.
  // `share` is the factor by which a sum over all micro-batches is multiplied.
  virtual at::Tensor finish(std::vector<at::Tensor> sums, double share);

  virtual std::int64_t bytes_beside_state() const { return 0; }

  const Layout layout_;
  TrainState& state_;

 private:
  std::deque<PairwiseSum> of_replicas_;
};

// The one function that knows every layout. It chooses by the ranks and replicas of `layout`, the sharding of `state`
// and the request's planted fault; `state` must outlive the result. With `overlaps`, several ranks exchange gradients
// beside the backward pass, as the knob `overlap` asks for. Several ranks meet here; it throws what RankGroup does if
// they cannot.
std::unique_ptr<Parallelism> make_parallelism(const Layout& layout, bool overlaps, TrainState& state,
                                              const CellRequest& request, const std::filesystem::path& rank_folder);

using MakeParallelism = decltype(&make_parallelism);

}  // namespace reprobench
