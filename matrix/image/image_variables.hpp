// Variables of an image that make its PyTorch compute otherwise, or at another speed.
#pragma once

#include <vector>

#include "matrix/image/finding.hpp"
#include "matrix/image/image.hpp"

namespace reprobench {

// A run of `qualify` sets every variable of its workers itself, so it says nothing of a container that has these.
std::vector<ImageFinding> find_changing_variables(const Image& image);

}  // namespace reprobench
