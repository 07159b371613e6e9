#include "matrix/inquiry/nccl_tests/nccl_tests_operation.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "matrix/contract/collective.hpp"

namespace reprobench {
namespace {

int one(int) { return 1; }
int all(int ranks) { return ranks; }
int others(int ranks) { return ranks - 1; }

constexpr NcclTestsOperation kOperations[] = {
    {"all_reduce", "all_reduce", &one, &one},
    {"all_gather", "all_gather", &all, &all},
    {"reduce_scatter", "reduce_scatter", &all, &all},
    {"broadcast", "broadcast", &one, &one},
    {"reduce", "reduce", &one, &one},
    {"alltoall", "all_to_all", &all, &all},
    {"sendrecv", "send_recv", &one, &one},
    {"gather", "all_gather", &all, &all},
    {"scatter", "all_gather", &all, &all},
    {"hypercube", "broadcast", &all, &others},
};

constexpr std::pair<std::string_view, int> kTypeBytes[] = {{"int8", 1},  {"uint8", 1},    {"f8e4m3", 1}, {"f8e5m2", 1},
                                                           {"half", 2},  {"bfloat16", 2}, {"int32", 4},  {"uint32", 4},
                                                           {"float", 4}, {"int64", 8},    {"uint64", 8}, {"double", 8}};

}  // namespace

double NcclTestsOperation::bus_factor(int ranks) const { return find_collective(collective)->bus_factor(ranks); }

const NcclTestsOperation* find_nccl_tests_operation(std::string_view program) {
  program = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  for (const std::string_view suffix : {"_mpi", "_perf"}) {
    if (program.ends_with(suffix)) program.remove_suffix(suffix.size());
  }
  const auto found = std::ranges::find(kOperations, program, &NcclTestsOperation::name);
  return found == std::end(kOperations) ? nullptr : &*found;
}

std::optional<int> nccl_type_bytes(std::string_view type) {
  for (const auto& [name, bytes] : kTypeBytes) {
    if (name == type) return bytes;
  }
  return std::nullopt;
}

}  // namespace reprobench
