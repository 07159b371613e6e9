#include "matrix/verdict/bound_judgement.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "matrix/verdict/quantity_text.hpp"

namespace reprobench {
namespace {

void decide(CheckResult& check, CheckStatus status, Reason reason, std::string sentence) {
  check.status = status;
  check.reason = reason;
  check.sentence = std::move(sentence);
}

std::string located(const CheckDivergence& divergence, bool names_other_side) {
  const std::string tensor =
      divergence.tensor.empty() ? divergence.role : fmt::format("{} ({})", divergence.tensor, divergence.role);
  const std::string when = divergence.step > 0 ? fmt::format("at step {} ", divergence.step) : "";
  return fmt::format("first {}in {}{}", when, tensor, names_other_side ? ", against " + divergence.against : "");
}

// Too low is as wrong as too high: a mask that lets a decoder see what it is to say makes its loss fall fast.
void judge_band(CheckResult& check, const Bound& bound, double value, const std::string& statement) {
  const double low = bound.low.value();
  const bool holds = value >= low && value <= bound.limit;
  const bool is_nearer_low = value - low < bound.limit - value;
  const double edge = is_nearer_low ? low : bound.limit;
  if (edge != 0) check.margin_rel = (is_nearer_low ? value - low : bound.limit - value) / std::abs(edge);
  std::string sentence = fmt::format("{} is {} {} to {}", humanised(value, check.unit),
                                     holds         ? "within"
                                     : value < low ? "below"
                                                   : "above",
                                     humanised(low, check.unit), humanised(bound.limit, check.unit));
  if (!statement.empty()) sentence += "; " + statement;
  decide(check, holds ? CheckStatus::passed : CheckStatus::failed,
         holds ? Reason("within_bound") : Reason("over_bound"), std::move(sentence));
}

// The values that keep a bound on a value.
std::pair<double, double> kept_by(const Bound& bound) {
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  switch (bound.kind) {
    case Bound::Kind::max:
      return {-kUnbounded, bound.limit};
    case Bound::Kind::min:
      return {bound.limit, kUnbounded};
    case Bound::Kind::equal:
      return {bound.limit, bound.limit};
    case Bound::Kind::band:
      return {bound.low.value(), bound.limit};
    case Bound::Kind::max_regression:
      break;
  }
  throw std::logic_error("a regression bound is judged by ratio");
}

}  // namespace

void leave_undecided(CheckResult& check, Reason reason, std::string sentence) {
  decide(check, CheckStatus::inconclusive, reason, std::move(sentence));
}

void reject_not_finite(CheckResult& check) {
  const bool is_result = check.dimension == Dimension::numerics;
  decide(check, is_result ? CheckStatus::failed : CheckStatus::inconclusive, "not_finite",
         fmt::format("{} is not a finite number", check.metric));
}

void judge_absolute(CheckResult& check, const Bound& bound, double value, const std::string& statement) {
  check.measured = value;
  if (!std::isfinite(value)) return reject_not_finite(check);
  bool holds = false;
  const char* relation = "=";
  switch (bound.kind) {
    case Bound::Kind::max:
      holds = value <= bound.limit;
      relation = holds ? "<=" : ">";
      break;
    case Bound::Kind::min:
      holds = value >= bound.limit;
      relation = holds ? ">=" : "<";
      break;
    case Bound::Kind::equal:
      holds = value == bound.limit;
      relation = holds ? "=" : "!=";
      break;
    case Bound::Kind::band:
      return judge_band(check, bound, value, statement);
    case Bound::Kind::max_regression:
      throw std::logic_error("a regression bound is judged by ratio");
  }
  if (bound.limit != 0 && bound.kind != Bound::Kind::equal) {
    const double distance = bound.kind == Bound::Kind::max ? bound.limit - value : value - bound.limit;
    check.margin_rel = distance / std::abs(bound.limit);
  }
  std::string sentence = statement.empty() ? fmt::format("{} {} {}", humanised(value, check.unit), relation,
                                                         humanised(bound.limit, check.unit))
                                           : statement;
  if (check.divergence) sentence += "; " + located(*check.divergence, statement.empty());
  decide(check, holds ? CheckStatus::passed : CheckStatus::failed,
         holds ? Reason("within_bound") : Reason("over_bound"), std::move(sentence));
}

void judge_regression(CheckResult& check, const Metric& metric, const Bound& bound, const RatioInterval& interval) {
  check.ratio = interval.ratio;
  check.ratio_low = interval.low;
  check.ratio_high = interval.high;
  const RatioInterval worsening = metric.info.better == Better::lower ? interval : inverted(interval);
  if (bound.limit > 0) check.margin_rel = (bound.limit - (worsening.ratio - 1)) / bound.limit;
  const std::string numbers =
      fmt::format("{} against {}: x{:.3f} [{:.3f}, {:.3f}]", humanised(*check.measured, check.unit),
                  humanised(*check.reference, check.unit), interval.ratio, interval.low, interval.high);
  switch (judge_ratio(worsening, bound.limit)) {
    case RatioVerdict::worse:
      return decide(check, CheckStatus::failed, "over_bound",
                    fmt::format("{}, worse by more than {:.3g} %", numbers, bound.limit * 100));
    case RatioVerdict::better:
      check.gain = true;
      return decide(check, CheckStatus::passed, "gain",
                    fmt::format("{}, better by more than {:.3g} %", numbers, bound.limit * 100));
    case RatioVerdict::equivalent:
      return decide(check, CheckStatus::passed, "within_bound",
                    fmt::format("{}, not worse by more than {:.3g} %", numbers, bound.limit * 100));
    case RatioVerdict::undecided:
      return leave_undecided(
          check, "noise",
          fmt::format("{}: the interval of {} pairs reaches over the bound of {:.3g} %; more repeats "
                      "or a quieter machine would decide it",
                      numbers, interval.pairs, bound.limit * 100));
  }
}

bool keeps(const Bound& bound, double value) {
  const auto [low, high] = kept_by(bound);
  return value >= low && value <= high;
}

bool holds_throughout(const Bound& bound, const RatioInterval& interval) {
  return keeps(bound, interval.low) && keeps(bound, interval.high);
}

bool holds_nowhere(const Bound& bound, const RatioInterval& interval) {
  const auto [low, high] = kept_by(bound);
  return interval.high < low || interval.low > high;
}

}  // namespace reprobench
