// What a tag or a claims file says as a whole, held against what was ever released: "torch 2.9 with CUDA 11.8" is false
// of every image, whatever is in it. And what is known to be wrong with the versions that an image holds.
#pragma once

#include <string>
#include <vector>

#include "matrix/image/claims.hpp"

namespace reprobench {

// One finding for each rule that no choice of the claims satisfies; `where`: who says so, "tag x:1", a claims file.
std::vector<ImageFinding> find_never_released(const std::string& where, const std::vector<ImageClaim>& claims,
                                              const CompatFacts& facts);

// Known defects of the versions that were found.
std::vector<ImageFinding> find_known_defects(const ImageSoftware& software, const CompatFacts& facts);

}  // namespace reprobench
