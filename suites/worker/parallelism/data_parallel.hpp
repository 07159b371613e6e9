// Ranks that each have all of the state and do their own micro-batches: the base of every layout of several ranks. One
// variant exchanges gradients while the backward pass runs.
#pragma once

#include <filesystem>

#include "suites/worker/parallelism/parallelism.hpp"
#include "suites/worker/ranks/overlapped_exchange.hpp"
#include "suites/worker/ranks/rank_group.hpp"

namespace reprobench {

class DataParallel : public Parallelism {
 public:
  // Meets the other ranks, and throws what RankGroup does.
  DataParallel(const Layout& layout, TrainState& state, const CellRequest& request,
               const std::filesystem::path& rank_folder)
      : Parallelism(layout, state), ranks_(request, rank_folder) {}

  std::vector<WholeNumbers> said_by_all(const WholeNumbers& own) override;
  WholeNumbers said_by_first(const WholeNumbers& own) override;
  bool some_rank_says(bool here) override;
  void note_library(CellResult& result) override;

 protected:
  at::Tensor finish(std::vector<at::Tensor> sums, double share) override;

  RankGroup ranks_;
};

// Ranks of one micro-batch each, which exchange gradients beside the backward pass.
class OverlappedDataParallel final : public DataParallel {
 public:
  OverlappedDataParallel(const Layout& layout, TrainState& state, const CellRequest& request,
                         const std::filesystem::path& rank_folder)
      : DataParallel(layout, state, request, rank_folder), exchange_(ranks_, state, request.inject) {}

  void begin_step(std::int64_t step) override { step_ = step; }
  void backward(double unscale, const ReplicaWork& work) override {
    exchange_.during(step_, unscale, [&] { work(0); });
  }
  std::optional<ExchangeTimes> exchange_times() const override { return times_; }

 protected:
  at::Tensor finish(std::vector<at::Tensor> sums, double share) override;

 private:
  OverlappedExchange exchange_;
  std::int64_t step_ = 0;
  ExchangeTimes times_;
};

}  // namespace reprobench
