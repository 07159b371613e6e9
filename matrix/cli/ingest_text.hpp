// What `ingest` says of a file of nccl-tests, for people.
#pragma once

#include <string>

#include "matrix/cli/terminal.hpp"
#include "matrix/inquiry/nccl_tests.hpp"

namespace reprobench {

std::string ingest_text(const NcclTestsFile& file, const Terminal& terminal);

}  // namespace reprobench
