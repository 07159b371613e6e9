// Simulated bisects of components: what a mix shows is a function of the components that it has of the bad end.
#include "matrix/inquiry/bisect/component_search.hpp"

#include <algorithm>
#include <set>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using Set = std::vector<std::size_t>;

constexpr std::size_t kFive = 5;
const PointAnswer kGood{PointState::as_good, "", ""};
const PointAnswer kBad{PointState::as_bad, "", ""};
const PointAnswer kUntestable{PointState::untestable, "it does not start", ""};

PointAnswer another(const std::string& bits) { return {PointState::another, "other bits", bits}; }

bool has_all(const Set& set, const Set& wanted) { return std::ranges::includes(set, wanted); }

using ShownBy = std::function<PointAnswer(const Set&)>;

// The ends are what they should be; every mix is what `shown` says.
ComponentSearch searched(const ShownBy& shown, std::size_t components = kFive) {
  return bisect_components(components, [&](const Mix& mix, bool) {
    return mix.kind == MixKind::good_end ? kGood : mix.kind == MixKind::bad_end ? kBad : shown(mix.from_bad);
  });
}

// Brings the bad end's state as soon as one of the sets is there.
ShownBy brought_by(const std::vector<Set>& sets) {
  return [=](const Set& set) {
    return std::ranges::any_of(sets, [&](const Set& wanted) { return has_all(set, wanted); }) ? kBad : kGood;
  };
}

std::vector<Set> named(const ComponentSearch& search) {
  std::vector<Set> sets;
  for (const CulpritSet& culprit : search.culprits) sets.push_back(culprit.components);
  return sets;
}

TEST_CASE("of five components each single culprit is found, and nothing else", "[bisect]") {
  for (std::size_t culprit = 0; culprit < kFive; ++culprit) {
    const ComponentSearch search = searched(brought_by({{culprit}}));
    CAPTURE(culprit);
    CHECK(search.problem.empty());
    CHECK(search.culprits == std::vector<CulpritSet>{{{culprit}, {}, {PointState::as_bad}}});
    CHECK(search.rest == PointState::as_good);
    CHECK(search.evaluations.size() <= 16);
  }
}

TEST_CASE("two culprits that work only together are named together, each of no effect by itself", "[bisect]") {
  for (std::size_t a = 0; a < kFive; ++a) {
    for (std::size_t b = a + 1; b < kFive; ++b) {
      const ComponentSearch search = searched(brought_by({{a, b}}));
      CAPTURE(a, b);
      CHECK(search.culprits == std::vector<CulpritSet>{{{a, b}, {}, {PointState::as_good, PointState::as_good}}});
      CHECK(search.rest == PointState::as_good);
    }
  }
}

TEST_CASE("two culprits that each change something are both in the set, and each changes something alone", "[bisect]") {
  for (std::size_t a = 0; a < kFive; ++a) {
    for (std::size_t b = a + 1; b < kFive; ++b) {
      const ComponentSearch search = searched([&](const Set& set) {
        if (has_all(set, {a, b})) return kBad;
        return has_all(set, {a}) ? another("a") : has_all(set, {b}) ? another("b") : kGood;
      });
      CAPTURE(a, b);
      CHECK(search.culprits == std::vector<CulpritSet>{{{a, b}, {}, {PointState::another, PointState::another}}});
    }
  }
}

TEST_CASE("two culprits of which one suffices are two answers", "[bisect]") {
  for (std::size_t a = 0; a < kFive; ++a) {
    for (std::size_t b = a + 1; b < kFive; ++b) {
      std::vector<Set> sets = named(searched(brought_by({{a}, {b}})));
      std::ranges::sort(sets);
      CAPTURE(a, b);
      CHECK(sets == std::vector<Set>{{a}, {b}});
    }
  }
}

