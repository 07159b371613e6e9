#include "matrix/verdict/atlas/call_library.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/digits.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kOwnOperator = "aten::";

struct Heard {
  std::string_view beginning;  // of what was seen
  std::string_view library;
};
constexpr Heard kLibraries[] = {
    {"mkl ", "MKL"}, {"onednn ", "oneDNN"}, {"aten::_nnpack", "NNPACK"}, {"aten::mkldnn_", "oneDNN"}};

// Of an operator's name: those that LibTorch may hand to a library. A word too many makes a call unknown that could be
// known, one too few would take a library's work for LibTorch's own.
constexpr std::string_view kOfLibraries[] = {"mm",        "mv",     "dot",  "matmul", "linear", "conv",
                                             "attention", "mkldnn", "lstm", "gru",    "rnn",    "fft"};

// What autograd is seen to do by itself: "autograd::engine::evaluate_function: ...", "SumBackward0".
bool is_autograd(std::string_view seen) {
  if (seen.starts_with("autograd::engine::")) return true;
  while (!seen.empty() && is_digit(seen.back())) seen.remove_suffix(1);
  return seen.ends_with("Backward") && seen.find_first_of(" :") == std::string_view::npos;
}

bool may_be_of_library(std::string_view seen) {
  return std::ranges::any_of(kOfLibraries,
                             [&](std::string_view word) { return seen.find(word) != std::string_view::npos; });
}

void add_once(std::vector<std::string_view>& names, std::string_view name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

}  // namespace

CallLibrary library_of(const ProbeMeasurement& measurement) {
  std::vector<std::string_view> libraries;
  std::string handed_on;  // an operator that a library may have computed, unheard
  bool has_own = false;
  for (const std::string& seen : measurement.kernels) {
    const auto* row =
        std::ranges::find_if(kLibraries, [&](const Heard& one) { return seen.starts_with(one.beginning); });
    if (row != std::end(kLibraries)) {
      add_once(libraries, row->library);
    } else if (is_autograd(seen)) {
      continue;
    } else if (!seen.starts_with(kOwnOperator)) {
      return {"", fmt::format("`{}` ran, which nothing here recognises", seen)};
    } else if (may_be_of_library(seen)) {
      handed_on = seen;
    } else {
      has_own = true;
    }
  }
  if (!libraries.empty()) return {fmt::format("{}", fmt::join(libraries, " + ")), ""};
  if (!handed_on.empty()) return {"", fmt::format("of {} no library was heard", handed_on)};
  if (!has_own) return {"", "nothing was seen of what ran"};
  return {"LibTorch's own kernels", ""};
}

}  // namespace reprobench
