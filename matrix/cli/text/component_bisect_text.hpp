// What a bisect over components says.
#pragma once

#include <string>

#include "matrix/inquiry/bisect/component_document.hpp"

namespace reprobench {

std::string component_bisect_text(const ComponentBisectDocument& document);

}  // namespace reprobench
