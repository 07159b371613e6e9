#include "matrix/evidence/parallel.hpp"

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("each piece of work is done once, however many there are", "[evidence]") {
  for (const std::size_t count : {0, 1, 2, 1000}) {
    std::vector<int> calls(count, 0);
    for_each_in_parallel(count, [&](std::size_t i) { ++calls[i]; });
    CHECK(calls == std::vector<int>(count, 1));
  }
}

TEST_CASE("the first exception by number is thrown on, after all work was done", "[evidence]") {
  std::atomic<int> calls = 0;
  std::string said;
  try {
    for_each_in_parallel(100, [&](std::size_t i) {
      ++calls;
      if (i % 40 == 39) throw std::runtime_error(std::to_string(i));
    });
  } catch (const std::runtime_error& error) {
    said = error.what();
  }
  CHECK(said == "39");
  CHECK(calls == 100);
}

}  // namespace
}  // namespace reprobench
