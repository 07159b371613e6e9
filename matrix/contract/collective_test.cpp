#include "matrix/contract/collective.hpp"

#include "ci/catch.hpp"
#include "matrix/contract/probe.hpp"

namespace reprobench {
namespace {

// nccl-tests doc/PERFORMANCE.md: 2(n-1)/n for all_reduce, (n-1)/n for those whose size is that of all ranks, else 1.
TEST_CASE("bus factors are those of nccl-tests", "[contract]") {
  struct Row {
    const char* name;
    double of_two;
    double of_eight;
  };
  const Row row = GENERATE(values<Row>({{"all_reduce", 1, 1.75},
                                        {"all_gather", 0.5, 0.875},
                                        {"reduce_scatter", 0.5, 0.875},
                                        {"all_to_all", 0.5, 0.875},
                                        {"broadcast", 1, 1},
                                        {"reduce", 1, 1},
                                        {"send_recv", 1, 1}}));
  CAPTURE(row.name);
  const Collective* collective = find_collective(row.name);
  REQUIRE(collective != nullptr);
  CHECK(collective->bus_factor(2) == row.of_two);
  CHECK(collective->bus_factor(8) == row.of_eight);
  CHECK(collective->is_of_all_ranks == (row.of_two == 0.5));
}

TEST_CASE("every collective is an operation of the probe, timed in ns", "[contract]") {
  for (const Collective& collective : collectives()) {
    CAPTURE(collective.name);
    REQUIRE(find_probe_operation(collective.name) != nullptr);
    CHECK(find_probe_operation(collective.name)->unit == "ns");
  }
  CHECK(find_collective("barrier") == nullptr);
  CHECK(find_probe("collectives")->of_ranks);
  CHECK_FALSE(find_probe("device_smoke")->of_ranks);
}

}  // namespace
}  // namespace reprobench
