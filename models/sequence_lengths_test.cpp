#include "models/sequence_lengths.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

std::vector<std::int64_t> lengths_of(std::uint64_t seed, std::int64_t context, std::int64_t steps) {
  const SequenceLengths lengths(seed, context);
  std::vector<std::int64_t> all;
  for (std::int64_t step = 1; step <= steps; ++step) all.push_back(lengths.of_step(step));
  return all;
}

// Written down once: a schedule that changes makes another workload of every bucketed one.
TEST_CASE("the first lengths of seed 1 are these", "[models]") {
  CHECK(lengths_of(1, 64, 12) == std::vector<std::int64_t>{64, 16, 32, 48, 64, 48, 32, 16, 16, 32, 48, 64});
}

TEST_CASE("of every four steps each has another quarter of the context", "[models]") {
  for (const std::int64_t context : {4, 64, 128, 1023}) {
    const auto lengths = lengths_of(3, context, 4000);
    std::set<std::vector<std::int64_t>> orders;
    for (std::size_t i = 0; i < lengths.size(); i += 4) {
      std::vector<std::int64_t> four(lengths.begin() + static_cast<std::ptrdiff_t>(i),
                                     lengths.begin() + static_cast<std::ptrdiff_t>(i) + 4);
      orders.insert(four);
      std::sort(four.begin(), four.end());
      CHECK(four == std::vector{context / 4, context / 2, 3 * context / 4, context});
    }
    CHECK(orders.size() == 24);  // a thousand rounds leave out none of them
  }
}

TEST_CASE("lengths are those of seed and step, whoever asks and in whatever order", "[models]") {
  const auto lengths = lengths_of(5, 64, 40);
  const SequenceLengths other(5, 64);
  for (const std::size_t step : {40, 1, 17, 40, 2}) {
    CHECK(other.of_step(static_cast<std::int64_t>(step)) == lengths[step - 1]);
  }
  CHECK(lengths_of(6, 64, 40) != lengths);
}

TEST_CASE("a context without four lengths is refused", "[models]") {
  CHECK_THROWS_WITH(SequenceLengths(1, 3), "a context of 3 tokens has no 4 lengths");
}

}  // namespace
}  // namespace reprobench
