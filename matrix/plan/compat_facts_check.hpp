// Facts that contradict each other are refused when the file is read: one of two such rows would be believed.
#pragma once

#include "matrix/plan/compat_facts.hpp"

namespace reprobench {

// Throws ContractError that names both sides, for two rows about the same thing, for rows that cannot both be true, and
// for a row without a source that the file knows.
void check_compat_facts(const CompatFacts& facts);

}  // namespace reprobench
