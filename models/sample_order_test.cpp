#include "models/sample_order.hpp"

#include <set>
#include <stdexcept>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

std::vector<std::int64_t> taken(SampleOrder& order, std::int64_t step) {
  const auto batch = order.batch(step);
  return {batch.begin(), batch.end()};
}

TEST_CASE("an epoch visits every sample of its whole batches once", "[models]") {
  SampleOrder order(1, 100, 8);
  std::set<std::int64_t> seen;
  for (std::int64_t step = 1; step <= 12; ++step) {
    for (const std::int64_t sample : order.batch(step)) {
      CHECK(sample >= 0);
      CHECK(sample < 100);
      seen.insert(sample);
    }
  }
  CHECK(seen.size() == 96);
}

TEST_CASE("the order depends on seed and epoch, and not on which steps were asked before", "[models]") {
  SampleOrder a(1, 100, 8);
  SampleOrder b(1, 100, 8);
  SampleOrder other_seed(2, 100, 8);
  const auto first = taken(a, 1);
  const auto second_epoch = taken(a, 13);
  CHECK(first != second_epoch);
  CHECK(first != taken(other_seed, 1));
  CHECK(taken(b, 13) == second_epoch);
  CHECK(taken(b, 1) == first);
}

TEST_CASE("a batch larger than the data set is refused with both numbers", "[models]") {
  CHECK_THROWS_WITH(SampleOrder(1, 100, 101), "batch_size 101 is not between 1 and the data set's 100 samples");
  CHECK_THROWS_AS(SampleOrder(1, 100, 0), std::invalid_argument);
}

}  // namespace
}  // namespace reprobench
