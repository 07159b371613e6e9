// cub::DeviceReduce::Sum beside which our fixed-order sum is held: sums of float32 on the GPU, at the sizes of the
// probe `device_memory`. Prints one JSON line: {"device": ..., "cub": ..., "sums": [{"bytes", "call_ns": [..],
// "wrong"}]}; a block of calls of at least 2 ms is timed between two events and counts as one sample. `wrong` sums have
// no place in a comparison.
//
//   nvcc -O3 -std=c++17 -arch=native ci/peers/cub_reduce.cu -o cub_reduce && ./cub_reduce BYTES...
//
// One number in 4096 is 1 and the rest are 0: every partial sum stays below 2^24, so the result is exact in any order.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cub/cub.cuh>
#include <cuda_runtime.h>

namespace {

constexpr int kSamples = 10;
constexpr float kBlockMs = 2;
constexpr std::size_t kSpacing = 4096;  // 2^31 numbers have 2^19 ones

void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "cub_reduce: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

__global__ void fill(float* values, std::size_t count) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count; i += stride) {
    values[i] = i % kSpacing == 0 ? 1.0F : 0.0F;
  }
}

class TimedSum {
 public:
  explicit TimedSum(std::size_t bytes) : count_(bytes / sizeof(float)) {
    require(cudaMalloc(&values_, bytes), "memory for the numbers");
    require(cudaMalloc(&total_, sizeof(float)), "memory for the sum");
    fill<<<1024, 256>>>(values_, count_);
    require(cudaGetLastError(), "fill");
    require(cub::DeviceReduce::Sum(nullptr, scratch_bytes_, values_, total_, count_), "size of the scratch memory");
    require(cudaMalloc(&scratch_, scratch_bytes_), "scratch memory");
    require(cudaEventCreate(&start_), "event");
    require(cudaEventCreate(&end_), "event");
  }
  ~TimedSum() {
    cudaFree(values_);
    cudaFree(total_);
    cudaFree(scratch_);
    cudaEventDestroy(start_);
    cudaEventDestroy(end_);
  }
  TimedSum(const TimedSum&) = delete;
  TimedSum& operator=(const TimedSum&) = delete;

  bool is_wrong() {
    float total = 0;
    enqueue();
    require(cudaMemcpy(&total, total_, sizeof total, cudaMemcpyDeviceToHost), "the sum");
    return total != static_cast<float>((count_ + kSpacing - 1) / kSpacing);
  }

  double block_ms(int calls) {
    require(cudaEventRecord(start_), "event");
    for (int i = 0; i < calls; ++i) enqueue();
    require(cudaEventRecord(end_), "event");
    require(cudaEventSynchronize(end_), "sum");
    float ms = 0;
    require(cudaEventElapsedTime(&ms, start_, end_), "time");
    return ms;
  }

 private:
  void enqueue() { require(cub::DeviceReduce::Sum(scratch_, scratch_bytes_, values_, total_, count_), "sum"); }

  std::size_t count_;
  std::size_t scratch_bytes_ = 0;
  float* values_ = nullptr;
  float* total_ = nullptr;
  void* scratch_ = nullptr;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  cudaDeviceProp device{};
  require(cudaGetDeviceProperties(&device, 0), "no GPU");
  std::printf(R"({"device": "%s", "cub": "%d.%d.%d", "sums": [)", device.name, CUB_MAJOR_VERSION, CUB_MINOR_VERSION,
              CUB_SUBMINOR_VERSION);
  for (int i = 1; i < argc; ++i) {
    const std::size_t bytes = std::strtoull(argv[i], nullptr, 10);
    TimedSum sum(bytes);
    const bool wrong = sum.is_wrong();
    int calls = 1;
    while (sum.block_ms(calls) < kBlockMs && calls < 1 << 20) calls *= 2;
    std::printf(R"(%s{"bytes": %zu, "wrong": %s, "call_ns": [)", i == 1 ? "" : ", ", bytes, wrong ? "true" : "false");
    for (int sample = 0; sample < kSamples; ++sample) {
      std::printf("%s%.1f", sample == 0 ? "" : ", ", sum.block_ms(calls) * 1e6 / calls);
    }
    std::printf("]}");
  }
  std::printf("]}\n");
  return 0;
}
