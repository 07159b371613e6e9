#include "suites/worker/record/operator_hook.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

namespace reprobench {
namespace {

// Tells the end of a call whose start was shown; the call itself is HookState::running's.
struct ShownCall : at::ObserverContext {};

struct HookState {
  std::vector<OperatorListener*> listeners;
  std::thread::id thread;
  std::mutex turn;                                     // held from the start of an outermost call to its end
  std::vector<std::unique_ptr<OperatorCall>> running;  // of the thread whose turn it is, innermost last
  std::map<std::string, OperatorTraits> traits;        // by name and overload
  std::int64_t calls = 0;
  std::exception_ptr failure;  // the first one of a listener
};

// What a thread is to the hook with this number: any thread may outlive one hook and meet the next.
struct ThreadState {
  std::uint64_t hook = 0;
  bool differentiates = false;  // it has run a backward node
  bool busy = false;            // a listener is at work
  std::size_t running = 0;      // calls that were shown and have not ended
};
thread_local ThreadState this_thread_state;

// RecordFunction takes plain functions. A call that another thread began under a hook ends before the hook does:
// whoever made the hook waits for the backward pass.
HookState* active_hook = nullptr;
std::uint64_t hooks_made = 0;

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

ThreadState& state_under_hook() {
  ThreadState& state = this_thread_state;
  if (state.hook != hooks_made) state = {hooks_made};
  return state;
}

// The thread that made the hook, and LibTorch's own that runs the backward nodes of a GPU: its first call is its
// engine's, or a node. Threads that share the work of one operator make neither.
bool is_shown(HookState& hook, ThreadState& state, const at::RecordFunction& function) {
  if (hook.thread == std::this_thread::get_id()) return true;
  if (function.scope() == at::RecordScope::BACKWARD_FUNCTION ||
      starts_with(function.name(), "autograd::engine::evaluate_function")) {
    state.differentiates = true;
  }
  return state.differentiates;
}

bool overwrites_self(const std::string& name) {
  for (const char* writer : {"aten::copy_", "aten::zero_", "aten::fill_", "aten::_foreach_zero_", "aten::resize_"}) {
    if (name == writer) return true;
  }
  return false;
}

// LibTorch writes them through plain pointers: neither the schema nor a version counter tells.
bool is_running_statistic(const std::string& name, const c10::Argument& argument) {
  const bool is_backward = name.find("backward") != std::string::npos;
  return !is_backward && (argument.name() == "running_mean" || argument.name() == "running_var");
}

bool says_whether_it_trains(const c10::Argument& argument) {
  return argument.name() == "training" || argument.name() == "train" || argument.name() == "use_input_stats";
}

// What is written in place and returned is an output already.
bool returns_what_it_writes(const c10::FunctionSchema& schema) {
  return std::any_of(schema.returns().begin(), schema.returns().end(), [](const c10::Argument& result) {
    return result.alias_info() != nullptr && result.alias_info()->isWrite();
  });
}

OperatorTraits traits_of(const at::RecordFunction& function, const std::string& name) {
  OperatorTraits traits;
  for (const char* prefix : {"aten::empty", "aten::new_empty", "aten::_empty", "aten::resize_", "aten::set_"}) {
    if (starts_with(name, prefix)) traits.leaves_memory_unwritten = true;
  }
  if (const auto schema = function.operator_schema()) {
    const bool returns = returns_what_it_writes(*schema);
    for (const auto& argument : schema->arguments()) {
      const bool is_statistic = is_running_statistic(name, argument);
      const bool is_written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
      if (says_whether_it_trains(argument)) traits.fills_if = traits.changes.size();
      traits.overwrites.push_back(argument.is_out());
      traits.changes.push_back(is_written || is_statistic);
      traits.fills.push_back(is_statistic || (is_written && !returns) ? argument.name() : "");
    }
    for (const auto& result : schema->returns()) {
      if (result.alias_info() != nullptr && !result.alias_info()->isWrite()) traits.shows_input = true;
    }
  }
  if (overwrites_self(name) && !traits.overwrites.empty()) traits.overwrites.front() = true;
  return traits;
}

// Behind the results: whoever looks at what a call has made sees them.
void add_filled(OperatorCall& call) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.is_filled(i)) continue;
    call.outputs.push_back(call.inputs[i]);
    call.filled.push_back(call.traits->fills[i]);
  }
}

