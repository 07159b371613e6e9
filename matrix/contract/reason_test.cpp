#include "matrix/contract/reason.hpp"

#include <fstream>
#include <set>
#include <vector>

#include "ci/catch.hpp"
#include "matrix/contract/outcome.hpp"

namespace reprobench {
namespace {

TEST_CASE("every code has one row, and a sentence that fits into a table", "[contract]") {
  std::set<std::string_view> codes;
  for (const ReasonInfo& reason : kReasons) {
    INFO(reason.code);
    CHECK(codes.insert(reason.code).second);
    CHECK(reason.meaning.size() > 10);
    CHECK(reason.meaning.find('|') == std::string_view::npos);
    CHECK(reason.meaning.back() != '.');
  }
}

TEST_CASE("every end of an attempt but a completed one is a reason", "[contract]") {
  for (int end = 0; end <= static_cast<int>(AttemptEnd::gpu_hw); ++end) {
    if (static_cast<AttemptEnd>(end) == AttemptEnd::completed) continue;
    const std::string_view word = to_string(static_cast<AttemptEnd>(end));
    INFO(word);
    REQUIRE(reason_index(word) < kReasons.size());
    CHECK(kReasons[reason_index(word)].of == ReasonOf::attempt);
  }
}

TEST_CASE("a word that the table lacks is refused, as it is by the compiler", "[contract]") {
  constexpr Reason kNoise = "noise";
  CHECK(kNoise.code() == "noise");
  CHECK(Reason::of("noise").code() == "noise");
  CHECK_THROWS_AS(Reason::of("noisy"), std::logic_error);
  CHECK_THROWS_AS(Reason::of(""), std::logic_error);
  CHECK(Reason().empty());
}

TEST_CASE("the page of reasons is the table", "[contract]") {
  std::ifstream page(REPROBENCH_SOURCE_ROOT "/matrix/contract/reasons.md");
  std::vector<std::string> shown;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| `")) shown.push_back(line);
  }
  std::vector<std::string> expected;
  for (const ReasonInfo& reason : kReasons) {
    expected.push_back("| `" + std::string(reason.code) + "` | " + std::string(to_string(reason.of)) + " | " +
                       std::string(reason.meaning) + " |");
  }
  CHECK(shown == expected);
}

}  // namespace
}  // namespace reprobench
