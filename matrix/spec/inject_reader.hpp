// Reads planted faults: `inject:` of a matrix file, and the command line's form of one entry.
#pragma once

#include "matrix/spec/matrix_spec.hpp"
#include "matrix/spec/schema.hpp"

namespace reprobench {

void read_inject(MatrixSpec& matrix, const YamlEntry& entry, Scope& scope);

}  // namespace reprobench
