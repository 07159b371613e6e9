// Which library computed an operator call, told from what was seen while the call was made once more on a CPU: the
// operators that ran, and the calls that oneDNN and MKL tell of. A name is no proof of an order; it says whose release
// notes to read.
#pragma once

#include <string>

#include "matrix/contract/probe_measurement.hpp"

namespace reprobench {

struct CallLibrary {
  std::string name;     // "MKL", "oneDNN + LibTorch's own kernels"; empty: not known
  std::string unknown;  // why it is not known
};

// A product or convolution in which no library was heard is not known: LibTorch hands most of them on, and a library
// whose verbose mode was not read tells nothing.
CallLibrary library_of(const ProbeMeasurement& measurement);

}  // namespace reprobench
