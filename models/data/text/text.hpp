// The verse of README.md in this folder, byte by byte: a token is a byte, 0..127.
//
// Sample i is the context + 1 bytes from i * context on. Its `input` has the first `context` of them and its `target`
// the last `context`: the byte that follows each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "models/data_set.hpp"

namespace reprobench {

// Reads DIR/text/paradise_lost.txt. Throws std::runtime_error that names the file and what is wrong with it.
std::vector<unsigned char> load_text(const std::filesystem::path& data_folder);

// Samples of the shipped text: `input` and `target`, (context) int64 each. Throws std::runtime_error if the text is too
// short for one sample, or context_length is not positive.
std::unique_ptr<DataSet> text_windows(const std::filesystem::path& data_folder, std::int64_t context_length);

}  // namespace reprobench
