// Is a training that was stopped and resumed in another process the one that was never stopped, bit for bit?
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Steps in which the two processes of an attempt (contract/attempt_segment.hpp) have other bits than the one that did
// all steps, and states: the one that was stopped in, the one that was loaded, the last one. Every step of both
// segments is compared, every tensor of it. No value without proof that the second process began from the checkpoint
// that the first one wrote at that step: it has to name checksum and writer, which stand in that file alone, and the
// chain there.
Measurement differing_after_resuming(const CellEvidence& cell, const CellEvidence* unused);

}  // namespace reprobench
