#include "matrix/inquiry/explain/summation_order.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace reprobench {
namespace {

constexpr int kSseLanes = 4;
constexpr int kAvx2Lanes = 8;
constexpr int kAvx512Lanes = 16;

// By a name that ATen, oneDNN or MKL has for vector instructions: "AVX512", "AVX512_CORE_AMX", "AVX2", "SSE4_2",
// "DEFAULT", "COMPATIBLE". A name that is none of these is taken for instructions without a fused multiply-add.
void cap_at(const std::string& instructions, SummingKernels& kernels) {
  if (instructions == "AUTO" || instructions == "ALL") return;  // MKL's and oneDNN's words for no cap
  const auto names = [&](const char* part) { return instructions.find(part) != std::string::npos; };
  const int lanes = names("AVX512") || names("AVX10") ? kAvx512Lanes : names("AVX2") ? kAvx2Lanes : kSseLanes;
  kernels.lanes = std::min(kernels.lanes, lanes);
  kernels.is_fused = kernels.is_fused && lanes > kSseLanes;
}

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string difference_between(const SummingKernels& a, const SummingKernels& b) {
  if (a == b) return "";
  std::string text = a.library == b.library ? a.library : fmt::format("{} against {}", a.library, b.library);
  if (a.library == b.library && a.lanes != b.lanes) text += fmt::format(" with {} against {} lanes", a.lanes, b.lanes);
  if (a.is_fused != b.is_fused) {
    text += fmt::format(", {} against {} products", a.is_fused ? "fused" : "unfused", b.is_fused ? "fused" : "unfused");
  }
  return text;
}

}  // namespace

SummationOrder summation_order_of(const Fingerprint& fingerprint, const KnobValues& knobs) {
  const auto variable = [&](const char* name) {
    const auto found = fingerprint.environment.find(name);
    return found == fingerprint.environment.end() ? std::string() : upper_case(found->second);
  };
  const auto capped_by = [](std::initializer_list<std::string> caps, SummingKernels kernels) {
    for (const std::string& cap : caps) {
      if (!cap.empty()) cap_at(cap, kernels);
    }
    return kernels;
  };
  const std::string of_aten = upper_case(fingerprint.cpu_capability);
  // What the host itself has is known where nothing caps ATen.
  const std::string of_host = variable("ATEN_CPU_CAPABILITY").empty() ? of_aten : "";
  SummationOrder order;
  order.threads = std::max(fingerprint.threads, 1);
  order.aten = capped_by({of_aten}, {"aten"});
  const auto onednn = fingerprint.flags.find("onednn");
  const bool has_onednn = onednn == fingerprint.flags.end() || onednn->second == "on";
  order.onednn = has_onednn ? capped_by({of_host, variable("ONEDNN_MAX_CPU_ISA")}, {"onednn"}) : order.aten;
  order.products = capped_by({of_host, variable("MKL_CBWR"), variable("MKL_ENABLE_INSTRUCTIONS")},
                             {fingerprint.blas_provider + variable("OPENBLAS_CORETYPE")});
  if (const auto attention = said_of<&Settings::attention>(knobs)) {
    order.attention = text_of<&Settings::attention>(*attention);
  }
  return order;
}

SummationOrder summation_order_with(const std::string& knob, const std::string& value, Fingerprint fingerprint,
                                    const KnobValues& knobs) {
  for (const auto& [name, set] : knob_environment({{knob, value}})) fingerprint.environment[name] = set;
  const KnobValues chosen{{knob, value}};
  if (const auto threads = said_of<&Settings::threads>(chosen)) fingerprint.threads = static_cast<int>(*threads);
  if (said_of<&Settings::cpu_isa>(chosen)) fingerprint.cpu_capability = value;
  if (said_of<&Settings::onednn>(chosen)) fingerprint.flags["onednn"] = value;
  return summation_order_of(fingerprint, knobs);
}

std::string to_text(const SummationOrder& order) {
  std::string text = fmt::format("threads: {}", order.threads);
  for (const auto* kernels : {&order.aten, &order.onednn, &order.products}) {
    text +=
        fmt::format("; {}: {} lanes, {}", kernels->library, kernels->lanes, kernels->is_fused ? "fused" : "unfused");
  }
  return order.attention.empty() ? text : text + "; attention: " + order.attention;
}

std::string difference_between(const SummationOrder& a, const SummationOrder& b) {
  std::vector<std::string> parts;
  if (a.threads != b.threads) parts.push_back(fmt::format("{} against {} threads", a.threads, b.threads));
  for (const auto& [ours, theirs] :
       {std::pair(a.aten, b.aten), std::pair(a.onednn, b.onednn), std::pair(a.products, b.products)}) {
    if (std::string text = difference_between(ours, theirs); !text.empty()) parts.push_back(std::move(text));
  }
  if (a.attention != b.attention) parts.push_back(fmt::format("attention {} against {}", a.attention, b.attention));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace reprobench
