// The programs of nccl-tests, and how each computes its bandwidths from a time (GetBw and GetCollByteCount of its
// sources, doc/PERFORMANCE.md there).
#pragma once

#include <optional>
#include <string_view>

namespace reprobench {

struct NcclTestsOperation {
  std::string_view name;        // of the program, without `_perf`
  std::string_view collective;  // whose factor of the bus bandwidth it has
  // How many times the data of the column `count` is moved, for the column `size` and for S of the algorithm bandwidth.
  int (*size_copies)(int ranks);
  int (*moved_copies)(int ranks);

  double bus_factor(int ranks) const;
};

// Finds an operation by the path of its program: "/opt/nccl-tests/build/all_reduce_perf_mpi". Null for alltoallv, whose
// S depends on each rank's share, and for other programs than those of nccl-tests.
const NcclTestsOperation* find_nccl_tests_operation(std::string_view program);

std::optional<int> nccl_type_bytes(std::string_view type);  // "bfloat16" is 2

}  // namespace reprobench
