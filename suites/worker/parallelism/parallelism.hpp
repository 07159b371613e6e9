// How the work of a training is shared out: over micro-batches that are done one after the other, over replicas of the
// model in one process, over ranks, each with or without a part of the state. The train loop, its step, the recorder
// and checkpoints know this interface and none of the layouts behind it; make_parallelism() alone knows all of those.
//
// What a layout does not override is what one rank with one model does. A step comes to it as
//
//   begin_step ▸ run: (forward ▸ backward ▸ unscale_gradients) of each round, sums ▸ gradient_norm ▸ spread_update
//
// and a layout decides in which order the rounds' passes are done, what goes on beside them, and what every rank has of
// parameters, gradients and optimizer state. Every rank calls the same members in the same order; what fails between
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

// The step's part: what a layout has done when its turn has come. A round is one micro-batch of every replica.
class StepPasses {
 public:
  virtual ~StepPasses() = default;
  virtual void forward(std::int64_t round) = 0;
  virtual void backward(std::int64_t round) = 0;                      // gradients are unscaled when it returns
  virtual at::Tensor take_loss(int replica, std::int64_t round) = 0;  // of a pass; the graph goes with it
  virtual void show_gradients(std::int64_t round) = 0;                // before they are added to other rounds'
  virtual void show_gradient(std::size_t parameter) = 0;              // during a backward pass, before it goes
  virtual void end_exchange() = 0;                                    // what passed since the last pass is over
};

using ReplicaWork = std::function<void(int replica)>;

class Parallelism {
 public:
  virtual ~Parallelism();
  Parallelism(const Parallelism&) = delete;
  Parallelism& operator=(const Parallelism&) = delete;

  const Layout& layout() const { return layout_; }

  // Once, when the state is what the first step begins with: a checkpoint or a replay may have put it there.
  virtual void begin() {}
  virtual void begin_step(std::int64_t) {}

  // The gradients of the step: passes of all rounds, added up. Leaves in the state the mean over all micro-batches of
  // all ranks, of gradients that ranks share out this rank's part, and returns the mean loss, the same on every rank.
  virtual at::Tensor run(StepPasses& step);

  // Have the work of a pass done by every replica, at the same time. The backward pass differentiates the loss divided
  // by `unscale`.
  virtual void forward(const ReplicaWork& work) { work(0); }
  virtual void backward(double /*unscale*/, const ReplicaWork& work) { work(0); }

  // What a replica reads, and its gradient, undefined as TrainState's.
  virtual const at::Tensor& parameter(int replica, std::size_t index) const;
  virtual const at::Tensor& buffer(int replica, std::size_t index) const;
  const at::Tensor& gradient(int replica, std::size_t index) const;

  // Gradients that the last backward pass left.
  virtual void unscale_gradients(double factor) { state_.scale_gradients(factor); }
  virtual void clear_gradients() { state_.clear_gradients(); }

  // Over the gradients of all parameters, wherever they are (state/gradient_norm.hpp).
  virtual double gradient_norm();

  // After an update: has every replica and rank go on from the parameters it made. Returns whether anything passed.
  virtual bool spread_update(const TensorGuard&) { return false; }

  // Of the last run(), where gradients were exchanged beside its backward pass.
  virtual std::optional<ExchangeTimes> exchange_times() const { return std::nullopt; }

  // Small facts, so that all ranks decide alike (ranks/exchange.hpp).
  virtual std::vector<WholeNumbers> said_by_all(const WholeNumbers& own) { return {own}; }
  virtual WholeNumbers said_by_first(const WholeNumbers& own) { return own; }
  virtual bool some_rank_says(bool here) { return here; }

  // What all ranks hold of a parameter (of its gradient, of its optimizer state), put together in its shape. `piece`:
  // this rank's, undefined where it holds none. For the record and for checkpoints, not for the training.
  virtual at::Tensor whole(std::size_t parameter, const at::Tensor& piece);

  // What the library of the collectives wrote of them.
  virtual void note_library(CellResult&) {}

 protected:
  // `state` must outlive this.
  Parallelism(const Layout& layout, TrainState& state);

  // Of the replica's last micro-batch: its loss, then its gradients in the model's order.
  virtual std::vector<at::Tensor> terms_of(int replica, const at::Tensor& loss);

  // From the sums over this rank's micro-batches, in the order of terms_of(), to what run() leaves; `share` is what a
  // sum over all micro-batches is multiplied by.
  virtual at::Tensor finish(std::vector<at::Tensor> sums, double share);

  virtual std::int64_t bytes_beside_state() const { return 0; }

  const Layout layout_;
  TrainState& state_;

 private:
  std::deque<PairwiseSum> of_replicas_;
};

// The one function that knows every layout. For the ranks and replicas of `layout`, the sharding of `state`, which must
// outlive it, and the request's planted fault. `overlaps`: several ranks exchange gradients beside the backward pass,
// as the knob `overlap` asks for. Several ranks meet here, and throw what RankGroup does where they do not.
std::unique_ptr<Parallelism> make_parallelism(const Layout& layout, bool overlaps, TrainState& state,
                                              const CellRequest& request, const std::filesystem::path& rank_folder);

using MakeParallelism = decltype(&make_parallelism);

}  // namespace reprobench
