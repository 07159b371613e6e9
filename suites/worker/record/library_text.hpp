// The verbose output of oneDNN and MKL about their own work: one line for each call, on standard output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

struct LibraryText {
  // "onednn convolution jit:avx512_core", "mkl SGEMM", and where MKL was told to reproduce bits "mkl SGEMM CNR:AVX2":
  // each once, in the order of their first lines.
  std::vector<std::string> calls;
  std::string mkl_processors;     // whose code MKL takes: "AVX2"; empty: it did not say, which it does once a process
  std::int64_t unread_lines = 0;  // lines of a library whose call cannot be told
  std::string others;             // everything that is no line of theirs, as it was
};

// Reads lines of mkl-dnn 0.x, oneDNN 1.x to 3.x and MKL, whose order of words changed with the versions. A line of
// theirs that is neither a call nor a known note (versions, primitives that were made) counts as unread.
LibraryText read_library_text(std::string_view text);

// Why the output does not tell everything; to be called if lines are unread.
std::string not_understood(const LibraryText& said);

}  // namespace reprobench
