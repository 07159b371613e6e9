#include "matrix/inquiry/bisect/component_alone.hpp"

namespace reprobench {
namespace {

// 1: longer, -1: shorter, 0: the interval has both.
int direction(const RatioInterval& interval) {
  if (interval.low > 1) return 1;
  return interval.high < 1 ? -1 : 0;
}

bool is_within(const RatioInterval& interval, double margin) {
  return interval.low >= 1 / (1 + margin) && interval.high <= 1 + margin;
}

}  // namespace

AloneWord explained_bits(PointState mix, PointState whole) {
  if (mix == PointState::untestable || whole == PointState::untestable) return AloneWord::undecided;
  if (whole == PointState::as_good) return AloneWord::nothing;
  if (mix == PointState::as_good) return AloneWord::not_it;
  return mix == PointState::as_bad ? AloneWord::explains : AloneWord::in_part;
}

bool is_decided(const RatioInterval& interval, double margin) {
  return direction(interval) != 0 || is_within(interval, margin);
}

AloneWord explained_time(const RatioInterval& alone, const RatioInterval& whole, const RatioInterval& rest,
                         double margin) {
  const bool alone_is_small = is_within(alone, margin);
  const bool rest_is_small = is_within(rest, margin);
  if (!is_decided(alone, margin)) return AloneWord::undecided;
  if (is_within(whole, margin)) return AloneWord::nothing;
  const int sign = direction(whole);
  if (sign == 0) return AloneWord::undecided;
  if (direction(alone) == sign) {
    if (direction(rest) == sign && rest_is_small == alone_is_small) return AloneWord::in_part;
    if (rest_is_small) return AloneWord::explains;
    if (direction(rest) == -sign) return AloneWord::in_excess;
    // The rest is no smaller than the margin, and this is.
    return direction(rest) == sign ? AloneWord::not_it : AloneWord::undecided;
  }
  if (!alone_is_small) return AloneWord::not_it;  // it goes the other way
  return direction(rest) == sign ? AloneWord::not_it : AloneWord::undecided;
}

std::optional<bool> has_effect(const ComponentAlone& answer) {
  if (!answer.problem.empty() || answer.bits == AloneWord::undecided) return std::nullopt;
  const bool moves_bits = !answer.alone->first_difference.empty();
  if (!answer.time) return moves_bits;
  if (*answer.time == AloneWord::undecided || !answer.alone->time) return std::nullopt;
  return moves_bits || !is_within(*answer.alone->time, *answer.margin);
}

}  // namespace reprobench
