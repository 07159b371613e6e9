// The worker's side of a knob: a row for every knob that a library acts on by more than environment variables
// (ActsBy::library), in the file of its kind. Knobs of the train loop and of models have none.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "matrix/contract/capability.hpp"
#include "matrix/contract/knob.hpp"

namespace reprobench {

struct KnobRow {
  const Knob& (*knob)();
  // Sets `value` and returns the value that took effect. `all` are the settings of every knob, for those that follow
  // another.
  std::string (*apply)(const std::string& value, const Settings& all);
  KnobSupport (*support)(const Knob& knob);  // of this stack on this host
};

std::span<const KnobRow> attention_knob_rows();
std::span<const KnobRow> cpu_knob_rows();          // threads, instructions, libraries of the CPU
std::span<const KnobRow> cuda_knob_rows();         // libraries, memory and launching of a GPU
std::span<const KnobRow> determinism_knob_rows();  // switches of at::Context

KnobSupport support_everything(const Knob& knob);

// Support for every value in a worker built with CUDA, else for the default alone.
KnobSupport support_gpu_only(const Knob& knob);

// Support for the knob's default alone, for that reason.
KnobSupport support_default_only(const Knob& knob, const std::string& reason);

}  // namespace reprobench
