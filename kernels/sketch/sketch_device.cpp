#include "kernels/sketch/sketch_device.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace reprobench {

struct DeviceSketch::Group {
  std::size_t first = 0;  // in order_
  std::uint32_t count = 0;
  std::uint64_t first_segment = 0;
  std::uint64_t segment_count = 0;
};

DeviceSketch::DeviceSketch(DeviceKernels& kernels)
    : kernels_(kernels),
      spans_(kernels.context()),
      spans_on_host_(kernels.context()),
      segments_(kernels.context()),
      totals_(kernels.context()),
      totals_on_host_(kernels.context()) {}

void DeviceSketch::enqueue(std::span<const SketchTensor> tensors, DeviceStream stream) {
  if (pending_) throw std::logic_error("DeviceSketch: the results of the call before were not taken");
  tensors_.assign(tensors.begin(), tensors.end());
  stream_ = stream;
  order_.resize(tensors.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::size_t a, std::size_t b) { return tensors_[a].type < tensors_[b].type; });
  if (!tensors.empty()) enqueue_groups();
  pending_ = true;
}

void DeviceSketch::enqueue_groups() {
  const std::size_t count = order_.size();
  spans_.grow(count);
  spans_on_host_.grow(count);
  totals_.grow(count);
  totals_on_host_.grow(count);
  const auto spans = spans_on_host_.first(count);
  std::vector<Group> groups;
  std::uint64_t all_segments = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const SketchTensor& tensor = tensors_[order_[i]];
    if (i == 0 || tensor.type != tensors_[order_[i - 1]].type) groups.push_back({i, 0, all_segments, 0});
    Group& group = groups.back();
    spans[i] = {tensor.data, tensor.element_count, group.segment_count};
    const std::uint64_t segments = (tensor.element_count + kSketchSegment - 1) / kSketchSegment;
    ++group.count;
    group.segment_count += segments;
    all_segments += segments;
  }
  segments_.grow(all_segments);
  spans_.copy_from(spans, stream_);
  for (const Group& group : groups) {
    switch (tensors_[order_[group.first]].type) {
      case SketchType::fp32:
        enqueue_group<SketchFp32>(group);
        break;
      case SketchType::fp64:
        enqueue_group<SketchFp64>(group);
        break;
      case SketchType::bf16:
        enqueue_group<SketchBf16>(group);
        break;
      case SketchType::int64:
        enqueue_group<SketchInt64>(group);
        break;
    }
  }
  totals_.copy_to(totals_on_host_.first(count), stream_);
}

template <class Kernel>
void DeviceSketch::enqueue_group(const Group& group) {
  const DevicePointer<TensorSpan> spans = spans_.data() + group.first;
  const DevicePointer<SketchPart> segments = segments_.data() + group.first_segment;
  kernels_.launch<Kernel>(stream_, kernels_.blocks_for<Kernel>(group.segment_count), spans, group.count,
                          group.segment_count, segments);
  kernels_.launch<SketchFold>(stream_, kernels_.blocks_for<SketchFold>(group.count), spans, group.count,
                              group.segment_count, segments, totals_.data() + group.first);
}

std::vector<Sketch> DeviceSketch::take() {
  if (pending_ && !order_.empty()) kernels_.context().synchronize(stream_);
  pending_ = false;
  std::vector<Sketch> sketches(order_.size());
  const auto totals = totals_on_host_.first(order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    sketches[order_[i]] = finish_sketch(totals[i], static_cast<std::int64_t>(tensors_[order_[i]].element_count));
  }
  return sketches;
}

}  // namespace reprobench
