// One attempt: request.json in, trace.jsonl and result.json out, whatever happens in between.
#pragma once

#include <filesystem>

namespace reprobench {

// Returns true if every step was done. Any throw on the way becomes the failure of result.json, beside the request; one
// that ends in std::terminate does too, and then the process exits with kFailedExit (last_words.hpp).
// Throws only if the result itself cannot be written.
bool run_attempt(const std::filesystem::path& request_path, const std::filesystem::path& data_folder);

}  // namespace reprobench
