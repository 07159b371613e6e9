// Units and numbers, against values by hand.
#include "matrix/spec/scalar.hpp"

#include <cmath>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("sizes in KiB are of 1024 bytes, in kB of 1000", "[spec]") {
  CHECK(size_unit_bytes("B") == 1.0);
  CHECK(size_unit_bytes("kB") == 1000.0);
  CHECK(size_unit_bytes("MB") == 1e6);
  CHECK(size_unit_bytes("GB") == 1e9);
  CHECK(size_unit_bytes("KiB") == 1024.0);
  CHECK(size_unit_bytes("MiB") == 1024.0 * 1024);
  CHECK(size_unit_bytes("GiB") == 1024.0 * 1024 * 1024);
  for (const char* unknown : {"", "KB", "kb", "kiB", "K", "TiB", "ms"}) CHECK_FALSE(size_unit_bytes(unknown));
}

TEST_CASE("times are in ns", "[spec]") {
  CHECK(time_unit_ns("ns") == 1.0);
  CHECK(time_unit_ns("us") == 1e3);
  CHECK(time_unit_ns("ms") == 1e6);
  CHECK(time_unit_ns("s") == 1e9);
  CHECK(time_unit_ns("m") == 60e9);
  CHECK(time_unit_ns("h") == 3600e9);
  for (const char* unknown : {"", "min", "S", "d", "B"}) CHECK_FALSE(time_unit_ns(unknown));
}

TEST_CASE("a number is one in the grammar of JSON, all of it", "[spec]") {
  CHECK(parse_number("0") == 0.0);
  CHECK(parse_number("-1.5e3") == -1500.0);
  CHECK(parse_number("10") == 10.0);
  CHECK(parse_number("0.25") == 0.25);
  CHECK(parse_number("2E-2") == 0.02);
  CHECK(std::isinf(parse_number("1e400").value()));
  for (const char* bad :
       {"", "-", ".5", "5.", "01", "-01", "1e", "1e+", "+1", "1_000", "0x1", "nan", "inf", " 1", "1 "}) {
    INFO(bad);
    CHECK_FALSE(parse_number(bad));
  }
}

TEST_CASE("a quantity is a number and the unit behind it", "[spec]") {
  const auto quantity = parse_quantity("1.5GiB");
  REQUIRE(quantity);
  CHECK(quantity->value == 1.5);
  CHECK(quantity->unit == "GiB");
  CHECK(parse_quantity("7")->unit.empty());
  CHECK(parse_quantity("2e3ms")->value == 2000);
  CHECK(parse_quantity("2e")->unit == "e");  // no exponent without digits
  CHECK(parse_quantity("2e")->value == 2);
  CHECK(parse_quantity("5 %")->unit == " %");
  for (const char* bad : {"", "GiB", "-", ".5s", "05s"}) CHECK_FALSE(parse_quantity(bad));
}

TEST_CASE("a name has 64 letters of an alphabet that is safe in paths and arguments", "[spec]") {
  for (const char* good : {"a", "Z", "0", "a.b", "_", "torch-2.9.0-cu128", "...", "a-"}) CHECK(is_name(good));
  for (const char* bad : {"", ".", "..", "-a", "a b", "a/b", "a:b", "\xc3\xa4", "a\n"}) CHECK_FALSE(is_name(bad));
  CHECK(is_name(std::string(64, 'a')));
  CHECK_FALSE(is_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace reprobench
