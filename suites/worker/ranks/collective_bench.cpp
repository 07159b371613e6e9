// The cost of a collective through the suite, compared with LibTorch's process group over Gloo called directly. Both
// have the same tensors, sizes and processes, one call of each way after the other, in alternating order.
//
//   collective_bench FOLDER [RANKS [PAIRS]]    a line an operation and size: median time of a call either way, and the
//   median of the ratios of a pair with its 95 % interval (of order statistics), as rank 0 sees them
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#define USE_C10D_GLOO
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "suites/worker/ranks/rank_group.hpp"

namespace reprobench {
namespace {

using Tensors = std::vector<at::Tensor>;

struct Case {
  const char* name;
  void (*direct)(c10d::ProcessGroupGloo& group, at::Tensor& own, at::Tensor& all);
  void (*ours)(ProcessGroup& group, at::Tensor& own, at::Tensor& all);
};

Tensors parts_of(const at::Tensor& all, const at::Tensor& own) { return all.chunk(all.numel() / own.numel()); }

const Case kCases[] = {
    {"all_reduce",
     [](c10d::ProcessGroupGloo& group, at::Tensor& own, at::Tensor&) {
       Tensors tensors{own};
       group.allreduce(tensors, c10d::AllreduceOptions())->wait();
     },
     [](ProcessGroup& group, at::Tensor& own, at::Tensor&) { group.all_reduce(own); }},
    {"broadcast",
     [](c10d::ProcessGroupGloo& group, at::Tensor& own, at::Tensor&) {
       Tensors tensors{own};
       group.broadcast(tensors, c10d::BroadcastOptions())->wait();
     },
     [](ProcessGroup& group, at::Tensor& own, at::Tensor&) { group.broadcast(own, 0); }},
    {"reduce",
     [](c10d::ProcessGroupGloo& group, at::Tensor& own, at::Tensor&) {
       Tensors tensors{own};
       group.reduce(tensors, c10d::ReduceOptions())->wait();
     },
     [](ProcessGroup& group, at::Tensor& own, at::Tensor&) { group.reduce(own, 0); }},
    {"all_gather",
     [](c10d::ProcessGroupGloo& group, at::Tensor& own, at::Tensor& all) {
       std::vector<Tensors> received{parts_of(all, own)};
       Tensors sent{own};
       group.allgather(received, sent, c10d::AllgatherOptions())->wait();
     },
     [](ProcessGroup& group, at::Tensor& own, at::Tensor& all) { group.all_gather(own, all); }},
    {"all_to_all",
     [](c10d::ProcessGroupGloo& group, at::Tensor&, at::Tensor& all) {
       at::Tensor received = at::empty_like(all);
       std::vector<std::int64_t> even;
       group.alltoall_base(received, all, even, even, c10d::AllToAllOptions())->wait();
     },
     [](ProcessGroup& group, at::Tensor&, at::Tensor& all) {
       at::Tensor received = at::empty_like(all);
       group.all_to_all(all, received);
     }},
};

constexpr std::int64_t kSizes[] = {8, 4 << 10, 256 << 10, 1 << 20, 16 << 20};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

class Bench {
 public:
  Bench(int rank, int ranks, int pairs, const std::filesystem::path& folder)
      : rank_(rank),
        ranks_(ranks),
        pairs_(pairs),
        ours_(request(), folder / ("rank-" + std::to_string(rank))),
        direct_(store(folder, "direct"), rank, ranks, options()),
        meeting_(store(folder, "meeting"), rank, ranks, options()) {}

  void run() {
    for (const Case& one : kCases) {
      for (const std::int64_t bytes : kSizes) run(one, bytes);
    }
  }

 private:
  CellRequest request() const {
    CellRequest request;
    request.rank = rank_;
    request.world_size = ranks_;
    request.nonce = "0123456789abcdef";
    return request;
  }
  c10::intrusive_ptr<c10d::Store> store(const std::filesystem::path& folder, const char* name) const {
    return c10::make_intrusive<c10d::FileStore>((folder / name).string(), ranks_);
  }
  static c10::intrusive_ptr<c10d::ProcessGroupGloo::Options> options() {
    auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(60));
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    options->threads = 1;
    return options;
  }

  double time_ns(const Case& one, bool is_ours, at::Tensor& own, at::Tensor& all) {
    meeting_.barrier(c10d::BarrierOptions())->wait();  // of neither side
    const auto began = std::chrono::steady_clock::now();
    if (is_ours) {
      ours_.call(
          one.name, static_cast<std::int64_t>(own.nbytes()), [&](ProcessGroup& group) { one.ours(group, own, all); },
          "fp32");
    } else {
      one.direct(direct_, own, all);
    }
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
  }

  void run(const Case& one, std::int64_t bytes) {
    const std::int64_t elements = std::max<std::int64_t>(1, bytes / 4 / ranks_);
    at::Tensor own = at::zeros({elements});
    at::Tensor all = at::zeros({elements * ranks_});
    std::vector<double> ours;
    std::vector<double> direct;
    std::vector<double> ratios;
    for (int pair = -5; pair < pairs_; ++pair) {  // the first ones warm up
      const bool ours_first = pair % 2 == 0;
      const double first = time_ns(one, ours_first, own, all);
      const double second = time_ns(one, !ours_first, own, all);
      if (pair < 0) continue;
      ours.push_back(ours_first ? first : second);
      direct.push_back(ours_first ? second : first);
      ratios.push_back(ours.back() / direct.back());
    }
    if (rank_ != 0) return;
    std::sort(ratios.begin(), ratios.end());
    // 95 % of a binomial of one half: n/2 -+ 0.98 sqrt(n).
    const auto n = static_cast<double>(ratios.size());
    const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - 0.98 * std::sqrt(n))));
    const std::size_t high = std::min(ratios.size() - 1, ratios.size() - 1 - low);
    std::printf("%-11s %9lld B  %10.1f us  %10.1f us  x%.3f [%.3f, %.3f]\n", one.name, static_cast<long long>(bytes),
                median(ours) / 1e3, median(direct) / 1e3, median(ratios), ratios[low], ratios[high]);
    std::fflush(stdout);
  }

  int rank_;
  int ranks_;
  int pairs_;
  RankGroup ours_;
  c10d::ProcessGroupGloo direct_;
  c10d::ProcessGroupGloo meeting_;
};

int run_ranks(const std::filesystem::path& folder, int ranks, int pairs) {
  for (int rank = 0; rank < ranks; ++rank)
    std::filesystem::create_directories(folder / ("rank-" + std::to_string(rank)));
  int own = 0;
  for (int rank = 1; rank < ranks && own == 0; ++rank) {
    if (fork() == 0) own = rank;
  }
  at::set_num_threads(1);
  Bench(own, ranks, pairs, folder).run();
  if (own != 0) _exit(0);
  int failed = 0;
  for (int status = 0; wait(&status) > 0;) failed += status != 0 ? 1 : 0;
  return failed;
}

}  // namespace
}  // namespace reprobench

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: collective_bench FOLDER [RANKS [PAIRS]]\n");
    return 2;
  }
  return reprobench::run_ranks(argv[1], argc > 2 ? std::atoi(argv[2]) : 2, argc > 3 ? std::atoi(argv[3]) : 400);
}
