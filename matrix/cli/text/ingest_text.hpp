// The text of `ingest` on files of nccl-tests, for people.
#pragma once

#include <string>

#include "matrix/cli/text/terminal.hpp"
#include "matrix/inquiry/nccl_tests/nccl_tests_comparison.hpp"

namespace reprobench {

std::string ingest_text(const NcclTestsFile& file, const Terminal& terminal);
std::string ingest_comparison_text(const NcclTestsComparison& comparison, const Terminal& terminal);

}  // namespace reprobench
