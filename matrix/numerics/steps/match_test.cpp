#include "matrix/numerics/steps/match.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("a difference wins over what cannot be compared, and that over equality", "[verdict]") {
  using enum Match;
  CHECK(overall(equal, equal) == equal);
  CHECK(overall(equal, not_comparable) == not_comparable);
  CHECK(overall(not_comparable, equal) == not_comparable);
  CHECK(overall(not_comparable, differs) == differs);
  CHECK(overall(differs, not_comparable) == differs);
  CHECK(overall(equal, differs) == differs);
}

TEST_CASE("the words of a comparison are those of its documents", "[verdict]") {
  for (const char* word : {"equal", "differs", "not_comparable"}) {
    REQUIRE(from_word<Match>(word));
    CHECK(to_string(*from_word<Match>(word)) == word);
  }
}

}  // namespace
}  // namespace reprobench
