// trace.jsonl of one attempt as values.
#pragma once

#include <filesystem>
#include <string>

#include "matrix/record/run_record.hpp"

namespace reprobench {

// Never throws for what the file holds: `problem` says what is wrong and everything before it is kept. The header must
// be this attempt's, the steps must count from `first_step` without a gap, and the final state must close the file.
Trace read_trace(const std::filesystem::path& path, const std::string& cell_id, const std::string& nonce,
                 std::int64_t first_step = 1);

}  // namespace reprobench