TEST_CASE("every set of culprits is found whatever single mix is untestable, or the set says what it cannot tell apart",
          "[bisect]") {
  for (unsigned culprits = 1; culprits < 1U << kFive; ++culprits) {
    Set wanted;
    for (std::size_t i = 0; i < kFive; ++i) {
      if ((culprits >> i & 1U) != 0) wanted.push_back(i);
    }
    for (unsigned broken = 1; broken + 1 < 1U << kFive; ++broken) {
      const ComponentSearch search = searched([&](const Set& set) {
        unsigned mask = 0;
        for (const std::size_t i : set) mask |= 1U << i;
        return mask == broken ? kUntestable : brought_by({wanted})(set);
      });
      CAPTURE(culprits, broken);
      REQUIRE(search.culprits.size() == 1);
      const CulpritSet& found = search.culprits.front();
      CHECK(has_all(found.components, wanted));
      if (found.components != wanted) CHECK_FALSE(found.unproven.empty());
      // What is called proven was seen to be needed.
      for (const std::size_t component : found.components) {
        if (std::ranges::find(found.unproven, component) == found.unproven.end()) CHECK(has_all(wanted, {component}));
      }
    }
  }
}

TEST_CASE("components that only run together are told from a culprit that runs alone", "[bisect]") {
  // 1, 2 and 3 are of one release and do not start with parts of another.
  const auto with_release = [](const ShownBy& shown) {
    return [=](const Set& set) {
      const auto of_it = std::ranges::count_if(set, [](std::size_t i) { return i >= 1 && i <= 3; });
      return of_it == 0 || of_it == 3 ? shown(set) : kUntestable;
    };
  };
  const ComponentSearch alone = searched(with_release(brought_by({{4}})));
  CHECK(alone.culprits == std::vector<CulpritSet>{{{4}, {}, {PointState::as_bad}}});
  const ComponentSearch in_it = searched(with_release(brought_by({{2}})));
  REQUIRE(in_it.culprits.size() == 1);
  CHECK(in_it.culprits.front().components == Set{1, 2, 3});
  CHECK(in_it.culprits.front().unproven == Set{1, 2, 3});
  const ComponentSearch both = searched(with_release(brought_by({{0, 2}})));
  REQUIRE(both.culprits.size() == 1);
  CHECK(both.culprits.front().components == Set{0, 1, 2, 3});
  CHECK(both.culprits.front().unproven == Set{1, 2, 3});
}

TEST_CASE("a mix of everything that is not as the bad end is a hidden variable, not an answer", "[bisect]") {
  const ComponentSearch as_good = searched([](const Set&) { return kGood; });
  CHECK(as_good.is_hidden);
  CHECK(as_good.culprits.empty());
  CHECK_THAT(as_good.problem, Contains("is as the good end: what makes the difference is in none of them"));
  // The bad end was seen again after that.
  CHECK(as_good.evaluations.back().mix.kind == MixKind::bad_end);
  CHECK(as_good.evaluations.back().is_confirmation);
  const ComponentSearch other = searched([](const Set& set) { return set.size() == kFive ? another("c") : kBad; });
  CHECK(other.is_hidden);
  CHECK_THAT(other.problem, Contains("is another change"));
  const ComponentSearch none = searched([](const Set&) { return kBad; }, 0);
  CHECK(none.is_hidden);
  CHECK_THAT(none.problem, Contains("no component differs"));
}

TEST_CASE("a mix of everything that cannot be tested is neither hidden nor an answer", "[bisect]") {
  const ComponentSearch search = searched([](const Set& set) { return set.size() == kFive ? kUntestable : kBad; });
  CHECK_FALSE(search.is_hidden);
  CHECK(search.culprits.empty());
  CHECK_THAT(search.problem, Contains("all components of the bad one is untestable: it does not start"));
}

