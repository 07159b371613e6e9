#include "suites/worker/ranks/gathered_parameters.hpp"

#include <algorithm>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include "suites/worker/ranks/zero_shards.hpp"
#include "suites/worker/record/operator_hook.hpp"

namespace reprobench {

// Shows the operators of this thread, also those that backward nodes of the CPU call, to one object.
struct GatheredParameters::Watch {
  explicit Watch(GatheredParameters& shown) : outer(std::exchange(watching, &shown)) {
    handle = at::addThreadLocalCallback(
        at::RecordFunctionCallback(&Watch::on_start).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  }
  ~Watch() {
    at::removeCallback(handle);
    watching = outer;
  }

  static std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
    GatheredParameters* shown = watching;
    if (shown == nullptr || shown->is_busy_ || shown->failure_) return nullptr;
    std::vector<std::size_t> parameters;
    for (const c10::IValue& input : function.inputs()) {
      visit_tensors(input, [&](const at::Tensor& tensor) {
        if (!tensor.has_storage()) return;
        const auto found = shown->by_memory_.find(tensor.storage().unsafeGetStorageImpl());
        if (found != shown->by_memory_.end()) parameters.push_back(found->second);
      });
    }
    shown->is_busy_ = true;
    try {
      shown->before_operator(parameters);
    } catch (...) {
      shown->failure_ = std::current_exception();
    }
    shown->is_busy_ = false;
    return nullptr;
  }

  static thread_local GatheredParameters* watching;
  GatheredParameters* outer;
  at::CallbackHandle handle;
};

thread_local GatheredParameters* GatheredParameters::Watch::watching = nullptr;

GatheredParameters::GatheredParameters(ZeroShards& shards, TrainState& state, double share, GradientSeen seen)
    : shards_(shards), state_(state), share_(share), seen_(std::move(seen)) {
  for (std::size_t i = 0; i < state_.size(); ++i) {
    by_memory_.emplace(state_.parameter(i).storage().unsafeGetStorageImpl(), i);
    if (share_ == 0 || state_.is_frozen(i)) continue;
    state_.parameter(i).register_hook([this, i](const at::Tensor&) { pending_.push_back(i); });
  }
}

GatheredParameters::~GatheredParameters() = default;

void GatheredParameters::during(const std::function<void()>& pass) {
  try {
    const Watch watch(*this);
    pass();
  } catch (...) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    throw;
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  reduce_pending();
  drop_all_but({});
}

void GatheredParameters::before_operator(const std::vector<std::size_t>& parameters) {
  if (!pending_.empty()) reduce_pending();
  if (std::ranges::all_of(parameters, [&](std::size_t i) { return state_.has_room(i); })) return;
  drop_all_but(parameters);
  for (const std::size_t i : parameters) {
    if (state_.has_room(i)) continue;
    state_.make_room(i);
    shards_.gather_parameter(i);
    whole_.push_back(i);
    ++gathered_;
  }
  state_.note_model_state();
}

// A gradient comes a little before autograd has put it where the state finds it.
void GatheredParameters::reduce_pending() {
  std::vector<std::size_t> waiting;
  for (const std::size_t i : std::exchange(pending_, {})) {
    if (!state_.gradient(i).defined()) {
      waiting.push_back(i);
      continue;
    }
    state_.note_model_state();
    seen_(i);
    std::vector<at::Tensor> own(state_.size());
    own[i] = state_.gradient(i);
    shards_.reduce_gradients(std::move(own), share_);
  }
  pending_ = std::move(waiting);
}

void GatheredParameters::drop_all_but(const std::vector<std::size_t>& kept) {
  if (!kept.empty() && state_.keeps_whole()) return;  // a fault
  std::erase_if(whole_, [&](std::size_t i) {
    if (std::ranges::find(kept, i) != kept.end()) return false;
    state_.drop_whole(i);
    return true;
  });
}

}  // namespace reprobench
