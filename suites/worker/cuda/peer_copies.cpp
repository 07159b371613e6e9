// Copies between two GPUs of one process, each in a stream of the GPU it comes from.
#include <array>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <cuda_runtime_api.h>

#include "suites/worker/cuda/cuda_failure.hpp"
#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

constexpr int kGpus = 2;

void use(int device) { check_cuda(cudaSetDevice(device), "choosing a device"); }

bool may_reach(int from, int to) {
  int can = 0;
  check_cuda(cudaDeviceCanAccessPeer(&can, from, to), "asking for peer access");
  return can != 0;
}

void enable_access(int from, int to) {
  use(from);
  const cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
  if (error == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();  // it would be taken for the next call's
  } else {
    check_cuda(error, "enabling peer access");
  }
}

class CudaPeerLink final : public PeerLink {
 public:
  CudaPeerLink() {
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      use(gpu);
      check_cuda(cudaStreamCreateWithFlags(&streams_[index(gpu)], cudaStreamNonBlocking), "making a stream");
      if (may_reach(gpu, 1 - gpu)) enable_access(gpu, 1 - gpu);
    }
    use(0);
    check_cuda(cudaEventCreate(&began_), "making an event");
    check_cuda(cudaEventCreate(&ended_), "making an event");
    use(1);
    check_cuda(cudaEventCreateWithFlags(&other_ended_, cudaEventDisableTiming), "making an event");
    use(0);
  }

  ~CudaPeerLink() override {
    for (cudaStream_t stream : streams_) {
      if (stream != nullptr) cudaStreamDestroy(stream);
    }
    for (cudaEvent_t event : {began_, ended_, other_ended_}) {
      if (event != nullptr) cudaEventDestroy(event);
    }
  }
  CudaPeerLink(const CudaPeerLink&) = delete;
  CudaPeerLink& operator=(const CudaPeerLink&) = delete;

  c10::Device where(int device) const override { return {c10::kCUDA, static_cast<c10::DeviceIndex>(device)}; }
  bool reaches(int from, int to) const override { return may_reach(from, to); }

  double time_ns(std::span<const PeerCopy> copies, std::int64_t calls) override {
    wait_for_both();  // what LibTorch still writes into the tensors
    check_cuda(cudaEventRecord(began_, streams_[0]), "recording an event");
    check_cuda(cudaStreamWaitEvent(streams_[1], began_, 0), "joining two streams");
    // In turns, so that neither queue waits for the host to fill the other.
    for (std::int64_t call = 0; call < calls; ++call) {
      for (const PeerCopy& copy : copies) queue(copy);
    }
    check_cuda(cudaEventRecord(other_ended_, streams_[1]), "recording an event");
    check_cuda(cudaStreamWaitEvent(streams_[0], other_ended_, 0), "joining two streams");
    check_cuda(cudaEventRecord(ended_, streams_[0]), "recording an event");
    check_cuda(cudaEventSynchronize(ended_), "waiting for copies between GPUs");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, began_, ended_), "reading an event");
    return static_cast<double>(milliseconds) * 1e6;
  }

 private:
  static std::size_t index(int gpu) { return static_cast<std::size_t>(gpu); }

  static void wait_for_both() {
    for (int gpu = kGpus - 1; gpu >= 0; --gpu) {  // the first last, which stays the current one
      use(gpu);
      check_cuda(cudaDeviceSynchronize(), "waiting for a device");
    }
  }

  void queue(const PeerCopy& copy) {
    const int from = copy.from.device().index();
    check_cuda(cudaMemcpyPeerAsync(copy.to.data_ptr(), copy.to.device().index(), copy.from.data_ptr(), from,
                                   static_cast<std::size_t>(copy.from.numel()) * copy.from.element_size(),
                                   streams_.at(index(from))),
               "copying between GPUs");
  }

  std::array<cudaStream_t, kGpus> streams_{};
  cudaEvent_t began_ = nullptr;  // both of GPU 0, as a time lies between events of one device
  cudaEvent_t ended_ = nullptr;
  cudaEvent_t other_ended_ = nullptr;
};

}  // namespace

std::unique_ptr<PeerLink> open_peer_link(const std::string& name) {
  std::string problem;
  const std::vector<DeviceFacts> devices = visible_devices(problem);
  if (devices.size() < kGpus) {
    throw RunFailure("no_device", "two GPUs are wanted, and this process sees " + std::to_string(devices.size()) +
                                      (problem.empty() ? "" : ": " + problem));
  }
  for (std::size_t gpu = 0; gpu < kGpus; ++gpu) {
    const std::string found = device_class(devices[gpu].compute_capability);
    if (found != name) {
      throw RunFailure("no_device", "GPU " + std::to_string(gpu) + " is of class " + found + ", not " + name);
    }
  }
  return std::make_unique<CudaPeerLink>();
}

}  // namespace reprobench
