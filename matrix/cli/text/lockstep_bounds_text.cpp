#include "matrix/cli/text/lockstep_bounds_text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "matrix/cli/text/text_table.hpp"

namespace reprobench {

std::string to_text(const LockstepBounds& bounds) {
  TextTable table("  <  >7  >6  <");
  table.line("{}: {}/{} in {}, {} batches from the states after steps {}", bounds.basis.stack, bounds.model,
             bounds.preset, bounds.precision, bounds.batches, fmt::join(bounds.states, ", "));
  table.row("against", "tensors", "differ", "furthest pooled error");
  std::map<std::string, double> learned;
  for (const CleanPair& pair : bounds.pairs) {
    table.row(pair.what, pair.tensors, pair.differing,
              pair.largest_tensor.empty() ? "" : fmt::format("x{:.3f} {}", pair.largest_ratio, pair.largest_tensor));
    for (const auto& [tensor, ratio] : pair.legitimate_ratios) learned[tensor] = std::max(learned[tensor], ratio);
  }
  std::string text = table.text();
  if (!bounds.refused.empty()) return text + "  not to be used: " + bounds.refused + "\n";
  for (const CleanPair& pair : bounds.pairs) {
    if (pair.unrepeated > 0) {
      text += fmt::format("  {} does not repeat itself: steps taken again {} gave other bits\n", pair.what,
                          pair.unrepeated == 1 ? "once" : fmt::format("{} times", pair.unrepeated));
    }
    if (!pair.problem.empty()) text += fmt::format("  nothing learned from {}: {}\n", pair.what, pair.problem);
  }
  if (learned.empty())
    return text + fmt::format("  correct runs are allowed x{}, as without this measurement\n", kLegitimateRatio);
  const auto widest = std::ranges::max_element(learned, {}, [](const auto& entry) { return entry.second; });
  return text + fmt::format("  correct runs are allowed more than x{} in {} tensor{}, up to x{:.3g} in {}\n",
                            kLegitimateRatio, learned.size(), learned.size() == 1 ? "" : "s", widest->second,
                            widest->first);
}

}  // namespace reprobench
