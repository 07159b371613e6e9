// Reads the rules that select cells: `where` in both spellings, and lists of rules that hold one.
#pragma once

#include "matrix/spec/schema.hpp"
#include "matrix/spec/selector.hpp"

namespace reprobench {

// The value of a `where` key: an expression or a map of coordinates.
Selector read_selector(const YamlNode& node, Scope& scope);

// A rule of `exclude` or `required`: {where: ...}, or the map of coordinates itself.
Selector read_selection_rule(const std::string& what, const YamlNode& node, Scope& scope);

}  // namespace reprobench
