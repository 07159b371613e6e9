// In what two fingerprints differ: everything that arithmetic depends on, each with the text of both sides.
#pragma once

#include <string>
#include <vector>

#include "matrix/contract/document/description.hpp"
#include "matrix/contract/result.hpp"

namespace reprobench {

// One thing that is not the same on both sides.
struct SideDifference {
  std::string what;      // "torch", "blas provider", "knob threads"
  std::string measured;  // empty: that side has none; of a component "not loaded"
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
  component,     // a version, as loaded, or as compiled against where nothing was loaded: "cudnn"
  blas,          // "blas provider"
  instructions,  // "vector instructions"
  gpu,           // "device", with its number of multiprocessors, which reductions are split by
  cpu,           // "cpu"
  threads,       // "threads"
  compiler,      // "worker compiler"
  build,         // a library's build id: "build of libtorch_cpu.so", wherever it lies
  setting,       // a resolved LibTorch setting: "setting deterministic_algorithms"
  variable,      // an environment variable: "variable OMP_NUM_THREADS"
};

struct FingerprintDifference {
  FingerprintPart part;
  SideDifference difference;
};

// In the order of the parts, and of names within one. Empty: equal bits may be expected.
std::vector<FingerprintDifference> fingerprint_differences(const Fingerprint& measured, const Fingerprint& expected);

// "`9.8` against `9.10.2`", "none against `9.10.2`"
std::string sides_text(const SideDifference& difference);

}  // namespace reprobench
