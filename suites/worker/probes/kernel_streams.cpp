#include "suites/worker/probes/kernel_streams.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>

#include "kernels/digest/digest_device.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/reduce/reduce_device.hpp"
#include "kernels/stream/stream_device.hpp"
#include "suites/worker/probes/probe_run.hpp"

namespace reprobench {
namespace {

// No type: the bandwidth is asked for, and shares are of operations labelled alike.
Labels labels_of(const std::string& size) { return {{"library", "reprobench"}, {"size", size}}; }

// The kernels' own check says how many elements of a result are wrong.
void measure_streams_of_kernels(ProbeRun& run, std::int64_t bytes, const std::string& size) {
  StreamArrays arrays(*run.compute().kernels(), static_cast<std::uint64_t>(bytes) / sizeof(double));
  for (const StreamOperation operation : kStreamOperations) {
    const auto wrong = [&] {
      return at::scalar_tensor(static_cast<std::int64_t>(arrays.wrong_elements(operation, run.compute().stream())),
                               at::kLong);
    };
    const at::Tensor not_asked = at::scalar_tensor(0, at::kLong);
    bool is_first = true;
    run.measure({std::string(word(operation)), labels_of(size), static_cast<double>(arrays.moved_bytes(operation)),
                 [&] {
                   arrays.enqueue(operation, run.compute().stream());
                   return std::exchange(is_first, false) ? wrong() : not_asked;
                 },
                 [&](const at::Tensor& result) { return equal_to(result, at::zeros_like(result)); }});
  }
}

void measure_ordered_sum(ProbeRun& run, std::int64_t bytes, const std::string& size) {
  const at::Tensor values = run.random_normal("ordered_sum", {bytes / 4});
  const at::Tensor on_host = values.to(at::kCPU);
  const float expected =
      fixed_order_sum({static_cast<const float*>(on_host.data_ptr()), static_cast<std::size_t>(on_host.numel())});
  at::Tensor total = at::empty({}, values.options());
  DeviceSum sum(*run.compute().kernels());
  run.measure({"ordered_sum", labels_of(size), static_cast<double>(bytes),
               [&] {
                 sum.enqueue(DevicePointer<const float>::of(values.data_ptr()),
                             static_cast<std::uint64_t>(values.numel()), DevicePointer<float>::of(total.data_ptr()),
                             run.compute().stream());
                 return total;
               },
               [&](const at::Tensor& result) { return equal_to(result, at::scalar_tensor(expected, at::kFloat)); }});
}

// Every block's digest against that of the same bytes on the host. A call includes fetching the digests: 16 bytes of
// 65,536 and one wait.
void measure_digest(ProbeRun& run, std::int64_t bytes, const std::string& size) {
  const at::Tensor values = run.random_normal("digest", {bytes / 4});
  const at::Tensor on_host = values.to(at::kCPU);
  DeviceDigest digest(*run.compute().kernels());
  const DeviceBytes whole{DevicePointer<const unsigned char>::of(values.data_ptr()), static_cast<std::uint64_t>(bytes)};
  std::span<const Digest> found;
  const auto wrong_blocks = [&] {
    const auto* content = static_cast<const std::byte*>(on_host.data_ptr());
    std::int64_t wrong = 0;
    for (std::size_t block = 0; block < found.size(); ++block) {
      const std::size_t begin = block * kDigestBlockBytes;
      const std::size_t length = std::min(kDigestBlockBytes, static_cast<std::size_t>(bytes) - begin);
      if (found[block] != block_digest({content + begin, length})) ++wrong;
    }
    return at::scalar_tensor(wrong, at::kLong);
  };
  const at::Tensor not_asked = at::scalar_tensor(0, at::kLong);
  bool is_first = true;
  run.measure({"digest", labels_of(size), static_cast<double>(bytes),
               [&] {
                 digest.enqueue({&whole, 1}, run.compute().stream());
                 found = digest.take().front();
                 return std::exchange(is_first, false) ? wrong_blocks() : not_asked;
               },
               [&](const at::Tensor& result) { return equal_to(result, at::zeros_like(result)); }});
}

}  // namespace

void measure_kernel_streams(ProbeRun& run, std::int64_t bytes, const std::string& size) {
  measure_streams_of_kernels(run, bytes, size);
  measure_ordered_sum(run, bytes, size);
  measure_digest(run, bytes, size);
}

}  // namespace reprobench
