// Where equal bits are promised: class A holds for equal fingerprints alone, class A* (our random numbers, data and
// initial weights) on every device of every host.
#pragma once

#include <string>

#include "matrix/verdict/metrics/metrics.hpp"

namespace reprobench {

// Why the bits of two cells of equal coordinates need not be equal: "sm_90 against cpu", "cpu `X` against `Y`". Empty:
// their fingerprints are equal in everything that arithmetic depends on, so they must be.
std::string not_bitwise_because(const CellEvidence& measured, const CellEvidence& expected);

// What of an attempt's trace is made by construction: of every step its batch, learning rate and number of samples, as
// far as they are on record, and the parameters that enter the first.
Trace constructed_part(const Trace& trace);

// How many things made by construction differ: the workload digest, and what is in constructed_part(). Every repeat of
// `cell` is held against the first of `anchor`, or of the cell itself if it is its own anchor.
Measurement by_construction_mismatches(const CellEvidence& cell, const CellEvidence* anchor);

}  // namespace reprobench
