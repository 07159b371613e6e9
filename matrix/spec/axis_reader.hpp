// Reads the axes that span a matrix, and the keys that refer to them.
#pragma once

#include "matrix/spec/matrix_spec.hpp"
#include "matrix/spec/schema.hpp"

namespace reprobench {

void read_axes(MatrixSpec& matrix, const YamlEntry& entry, Scope& scope);
void read_zip(MatrixSpec& matrix, const YamlEntry& entry, Scope& scope);
void read_include(MatrixSpec& matrix, const YamlEntry& entry, Scope& scope);
void read_reference(MatrixSpec& matrix, const YamlEntry& entry, Scope& scope);

// Checks uses of axes after the whole file was read, since keys come in any order. Axes named by `zip` and `reference`
// must exist, zipped ones must be equally long, and the reference's values must be values of their axes.
void check_axis_uses(const MatrixSpec& matrix, const YamlNode& root, Scope& scope);

}  // namespace reprobench
