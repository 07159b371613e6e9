// The stack's own NCCL, with a communicator of ours and not LibTorch's process group around one. That one ends the
// process from a thread of its own when a call does not end, before anybody could say which rank was missing, and its
// interface changes from release to release (ci/adr/0048). The communicator does not block: starting it and every call
// return at once, so that a rank which never comes is waited for no longer than asked (ranks/queued_group.hpp).
#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/run_failure.hpp"

#ifdef REPROBENCH_HAS_NCCL

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include "suites/worker/cuda/cuda_failure.hpp"
#include "suites/worker/cuda/cuda_probe.hpp"
#include "suites/worker/ranks/library_log.hpp"
#include "suites/worker/ranks/meeting.hpp"
#include "suites/worker/ranks/meeting_file.hpp"
#include "suites/worker/ranks/queued_group.hpp"

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 14, 0)
#error "communicators that do not block came with NCCL 2.14"
#endif

namespace reprobench {
namespace {

// Ending a communicator is itself done by all ranks together; one that is gone is not waited for longer.
constexpr std::chrono::seconds kLongestFarewell{2};

std::string words_of(ncclResult_t result, ncclComm_t communicator) {
  std::string text = ncclGetErrorString(result);
  const char* const last = ncclGetLastError(communicator);
  if (last != nullptr && *last != '\0') text += "; " + std::string(last);
  int version = 0;
  ncclGetVersion(&version);
  text += " (NCCL " + std::to_string(version) + ")";
  return text.substr(0, text.find('\n'));
}

// NCCL's names for what the other end of a connection may have done: it went away, or a socket to it broke.
bool may_be_anothers(ncclResult_t result) { return result == ncclRemoteError || result == ncclSystemError; }

void check(ncclResult_t result, ncclComm_t communicator) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  if (may_be_anothers(result)) throw std::runtime_error(words_of(result, communicator));
  throw CollectiveError(words_of(result, communicator));
}

ncclDataType_t type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return ncclFloat32;
    case at::kDouble:
      return ncclFloat64;
    case at::kHalf:
      return ncclFloat16;
    case at::kBFloat16:
      return ncclBfloat16;
    case at::kLong:
      return ncclInt64;
    case at::kInt:
      return ncclInt32;
    case at::kByte:
      return ncclUint8;
    default:
      throw UnsupportedCollective(std::string("NCCL is not given tensors of ") + at::toString(tensor.scalar_type()));
  }
}

std::size_t count_of(const at::Tensor& tensor) { return static_cast<std::size_t>(tensor.numel()); }

// NCCL reads these once in a process, when it is first called. What the user asks of it stays.
bool asks_for_log(const Meeting& meeting) {
  if (meeting.log.empty()) return false;
  for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"}) {
    if (std::getenv(name) != nullptr) return false;
  }
  std::string file;  // where %h and %p would stand for something
  for (const char letter : meeting.log.string()) file += letter == '%' ? "%%" : std::string(1, letter);
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_SUBSYS", meeting.log_subjects.c_str(), 1);
  setenv("NCCL_DEBUG_FILE", file.c_str(), 1);
  return true;
}

class NcclQueue final : public CollectiveQueue {
 public:
  explicit NcclQueue(const Meeting& meeting)
      : rank_(meeting.rank), ranks_(meeting.ranks), log_(asks_for_log(meeting) ? meeting.log : "") {
    check_cuda(cudaEventCreate(&began_), "making an event");
    check_cuda(cudaEventCreate(&ended_), "making an event");
    token_ = at::zeros({1}, at::TensorOptions(where()));
  }

  ~NcclQueue() override {
    if (communicator_ != nullptr) end();
    for (const cudaEvent_t event : {began_, ended_}) static_cast<void>(cudaEventDestroy(event));
  }

  // All ranks together.
  void meet(const Meeting& meeting) {
    const auto until = std::chrono::steady_clock::now() + meeting.timeout;
    const auto left = [&] {
      return std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    };
    ncclUniqueId id;
    if (rank_ == 0) {
      check(ncclGetUniqueId(&id), nullptr);
      leave_for_ranks(meeting.file, {id.internal, sizeof id.internal});
    } else {
      const std::string bytes = take_from_rank_0(meeting.file, sizeof id.internal, left());
      std::memcpy(id.internal, bytes.data(), sizeof id.internal);
    }
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    check(ncclCommInitRankConfig(&communicator_, ranks_, id, rank_, &config), communicator_);
    wait_until([&] { return state() == ncclSuccess; }, [&] { return trouble(); }, left());
  }

  std::string_view library() const override { return "nccl"; }
  c10::Device where() const override { return {at::kCUDA, 0}; }  // the one GPU that the coordinator shows a process
  std::string take_log() override { return log_.take(); }

  std::optional<std::int64_t> device_time_ns() override {
    float milliseconds = 0;  // resolution about half a microsecond
    check_cuda(cudaEventElapsedTime(&milliseconds, began_, ended_), "reading an event");
    return static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
  }

  void all_reduce(at::Tensor& values) override {
    queue(values, [&](ncclDataType_t type, cudaStream_t stream) {
      void* const data = values.data_ptr();
      return ncclAllReduce(data, data, count_of(values), type, ncclSum, communicator_, stream);
    });
  }

  void reduce(at::Tensor& values, int root) override {
    queue(values, [&](ncclDataType_t type, cudaStream_t stream) {
      void* const data = values.data_ptr();
      return ncclReduce(data, data, count_of(values), type, ncclSum, root, communicator_, stream);
    });
  }

