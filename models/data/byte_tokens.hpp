// Our own tokenizer: a token is a byte of UTF-8. Four more tokens mark where a text begins, ends, is padded or is
// hidden.
#pragma once

#include <cstdint>

namespace reprobench {

inline constexpr std::int64_t kBeginToken = 256;
inline constexpr std::int64_t kEndToken = 257;
inline constexpr std::int64_t kPaddingToken = 258;
inline constexpr std::int64_t kHiddenToken = 259;
inline constexpr std::int64_t kByteVocabulary = 260;

// A target that takes no part in the loss, as LibTorch's cross entropy has it by default.
inline constexpr std::int64_t kNoTarget = -100;

}  // namespace reprobench
