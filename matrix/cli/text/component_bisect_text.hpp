// The text that shows the answers of a bisect over components.
#pragma once

#include <string>

#include "matrix/inquiry/bisect/component_document.hpp"

namespace reprobench {

std::string component_bisect_text(const ComponentBisectDocument& document);

}  // namespace reprobench
