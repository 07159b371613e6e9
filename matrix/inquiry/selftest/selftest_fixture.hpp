// A selftest on scripted replays, whose synthetic network does what a worker makes of each fault.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/inquiry/scripted_replays.hpp"
#include "matrix/inquiry/selftest/selftest.hpp"
#include "matrix/inquiry/selftest/selftest_table.hpp"

namespace reprobench::selftest_scene {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// What a worker makes of an injection, on the synthetic network.
inline std::vector<Deviation> as_planted(const CellRequest& request) {
  if (request.knobs.at("threads") == "2") return {{"forward fc1 aten::addmm", 1, kNever, 3}};
  if (!request.inject) return {};
  const Injection& fault = *request.inject;
  const auto once = [&](const std::string& site, std::function<double(double, Rounding)> change = next_up) {
    return std::vector<Deviation>{{site, fault.step, fault.step, fault.element, std::move(change)}};
  };
  const auto from_then_on = [&](const std::string& site, std::int64_t element,
                                std::function<double(double, Rounding)> change) {
    return std::vector<Deviation>{{site, fault.step, kNever, element, std::move(change)}};
  };
  if (fault.kind == "weight_ulp") return once("parameter " + fault.tensor);
  if (fault.kind == "weight_sign") return once("parameter " + fault.tensor, times(-1));
  if (fault.kind == "weight_nan") return once("parameter " + fault.tensor, becomes(std::nan("")));
  if (fault.kind == "gradient_ulp") return once("gradient " + fault.tensor);
  if (fault.kind == "moment_ulp") return once("moment " + fault.tensor);
  if (fault.kind == "skip_update") return once("moment fc1.weight", times(0.5));
  if (fault.kind == "adam_written_out") return from_then_on("optimizer " + fault.tensor + " aten::lerp_", 3, next_up);
  if (fault.kind == "adam_epsilon_unscaled") {
    return from_then_on("optimizer " + fault.tensor + " aten::addcdiv_", -1, times(1.0001));
  }
  if (fault.kind == "gelu_written_out" || fault.kind == "attention_fused")
    return from_then_on("forward fc1 aten::addmm", 3, next_up);
  if (fault.kind == "adam_epsilon") return from_then_on("optimizer fc1.weight aten::addcdiv_", -1, times(1.0001));
  if (fault.kind == "reduction_order") return from_then_on("forward fc2 aten::addmm", fault.element % 32, next_up);
  if (fault.kind.ends_with("batch") || fault.kind.starts_with("sample")) return from_then_on("input", -1, times(1.5));
  return from_then_on("forward fc1 aten::addmm", -1, times(1.001));
}

inline SelftestSettings few_steps() {
  SelftestSettings settings;
  settings.stack = "stack-a";
  settings.workloads = {{"gpt2", "tiny"}};
  settings.batches = 4;
  settings.clean_pairs = 2;
  settings.explained = 0;
  return settings;
}

// These kinds alone, and only found and placed.
inline SelftestSettings only(std::vector<std::string> faults) {
  SelftestSettings settings = few_steps();
  settings.batches = 0;
  settings.faults = std::move(faults);
  return settings;
}

inline Capability two_models() {
  Capability capability;
  capability.workloads = {{"mlp", "", {{"base", 114, 8}}}, {"gpt2", "", {{"tiny", 114, 8}}}};
  return capability;
}

inline std::vector<SelftestRow> run(ScriptedReplays& replays, const SelftestSettings& settings = few_steps()) {
  return run_selftest(settings, two_models(), replays, [](const std::string&) {});
}

inline const SelftestRow& row_of(const std::vector<SelftestRow>& rows, const std::string& fault) {
  return *std::find_if(rows.begin(), rows.end(), [&](const SelftestRow& row) { return row.fault == fault; });
}

// "step=3,tensor=fc1.weight,element=17" of the first one that was planted.
inline std::string first_place(const ScriptedReplays& replays, std::string_view kind) {
  for (const auto& tasks : replays.calls) {
    for (const ReplayTask& task : tasks) {
      if (!task.request.inject || task.request.inject->kind != kind) continue;
      const Injection& fault = *task.request.inject;
      const std::string tensor = fault.tensor.empty() ? "" : ",tensor=" + fault.tensor;
      return fmt::format("step={}{},element={}", fault.step, tensor, fault.element);
    }
  }
  return "";
}

}  // namespace reprobench::selftest_scene
