// The TF32 switch of LibTorch, which has had three forms: one setter for each library, precisions by word (2.9),
// precisions by enumerator (2.10 and later). Releases that have both kinds throw in the middle of a product where the
// two disagree ("a mix of the legacy and new APIs"). So both are set, and only here.
#pragma once

#include <string>

namespace reprobench {

void set_tf32(bool on);

// "tf32", "ieee", or "none" where the release has not decided; `operation` is "matmul" or "conv".
std::string float32_precision(const std::string& operation);

}  // namespace reprobench
