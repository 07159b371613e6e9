#include "matrix/plan/selection_index.hpp"

#include <algorithm>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

std::vector<std::size_t> candidates(const SelectionIndex& index, const Coordinates& cell) {
  std::vector<std::size_t> found;
  index.for_each_candidate(lookup_in(cell), [&](std::size_t rule) { found.push_back(rule); });
  std::sort(found.begin(), found.end());
  return found;
}

TEST_CASE("no rule that matches a cell is missing among its candidates", "[plan]") {
  const std::vector<std::string> texts = {"seed == 1",
                                          "seed == 2 and device == cpu",
                                          "device == cpu and seed in (3, 3, 4)",
                                          "seed == 5 or device == sm_90",
                                          "not (seed == 1)",
                                          "seed != 2",
                                          "device == cpu",
                                          "seed in (7, 7)",
                                          "seed == 1 and seed == 2"};
  std::vector<SelectionRule> rules;
  for (const std::string& text : texts) rules.push_back({Selector::parse(text, {"m.yaml", 1, 1}), {}});
  rules.push_back({Selector(), {}});
  const SelectionIndex index(rules);
  for (const char* device : {"cpu", "sm_90"}) {
    for (const char* seed : {"1", "2", "3", "4", "5", "7"}) {
      const Coordinates cell = {{"device", device}, {"seed", seed}};
      const auto found = candidates(index, cell);
      CHECK(std::adjacent_find(found.begin(), found.end()) == found.end());
      for (std::size_t i = 0; i < rules.size(); ++i) {
        INFO(rules[i].where.text() << " on " << device << ", seed " << seed);
        CHECK((!rules[i].where.matches(cell) || std::binary_search(found.begin(), found.end(), i)));
      }
    }
  }
}

TEST_CASE("a rule is asked only of cells with the rarest value it demands", "[plan]") {
  std::vector<SelectionRule> rules;
  for (int seed = 1; seed <= 100; ++seed) {
    rules.push_back({Selector::all_of({{"device", {"cpu"}}, {"seed", {std::to_string(seed)}}}), {}});
  }
  const SelectionIndex index(rules);
  CHECK(candidates(index, {{"device", "cpu"}, {"seed", "7"}}) == std::vector<std::size_t>{6});
  CHECK(candidates(index, {{"device", "cpu"}, {"seed", "101"}}).empty());
}

}  // namespace
}  // namespace reprobench
