#include "kernels/diff/diff_device.hpp"

#include <algorithm>
#include <vector>

#include "kernels/device/device_memory.hpp"
#include "kernels/diff/diff_kernels.hpp"

namespace reprobench {
namespace {

static_assert(kDiffKernelBlockBytes == kDiffBlockBytes);
static_assert(kDiffHistogram == kUlpBuckets);

struct Operands {
  DevicePointer<const unsigned char> a;
  DevicePointer<const unsigned char> b;
  std::uint64_t element_count;
  DeviceStream stream;
};

// What one launch leaves behind.
struct Parts {
  std::vector<DiffSums> sums;
  std::vector<DiffCounts> counts;
  std::vector<std::uint64_t> histogram;
};

template <class Kernel>
Parts run(DeviceKernels& kernels, std::uint64_t blocks, const Operands& on) {
  const std::uint32_t grid = kernels.blocks_for<Kernel>(blocks);
  DeviceBuffer<DiffSums> sums(kernels.context(), std::max<std::uint64_t>(1, blocks));
  DeviceBuffer<DiffCounts> counts(kernels.context(), grid);
  DeviceBuffer<std::uint64_t> histogram(kernels.context(), kDiffHistogram);
  sums.fill_zero(on.stream);
  histogram.fill_zero(on.stream);
  kernels.launch<Kernel>(on.stream, grid, on.a, on.b, on.element_count, sums.data(), counts.data(), histogram.data());
  Parts parts{std::vector<DiffSums>(blocks), std::vector<DiffCounts>(grid), std::vector<std::uint64_t>(kDiffHistogram)};
  sums.copy_to(parts.sums, on.stream);
  counts.copy_to(parts.counts, on.stream);
  histogram.copy_to(parts.histogram, on.stream);
  kernels.context().synchronize(on.stream);
  return parts;
}

Parts run_raw(DeviceKernels& kernels, std::size_t element_bytes, const Operands& on) {
  const std::uint32_t grid = kernels.blocks_for_threads<DiffRaw>(on.element_count);
  DeviceBuffer<DiffCounts> counts(kernels.context(), grid);
  kernels.launch<DiffRaw>(on.stream, grid, on.a, on.b, on.element_count, static_cast<std::uint32_t>(element_bytes),
                          counts.data());
  Parts parts{{}, std::vector<DiffCounts>(grid), std::vector<std::uint64_t>(kDiffHistogram)};
  counts.copy_to(parts.counts, on.stream);
  kernels.context().synchronize(on.stream);
  return parts;
}

struct KernelRow {
  ElementType type;
  Parts (*run)(DeviceKernels&, std::uint64_t, const Operands&);
};

constexpr KernelRow kKernels[] = {
    {ElementType::fp64, &run<DiffFp64>},
    {ElementType::fp32, &run<DiffFp32>},
    {ElementType::bf16, &run<DiffBf16>},
    {ElementType::fp16, &run<DiffFp16>},
    {ElementType::fp8_e4m3fn, &run<DiffFp8E4m3fn>},
    {ElementType::fp8_e5m2, &run<DiffFp8E5m2>},
};

std::uint64_t read_element(DeviceKernels& kernels, DevicePointer<const unsigned char> data, std::uint64_t index,
                           std::size_t bytes, DeviceStream stream) {
  std::uint64_t bits = 0;
  const CudaDriver& driver = kernels.context().driver();
  driver.check(driver.copy_to_host(&bits, (data + index * bytes).address(), bytes, stream), "cuMemcpyDtoHAsync");
  kernels.context().synchronize(stream);
  return bits;
}

ElementPair pair_at(DeviceKernels& kernels, const Operands& on, std::uint64_t index, std::size_t bytes) {
  return {static_cast<std::int64_t>(index), read_element(kernels, on.a, index, bytes, on.stream),
          read_element(kernels, on.b, index, bytes, on.stream), std::nullopt};
}

// The counts of all thread blocks, as if one had done the whole.
DiffCounts folded(const std::vector<DiffCounts>& parts) {
  DiffCounts all = {0, 0, 0, 0, 0, kNoElement, kNoElement, 0};
  for (const DiffCounts& part : parts) {
    all.differing += part.differing;
    all.nan_mismatches += part.nan_mismatches;
    all.nan_payloads += part.nan_payloads;
    all.inf_mismatches += part.inf_mismatches;
    all.zero_signs += part.zero_signs;
    all.first = std::min(all.first, part.first);
    // Thread blocks hold the tensor's blocks in order, so of equal distances the first stays.
    if (part.largest != kNoElement && (all.largest == kNoElement || part.largest_ulp > all.largest_ulp)) {
      all.largest = part.largest;
      all.largest_ulp = part.largest_ulp;
    }
  }
  return all;
}

}  // namespace

Difference diff(DeviceKernels& kernels, ElementType type, DevicePointer<const unsigned char> a,
                DevicePointer<const unsigned char> b, std::uint64_t element_count, DeviceStream stream) {
  const std::size_t bytes = element_bytes(type);
  const std::uint64_t block_elements = kDiffBlockBytes / bytes;
  const Operands on{a, b, element_count, stream};
  const auto* row = std::find_if(std::begin(kKernels), std::end(kKernels),
                                 [&](const KernelRow& candidate) { return candidate.type == type; });
  const Parts parts = row == std::end(kKernels)
                          ? run_raw(kernels, bytes, on)
                          : row->run(kernels, (element_count + block_elements - 1) / block_elements, on);
  const DiffCounts counts = folded(parts.counts);

  Difference result;
  result.count = static_cast<std::int64_t>(element_count);
  result.differing = static_cast<std::int64_t>(counts.differing);
  result.nan_mismatches = static_cast<std::int64_t>(counts.nan_mismatches);
  result.nan_payloads = static_cast<std::int64_t>(counts.nan_payloads);
  result.inf_mismatches = static_cast<std::int64_t>(counts.inf_mismatches);
  result.zero_signs = static_cast<std::int64_t>(counts.zero_signs);
  std::copy(parts.histogram.begin(), parts.histogram.end(), result.ulp_histogram.begin());
  for (const DiffSums& block : parts.sums) {
    result.difference_squares += block.difference_squares;
    result.reference_squares += block.reference_squares;
    result.max_abs = std::max(result.max_abs, block.max_abs);
  }
  if (counts.largest != kNoElement) {
    result.largest = pair_at(kernels, on, counts.largest, bytes);
    result.largest->ulp = counts.largest_ulp;
  }
  if (counts.first != kNoElement) {
    result.first_block = static_cast<std::int64_t>(counts.first / block_elements);
    result.first = pair_at(kernels, on, counts.first, bytes);
    result.first->ulp = ulp_distance(type, result.first->bits_a, result.first->bits_b);
  }
  return result;
}

}  // namespace reprobench