template <class Show>
void show(HookState& hook, const Show& to) {
  try {
    for (OperatorListener* listener : hook.listeners) to(*listener);
  } catch (...) {
    if (!hook.failure) hook.failure = std::current_exception();
  }
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  HookState* hook = active_hook;
  if (hook == nullptr) return nullptr;
  ThreadState& state = state_under_hook();
  if (state.busy || !is_shown(*hook, state, function)) return nullptr;
  if (state.running == 0) hook->turn.lock();
  ++state.running;
  state.busy = true;
  auto call = std::make_unique<OperatorCall>();
  call->name = function.name();
  if (const auto name = function.operator_name()) call->overload = name->overload_name;
  call->is_backward_node = function.scope() == at::RecordScope::BACKWARD_FUNCTION ||
                           call->name.rfind("autograd::engine::", 0) == 0;  // the engine's call around one
  call->sequence_nr = function.seqNr();
  call->depth = static_cast<int>(hook->running.size());
  call->index = hook->calls++;
  const std::string key = call->name + "." + call->overload;
  auto traits = hook->traits.find(key);
  if (traits == hook->traits.end()) traits = hook->traits.emplace(key, traits_of(function, call->name)).first;
  call->traits = &traits->second;
  call->inputs.assign(function.inputs().begin(), function.inputs().end());
  show(*hook, [&](OperatorListener& listener) { listener.started(*call); });
  hook->running.push_back(std::move(call));
  state.busy = false;
  return std::make_unique<ShownCall>();
}

void on_end(const at::RecordFunction& function, at::ObserverContext* context) {
  HookState* hook = active_hook;
  if (hook == nullptr || context == nullptr) return;
  ThreadState& state = state_under_hook();
  if (state.running == 0) return;
  const std::unique_ptr<OperatorCall> call = std::move(hook->running.back());
  hook->running.pop_back();
  state.busy = true;
  call->outputs = function.outputs();
  add_filled(*call);
  show(*hook, [&](OperatorListener& listener) { listener.ended(*call); });
  state.busy = false;
  if (--state.running == 0) hook->turn.unlock();
}

}  // namespace

OperatorHook::OperatorHook(std::vector<OperatorListener*> listeners) : handle_(0) {
  if (active_hook != nullptr) throw std::logic_error("operators are watched already");
  ++hooks_made;
  active_hook = new HookState;
  active_hook->listeners = std::move(listeners);
  active_hook->thread = std::this_thread::get_id();
  handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&on_start, &on_end)
                                      .needsInputs(true)
                                      .needsOutputs(true)
                                      .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

OperatorHook::~OperatorHook() {
  at::removeCallback(handle_);
  delete active_hook;
  active_hook = nullptr;
}

void OperatorHook::rethrow_failure() {
  if (active_hook != nullptr && active_hook->failure)
    std::rethrow_exception(std::exchange(active_hook->failure, nullptr));
}

OperatorPause::OperatorPause() : was_busy_(std::exchange(state_under_hook().busy, true)) {}

OperatorPause::~OperatorPause() { state_under_hook().busy = was_busy_; }

bool OperatorCall::is_filled(std::size_t argument) const {
  if (traits == nullptr || argument >= traits->fills.size() || traits->fills[argument].empty()) return false;
  const auto& trains = traits->fills_if;
  return !trains || *trains >= inputs.size() || !inputs[*trains].isBool() || inputs[*trains].toBool();
}

void visit_tensors(const at::IValue& value, const std::function<void(const at::Tensor&)>& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (tensor.defined()) visit(tensor);
    }
  } else if (value.isList()) {
    for (const at::IValue& element : value.toListRef()) visit_tensors(element, visit);
  }
}

}  // namespace reprobench
