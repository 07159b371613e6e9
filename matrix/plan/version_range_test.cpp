#include "matrix/plan/version_range.hpp"

#include "ci/catch.hpp"

using namespace reprobench;

namespace {

Within match(const std::string& range, const std::string& version) { return VersionRange::parse(range).match(version); }

}  // namespace

TEST_CASE("a version is within a range from its lower bound up to and without its upper one", "[plan]") {
  CHECK(match(">=9.8 <9.13", "9.7.1.26") == Within::no);
  CHECK(match(">=9.8 <9.13", "9.8.0.0") == Within::yes);
  CHECK(match(">=9.8 <9.13", "9.10.2.21") == Within::yes);
  CHECK(match(">=9.8 <9.13", "9.12.999.1") == Within::yes);
  CHECK(match(">=9.8 <9.13", "9.13.0.50") == Within::no);
  CHECK(match(">=9.8 <9.13", "10.0") == Within::no);
}

TEST_CASE("numbers are compared, not texts", "[plan]") {
  CHECK(match(">=9.8", "9.10") == Within::yes);
  CHECK(match("<570.26", "570.124.06") == Within::no);
  CHECK(match("<2.10", "2.9.1") == Within::yes);
}

TEST_CASE("a version without bounds stands for all that it names", "[plan]") {
  CHECK(match("9.10.2", "9.10.2.21") == Within::yes);
  CHECK(match("9.10.2", "9.10.2") == Within::yes);
  CHECK(match("9.10.2", "9.10.21") == Within::no);
  CHECK(match("9.10.2", "9.10.1.4") == Within::no);
  CHECK(match("9.10.2.21", "9.10.2.22") == Within::no);
}

TEST_CASE("a version that is stated too short is within a range, outside of it, or perhaps within", "[plan]") {
  CHECK(match(">=9.8 <9.13", "9") == Within::maybe);
  CHECK(match(">=9.8 <9.13", "8") == Within::no);
  CHECK(match(">=9.8 <9.13", "10") == Within::no);
  CHECK(match(">=9.10.2", "9.10") == Within::maybe);
  CHECK(match(">=9.10.2", "9.11") == Within::yes);
  CHECK(match("<9.10.2", "9.10") == Within::maybe);
  CHECK(match("<9.10.2", "9.9") == Within::yes);
  CHECK(match("9.10.2.21", "9.10.2") == Within::maybe);
}

TEST_CASE("a bound with fewer parts than the version is met at its zeros", "[plan]") {
  CHECK(match(">=12", "12.0.0") == Within::yes);
  CHECK(match("<12", "12.0.0") == Within::no);
  CHECK(match(">=12.0.0", "12") == Within::yes);
  CHECK(match("<12.0.0", "11.8") == Within::yes);
}

TEST_CASE("above and up to a version mean all that it names", "[plan]") {
  CHECK(match(">9.10", "9.10.2.21") == Within::no);
  CHECK(match(">9.10", "9.11.0") == Within::yes);
  CHECK(match("<=9.10", "9.10.2.21") == Within::yes);
  CHECK(match("<=9.10", "9.11") == Within::no);
}

TEST_CASE("of several bounds the narrowest counts, in any order", "[plan]") {
  CHECK(match(">=9 >=9.8", "9.5") == Within::no);
  CHECK(match(">=9.8 >=9", "9.5") == Within::no);
  CHECK(match("<10 <9.5", "9.6") == Within::no);
  CHECK(match("<9.5 <10", "9.6") == Within::no);
}

TEST_CASE("what is no version may be anything", "[plan]") {
  for (const char* text : {"", "new", "9.x", "9..1", "9.10.", ".9", "9.10 ", "-9", "123456789012", "1.2.3.4.5.6.7"}) {
    INFO(text);
    CHECK(match(">=9", text) == Within::maybe);
    CHECK_FALSE(whole_version(text));
  }
  CHECK(whole_version("2.9.0+cu128") == std::vector<int>{2, 9, 0});
  CHECK(match("2.9", "2.9.0+cu128") == Within::yes);
}

TEST_CASE("a range that says nothing or the impossible is refused", "[plan]") {
  CHECK_THROWS_WITH(VersionRange::parse(""), "`` bounds no version");
  CHECK_THROWS_WITH(VersionRange::parse(">=9 <9"), "no version is within `>=9 <9`");
  CHECK_THROWS_WITH(VersionRange::parse(">=9.13 <9.8"), "no version is within `>=9.13 <9.8`");
  CHECK_THROWS_WITH(VersionRange::parse("=>9"), "`=>9` in `=>9` is no bound of a version");
  CHECK_THROWS_WITH(VersionRange::parse(">= 9"), "`>=` in `>= 9` is no bound of a version");
  CHECK_THROWS_WITH(VersionRange::parse(">=9, <10"), "`>=9,` in `>=9, <10` is no bound of a version");
}
