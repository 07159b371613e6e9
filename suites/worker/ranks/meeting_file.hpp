// A few bytes that one rank leaves for the others in the attempt's folder, such as the address under which NCCL's first
// rank waits for the rest. The file is written under another name and renamed, so nobody reads half of it.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace reprobench {

// Leaves the file. Throws std::runtime_error, also if there is such a file already: it would be another meeting's.
void leave_for_ranks(const std::filesystem::path& file, const std::string& bytes);

// Waits for the file. Throws std::runtime_error when time is up, or if it holds another number of bytes.
std::string take_from_rank_0(const std::filesystem::path& file, std::size_t size, std::chrono::milliseconds timeout);

}  // namespace reprobench
