// The step as a model sees it. Tensors that the model shows go from here to the trace and the replay. Blocks are
// computed again in the backward pass where the knob `gradient_checkpointing` asks for that; a trace shows them once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/model_spec.hpp"
#include "suites/worker/training.hpp"

namespace reprobench {

class LoopContext final : public StepContext {
 public:
  // The context of one replica; used by one thread.
  explicit LoopContext(Training& run, int replica = 0);

  const ModelPreset& preset() const override { return run_.plan.preset; }
  const Settings& settings() const override { return run_.plan.settings; }
  const at::Tensor& parameter(std::size_t index) const override { return run_.parallelism->parameter(replica_, index); }
  const at::Tensor& buffer(std::size_t index) const override { return run_.parallelism->buffer(replica_, index); }
  void tap(const at::Tensor& value, std::string_view name) override;
  void mask(const at::Tensor& mask, std::string_view event) override;
  void choice(const at::Tensor& scores, std::string_view event) override;
  at::Tensor block(const std::vector<at::Tensor>& inputs, const BlockFunction& compute) override;
  bool plants(std::string_view kind, std::string_view module) override;
  void keep(std::shared_ptr<const void> network) override { network_ = std::move(network); }

  void enter_round(std::int64_t round) { micro_batch_ = run_.layout().number(replica_, round); }
  const Batch& batch() const { return run_.batches.micro_batch(micro_batch_); }

  // Call it after a forward pass. Throws RunFailure "unsupported" if blocks were to be computed again but the model has
  // none.
  void check_blocks() const;

 private:
  enum class InBlock { no, first_time, again };
  class Within;

  std::string named(std::string_view name) const { return run_.layout().named(name, micro_batch_); }

  Training& run_;
  int replica_;
  bool checkpoints_blocks_;
  bool has_blocks_ = false;
  InBlock in_block_ = InBlock::no;
  std::shared_ptr<const void> network_;
  std::int64_t micro_batch_ = 0;
};

}  // namespace reprobench
