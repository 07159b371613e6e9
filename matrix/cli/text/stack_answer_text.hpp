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

// The defects of a stack that apply on the CPU, on GPUs of these compute capabilities, or both. `loaded` has versions
// that no stack file declares, as the stack's worker reports them: "mkl", "onednn".
std::vector<KnownDefect> defects_on(const StackSpec& stack, const std::set<std::string>& devices,
                                    const CompatFacts& facts, const std::map<std::string, std::string>& loaded = {});

// One line for each stack of the plan that has known defects on the devices of its cells; empty if none has.
std::string known_defects_text(const Plan& plan, const std::map<std::string, StackSpec>& stacks,
                               const CompatFacts& facts);

}  // namespace reprobench
