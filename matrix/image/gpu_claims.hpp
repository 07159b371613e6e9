// Compares a claim such as "It runs on compute capability 9.0" with the device code in an image.
#pragma once

#include "matrix/image/claims.hpp"

namespace reprobench {

// Judges a claim of the component `gpu`. torch needs machine code for it, or PTX that a driver compiles. NCCL, if the
// image has it, needs machine code or PTX of its own; else every collective fails there.
JudgedClaim judge_gpu_claim(JudgedClaim judged, const ImageSoftware& software);

}  // namespace reprobench
