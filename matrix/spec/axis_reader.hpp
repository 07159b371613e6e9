// Reads what spans a matrix: axes, and the keys that speak of them.
#pragma once

#include "matrix/spec/matrix_spec.hpp"
#include "matrix/spec/schema.hpp"

namespace reprobench {

void read_axes(MatrixSpec& matrix, const YamlEntry& entry, Scope& scope);
void read_zip(MatrixSpec& matrix, const YamlEntry& entry, Scope& scope);
void read_include(MatrixSpec& matrix, const YamlEntry& entry, Scope& scope);
void read_reference(MatrixSpec& matrix, const YamlEntry& entry, Scope& scope);

// After the whole file was read, since keys come in any order: axes named by `zip` and `reference` exist, zipped ones
// are equally long, and the reference's values are values of their axes.
void check_axis_uses(const MatrixSpec& matrix, const YamlNode& root, Scope& scope);

}  // namespace reprobench
