#include "matrix/cli/lockstep_bounds_text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace reprobench {

std::string to_text(const LockstepBounds& bounds) {
  std::string text =
      fmt::format("{}: {}/{} in {}, {} batches from the states after steps {}\n", bounds.basis.stack, bounds.model,
                  bounds.preset, bounds.precision, bounds.batches, fmt::join(bounds.states, ", "));
  std::size_t width = 0;
  for (const CleanPair& pair : bounds.pairs) width = std::max(width, pair.what.size());
  text += fmt::format("  {:<{}}  tensors  differ  furthest pooled error\n", "against", width);
  for (const CleanPair& pair : bounds.pairs) {
    text += fmt::format("  {:<{}}  {:>7}  {:>6}", pair.what, width, pair.tensors, pair.differing);
    text += pair.largest_tensor.empty() ? "\n" : fmt::format("  x{:.3f} {}\n", pair.largest_ratio, pair.largest_tensor);
  }
  if (!bounds.refused.empty()) return text + "  not to be used: " + bounds.refused + "\n";
  text += fmt::format("  correct runs are allowed x{:.3g}", bounds.legitimate_ratio);
  if (bounds.legitimate_ratio == kLegitimateRatio) text += ", as without this measurement";
  return text + fmt::format("; the smallest defect of rounding size is x{}\n", kSmallestDefect);
}

}  // namespace reprobench
