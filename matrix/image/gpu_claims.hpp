// "It runs on compute capability 9.0", held against the device code that lies in an image.
#pragma once

#include "matrix/image/claims.hpp"

namespace reprobench {

// A claim of the component `gpu`. torch needs machine code for it or PTX that a driver compiles; NCCL, where the image
// has it, machine code or PTX of its own, else every collective fails there.
JudgedClaim judge_gpu_claim(JudgedClaim judged, const ImageSoftware& software);

}  // namespace reprobench
