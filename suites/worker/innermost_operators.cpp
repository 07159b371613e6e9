#include "suites/worker/innermost_operators.hpp"

#include "suites/worker/operator_hook.hpp"

namespace reprobench {
namespace {

bool only_prepares(const OperatorCall& call) {
  const OperatorTraits& traits = *call.traits;
  const bool fills = !traits.overwrites.empty() && traits.overwrites.front();
  return fills || traits.leaves_memory_unwritten || traits.shows_input || call.name == "aten::as_strided_";
}

class InnermostCalls final : public OperatorListener {
 public:
  void started(OperatorCall&) override { worked_.push_back(false); }

  void ended(OperatorCall& call) override {
    const bool by_others = worked_.back();
    worked_.pop_back();
    if (!by_others && only_prepares(call)) return;
    if (!by_others) names_.push_back(call.name);
    if (!worked_.empty()) worked_.back() = true;
  }

  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::vector<bool> worked_;  // of the calls under way: whether one below them did work
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> innermost_operators(const std::function<void()>& work) {
  InnermostCalls calls;
  const OperatorHook hook({&calls});
  work();
  OperatorHook::rethrow_failure();
  return calls.take();
}

}  // namespace reprobench
