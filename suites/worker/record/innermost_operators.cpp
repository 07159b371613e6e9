#include "suites/worker/record/innermost_operators.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "suites/worker/record/operator_hook.hpp"

namespace reprobench {
namespace {

// An operator that hands its work to a library may copy an operand or read a scale first, on some CPUs alone: oneDNN's
// convolution returns through a copy where its result lies by channels. Such a call does not take the work from it.
constexpr std::string_view kCopies[] = {"aten::as_strided_",         "aten::clone",     "aten::_to_copy",  "aten::item",
                                        "aten::_local_scalar_dense", "aten::ones_like", "aten::zeros_like"};

// Views whose schemas do not say that they are; `detach` has none.
constexpr std::string_view kViews[] = {"aten::_unsafe_view", "detach"};

bool only_prepares(const OperatorCall& call) {
  const OperatorTraits& traits = *call.traits;
  const bool fills = !traits.overwrites.empty() && traits.overwrites.front();
  if (fills || traits.leaves_memory_unwritten || traits.shows_input) return true;
  const auto is_among = [&](const auto& names) { return std::ranges::find(names, call.name) != std::end(names); };
  return is_among(kCopies) || is_among(kViews);
}

class InnermostCalls final : public OperatorListener {
 public:
  void started(OperatorCall&) override { work_.begin(); }

  void ended(OperatorCall& call) override {
    if (work_.end(call)) names_.push_back(call.name);
  }

  std::vector<std::string> take() { return std::move(names_); }

 private:
  WorkUnderWay work_;
  std::vector<std::string> names_;
};

}  // namespace

bool WorkUnderWay::end(const OperatorCall& call) {
  const bool by_others = by_others_.back();
  by_others_.pop_back();
  if (!by_others && only_prepares(call)) return false;
  if (!by_others_.empty()) by_others_.back() = true;
  return !by_others;
}

std::vector<std::string> innermost_operators(const std::function<void()>& work) {
  InnermostCalls calls;
  const OperatorHook hook({&calls});
  work();
  OperatorHook::rethrow_failure();
  return calls.take();
}

}  // namespace reprobench