TEST_CASE("ends that are not what they were said to be stop the search over components at once", "[bisect]") {
  const auto with_ends = [](const PointAnswer& good, const PointAnswer& bad) {
    return bisect_components(kFive, [&](const Mix& mix, bool) {
      return mix.kind == MixKind::good_end ? good : mix.kind == MixKind::bad_end ? bad : kBad;
    });
  };
  CHECK(with_ends(kBad, kBad).problem == "the good end shows what it should not");
  CHECK(with_ends(kBad, kBad).evaluations.size() == 1);
  CHECK(with_ends(kGood, kGood).problem == "the bad end does not show the change");
  CHECK(with_ends(kUntestable, kBad).problem == "the good end is untestable: it does not start");
  CHECK(with_ends(kGood, kUntestable).problem == "the bad end is untestable: it does not start");
  CHECK(with_ends(kGood, another("c")).problem == "the bad end does not show the change: other bits");
}

TEST_CASE("what is another one when it is asked again leaves no answer", "[bisect]") {
  for (const Mix& flaky : {Mix{MixKind::good_end, {}}, Mix{MixKind::bad_end, {}}, Mix{MixKind::mix, {2}}}) {
    for (const PointAnswer& again : {kGood, kBad, kUntestable, another("c")}) {
      const ComponentSearch search = bisect_components(kFive, [&](const Mix& mix, bool is_confirmation) {
        if (is_confirmation && mix == flaky) return again;
        return mix.kind == MixKind::good_end  ? kGood
               : mix.kind == MixKind::bad_end ? kBad
                                              : brought_by({{2}})(mix.from_bad);
      });
      const PointState expected = flaky.kind == MixKind::good_end ? PointState::as_good : PointState::as_bad;
      CAPTURE(to_string(flaky.kind), to_string(again.state));
      CHECK(search.culprits.empty() == (again.state != expected));
      CHECK(search.problem.empty() == (again.state == expected));
      CHECK_FALSE(search.is_hidden);
      if (again.state != expected) CHECK_THAT(search.problem, Contains("asked again, "));
    }
  }
}

TEST_CASE("a bad end that comes and goes is not called a hidden variable", "[bisect]") {
  const ComponentSearch search = bisect_components(kFive, [](const Mix& mix, bool is_confirmation) {
    if (mix.kind == MixKind::bad_end) return is_confirmation ? kGood : kBad;
    return kGood;
  });
  CHECK_FALSE(search.is_hidden);
  CHECK_THAT(search.problem, Contains("the bad end, asked again, does not show the change"));
}

TEST_CASE("no mix is asked twice but to confirm it, and no search asks more than it announces", "[bisect]") {
  for (std::size_t components = 1; components <= 6; ++components) {
    for (unsigned culprits = 1; culprits < 1U << components; ++culprits) {
      Set wanted;
      for (std::size_t i = 0; i < components; ++i) {
        if ((culprits >> i & 1U) != 0) wanted.push_back(i);
      }
      const ComponentSearch search = searched(brought_by({wanted}), components);
      CAPTURE(components, culprits);
      CHECK(named(search) == std::vector<Set>{wanted});
      CHECK(search.evaluations.size() <= most_component_evaluations(components));
      std::set<Set> asked;
      for (const MixEvaluation& evaluation : search.evaluations) {
        if (evaluation.mix.kind == MixKind::mix && !evaluation.is_confirmation) {
          CHECK(asked.insert(evaluation.mix.from_bad).second);
        }
      }
    }
  }
}

TEST_CASE("what the rest shows without the culprits is said", "[bisect]") {
  const ComponentSearch search = searched([](const Set& set) {
    return has_all(set, {1}) ? kBad : has_all(set, {3}) ? another("c") : kGood;
  });
  CHECK(named(search) == std::vector<Set>{{1}});
  CHECK(search.rest == PointState::another);
  REQUIRE(search.answer_to({MixKind::mix, {0, 2, 3, 4}}) != nullptr);
  CHECK(search.answer_to({MixKind::mix, {0, 3}}) == nullptr);
}

}  // namespace
}  // namespace reprobench
