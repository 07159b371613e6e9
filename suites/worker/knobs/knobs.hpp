// Applies knobs inside the worker. The coordinator set the environment variables that a knob asks for before the
// process began (contract/knob.hpp). The rest is done here, and the check that it took effect.
#pragma once

#include <vector>

#include "matrix/contract/capability.hpp"
#include "matrix/contract/knob.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

// Applies every knob and returns the values that took effect. Call once, before the first tensor. Throws RunFailure
// "bad_request" for an unknown knob or value, "unsupported" for a chosen value that this stack or host cannot honour,
// with the reason.
KnobValues apply_knobs(const KnobValues& requested);

// For each knob, the values that this stack honours on this host.
std::vector<KnobSupport> knob_support();

// `preset` with the schedule that `lr_schedule` asks for.
ModelPreset with_schedule(ModelPreset preset, const Settings& settings);

// While it lives, the thread's operations on the device run in bf16 or fp16 over fp32 weights; nothing for other
// precisions. Throws RunFailure "unsupported" where the stack cannot.
class AutocastScope {
 public:
  // LibTorch keeps 16-bit copies of the weights, so that a weight that is read twice is cast once. The copies are those
  // of this step, and are dropped at the end. In some releases all threads share them. If several threads are in a
  // scope, none may drop a copy that another still reads: that would change the order in which its gradient is added
  // up. Each then calls drop_casts() once all have left their scopes.
  enum class Casts { dropped, kept };
  AutocastScope(Precision precision, const c10::Device& device, Casts casts = Casts::dropped);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

  static void drop_casts();

 private:
  bool active() const;

  Precision precision_;
  bool on_cpu_;
  Casts casts_;
};

}  // namespace reprobench
