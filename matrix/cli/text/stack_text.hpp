// The description of an installed stack by its worker, as text.
#pragma once

#include <string>

#include "matrix/provision/stack_store.hpp"

namespace reprobench {

// Declared, compiled and loaded version of every component, and where it was loaded from.
std::string loaded_versions_text(const InstalledStack& stack, const Capability& capability);

// The findings of `verify`, one line each; nothing if there are none.
std::string findings_text(const StackSpec& spec, const std::vector<StackFinding>& findings);

// Whether the stack is the one that was declared: no finding says otherwise.
bool all_settled(const std::vector<StackFinding>& findings);

}  // namespace reprobench
