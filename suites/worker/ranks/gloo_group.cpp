// LibTorch's own process group over Gloo, taken from C++. Gloo's code is inside libtorch_cpu; its headers are not among
// the stack's and come from the distribution (libgloo-dev). These work for every release tried: the only thing of
// Gloo's own that is used here is a pointer to its device.
#include "suites/worker/ranks/meeting.hpp"
#include "suites/worker/ranks/process_group.hpp"
#include "suites/worker/ranks/store_address.hpp"
#include "suites/worker/run_failure.hpp"

#ifdef REPROBENCH_HAS_GLOO

#define USE_C10D_GLOO
#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace reprobench {
namespace {

using Tensors = std::vector<at::Tensor>;

// Equal parts of one dimension; they share its memory.
Tensors parts_of(const at::Tensor& whole, int parts) { return whole.chunk(parts); }

class GlooGroup final : public ProcessGroup {
 public:
  explicit GlooGroup(const Meeting& meeting)
      : ranks_(meeting.ranks),
        rank_(meeting.rank),
        group_(store_of(meeting), meeting.rank, meeting.ranks, options_of(meeting)) {}

  std::string_view library() const override { return "gloo"; }
  c10::Device where() const override { return at::kCPU; }

  void all_reduce(at::Tensor& values) override {
    Tensors tensors{values};
    finish([&] { return group_.allreduce(tensors, c10d::AllreduceOptions()); });
  }

  void reduce(at::Tensor& values, int root) override {
    Tensors tensors{values};
    c10d::ReduceOptions options;
    options.rootRank = root;
    finish([&] { return group_.reduce(tensors, options); });
  }

  void broadcast(at::Tensor& values, int root) override {
    Tensors tensors{values};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    finish([&] { return group_.broadcast(tensors, options); });
  }

  // Lists of tensors, because a single one is refused before 2.4.
  void all_gather(const at::Tensor& own, at::Tensor& all) override {
    std::vector<Tensors> received{parts_of(all, ranks_)};
    Tensors sent{own};
    finish([&] { return group_.allgather(received, sent, c10d::AllgatherOptions()); });
  }

  void reduce_scatter(const at::Tensor& all, at::Tensor& own) override {
    Tensors received{own};
    std::vector<Tensors> sent{parts_of(all, ranks_)};
    finish([&] { return group_.reduce_scatter(received, sent, c10d::ReduceScatterOptions()); });
  }

  void all_to_all(const at::Tensor& sent, at::Tensor& received) override {
    at::Tensor from = sent;
    std::vector<std::int64_t> even;
    finish([&] { return group_.alltoall_base(received, from, even, even, c10d::AllToAllOptions()); });
  }

  void shift(const at::Tensor& sent, at::Tensor& received) override {
    Tensors from{sent};
    Tensors to{received};
    const auto sending = group_.send(from, (rank_ + 1) % ranks_, kTag);
    finish([&] { return group_.recv(to, (rank_ + ranks_ - 1) % ranks_, kTag); });
    sending->wait();
  }

  void barrier() override {
    finish([&] { return group_.barrier(c10d::BarrierOptions()); });
  }

 private:
  static constexpr int kTag = 0;

  static c10::intrusive_ptr<c10d::Store> store_of(const Meeting& meeting) {
    c10::intrusive_ptr<c10d::Store> store;
    if (meeting.is_at_store()) {
      store = tcp_store(meeting);
    } else {
      store = c10::make_intrusive<c10d::FileStore>(meeting.file.string(), meeting.ranks);
    }
    store->setTimeout(meeting.timeout);
    return c10::make_intrusive<c10d::PrefixStore>(meeting.prefix, std::move(store));
  }

  // Nobody waits for the others here: LibTorch counts them under a key without our prefix, which another attempt may
  // have counted up.
  static c10::intrusive_ptr<c10d::Store> tcp_store(const Meeting& meeting) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(meeting.port);
    options.isServer = meeting.rank == 0 && !meeting.is_open_already;
    options.waitWorkers = false;
    options.timeout = meeting.timeout;
    if (!options.isServer) await_listener(meeting.address, meeting.port, meeting.timeout);
    try {
      return c10::make_intrusive<c10d::TCPStore>(meeting.address, options);
    } catch (const std::exception& error) {
      const std::string text = error.what();
      const bool is_taken = text.find("EADDRINUSE") != std::string::npos ||
                            text.find("Address already in use") != std::string::npos ||
                            text.find("address already in use") != std::string::npos;
      if (!options.isServer || !is_taken) throw;
      throw RunFailure("port_in_use", "rank 0 was to open a store at " + meeting.place() + ", and that port is in use");
    }
  }

  static c10::intrusive_ptr<c10d::ProcessGroupGloo::Options> options_of(const Meeting& meeting) {
    auto options = c10d::ProcessGroupGloo::Options::create(meeting.timeout);
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    options->threads = 1;  // one collective at a time
    return options;
  }

  template <class Start>
  void finish(Start start) {
    try {
      start()->wait();
    } catch (const std::exception& error) {
      const std::string text = error.what();
      const bool is_refusal = text.find("not support") != std::string::npos ||
                              text.find("Invalid scalar type") != std::string::npos;  // before anything was sent
      if (is_refusal) throw UnsupportedCollective(text.substr(0, text.find('\n')));
      throw;
    }
  }

  int ranks_;
  int rank_;
  c10d::ProcessGroupGloo group_;
};

}  // namespace

std::unique_ptr<ProcessGroup> join_gloo(const Meeting& meeting) { return std::make_unique<GlooGroup>(meeting); }

}  // namespace reprobench

#else

namespace reprobench {

std::unique_ptr<ProcessGroup> join_gloo(const Meeting&) {
  throw RunFailure("unsupported",
                   "this worker was built without Gloo: the stack's LibTorch has no process groups, or the headers of "
                   "Gloo (libgloo-dev) were not installed");
}

}  // namespace reprobench

#endif
