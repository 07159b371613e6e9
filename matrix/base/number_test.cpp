#include "matrix/base/number.hpp"

#include <cmath>
#include <limits>

#include "ci/catch.hpp"
#include "matrix/base/json_text.hpp"

namespace reprobench {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("numbers that JSON does not have travel as words", "[contract]") {
  CHECK(json_number(kNan) == "nan");
  CHECK(json_number(kInfinity) == "inf");
  CHECK(json_number(-kInfinity) == "-inf");
  CHECK(std::isnan(*number_from_json("nan")));
  CHECK(*number_from_json("-inf") == -kInfinity);
}

TEST_CASE("null, other words and other types are no numbers", "[contract]") {
  CHECK_FALSE(number_from_json(nullptr));
  CHECK_FALSE(number_from_json("NaN"));
  CHECK_FALSE(number_from_json(true));
  CHECK_FALSE(number_from_json(nlohmann::json::array({1})));
}

TEST_CASE("an exact float keeps every bit, the sign of zero and denormals included", "[contract]") {
  for (const float value : {0.1f, -0.0f, 1e-45f, 3.4e38f}) {
    const auto back = exact_float_from_json(exact_float(value));
    REQUIRE(back);
    CHECK(static_cast<float>(*back) == value);
    CHECK(std::signbit(*back) == std::signbit(value));
  }
  CHECK(exact_float(0.1f)["bits"] == "3dcccccd");
  CHECK(exact_float(0.1)["bits"] == "3fb999999999999a");
  CHECK(std::isnan(*exact_float_from_json(exact_float(std::numeric_limits<float>::quiet_NaN()))));
}

TEST_CASE("an exact float whose value and bits disagree is refused", "[contract]") {
  nlohmann::json tampered = exact_float(0.5);
  tampered["value"] = 0.25;
  CHECK_FALSE(exact_float_from_json(tampered));
  CHECK_FALSE(exact_float_from_json({{"value", 0.5}}));
  CHECK_FALSE(exact_float_from_json({{"value", 0.5}, {"bits", "3fe"}}));
  CHECK_FALSE(exact_float_from_json({{"value", nullptr}, {"bits", "3fe0000000000000"}}));
}

TEST_CASE("hex digits are lower case and at most sixteen", "[contract]") {
  CHECK(hex32(0xdeadbeef) == "deadbeef");
  CHECK(hex64(1) == "0000000000000001");
  CHECK(*parse_hex("deadbeef") == 0xdeadbeef);
  CHECK_FALSE(parse_hex("DEADBEEF"));
  CHECK_FALSE(parse_hex(""));
  CHECK_FALSE(parse_hex("00000000000000001"));
}

TEST_CASE("a number is the same text with a tree of values and without", "[contract]") {
  for (const double size : {0.0, 1.0, 0.5, 3.0, 64.0, 0.1, 1e-7, 1048576.0, 999'999'999'999'999.0, 1e15, 1e15 + 2, 1e16,
                            9.2e18, 1e300, kInfinity, kNan}) {
    for (const double value : {size, -size}) {
      JsonText text;
      CHECK(text.number(value).text() == json_number(value).dump());
    }
  }
}

}  // namespace
}  // namespace reprobench
