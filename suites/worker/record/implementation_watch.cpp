#include "suites/worker/record/implementation_watch.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "suites/worker/record/implementation_rows.hpp"
#include "suites/worker/record/innermost_operators.hpp"
#include "suites/worker/record/library_calls.hpp"
#include "suites/worker/record/operator_hook.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/stack_probe.hpp"

namespace reprobench {
namespace {

// What a library did while no operator ran.
constexpr const char* kNoOperator = "no operator";

std::string shape_text(const at::Tensor& tensor) {
  std::string text = "(";
  for (const std::int64_t extent : tensor.sizes()) text += (text.size() > 1 ? "," : "") + std::to_string(extent);
  return text + ")";
}

SeenOperation described(const OperatorCall& call) {
  SeenOperation seen{call.name, "", "", {}};
  std::vector<std::string> types;
  const auto note = [&](const at::Tensor& tensor) {
    seen.operands += (seen.operands.empty() ? "" : ", ") + shape_text(tensor);
    const std::string type = dtype_name(tensor);
    if (std::ranges::find(types, type) != types.end()) return;
    types.push_back(type);
    seen.dtype += (seen.dtype.empty() ? "" : ", ") + type;
  };
  for (const c10::IValue& input : call.inputs) visit_tensors(input, note);
  return seen;
}

void add_to(LibraryText& text, LibraryText more) {
  for (std::string& call : more.calls) {
    if (std::ranges::find(text.calls, call) == text.calls.end()) text.calls.push_back(std::move(call));
  }
  text.unread_lines += more.unread_lines;
  if (!more.mkl_processors.empty()) text.mkl_processors = std::move(more.mkl_processors);
}

class ImplementationWatch final : public OperatorListener {
 public:
  void started(OperatorCall& call) override {
    hear();
    work_.begin();
    running_.push_back(described(call));  // before it writes into its inputs, or resizes them
  }

  void ended(OperatorCall& call) override {
    hear();
    // A backward node calls operators for what it computes, and what takes no tensor (`ones`) computes nothing.
    const bool did_work = work_.end(call) && !call.is_backward_node && !running_.back().operands.empty();
    if (did_work || is_heard(running_.back().said)) add(running_.back());
    running_.pop_back();
  }

  StepImplementations take() {
    hear();
    if (is_heard(outside_.said)) add(outside_);
    return rows_.take();
  }

 private:
  static bool is_heard(const LibraryText& said) { return !said.calls.empty() || said.unread_lines > 0; }

  // What was said since the last time is of the innermost operator that runs.
  void hear() { add_to((running_.empty() ? outside_ : running_.back()).said, libraries_.take()); }

  void add(const SeenOperation& seen) { rows_.add(implementation_of(seen, capability_, unheard_)); }

  HeardLibraries libraries_;
  const std::string unheard_ = libraries_.unheard();
  const std::string capability_ = cpu_capability();
  WorkUnderWay work_;
  std::vector<SeenOperation> running_;  // innermost last
  SeenOperation outside_{kNoOperator, "", "", {}};
  ImplementationRows rows_;
};

}  // namespace

StepImplementations implementations_heard(const std::function<void()>& work) {
  ImplementationWatch watch;
  const OperatorHook hook({&watch});
  work();
  OperatorHook::rethrow_failure();
  return watch.take();
}

}  // namespace reprobench
