#include "matrix/inquiry/bisect/component_search.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

namespace reprobench {
namespace {

using Set = std::vector<std::size_t>;  // ascending

// All subsets of so many are tried where components have to go together; of more only what halving tries.
constexpr std::size_t kMostTogether = 8;

Set without(const Set& set, const Set& removed) {
  Set rest;
  std::ranges::set_difference(set, removed, std::back_inserter(rest));
  return rest;
}

// `set` in `parts` rows of nearly equal length.
std::vector<Set> split(const Set& set, std::size_t parts) {
  std::vector<Set> rows;
  for (std::size_t i = 0; i < parts; ++i) {
    const auto begin = set.begin() + static_cast<std::ptrdiff_t>(i * set.size() / parts);
    const auto end = set.begin() + static_cast<std::ptrdiff_t>((i + 1) * set.size() / parts);
    rows.emplace_back(begin, end);
  }
  return rows;
}

class MixSearch {
 public:
  MixSearch(std::size_t components, const EvaluateMix& evaluate) : all_(components), evaluate_(evaluate) {
    std::iota(all_.begin(), all_.end(), std::size_t{0});
  }

  ComponentSearch run() {
    if (!ends_are_as_asked(/*is_confirmation=*/false)) return std::move(search_);
    if (!is_explained_by_components()) return std::move(search_);
    find_culprits();
    if (!still_stands()) search_.culprits.clear();
    return std::move(search_);
  }

 private:
  PointAnswer ask(const Mix& mix, bool is_confirmation) {
    PointAnswer answer = evaluate_(mix, is_confirmation);
    search_.evaluations.push_back({mix, answer, is_confirmation});
    return answer;
  }

  // The state of a mix, evaluated once. A mix with nothing exchanged is the good end.
  PointState state_of(const Set& set) {
    if (set.empty()) return PointState::as_good;
    const auto known = known_.find(set);
    if (known != known_.end()) return known->second;
    return known_[set] = ask({MixKind::mix, set}, false).state;
  }
  bool is_bad(const Set& set) { return state_of(set) == PointState::as_bad; }

  bool ends_are_as_asked(bool is_confirmation) {
    return end_is(MixKind::good_end, PointState::as_good, is_confirmation) &&
           end_is(MixKind::bad_end, PointState::as_bad, is_confirmation);
  }

  bool end_is(MixKind end, PointState expected, bool is_confirmation) {
    const PointAnswer answer = ask({end, {}}, is_confirmation);
    if (answer.state == expected) return true;
    const std::string name = fmt::format("the {}{}", to_string(end), is_confirmation ? ", asked again," : "");
    const char* what = answer.state == PointState::untestable ? "is untestable"
                       : expected == PointState::as_good      ? "shows what it should not"
                                                              : "does not show the change";
    search_.problem = fmt::format("{} {}{}{}", name, what, answer.why.empty() ? "" : ": ", answer.why);
    return false;
  }

  bool is_explained_by_components() {
    PointAnswer whole{PointState::as_good, "", ""};
    if (!all_.empty()) whole = ask({MixKind::mix, all_}, false);
    known_[all_] = whole.state;
    if (whole.state == PointState::as_bad) return true;
    if (whole.state == PointState::untestable) {
      search_.problem = "the good end with all components of the bad one is untestable: " + whole.why;
      return false;
    }
    // An end that comes and goes is no hidden variable.
    if (!ends_are_as_asked(/*is_confirmation=*/true)) return false;
    search_.is_hidden = true;
    search_.problem =
        all_.empty()
            ? "no component differs between the ends: what makes the difference is hidden"
            : fmt::format(
                  "the good end with all components of the bad one is {}: what makes the difference is in none "
                  "of them",
                  whole.state == PointState::as_good ? "as the good end" : "another change");
    return false;
  }

