// One attempt: request.json in, trace.jsonl and result.json out, whatever happens in between.
#pragma once

#include <filesystem>

namespace reprobench {

// Returns true if every step was done. Any exception on the way becomes the failure in result.json, which lies beside
// the request. So does one that ends in std::terminate; the process then exits with kFailedExit (last_words.hpp).
// Throws only if the result itself cannot be written.
bool run_attempt(const std::filesystem::path& request_path, const std::filesystem::path& data_folder);

}  // namespace reprobench
