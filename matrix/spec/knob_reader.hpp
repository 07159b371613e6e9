// Reads a map of knobs: a suite's `knobs:`, a matrix's `defaults:`.
#pragma once

#include "matrix/contract/knob.hpp"
#include "matrix/spec/schema.hpp"

namespace reprobench {

// Unknown knobs are RB009, refused values RB019.
void read_knobs(KnobValues& knobs, const YamlEntry& entry, Scope& scope);

}  // namespace reprobench
