// Reads `repeat:` and `max_repeat:` of suites and matrices.
#pragma once

#include "matrix/spec/schema.hpp"

namespace reprobench {

// What a file states of fresh processes a cell; the rest is as elsewhere.
struct RepeatsStated {
  std::optional<int> repeat;
  std::optional<int> max_repeat;
};

void read_repeat(RepeatsStated& repeats, const YamlEntry& entry, Scope& scope);
void read_max_repeat(RepeatsStated& repeats, const YamlEntry& entry, Scope& scope);

// At most is no less than at least, and a file that states the one states the other: `max_repeat: 28` of a matrix says
// nothing of suites that repeat a cell once (RB036).
void check_repeats(const RepeatsStated& repeats, const YamlNode& root, Scope& scope);

}  // namespace reprobench
