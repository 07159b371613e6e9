// Reads `repeat:` and `max_repeat:` of suites and matrices.
#pragma once

#include "matrix/spec/schema.hpp"

namespace reprobench {

// The numbers of fresh processes for each cell that a file states. Numbers that it does not state keep their values.
struct RepeatsStated {
  std::optional<int> repeat;
  std::optional<int> max_repeat;
};

void read_repeat(RepeatsStated& repeats, const YamlEntry& entry, Scope& scope);
void read_max_repeat(RepeatsStated& repeats, const YamlEntry& entry, Scope& scope);

// `max_repeat` must not be less than `repeat`, and a file that states the one must state the other (RB036). Alone,
// `max_repeat: 28` of a matrix would not say what to do with suites that repeat a cell once.
void check_repeats(const RepeatsStated& repeats, const YamlNode& root, Scope& scope);

}  // namespace reprobench
