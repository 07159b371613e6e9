// The group over NCCL: without a GPU it says so before NCCL is asked; with one, every collective of one rank.
// NCCL reads its environment once a process, so [nccl] runs by itself: behind another use of NCCL its log stays empty,
// as an H200 showed.
#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "ci/catch.hpp"
#include "matrix/contract/collective.hpp"
#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/ranks/crafted_values.hpp"
#include "suites/worker/ranks/rank_group.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {
namespace {

CellRequest request_of_one_rank() {
  CellRequest request;
  request.device = "sm_90";
  request.world_size = 1;
  request.collective_timeout_ms = 30'000;
  request.workload.probe = "collectives";
  return request;
}

TEST_CASE("without a GPU ranks do not meet, and the cause is the GPU's", "[cuda]") {
  std::string problem;
  if (!visible_devices(problem).empty()) return;
  const TemporaryFolder attempt;
  std::filesystem::create_directory(attempt.path() / "rank-0");
  try {
    RankGroup(request_of_one_rank(), attempt.path() / "rank-0");
    FAIL("no throw");
  } catch (const RunFailure& failure) {
    CHECK(failure.cause() == problem.substr(0, problem.find(':')));
    CHECK_FALSE(failure.waited_for());
  }
  CHECK_FALSE(std::filesystem::exists(attempt.path() / "rendezvous"));
}

// What follows needs a GPU: ci/cuda_worker_test.sh runs it where one is.

std::unique_ptr<ComputeDevice> first_gpu() {
  std::string problem;
  return open_cuda(device_class(visible_devices(problem).at(0).compute_capability), {});
}

void carry_out(std::string_view name, ProcessGroup& group, const at::Tensor& input, at::Tensor& output) {
  if (name == "all_reduce") return group.all_reduce(output);
  if (name == "reduce") return group.reduce(output, 0);
  if (name == "broadcast") return group.broadcast(output, 0);
  if (name == "all_gather") return group.all_gather(input, output);
  if (name == "reduce_scatter") return group.reduce_scatter(input, output);
  if (name == "all_to_all") return group.all_to_all(input, output);
  group.shift(input, output);
}

TEST_CASE("one rank on a GPU does every collective over NCCL, timed by the device", "[.gpu][nccl]") {
  const auto gpu = first_gpu();
  const TemporaryFolder attempt;
  std::filesystem::create_directory(attempt.path() / "rank-0");
  RankGroup group(request_of_one_rank(), attempt.path() / "rank-0");
  CHECK(group.library() == "nccl");
  CHECK(group.where() == gpu->where());
  for (const Collective& collective : collectives()) {
    for (const std::int64_t elements : {1, 1000, 1 << 20}) {
      CAPTURE(collective.name, elements);
      const CraftedCall call{collective.name, 1, elements, 7};
      const CraftedValues values(call.dtype, call.ranks, largest_tensor(call), group.where());
      const at::Tensor input = values.input(call, 0);
      const bool in_place =
          collective.name == "all_reduce" || collective.name == "reduce" || collective.name == "broadcast";
      at::Tensor output = in_place ? input : at::full({elements}, -1.0f, input.options());
      group.call(collective.name, elements * 4,
                 [&](ProcessGroup& members) { carry_out(collective.name, members, input, output); });
      CHECK(wrong_elements(output, values.output(call, 0)).empty());
      CHECK(group.device_time_ns().value() >= 0);
    }
  }
  group.barrier();
  CHECK(group.all_numbers({1.5, -2}) == std::vector<double>{1.5, -2});
  CHECK_FALSE(group.take_log().empty());
  at::Tensor flags = at::zeros({4}, at::TensorOptions(group.where()).dtype(at::kBool));
  CHECK_THROWS_AS(group.call("all_reduce", 4, [&](ProcessGroup& members) { members.all_reduce(flags); }),
                  UnsupportedCollective);
  group.barrier();  // nothing was queued, so the communicator is as good as before
}

TEST_CASE("a meeting to which the other rank does not come ends in time, and names it", "[.gpu][nccl]") {
  const auto gpu = first_gpu();
  const TemporaryFolder attempt;
  std::filesystem::create_directory(attempt.path() / "rank-0");
  CellRequest request = request_of_one_rank();
  request.world_size = 2;
  request.collective_timeout_ms = 2'000;
  const auto began = std::chrono::steady_clock::now();
  try {
    RankGroup(request, attempt.path() / "rank-0");
    FAIL("no throw");
  } catch (const RunFailure& failure) {
    CHECK(failure.cause() == "collective");
    CHECK(failure.waited_for() == 1);
  }
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(15));
}

}  // namespace
}  // namespace reprobench
