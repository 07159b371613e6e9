#include "matrix/inquiry/bisect/bisect_document.hpp"

#include <fmt/format.h>

namespace reprobench {
namespace {

StackChange change_between(const PointChange& change, const BisectSearch& search,
                           const std::vector<std::string>& axis) {
  StackChange named;
  named.before = axis[change.before];
  named.before_state = search.answer_at(change.before)->state;
  named.after = axis[change.after];
  named.after_state = search.answer_at(change.after)->state;
  named.untestable.assign(axis.begin() + static_cast<std::ptrdiff_t>(change.before) + 1,
                          axis.begin() + static_cast<std::ptrdiff_t>(change.after));
  return named;
}

// The bad end was seen, by itself, to be as the good one. When it is asked again that is no such answer: it was
// something else before.
bool has_equal_ends(const BisectSearch& search, std::size_t last) {
  const PointEvaluation& latest = search.evaluations.back();
  return latest.point == last && !latest.is_confirmation && latest.answer.state == PointState::as_good;
}

}  // namespace

BisectAnswer answer_of_search(const std::string& subject, const BisectSearch& search,
                              const std::vector<std::string>& axis) {
  BisectAnswer answer;
  answer.subject = subject;
  answer.problem = search.problem;
  for (const PointEvaluation& evaluation : search.evaluations) {
    answer.evaluations.push_back(
        {axis[evaluation.point], evaluation.answer.state, evaluation.answer.why, evaluation.is_confirmation});
  }
  if (!search.problem.empty()) {
    if (has_equal_ends(search, axis.size() - 1)) answer.word = BisectWord::equal;
    return answer;
  }
  const PointChange& culprit = search.culprit();
  answer.culprit = change_between(culprit, search, axis);
  answer.word = answer.culprit->untestable.empty() ? BisectWord::found : BisectWord::range;
  for (const PointChange& change : search.changes) {
    if (!(change == culprit)) answer.others.push_back(change_between(change, search, axis));
  }
  for (const PointReturn& seen : search.returns) {
    answer.returns.push_back(
        fmt::format("{} is again as {}, though a stack between them is not", axis[seen.point], axis[seen.seen_at]));
  }
  return answer;
}

}  // namespace reprobench
