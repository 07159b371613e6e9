// The memory-bandwidth set on three arrays of one device: each operation enqueues one launch and tells the bytes it
// moves. Its result can be checked before its timing is trusted.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/device/device_kernels.hpp"
#include "kernels/device/device_memory.hpp"
#include "kernels/stream/stream_kernels.hpp"

namespace reprobench {

enum class StreamOperation { init, copy, scale, add, triad, read_sum };
inline constexpr StreamOperation kStreamOperations[] = {StreamOperation::init,  StreamOperation::copy,
                                                        StreamOperation::scale, StreamOperation::add,
                                                        StreamOperation::triad, StreamOperation::read_sum};

std::string_view word(StreamOperation operation);

class StreamArrays {
 public:
  // Three arrays of `elements` fp64 each, filled; waits. Throws DeviceError(out_of_memory). `kernels` outlives it.
  StreamArrays(DeviceKernels& kernels, std::uint64_t elements);

  std::uint64_t elements() const { return elements_; }
  // The bytes that one launch reads and writes, as STREAM counts them.
  std::uint64_t moved_bytes(StreamOperation operation) const;

  // Does not wait. `init` writes the first array again, with the values that it has; the others write the third.
  void enqueue(StreamOperation operation, DeviceStream stream);

  // How many elements of the result of the `operation` enqueued last are wrong; read_sum counts as one. Waits.
  std::uint64_t wrong_elements(StreamOperation operation, DeviceStream stream);

  DevicePointer<double> source() const { return a_.data(); }
  DevicePointer<double> result() const { return c_.data(); }

 private:
  DeviceKernels& kernels_;
  std::uint64_t elements_;
  DeviceBuffer<double> a_;
  DeviceBuffer<double> b_;
  DeviceBuffer<double> c_;
  DeviceBuffer<std::uint64_t> total_;
  DeviceBuffer<std::uint64_t> wrong_;
  std::uint64_t expected_sum_ = 0;  // of the first array's words, computed on the CPU
  std::uint64_t sums_ = 0;          // how many were added up: no reset precedes a timed launch
};

}  // namespace reprobench
