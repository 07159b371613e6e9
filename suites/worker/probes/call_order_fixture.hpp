// Orders of calls that are written as in a list.
#pragma once

#include <cstdint>
#include <string>

namespace reprobench::test {

// That the order of an output is found, so that it gives 1,000 outputs of random inputs and every element of one
// result: `elements` sums of `terms` terms. Fails the test case otherwise.
void is_known(const std::string& call, const std::string& output, std::int64_t terms, std::int64_t elements);

}  // namespace reprobench::test
