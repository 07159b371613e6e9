#include "matrix/cli/text/lockstep_bounds_text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace reprobench {

std::string to_text(const LockstepBounds& bounds) {
  std::string text =
      fmt::format("{}: {}/{} in {}, {} batches from the states after steps {}\n", bounds.basis.stack, bounds.model,
                  bounds.preset, bounds.precision, bounds.batches, fmt::join(bounds.states, ", "));
  std::size_t width = 0;
  for (const CleanPair& pair : bounds.pairs) width = std::max(width, pair.what.size());
  text += fmt::format("  {:<{}}  tensors  differ  furthest pooled error\n", "against", width);
  std::map<std::string, double> learned;
  for (const CleanPair& pair : bounds.pairs) {
    text += fmt::format("  {:<{}}  {:>7}  {:>6}", pair.what, width, pair.tensors, pair.differing);
    text += pair.largest_tensor.empty() ? "\n" : fmt::format("  x{:.3f} {}\n", pair.largest_ratio, pair.largest_tensor);
    for (const auto& [tensor, ratio] : pair.legitimate_ratios) learned[tensor] = std::max(learned[tensor], ratio);
  }
  if (!bounds.refused.empty()) return text + "  not to be used: " + bounds.refused + "\n";
  if (learned.empty())
    return text + fmt::format("  correct runs are allowed x{}, as without this measurement\n", kLegitimateRatio);
  const auto widest = std::ranges::max_element(learned, {}, [](const auto& entry) { return entry.second; });
  return text + fmt::format("  correct runs are allowed more than x{} in {} tensor{}, up to x{:.3g} in {}\n",
                            kLegitimateRatio, learned.size(), learned.size() == 1 ? "" : "s", widest->second,
                            widest->first);
}

}  // namespace reprobench