  void broadcast(at::Tensor& values, int root) override {
    queue(values, [&](ncclDataType_t type, cudaStream_t stream) {
      void* const data = values.data_ptr();
      return ncclBroadcast(data, data, count_of(values), type, root, communicator_, stream);
    });
  }

  void all_gather(const at::Tensor& own, at::Tensor& all) override {
    queue(own, [&](ncclDataType_t type, cudaStream_t stream) {
      return ncclAllGather(own.data_ptr(), all.data_ptr(), count_of(own), type, communicator_, stream);
    });
  }

  void reduce_scatter(const at::Tensor& all, at::Tensor& own) override {
    queue(own, [&](ncclDataType_t type, cudaStream_t stream) {
      return ncclReduceScatter(all.data_ptr(), own.data_ptr(), count_of(own), type, ncclSum, communicator_, stream);
    });
  }

  // Sends and receives: a call of its own came with 2.28.
  void all_to_all(const at::Tensor& sent, at::Tensor& received) override {
    const std::size_t part = count_of(sent) / static_cast<std::size_t>(ranks_);
    const std::size_t part_bytes = part * static_cast<std::size_t>(sent.element_size());
    together(sent, [&](ncclDataType_t type, cudaStream_t stream) {
      ncclResult_t result = ncclSuccess;
      for (int other = 0; other < ranks_ && is_good(result); ++other) {
        const std::size_t place = static_cast<std::size_t>(other) * part_bytes;
        const char* const from = static_cast<const char*>(sent.data_ptr()) + place;
        char* const to = static_cast<char*>(received.data_ptr()) + place;
        result = ncclSend(from, part, type, other, communicator_, stream);
        if (is_good(result)) result = ncclRecv(to, part, type, other, communicator_, stream);
      }
      return result;
    });
  }

  void shift(const at::Tensor& sent, at::Tensor& received) override {
    together(sent, [&](ncclDataType_t type, cudaStream_t stream) {
      const int next = (rank_ + 1) % ranks_;
      const int before = (rank_ + ranks_ - 1) % ranks_;
      const ncclResult_t result = ncclSend(sent.data_ptr(), count_of(sent), type, next, communicator_, stream);
      if (!is_good(result)) return result;
      return ncclRecv(received.data_ptr(), count_of(received), type, before, communicator_, stream);
    });
  }

  void barrier() override { all_reduce(token_); }

  // The device is asked only when the library has queued the call: until then there is no place to mark its end.
  bool is_done() override {
    if (!is_queued_) {
      if (state() != ncclSuccess) return false;
      check_cuda(cudaEventRecord(ended_, stream()), "recording an event");
      is_queued_ = true;
    }
    const cudaError_t answer = cudaEventQuery(ended_);
    if (answer == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());  // LibTorch would find it and take it for its own kernel's
      return false;
    }
    check_cuda(answer, "waiting for a collective");
    return true;
  }

  std::string trouble() override {
    const ncclResult_t now = state();
    if (is_good(now)) return "";
    if (!may_be_anothers(now)) throw CollectiveError(words_of(now, communicator_));
    return words_of(now, communicator_);
  }

  void abort() noexcept override {
    const ncclComm_t given_up = communicator_;
    communicator_ = nullptr;
    if (given_up != nullptr) ncclCommAbort(given_up);
  }

 private:
  static bool is_good(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }
  static cudaStream_t stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

  ncclResult_t state() const {
    ncclResult_t now = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &now);
    return asked == ncclSuccess ? now : asked;
  }

  template <class Call>
  void queue(const at::Tensor& of, Call call) {
    const ncclDataType_t type = type_of(of);
    check_cuda(cudaEventRecord(began_, stream()), "recording an event");
    is_queued_ = false;
    check(call(type, stream()), communicator_);
  }

  template <class Calls>
  void together(const at::Tensor& of, Calls calls) {
    queue(of, [&](ncclDataType_t type, cudaStream_t to) {
      const ncclResult_t started = ncclGroupStart();
      if (started != ncclSuccess) return started;
      const ncclResult_t made = calls(type, to);
      const ncclResult_t ended = ncclGroupEnd();
      return is_good(made) ? ended : made;
    });
  }

  // What was queued is done, here; another rank may still read from this one's memory until all have ended.
  void end() noexcept {
    const auto until = std::chrono::steady_clock::now() + kLongestFarewell;
    ncclResult_t ended = ncclCommFinalize(communicator_);
    while (ended == ncclInProgress && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ended = state();
    }
    if (ended == ncclSuccess) {
      ncclCommDestroy(communicator_);
    } else {
      ncclCommAbort(communicator_);
    }
  }

  int rank_;
  int ranks_;
  LibraryLog log_;
  ncclComm_t communicator_ = nullptr;
  cudaEvent_t began_ = nullptr;
  cudaEvent_t ended_ = nullptr;
  at::Tensor token_;  // of a barrier
  bool is_queued_ = true;
};

}  // namespace

std::unique_ptr<ProcessGroup> join_nccl(const Meeting& meeting) {
  first_device();
  check_cuda(cudaSetDevice(0), "choosing the device");
  const auto queue = std::make_shared<NcclQueue>(meeting);
  try {
    queue->meet(meeting);
  } catch (...) {
    give_up(queue);
    throw;
  }
  return waiting_for(queue, meeting.timeout);
}

}  // namespace reprobench

#else

namespace reprobench {

std::unique_ptr<ProcessGroup> join_nccl(const Meeting&) {
  throw RunFailure("unsupported", "the stack had no header of NCCL when this worker was built");
}

}  // namespace reprobench

#endif
