// What oneDNN and MKL say of their own work when they are asked to be verbose: one line a call, on standard output.
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
  std::string mkl_processors;     // whose code MKL takes: "AVX2"; empty: it did not say, as it does once a process
  std::int64_t unread_lines = 0;  // that a library began, and whose call cannot be told
  std::string others;             // everything that is no line of theirs, as it was
};

// Reads lines of mkl-dnn 0.x, oneDNN 1.x to 3.x and MKL, whose order of words changed with the versions. What is
// neither a call nor one of the notes known of them (versions, primitives that were made) counts as unread.
LibraryText read_library_text(std::string_view text);

// Why what was said does not tell everything; to be asked where lines are unread.
std::string not_understood(const LibraryText& said);

}  // namespace reprobench
