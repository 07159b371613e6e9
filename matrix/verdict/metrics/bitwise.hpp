// Where equal bits are promised: class A holds for equal fingerprints alone, class A* (our random numbers, data and
// initial weights) on every device of every host.
#pragma once

#include <string>

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Why the bits of two cells of equal coordinates need not be equal: "sm_90 against cpu", "cpu `X` against `Y`". Empty:
// their fingerprints are equal in everything that arithmetic depends on, so they must be.
std::string not_bitwise_because(const CellEvidence& measured, const CellEvidence& expected);

// The parts of an attempt's trace that are made by construction: batch, learning rate and number of samples of every
// step, as far as they are on record, and the parameters before the first step.
Trace constructed_part(const Trace& trace);

// How many things made by construction differ: the workload digest, and those of constructed_part(). Every repeat of
// `cell` is compared with the first of `anchor`, or of the cell itself if it is its own anchor.
Measurement by_construction_mismatches(const CellEvidence& cell, const CellEvidence* anchor);

}  // namespace reprobench
