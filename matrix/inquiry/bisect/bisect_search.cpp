#include "matrix/inquiry/bisect/bisect_search.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

namespace reprobench {
namespace {

bool are_alike(const PointAnswer& a, const PointAnswer& b) {
  return a.state == b.state && (a.state != PointState::another || a.identity == b.identity);
}

class AxisSearch {
 public:
  AxisSearch(std::size_t points, ConfirmEnds confirm, const EvaluatePoint& evaluate)
      : last_(points - 1), confirm_(confirm), evaluate_(evaluate) {}

  BisectSearch run() {
    if (!ends_are_as_asked(/*is_confirmation=*/false)) return std::move(search_);
    narrow(0, last_);
    if (confirm_ == ConfirmEnds::yes && !ends_are_as_asked(/*is_confirmation=*/true)) {
      search_.changes.clear();
      return std::move(search_);
    }
    find_returns();
    return std::move(search_);
  }

 private:
  PointAnswer ask(std::size_t point, bool is_confirmation) {
    PointAnswer answer = evaluate_(point, is_confirmation);
    search_.evaluations.push_back({point, answer, is_confirmation});
    return answer;
  }

  bool ends_are_as_asked(bool is_confirmation) {
    search_.problem = end_problem(0, PointState::as_good, "good", is_confirmation);
    if (search_.problem.empty()) search_.problem = end_problem(last_, PointState::as_bad, "bad", is_confirmation);
    return search_.problem.empty();
  }

  std::string end_problem(std::size_t end, PointState expected, const char* name, bool is_confirmation) {
    PointAnswer answer = ask(end, is_confirmation);
    const char* when = is_confirmation ? ", asked again after the search," : "";
    if (answer.state == PointState::untestable) {
      return fmt::format("the {} end{} is untestable: {}", name, when, answer.why);
    }
    if (answer.state != expected) {
      const char* what = expected == PointState::as_good ? "shows what it should not" : "does not show the change";
      return fmt::format("the {} end{} {}{}{}", name, when, what, answer.why.empty() ? "" : ": ", answer.why);
    }
    known_[end] = std::move(answer);
    return "";
  }

  // The point of the open interval that is nearest to its middle and not known to be untestable; nothing: there is
  // none.
  std::optional<std::size_t> next_between(std::size_t low, std::size_t high) const {
    const std::size_t middle = low + (high - low) / 2;
    std::optional<std::size_t> nearest;
    const auto distance = [&](std::size_t point) { return point > middle ? point - middle : middle - point; };
    for (std::size_t point = low + 1; point < high; ++point) {
      if (known_.contains(point)) continue;
      if (!nearest || distance(point) < distance(*nearest)) nearest = point;
    }
    return nearest;
  }

  // `low` and `high` were seen and differ; whatever is known between them is untestable.
  void narrow(std::size_t low, std::size_t high) {
    while (const std::optional<std::size_t> middle = next_between(low, high)) {
      const PointAnswer answer = ask(*middle, false);
      known_[*middle] = answer;
      if (answer.state == PointState::untestable) continue;
      if (are_alike(answer, known_.at(high))) {
        high = *middle;
        continue;
      }
      if (!are_alike(answer, known_.at(low))) narrow(low, *middle);
      low = *middle;
    }
    search_.changes.push_back({low, high});
  }

  void find_returns() {
    std::vector<std::size_t> firsts;  // the first point of each row of equal states
    const PointAnswer* before = nullptr;
    for (const auto& known : known_) {
      const PointAnswer& answer = known.second;
      if (answer.state == PointState::untestable) continue;
      if (before == nullptr || !are_alike(*before, answer)) {
        const auto earlier =
            std::ranges::find_if(firsts, [&](std::size_t first) { return are_alike(known_.at(first), answer); });
        if (earlier != firsts.end()) search_.returns.push_back({known.first, *earlier});
        firsts.push_back(known.first);
      }
      before = &answer;
    }
  }

  std::size_t last_;
  ConfirmEnds confirm_;
  const EvaluatePoint& evaluate_;
  std::map<std::size_t, PointAnswer> known_;
  BisectSearch search_;
};

}  // namespace

const PointChange& BisectSearch::culprit() const {
  const auto found = std::ranges::find_if(changes, [&](const PointChange& change) {
    const PointAnswer* after = answer_at(change.after);
    return after != nullptr && after->state == PointState::as_bad;
  });
  if (found == changes.end()) throw std::logic_error("a bisect without an answer was asked for its culprit");
  return *found;
}

const PointAnswer* BisectSearch::answer_at(std::size_t point) const {
  const auto found = std::find_if(evaluations.rbegin(), evaluations.rend(),
                                  [&](const PointEvaluation& evaluation) { return evaluation.point == point; });
  return found == evaluations.rend() ? nullptr : &found->answer;
}

BisectSearch bisect(std::size_t points, ConfirmEnds confirm, const EvaluatePoint& evaluate) {
  if (points < 2) throw std::invalid_argument("a bisect needs two ends");
  return AxisSearch(points, confirm, evaluate).run();
}

}  // namespace reprobench
