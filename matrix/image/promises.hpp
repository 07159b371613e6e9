// Compares the claims of a tag or a claims file as a whole with all past releases. "torch 2.9 with CUDA 11.8" is false
// for every image, whatever is in it. Also finds known defects of the versions in an image.
#pragma once

#include <string>
#include <vector>

#include "matrix/image/claims.hpp"

namespace reprobench {

// One finding for each rule that no choice of the claims satisfies. `where` names their source: "tag x:1", a claims
// file.
std::vector<ImageFinding> find_never_released(const std::string& where, const std::vector<ImageClaim>& claims,
                                              const CompatFacts& facts);

// Known defects of the versions that were found.
std::vector<ImageFinding> find_known_defects(const ImageSoftware& software, const CompatFacts& facts);

}  // namespace reprobench
