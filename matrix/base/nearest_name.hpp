// The known name that is nearest to one that nothing has. Sentences about it are spec/nearest_name.hpp's.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace reprobench {

// The nearest of `known` by edit distance (insert, delete, replace, swap of neighbours); empty if none is near: the
// distance may be a third of the name's length, at least 1. Of equally near ones the first. Where none is near, the
// first that begins with the name: "torch-2.9" for "torch-2.9.0-cu128".
std::string nearest_name(std::string_view name, std::span<const std::string> known);

}  // namespace reprobench
