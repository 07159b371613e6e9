// Is a training that was stopped and resumed in another process the one that was never stopped, bit for bit?
#pragma once

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// How many steps of the stopped and the resumed process of an attempt (contract/attempt_segment.hpp) have other bits
// than the process that did all steps. States count too: the one at the stop, the one after loading, and the last one.
// Every tensor of every step of both segments is compared. There is no value without proof that the second process
// began from the checkpoint that the first one wrote at that step. It has to name checksum and writer, which only that
// file has, and the chain there.
Measurement differing_after_resuming(const CellEvidence& cell, const CellEvidence* unused);

}  // namespace reprobench
