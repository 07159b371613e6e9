#include "models/layers/rotary.hpp"

#include <cmath>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("rotary frequencies are powers of the base, for heads of any even width", "[models]") {
  for (const std::int64_t width : {16, 48, 64, 128}) {
    for (const double base : {10'000.0, 500'000.0}) {
      const auto frequencies = rotary_frequencies({width, base});
      REQUIRE(frequencies.size() == static_cast<std::size_t>(width / 2));
      for (std::size_t i = 0; i < frequencies.size(); ++i) {
        const double expected = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
        CHECK(std::abs(frequencies[i] / expected - 1) < 1e-13);
      }
    }
  }
}

TEST_CASE("rotary tables hold the cosine and sine of position times frequency, to a rounding", "[models]") {
  const Rotary rotary{48, 10'000};
  const auto tables = rotary_tables(rotary, 2048);
  const auto frequencies = rotary_frequencies(rotary);
  REQUIRE(tables.cosines.size() == 2048 * 24);
  REQUIRE(tables.sines.size() == 2048 * 24);
  double worst = 0;
  for (std::size_t t = 0; t < 2048; ++t) {
    for (std::size_t i = 0; i < 24; ++i) {
      const double angle = static_cast<double>(t) * frequencies[i];
      worst = std::max(worst, std::abs(static_cast<double>(tables.cosines[t * 24 + i]) - std::cos(angle)));
      worst = std::max(worst, std::abs(static_cast<double>(tables.sines[t * 24 + i]) - std::sin(angle)));
    }
  }
  CHECK(worst < 6.1e-8);  // half a unit in the last place of 1, and what fp64 lost
  CHECK(tables.cosines[0] == 1);
  CHECK(tables.sines[0] == 0);
}

TEST_CASE("LLaMA 3.1 keeps short waves, divides long ones by eight and goes over between them", "[models]") {
  const auto plain = rotary_frequencies({128, 500'000});
  const auto longer = rotary_frequencies({128, 500'000, {8}});
  const double full_turn = 2 * std::acos(-1.0);
  int kept = 0;
  int divided = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double turns = 8192 * plain[i] / full_turn;
    if (turns > 4) {
      ++kept;
      CHECK(longer[i] == plain[i]);
    } else if (turns < 1) {
      ++divided;
      CHECK(longer[i] == plain[i] / 8);
    } else {
      CHECK(longer[i] < plain[i]);
      CHECK(longer[i] > plain[i] / 8);
    }
  }
  CHECK(kept == 29);
  CHECK(divided == 29);
}

}  // namespace
}  // namespace reprobench
