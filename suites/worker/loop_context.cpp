#include "suites/worker/loop_context.hpp"

#include <utility>

#include <ATen/core/Tensor.h>

#include "suites/worker/knobs/knobs.hpp"
#include "suites/worker/knobs/recomputed_block.hpp"
#include "suites/worker/record/operator_hook.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {

class LoopContext::Within {
 public:
  Within(InBlock& state, InBlock now) : state_(state), before_(std::exchange(state, now)) {}
  ~Within() { state_ = before_; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  InBlock& state_;
  InBlock before_;
};

LoopContext::LoopContext(Training& run, int replica)
    : run_(run),
      replica_(replica),
      checkpoints_blocks_(run.plan.settings.gradient_checkpointing),
      micro_batch_(run.layout().number(replica, 0)) {}

void LoopContext::tap(const at::Tensor& value, std::string_view name) {
  if (in_block_ == InBlock::again) return;
  if (replica_ == 0) run_.replay.end_module(name);
  run_.recorder.tap(value, named(name), replica_);
}

void LoopContext::mask(const at::Tensor& mask, std::string_view event) {
  if (in_block_ != InBlock::again) run_.recorder.mask(mask, named(event), replica_);
}

void LoopContext::choice(const at::Tensor& scores, std::string_view event) {
  if (in_block_ != InBlock::again) run_.recorder.choice(scores, named(event), replica_);
}

// A block within a block is part of it.
at::Tensor LoopContext::block(const std::vector<at::Tensor>& inputs, const BlockFunction& compute) {
  if (!checkpoints_blocks_ || in_block_ != InBlock::no) return compute(inputs);
  has_blocks_ = true;
  const Within within(in_block_, InBlock::first_time);
  const auto again = [this, compute](const std::vector<at::Tensor>& given) {
    const OperatorPause pause;
    const AutocastScope autocast(run_.plan.settings.precision, run_.plan.device->where());
    const Within within_again(in_block_, InBlock::again);
    return compute(given);
  };
  return compute_and_forget(inputs, compute, again, run_.replay.makers());
}

bool LoopContext::plants(std::string_view kind, std::string_view module) {
  return replica_ == 0 && run_.fault.changes(kind, module);
}

void LoopContext::check_blocks() const {
  if (!checkpoints_blocks_ || has_blocks_) return;
  throw RunFailure("unsupported", "`gradient_checkpointing`: " + std::string(run_.plan.model.name()) +
                                      " is no stack of blocks that could be computed again");
}

}  // namespace reprobench
