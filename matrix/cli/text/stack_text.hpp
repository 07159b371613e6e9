// What an installed stack's worker said, as text.
#pragma once

#include <string>

#include "matrix/provision/stack_store.hpp"

namespace reprobench {

// Declared, compiled and loaded version of every component, and where it was loaded from.
std::string loaded_versions_text(const InstalledStack& stack, const Capability& capability);

// The findings of `verify`, one line each; nothing if there are none.
std::string findings_text(const StackSpec& spec, const std::vector<StackFinding>& findings);

// True if none of them says that the stack is another than declared.
bool all_settled(const std::vector<StackFinding>& findings);

}  // namespace reprobench
