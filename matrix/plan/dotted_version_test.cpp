#include "matrix/plan/dotted_version.hpp"

#include "ci/catch.hpp"

using namespace reprobench;

TEST_CASE("versions compare part by part as numbers", "[plan]") {
  CHECK(version_less("9.9", "9.10"));
  CHECK_FALSE(version_less("9.10", "9.9"));
  CHECK_FALSE(version_less("12.8", "12.8.0"));
  CHECK_FALSE(version_less("12.8.0", "12.8"));
  CHECK(version_less("570.26", "570.124.06"));
  CHECK(version_names("9.10.2", "9.10.2.21"));
  CHECK_FALSE(version_names("9.1", "9.10"));
  CHECK(version_numbers("2.9.0+cu128") == std::vector<int>{2, 9, 0});
  CHECK(version_numbers("abc").empty());
}
