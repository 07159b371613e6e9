// Sketches of tensors in device memory: two launches for each element type in the list, one copy back, no wait in
// between. The bits are those of sketch.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/device/device_kernels.hpp"
#include "kernels/device/device_memory.hpp"
#include "kernels/sketch/sketch.hpp"
#include "kernels/sketch/sketch_kernels.hpp"

namespace reprobench {

enum class SketchType { fp32, fp64, bf16, int64 };

// A contiguous tensor.
struct SketchTensor {
  SketchType type = SketchType::fp32;
  DevicePointer<const unsigned char> data;
  std::uint64_t element_count = 0;
};

// Buffers for one list of tensors at a time, kept between calls. `kernels` outlives it.
class DeviceSketch {
 public:
  explicit DeviceSketch(DeviceKernels& kernels);

  // Enqueues all sketches and their copy to the host; returns at once. Throws std::logic_error if the results of the
  // call before were not taken.
  void enqueue(std::span<const SketchTensor> tensors, DeviceStream stream);

  // Waits for the stream of `enqueue`. Returns the sketches in the order of the tensors.
  std::vector<Sketch> take();

 private:
  struct Group;  // the tensors of one type

  template <class Kernel>
  void enqueue_group(const Group& group);
  void enqueue_groups();

  DeviceKernels& kernels_;
  DeviceStream stream_ = nullptr;
  bool pending_ = false;
  std::vector<SketchTensor> tensors_;
  std::vector<std::size_t> order_;  // of the tensors in the buffers: by type
  DeviceBuffer<TensorSpan> spans_;
  PinnedBuffer<TensorSpan> spans_on_host_;
  DeviceBuffer<SketchPart> segments_;
  DeviceBuffer<SketchPart> totals_;
  PinnedBuffer<SketchPart> totals_on_host_;
};

}  // namespace reprobench
