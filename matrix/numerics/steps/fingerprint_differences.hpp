// The differences of two fingerprints: everything that arithmetic depends on, each with the text of both sides.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/result.hpp"

namespace reprobench {

// One thing that is not the same on both sides.
struct SideDifference {
  std::string what;      // "torch", "blas provider", "knob threads"
  std::string measured;  // empty: that side has none; for a component "not loaded"
  std::string expected;
};

template <>
struct Description<SideDifference> {
  static constexpr About about = About::part("difference", "One thing that is not the same on both sides.");
  static void fields(auto& field, SideDifference& difference) {
    field("what", difference.what);
    field("measured", difference.measured);
    field("expected", difference.expected);
  }
};

enum class FingerprintPart {
  component,     // its loaded version, or the compiled one if nothing was loaded: "cudnn"
  blas,          // "blas provider"
  instructions,  // "vector instructions"
  gpu,           // "device", with its number of multiprocessors, by which reductions are split
  cpu,           // "cpu"
  threads,       // "threads"
  compiler,      // "worker compiler"
  build,         // a library's build id: "build of libtorch_cpu.so", whatever its path
  setting,       // a resolved LibTorch setting: "setting deterministic_algorithms"
  variable,      // an environment variable: "variable OMP_NUM_THREADS"
};

struct FingerprintDifference {
  FingerprintPart part;
  SideDifference difference;
};

// In the order of the parts, and of names within one. If there are none, equal bits may be expected.
std::vector<FingerprintDifference> fingerprint_differences(const Fingerprint& measured, const Fingerprint& expected);

// "`9.8` against `9.10.2`", "none against `9.10.2`"
std::string sides_text(const SideDifference& difference);

}  // namespace reprobench
