// The answer to a question about a stack, and the known defects of stacks, for people.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "matrix/cli/text/terminal.hpp"
#include "matrix/plan/plan.hpp"
#include "matrix/plan/stack_question.hpp"
#include "matrix/spec/stack_spec.hpp"

namespace reprobench {

std::string to_text(const StackAnswer& answer, const Terminal& terminal);

// Of a stack on the CPU, on GPUs of these compute capabilities, or both: its defects that apply there. `loaded`:
// versions of what no stack file declares, as its worker says them: "mkl", "onednn".
std::vector<KnownDefect> defects_on(const StackSpec& stack, const std::set<std::string>& devices,
                                    const CompatFacts& facts, const std::map<std::string, std::string>& loaded = {});

// One line a stack of the plan that has known defects on the devices of its cells; empty without any.
std::string known_defects_text(const Plan& plan, const std::map<std::string, StackSpec>& stacks,
                               const CompatFacts& facts);

}  // namespace reprobench
