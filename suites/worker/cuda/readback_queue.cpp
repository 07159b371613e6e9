#include "suites/worker/cuda/readback_queue.hpp"

#include <cstring>
#include <filesystem>

#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "kernels/digest/digest_device.hpp"
#include "suites/worker/cuda/cuda_failure.hpp"
#include "suites/worker/record/tensor_record.hpp"

namespace reprobench {
namespace {

// The compiler of the CUDA this worker was built for, as the stack brings it; the worker's own search path finds it.
std::string nvrtc_soname() { return "libnvrtc.so." + std::to_string(CUDART_VERSION / 1000); }

// Beside the worker, so that an installed stack keeps its machine code. Where that cannot be written nothing is kept.
std::filesystem::path cubin_folder() {
  std::error_code unknown;
  const std::filesystem::path worker = std::filesystem::read_symlink("/proc/self/exe", unknown);
  return unknown ? std::filesystem::path() : worker.parent_path() / "cubins";
}

}  // namespace

struct ReadbackQueue::Slot {
  struct TensorHeader {
    std::string dtype;
    std::vector<std::int64_t> shape;
  };

  explicit Slot(DeviceKernels& kernels) : digest(kernels), scalar_bytes(kernels.context(), sizeof(double)) {
    check_cuda(cudaEventCreateWithFlags(&scalar_came, cudaEventDisableTiming), "making an event");
  }
  // A failure to destroy an event at the end of the process changes nothing any more.
  ~Slot() { static_cast<void>(cudaEventDestroy(scalar_came)); }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  DeviceDigest digest;
  PinnedBuffer<unsigned char> scalar_bytes;
  cudaEvent_t scalar_came = nullptr;
  bool scalar_is_fp64 = false;
  std::vector<TensorHeader> headers;
};

class ReadbackQueue::Pending final : public PendingReadback {
 public:
  Pending(ReadbackQueue& queue, std::unique_ptr<Slot> slot) : queue_(queue), slot_(std::move(slot)) {}
  ~Pending() override {
    if (slot_ != nullptr) queue_.free_.push_back(std::move(slot_));
  }

  Readback take() override {
    Readback readback;
    check_cuda(cudaEventSynchronize(slot_->scalar_came), "waiting for the loss");
    const auto blocks = slot_->digest.take();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Slot::TensorHeader& header = slot_->headers[i];
      readback.digests.push_back(tensor_digest(header.dtype, header.shape, blocks[i]));
    }
    const unsigned char* bytes = slot_->scalar_bytes.first(sizeof(double)).data();
    if (slot_->scalar_is_fp64) {
      std::memcpy(&readback.scalar.value, bytes, sizeof(double));
      readback.scalar.is_fp64 = true;
    } else {
      float value = 0;
      std::memcpy(&value, bytes, sizeof value);
      readback.scalar.value = static_cast<double>(value);
    }
    return readback;
  }

 private:
  ReadbackQueue& queue_;
  std::unique_ptr<Slot> slot_;
};

ReadbackQueue::ReadbackQueue()
    : context_(open_cuda_driver()), kernels_(context_, Nvrtc(nvrtc_soname()), cubin_folder()) {}

ReadbackQueue::~ReadbackQueue() = default;

std::unique_ptr<PendingReadback> ReadbackQueue::begin(std::span<const at::Tensor> tensors, const at::Tensor& scalar) {
  if (free_.empty()) free_.push_back(std::make_unique<Slot>(kernels_));
  std::unique_ptr<Slot> slot = std::move(free_.back());
  free_.pop_back();

  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream().stream();
  slot->scalar_is_fp64 = scalar.scalar_type() == at::kDouble;
  check_cuda(cudaMemcpyAsync(slot->scalar_bytes.first(sizeof(double)).data(), scalar.data_ptr(), scalar.nbytes(),
                             cudaMemcpyDeviceToHost, stream),
             "reading the loss back");
  check_cuda(cudaEventRecord(slot->scalar_came, stream), "recording an event");
  slot->headers.clear();
  std::vector<DeviceBytes> bytes;
  for (const at::Tensor& tensor : tensors) {
    // What offload keeps on the host, and the numbers of a loss scale, come here first: a kernel reads no pageable
    // memory.
    const at::Tensor here = tensor.is_cuda() ? tensor : tensor.to(scalar.device(), tensor.scalar_type());
    // A dense copy that goes out of scope is used again only by work queued after what reads it here.
    const at::Tensor dense = here.detach().contiguous();
    slot->headers.push_back({dtype_name(dense), {dense.sizes().begin(), dense.sizes().end()}});
    bytes.push_back({DevicePointer<const unsigned char>::of(dense.data_ptr()), dense.nbytes()});
  }
  slot->digest.enqueue(bytes, stream);
  return std::make_unique<Pending>(*this, std::move(slot));
}

}  // namespace reprobench