  void find_culprits() {
    Set rest = all_;
    while (is_bad(rest)) {
      const Set found = smallest(rest);
      search_.culprits.push_back(described(found));
      rest = without(rest, found);
      if (rest.empty()) break;
    }
    if (!rest.empty()) search_.rest = state_of(rest);
  }

  Set smallest(Set set) {
    for (;;) {
      set = halved(std::move(set));
      const std::optional<Set> smaller = without_a_group(set);
      if (!smaller) return set;
      set = *smaller;
    }
  }

  // Zeller's ddmin: a part that brings the state by itself, or all but a part, until no single component can go.
  Set halved(Set set) {
    std::size_t parts = 2;
    while (set.size() >= 2) {
      const std::vector<Set> rows = split(set, parts);
      const auto bad_row = std::ranges::find_if(rows, [&](const Set& row) { return is_bad(row); });
      if (bad_row != rows.end()) {
        set = *bad_row;
        parts = 2;
        continue;
      }
      const auto needless = std::ranges::find_if(rows, [&](const Set& row) { return is_bad(without(set, row)); });
      if (needless != rows.end()) {
        set = without(set, *needless);
        parts = std::max<std::size_t>(parts - 1, 2);
        continue;
      }
      if (parts >= set.size()) break;
      parts = std::min(parts * 2, set.size());
    }
    return set;
  }

  // Components that cannot go one at a time, because nothing runs then, may go together.
  std::optional<Set> without_a_group(const Set& set) {
    const Set bound = unproven_of(set);
    if (bound.size() < 2 || bound.size() > kMostTogether) return std::nullopt;
    for (std::size_t mask = 1; mask < (std::size_t{1} << bound.size()); ++mask) {
      Set group;
      for (std::size_t i = 0; i < bound.size(); ++i) {
        if ((mask >> i & 1U) != 0) group.push_back(bound[i]);
      }
      const Set rest = without(set, group);
      if (group.size() >= 2 && !rest.empty() && is_bad(rest)) return rest;
    }
    return std::nullopt;
  }

  Set unproven_of(const Set& set) {
    Set unproven;
    if (set.size() < 2) return unproven;
    for (const std::size_t component : set) {
      if (state_of(without(set, {component})) == PointState::untestable) unproven.push_back(component);
    }
    return unproven;
  }

  CulpritSet described(const Set& set) {
    CulpritSet culprit{set, unproven_of(set), {}};
    for (const std::size_t component : set) culprit.alone.push_back(state_of({component}));
    return culprit;
  }

  // Whether everything that was seen is seen again: the ends, and the answer itself.
  bool still_stands() {
    if (!ends_are_as_asked(/*is_confirmation=*/true)) return false;
    for (const CulpritSet& culprit : search_.culprits) {
      const PointAnswer again = ask({MixKind::mix, culprit.components}, true);
      if (again.state == PointState::as_bad) continue;
      search_.problem = fmt::format("the mix that was as the bad end, asked again, is {}{}{}", to_string(again.state),
                                    again.why.empty() ? "" : ": ", again.why);
      return false;
    }
    return true;
  }

  Set all_;
  const EvaluateMix& evaluate_;
  std::map<Set, PointState> known_;
  ComponentSearch search_;
};

}  // namespace

const PointAnswer* ComponentSearch::answer_to(const Mix& mix) const {
  const auto found = std::find_if(evaluations.rbegin(), evaluations.rend(),
                                  [&](const MixEvaluation& evaluation) { return evaluation.mix == mix; });
  return found == evaluations.rend() ? nullptr : &found->answer;
}

ComponentSearch bisect_components(std::size_t components, const EvaluateMix& evaluate) {
  return MixSearch(components, evaluate).run();
}

// No mix is asked twice before the end; then each set of culprits once, and the ends.
std::size_t most_component_evaluations(std::size_t components) {
  const std::size_t mixes = components < 16 ? (std::size_t{1} << components) - 1 : components * components * 4;
  return 4 + mixes + components;
}

}  // namespace reprobench
