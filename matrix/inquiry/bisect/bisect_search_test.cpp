#include "matrix/inquiry/bisect/bisect_search.hpp"

#include <set>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using States = std::string;  // a letter a point: G good, B bad, x untestable, any other another change

PointAnswer answer_for(char state) {
  switch (state) {
    case 'G':
      return {PointState::as_good, "", ""};
    case 'B':
      return {PointState::as_bad, "", ""};
    case 'x':
      return {PointState::untestable, "it crashed", ""};
    default:
      return {PointState::another, "other bits", std::string(1, state)};
  }
}

BisectSearch searched(const States& states, ConfirmEnds confirm = ConfirmEnds::no) {
  return bisect(states.size(), confirm, [&](std::size_t point, bool) { return answer_for(states.at(point)); });
}

TEST_CASE("the change is found at every position of 2 to 16 points, in at most ceil(log2) + 2 evaluations",
          "[bisect]") {
  for (std::size_t points = 2; points <= 16; ++points) {
    int log2 = 0;
    while ((std::size_t{1} << log2) < points) ++log2;
    for (std::size_t first_bad = 1; first_bad < points; ++first_bad) {
      const BisectSearch search = searched(States(first_bad, 'G') + States(points - first_bad, 'B'));
      CAPTURE(points, first_bad);
      CHECK(search.problem.empty());
      CHECK(search.changes == std::vector<PointChange>{{first_bad - 1, first_bad}});
      CHECK(search.culprit() == PointChange{first_bad - 1, first_bad});
      CHECK(static_cast<int>(search.evaluations.size()) <= log2 + 2);
      std::set<std::size_t> asked;
      for (const PointEvaluation& evaluation : search.evaluations) asked.insert(evaluation.point);
      CHECK(asked.size() == search.evaluations.size());
      CHECK(asked.contains(first_bad));
      CHECK(asked.contains(first_bad - 1));
    }
  }
}

TEST_CASE("with untestable points anywhere, the range holds the change and both its ends were seen", "[bisect]") {
  constexpr std::size_t kPoints = 9;
  for (std::size_t first_bad = 1; first_bad < kPoints; ++first_bad) {
    for (unsigned mask = 0; mask < 1u << (kPoints - 2); ++mask) {
      States states = States(first_bad, 'G') + States(kPoints - first_bad, 'B');
      for (std::size_t i = 1; i + 1 < kPoints; ++i) {
        if ((mask >> (i - 1) & 1u) != 0) states[i] = 'x';
      }
      const BisectSearch search = searched(states);
      CAPTURE(states);
      REQUIRE(search.changes.size() == 1);
      const PointChange found = search.culprit();
      CHECK(states[found.before] == 'G');
      CHECK(states[found.after] == 'B');
      CHECK(search.answer_at(found.before) != nullptr);
      CHECK(search.answer_at(found.after) != nullptr);
      for (std::size_t i = found.before + 1; i < found.after; ++i) CHECK(states[i] == 'x');
    }
  }
}

TEST_CASE("the neighbours of an untestable point are tried, the nearest first", "[bisect]") {
  const BisectSearch search = searched("GGGxxBBBB");
  std::vector<std::size_t> asked;
  for (const PointEvaluation& evaluation : search.evaluations) asked.push_back(evaluation.point);
  CHECK(asked == std::vector<std::size_t>{0, 8, 4, 3, 5, 2});
  CHECK(search.culprit() == PointChange{2, 5});
}

TEST_CASE("a third state is no bad one: each change around it is found", "[bisect]") {
  CHECK(searched("GGCCBBBB").changes == std::vector<PointChange>{{1, 2}, {3, 4}});
  CHECK(searched("GGCCBBBB").culprit() == PointChange{3, 4});
  for (std::size_t first = 1; first < 10; ++first) {
    for (std::size_t second = first + 1; second < 11; ++second) {
      const States states = States(first, 'G') + States(second - first, 'C') + States(12 - second, 'B');
      const BisectSearch search = searched(states);
      CAPTURE(states);
      // Where no point between was met that is neither, one change is found that is really there.
      CHECK(search.culprit() == PointChange{second - 1, second});
      CHECK(search.changes.front() == PointChange{first - 1, first});
      CHECK(search.changes.size() == 2);
    }
  }
  CHECK(searched("GCDEFB").changes.size() == 5);
}

TEST_CASE("of a history that goes back and forth a real change is found, and what was seen of the others is said",
          "[bisect]") {
  for (unsigned mask = 0; mask < 1u << 8; ++mask) {
    States states = "G";
    for (unsigned i = 0; i < 8; ++i) states += (mask >> i & 1u) != 0 ? 'B' : 'G';
    states += 'B';
    const PointChange found = searched(states).culprit();
    CAPTURE(states);
    CHECK(found.after == found.before + 1);
    CHECK(states[found.before] == 'G');
    CHECK(states[found.after] == 'B');
  }
  const BisectSearch search = searched("GGGCGBBBB");
  CHECK(search.returns.empty());  // point 3 lies where nothing is asked any more
  const BisectSearch seen = searched("GCGCCCGBB");
  REQUIRE_FALSE(seen.returns.empty());
  CHECK(seen.returns.front() == PointReturn{6, 0});
}

TEST_CASE("ends that are not what they were said to be stop the search at once", "[bisect]") {
  const BisectSearch good_is_bad = searched("BBBB");
  CHECK_THAT(good_is_bad.problem, Contains("the good end shows what it should not"));
  CHECK(good_is_bad.evaluations.size() == 1);
  CHECK(good_is_bad.changes.empty());
  CHECK_THROWS_AS(good_is_bad.culprit(), std::logic_error);
  const BisectSearch bad_is_good = searched("GGBG");
  CHECK_THAT(bad_is_good.problem, Contains("the bad end does not show the change"));
  CHECK(bad_is_good.evaluations.size() == 2);
  CHECK(searched("xGBB").problem == "the good end is untestable: it crashed");
  CHECK(searched("GGBx").problem == "the bad end is untestable: it crashed");
  CHECK_THAT(searched("GGBC").problem, Contains("the bad end does not show the change: other bits"));
  CHECK_THROWS_AS(searched("G"), std::invalid_argument);
}

TEST_CASE("ends that have changed when they are asked again leave no answer", "[bisect]") {
  CHECK(searched("GGBB", ConfirmEnds::yes).culprit() == PointChange{1, 2});
  CHECK(searched("GGBB", ConfirmEnds::yes).evaluations.size() == 6);
  for (const std::size_t end : {std::size_t{0}, std::size_t{3}}) {
    for (const char state : {'G', 'B', 'x'}) {
      const States states = "GGBB";
      const bool is_same = states[end] == state;
      const BisectSearch search = bisect(4, ConfirmEnds::yes, [&](std::size_t point, bool is_confirmation) {
        return answer_for(is_confirmation && point == end ? state : states[point]);
      });
      CAPTURE(end, state);
      CHECK(search.problem.empty() == is_same);
      CHECK(search.changes.empty() != is_same);
      if (!is_same) CHECK_THAT(search.problem, Contains("asked again after the search"));
    }
  }
}

}  // namespace
}  // namespace reprobench
