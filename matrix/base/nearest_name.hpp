// Finds the known name that is nearest to an unknown one. Sentences about it are in spec/nearest_name.hpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace reprobench {

// The nearest of `known` by edit distance (insert, delete, replace, swap of neighbours); of equally near ones the
// first. The distance may be at most a third of the name's length, and at least 1 is allowed. If none is near, it is
// the first that begins with the name, such as "torch-2.9.0-cu128" for "torch-2.9"; else empty.
std::string nearest_name(std::string_view name, std::span<const std::string> known);

}  // namespace reprobench
