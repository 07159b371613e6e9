// What one component changes by itself, for people.
#pragma once

#include <string>

#include "matrix/inquiry/bisect/component_alone.hpp"

namespace reprobench {

// "cudnn alone: equal bits; step time x1.02 [1.01, 1.03]. A against B: ... So cudnn explains part of it."
std::string component_alone_sentence(const ComponentAlone& answer);

std::string component_alone_text(const ComponentAlone& answer);

}  // namespace reprobench
