#include "suites/worker/record/innermost_operators.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "suites/worker/record/operator_hook.hpp"

namespace reprobench {
namespace {

// An operator that hands its work to a library may copy an operand or read a scale first, on some CPUs alone: oneDNN's
// convolution returns through a copy where its result lies by channels. Such a call does not take the work from it.
constexpr std::string_view kCopies[] = {"aten::as_strided_", "aten::clone", "aten::_to_copy", "aten::item",
                                        "aten::_local_scalar_dense"};

bool only_prepares(const OperatorCall& call) {
  const OperatorTraits& traits = *call.traits;
  const bool fills = !traits.overwrites.empty() && traits.overwrites.front();
  if (fills || traits.leaves_memory_unwritten || traits.shows_input) return true;
  return std::ranges::find(kCopies, call.name) != std::end(kCopies);
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
