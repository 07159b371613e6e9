#include "models/data_set.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

const std::filesystem::path kDataFolder = std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "models" / "data";

TEST_CASE("data sets are opened by the name of their folder", "[models]") {
  const auto digits = open_data_set("digits", kDataFolder, 0);
  REQUIRE(digits != nullptr);
  CHECK(digits->size() == 1797);
  CHECK(digits->input().shape == std::vector<std::int64_t>{784});
  CHECK(digits->target().type == ElementType::int64);
  CHECK(digits->target().shape.empty());
  const auto text = open_data_set("text", kDataFolder, 64);
  REQUIRE(text != nullptr);
  CHECK(text->input().shape == std::vector<std::int64_t>{64});
  CHECK(open_data_set("clouds", kDataFolder, 0) == nullptr);
}

}  // namespace
}  // namespace reprobench
