#include "models/data/digits/digits.hpp"

#include <fstream>
#include <string>

#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"

namespace reprobench {
namespace {

const std::filesystem::path kData = std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "models" / "data";

TEST_CASE("the shipped digits are the 1797 of the source, in its class counts", "[models]") {
  const Digits digits = load_digits(kData);
  REQUIRE(digits.count == 1797);
  REQUIRE(digits.images.size() == 1797 * 784);
  std::array<int, 10> counts{};
  for (const std::int64_t label : digits.labels) ++counts[static_cast<std::size_t>(label)];
  CHECK(counts == std::array<int, 10>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180});
}

TEST_CASE("a constant scan stays constant when scaled", "[models]") {
  std::array<unsigned char, 64> scan{};
  scan.fill(16);
  for (const float pixel : scale_digit(scan)) CHECK(pixel == 3136.0F / 4096.0F);
}

TEST_CASE("scaling keeps a mirrored scan mirrored and interpolates in 14ths", "[models]") {
  std::array<unsigned char, 64> scan{};
  for (std::size_t i = 0; i < 64; ++i) scan[i] = static_cast<unsigned char>(i % 8 * 2);  // a ramp along x: 0, 2 .. 14
  const auto image = scale_digit(scan);
  for (std::size_t x = 0; x < 28; ++x) {
    CHECK(image[x] + image[27 - x] == 14.0F * 196 / 4096);
    CHECK(image[x] == image[27 * 28 + x]);
  }
  CHECK(image[2] == 2.0F * (4 * 2 - 5) * 14 / 4096);  // position 3/14 between 0 and 2, in 196ths
}

TEST_CASE("a truncated data file is refused by name and size", "[models]") {
  const TemporaryFolder place;
  const auto folder = place.path / "data";
  std::filesystem::create_directories(folder / "digits");
  std::ofstream(folder / "digits" / "digits.bin") << "short";
  CHECK_THROWS_WITH(load_digits(folder),
                    (folder / "digits" / "digits.bin").string() + ": holds 5 bytes, expected 116805");
  std::filesystem::remove_all(folder);
  CHECK_THROWS_WITH(load_digits(folder), (folder / "digits" / "digits.bin").string() + ": cannot be opened");
}

}  // namespace
}  // namespace reprobench
