// Single checks against values by hand, both directions.
#include "matrix/verdict/check.hpp"

#include <limits>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "matrix/verdict/quantity_text.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using sample::threshold;
constexpr auto kAtMost = Bound::Kind::max;
constexpr auto kAtLeast = Bound::Kind::min;
constexpr auto kExactly = Bound::Kind::equal;
constexpr auto kNoWorse = Bound::Kind::max_regression;
constexpr std::int64_t kMiB = 1 << 20;

CellEvidence with_peaks(const std::string& slug, const std::vector<std::int64_t>& peaks_mib) {
  CellEvidence cell{slug, "cpu", "", {}};
  for (const std::int64_t peak_mib : peaks_mib) {
    cell.repeats.push_back(sample::attempt(static_cast<int>(cell.repeats.size()), 300'000));
    cell.repeats.back().lead().result->peak_rss_bytes = peak_mib * kMiB;
  }
  return cell;
}

CheckResult held_against(const CellEvidence& cell, const CellEvidence& reference, double limit) {
  return evaluate(threshold("memory.peak_rss", kNoWorse, limit, true), cell, {&reference, {}, ""});
}

CheckResult check_of(const CellEvidence& cell, const char* metric, Bound::Kind kind, double limit) {
  return evaluate(threshold(metric, kind, limit, false), cell, {});
}

TEST_CASE("memory is the ratio of the worst repeats of both sides", "[verdict]") {
  const CellEvidence reference = with_peaks("reference", {100, 80, 90});
  const CheckResult more = held_against(with_peaks("cell", {70, 130, 90}), reference, 0.25);
  CHECK(more.status == CheckStatus::failed);
  CHECK(more.reason == "over_bound");
  CHECK(*more.measured == 130 * kMiB);
  CHECK(*more.reference == 100 * kMiB);
  CHECK(*more.ratio == Approx(1.3));
  CHECK(*more.ratio_low == Approx(1.3));
  CHECK(*more.ratio_high == Approx(1.625));
  CHECK(*more.margin_rel == Approx((0.25 - 0.3) / 0.25));
  CHECK(more.samples == 3);
  CHECK(more.repeat == 1);
  CHECK(more.sentence == "130.0 MiB against 100.0 MiB: x1.300 [1.300, 1.625], worse by more than 25 %");

  const CheckResult within = held_against(with_peaks("cell", {70, 98, 90}), reference, 0.25);
  CHECK(within.status == CheckStatus::passed);
  CHECK(within.reason == "within_bound");
  CHECK_FALSE(within.gain);
  CHECK(*within.margin_rel == Approx(1.08));
  CHECK(within.sentence == "98.0 MiB against 100.0 MiB: x0.980 [0.980, 1.225], not worse by more than 25 %");

  const CheckResult less = held_against(with_peaks("cell", {50, 58, 55}), reference, 0.25);
  CHECK(less.status == CheckStatus::passed);
  CHECK(less.gain);
  CHECK(less.reason == "gain");
  CHECK(*less.ratio == Approx(0.58));
  CHECK(less.sentence == "58.0 MiB against 100.0 MiB: x0.580 [0.580, 0.725], better by more than 25 %");
}

TEST_CASE("one large process of the reference excuses no memory of every process here", "[verdict]") {
  const CellEvidence reference = with_peaks("reference", {100, 150, 100});
  const CheckResult hidden = held_against(with_peaks("cell", {140, 140, 140}), reference, 0.25);
  CHECK(hidden.status == CheckStatus::inconclusive);
  CHECK(hidden.reason == "noise");
  CHECK_THAT(hidden.sentence, Catch::StartsWith("140.0 MiB against 150.0 MiB: x0.933 [0.933, 1.400]"));
  CHECK(held_against(with_peaks("cell", {120, 120, 120}), reference, 0.25).status == CheckStatus::passed);
  CHECK(held_against(with_peaks("cell", {190, 100, 100}), reference, 0.25).status == CheckStatus::failed);
}

// A single byte is no peak of a process, but bandwidths are numbers below one.
TEST_CASE("any two positive numbers have a ratio, nothing and less have none", "[verdict]") {
  const auto bytes = [](const std::string& slug, std::int64_t peak_bytes) {
    CellEvidence cell = with_peaks(slug, {1});
    cell.repeats[0].lead().result->peak_rss_bytes = peak_bytes;
    return cell;
  };
  const CheckResult one = held_against(bytes("cell", 1), bytes("reference", 2), 0.25);
  CHECK(one.gain);
  CHECK(*one.ratio == Approx(0.5));
  CHECK(held_against(bytes("cell", 2), bytes("reference", 1), 0.25).status == CheckStatus::failed);
  for (const auto& [ours, theirs] : {std::pair(-1, 2), std::pair(2, -1)}) {
    CHECK(held_against(bytes("cell", ours), bytes("reference", theirs), 0.25).status == CheckStatus::inconclusive);
  }
}

TEST_CASE("a side with other repeats, or with a missing peak, leaves the ratio open", "[verdict]") {
  const CellEvidence reference = with_peaks("reference", {100, 100, 100});
  const CheckResult unpaired = held_against(with_peaks("cell", {100, 100}), reference, 0.25);
  CHECK(unpaired.status == CheckStatus::inconclusive);
  CHECK(unpaired.reason == "unpaired");
  CHECK(unpaired.sentence == "2 repeats here, 3 of the reference");
  const CheckResult missing_there = held_against(reference, with_peaks("other", {100, 0, 100}), 0.25);
  CHECK(missing_there.reason == "missing_metric");
  CHECK(missing_there.sentence == "repeat 1 of other did not record it");
  const CheckResult missing_here = held_against(with_peaks("cell", {100, 100, 0}), reference, 0.25);
  CHECK(missing_here.status == CheckStatus::inconclusive);
  CHECK(missing_here.sentence == "repeat 2 of cell did not record it");
}

TEST_CASE("repeats that a reference got for another cell have no partner here", "[verdict]") {
  CellEvidence reference = with_peaks("reference", {100, 100, 100, 900});
  const CellEvidence cell = with_peaks("cell", {120, 100});
  const auto status = [&](std::vector<int> looks) {
    reference.looks = std::move(looks);
    return held_against(cell, reference, 0.1).status;
  };
  CHECK(status({2, 4}) == CheckStatus::failed);  // 120 against 100, not against 900
  CHECK(*held_against(cell, reference, 0.1).reference == 100 * kMiB);
  CHECK(status({}) == CheckStatus::inconclusive);
  CHECK(status({4}) == CheckStatus::inconclusive);
  CHECK(status({3, 4}) == CheckStatus::inconclusive);  // two are no look that was planned
  reference = with_peaks("reference", {100});
  CHECK(status({1, 2, 4}) == CheckStatus::inconclusive);  // nor may the reference have fewer
}

TEST_CASE("a bound of the wrong sort decides nothing: a limit is no ratio, and what compares already has none",
          "[verdict]") {
  const CellEvidence cell = with_peaks("cell", {100});
  const CheckResult limit = evaluate(threshold("memory.peak_rss", kAtLeast, 0.9, true), cell, {&cell, {}, ""});
  CHECK(limit.status == CheckStatus::inconclusive);
  CHECK(limit.sentence == "memory.peak_rss against the reference is a ratio: it takes `max_regression`, not a limit");
  const CheckResult ratio = evaluate(threshold("numerics.loss_rel", kNoWorse, 0.1, true), cell, {&cell, {}, ""});
  CHECK(ratio.status == CheckStatus::inconclusive);
  CHECK(ratio.sentence == "numerics.loss_rel compares already: it takes `max`, `min` or `equal`, no `max_regression`");
  CHECK(check_of(cell, "memory.peak_rss", kAtLeast, 0.9).status == CheckStatus::passed);
}

TEST_CASE("a bound holds up to itself", "[verdict]") {
  const CellEvidence cell = with_peaks("cell", {100, 200});
  const double peak = 200.0 * kMiB;
  struct Row {
    Bound::Kind kind;
    double limit;
    CheckStatus status;
    const char* sentence;
  };
  for (const Row& row : {
           Row{kAtMost, peak, CheckStatus::passed, "200.0 MiB <= 200.0 MiB"},
           Row{kAtMost, peak - kMiB, CheckStatus::failed, "200.0 MiB > 199.0 MiB"},
           Row{kAtLeast, peak, CheckStatus::passed, "200.0 MiB >= 200.0 MiB"},
           Row{kAtLeast, peak + kMiB, CheckStatus::failed, "200.0 MiB < 201.0 MiB"},
           Row{kExactly, peak, CheckStatus::passed, "200.0 MiB = 200.0 MiB"},
           Row{kExactly, peak + kMiB, CheckStatus::failed, "200.0 MiB != 201.0 MiB"},
           Row{kExactly, peak - kMiB, CheckStatus::failed, "200.0 MiB != 199.0 MiB"},
       }) {
    INFO(row.sentence);
    const CheckResult check = check_of(cell, "memory.peak_rss", row.kind, row.limit);
    CHECK(check.status == row.status);
    CHECK(check.reason == (row.status == CheckStatus::passed ? "within_bound" : "over_bound"));
    CHECK(check.sentence == row.sentence);
    CHECK(check.margin_rel.has_value() == (row.kind != kExactly));
  }
  CHECK(*check_of(cell, "memory.peak_rss", kAtMost, 400.0 * kMiB).margin_rel == Approx(0.5));
  CHECK(*check_of(cell, "memory.peak_rss", kAtLeast, 100.0 * kMiB).margin_rel == Approx(1));
  CHECK(*check_of(cell, "memory.peak_rss", kAtMost, 100.0 * kMiB).margin_rel == Approx(-1));
  CHECK_FALSE(check_of(cell, "memory.peak_rss", kAtMost, 0).margin_rel);
}

TEST_CASE("the noise is the robust spread of the repeats, relative to the value", "[verdict]") {
  const CheckResult check = check_of(with_peaks("cell", {90, 100, 110}), "memory.peak_rss", kAtMost, 1e12);
  CHECK(*check.noise_rel == Approx(1.4826 * 10 / 110));  // of the worst, 110
  CHECK_FALSE(check_of(with_peaks("cell", {100}), "memory.peak_rss", kAtMost, 1e12).noise_rel);
}

TEST_CASE("relative to nothing there is no noise", "[verdict]") {
  CellEvidence cell = with_peaks("cell", {100, 100, 100});
  for (AttemptRecord& attempt : cell.repeats) attempt.lead().trace->steps.back().loss = exact_float(0.0F);
  const CheckResult check = check_of(cell, "numerics.final_loss", kAtMost, 1);
  CHECK(check.measured == 0.0);
  CHECK_FALSE(check.noise_rel);
}

TEST_CASE("a check says what it asked, in which unit, and where it is written", "[verdict]") {
  CellThreshold asked = threshold("memory.peak_rss", kAtMost, 5, false);
  asked.gate = Gate::record_only;
  asked.gate_mark = {"matrix.yaml", 9, 1};
  const CheckResult check = evaluate(asked, with_peaks("cell", {100}), {});
  CHECK(check.metric == "memory.peak_rss");
  CHECK(check.dimension == Dimension::memory);
  CHECK(check.unit == "bytes");
  CHECK(check.better == Better::lower);
  CHECK(check.limit == 5);
  CHECK(check.bound == "bound");
  CHECK(check.origin == "suite.yaml:7:3");
  CHECK(check.gate == Gate::record_only);
  CHECK(check.gate_origin == "matrix.yaml:9:1");
  CHECK(check_of(with_peaks("cell", {100}), "memory.peak_rss", kAtMost, 5).gate_origin.empty());
  CHECK(check_of(with_peaks("cell", {100}), "no.such", kAtMost, 5).reason == "unknown_metric");
}

TEST_CASE("a result that is no number fails in numerics and is a broken measurement elsewhere", "[verdict]") {
  CellEvidence cell = with_peaks("cell", {100, 100});
  cell.repeats[1].lead().trace->steps.back().loss = nlohmann::json(nullptr);
  CHECK(check_of(cell, "numerics.final_loss", kAtMost, 100).reason == "missing_metric");
  CellEvidence infinite = with_peaks("cell", {100, 100});
  infinite.repeats[1].lead().trace->steps.back().loss = exact_float(std::numeric_limits<float>::infinity());
  const CheckResult check = check_of(infinite, "numerics.final_loss", kAtMost, 1e300);
  CHECK(check.status == CheckStatus::failed);
  CHECK(check.reason == "not_finite");
  CHECK(check.repeat == 1);
  CHECK(check.sentence == "numerics.final_loss is not a finite number");
}

TEST_CASE("speed and memory of another device or machine judge nothing", "[verdict]") {
  const CellEvidence cell = with_peaks("cell", {100, 100});
  CellEvidence other = with_peaks("other", {100, 100});
  other.host = "b";
  CHECK(held_against(cell, other, 0.25).status == CheckStatus::passed);  // memory of another host is comparable
  other.device = "sm_90";
  const CheckResult memory = held_against(cell, other, 0.25);
  CHECK(memory.reason == "not_comparable");
  CHECK(memory.status == CheckStatus::inconclusive);
}

TEST_CASE("quantities are written for people", "[verdict]") {
  struct Row {
    double value;
    const char* unit;
    const char* text;
  };
  for (const Row& row : {Row{999.9, "ns", "1.0 us"}, Row{-1500, "ns", "-1.5 us"}, Row{1e6, "ns", "1.000 ms"},
                         Row{-2e6, "ns", "-2.000 ms"}, Row{999'999, "ns", "1000.0 us"}, Row{1e9, "ns", "1.000 s"},
                         Row{-3e9, "ns", "-3.000 s"}, Row{1048576, "bytes", "1.0 MiB"}, Row{3, "count", "3"},
                         Row{0.12345, "rel", "0.123"}, Row{1234.5, "1/s", "1234.5 1/s"}}) {
    CHECK(humanised(row.value, row.unit) == row.text);
  }
}

TEST_CASE("equal bits are not promised where fingerprints differ between hosts, and promised where they do not",
          "[verdict]") {
  const CellThreshold asked = threshold("numerics.host_mismatches", kAtMost, 0, false);
  CellEvidence cell{"cell", "cpu", "a", {sample::attempt(0, 1000), sample::attempt(1, 1000)}};
  CellEvidence other{"cell.b", "cpu", "b", {sample::attempt(0, 1000, "other"), sample::attempt(1, 1000, "other")}};
  const auto judged = [&] { return evaluate(asked, cell, {&other, {}, ""}); };
  const CheckResult same_fingerprint = judged();
  CHECK(same_fingerprint.status == CheckStatus::failed);
  CHECK(same_fingerprint.gate == Gate::armed);
  CHECK(*same_fingerprint.measured == 20);
  for (AttemptRecord& attempt : other.repeats) attempt.lead().result->fingerprint.cpu_model = "another CPU";
  const CheckResult excused = judged();
  CHECK(excused.status == CheckStatus::inconclusive);
  CHECK(excused.reason == "not_comparable");
  CHECK(excused.gate == Gate::record_only);
  CHECK(excused.gate_origin == "equal bits are promised to equal fingerprints alone");
  CHECK(excused.sentence.starts_with("not comparable bitwise: cpu none against `another CPU`; repeat 0 differs"));
  // Equal bits are equal, whatever the fingerprints.
  other.repeats = {sample::attempt(0, 1000), sample::attempt(1, 1000)};
  other.repeats[0].lead().result->fingerprint.cpu_model = "another CPU";
  CHECK(judged().status == CheckStatus::passed);
  // A side that does not repeat its own bits says nothing.
  cell.repeats[1] = sample::attempt(1, 1000, "third");
  CHECK(judged().status == CheckStatus::inconclusive);
  CHECK(judged().sentence == "cell does not repeat its own bits");
}

CellEvidence with_losses(const std::vector<double>& last) {
  CellEvidence cell{"cell", "cpu", "", {}};
  for (const double loss : last) {
    cell.repeats.push_back(sample::attempt(static_cast<int>(cell.repeats.size()), 300'000));
    for (StepRecord& step : cell.repeats.back().lead().trace->steps) step.loss = exact_float(loss);
  }
  return cell;
}

CheckResult banded(const CellEvidence& cell, double low, double high, const char* metric = "numerics.end_loss") {
  CellThreshold threshold = sample::threshold(metric, Bound::Kind::band, high, false);
  threshold.bound.low = low;
  return evaluate(threshold, cell, {});
}

TEST_CASE("a band holds from its lower end to its upper one, and says on which side a value left it", "[verdict]") {
  const CheckResult within = banded(with_losses({0.5}), 0.25, 1);
  CHECK(within.status == CheckStatus::passed);
  CHECK(within.reason == "within_bound");
  CHECK(*within.margin_rel == Approx(1.0));
  CHECK_THAT(within.sentence, Catch::StartsWith("0.5 loss is within 0.25 loss to 1 loss; mean of the last 5 of 20"));
  CHECK(banded(with_losses({0.25}), 0.25, 1).status == CheckStatus::passed);
  CHECK(banded(with_losses({1}), 0.25, 1).status == CheckStatus::passed);
  const CheckResult above = banded(with_losses({1.5}), 0.25, 1);
  CHECK(above.status == CheckStatus::failed);
  CHECK(above.reason == "over_bound");
  CHECK(*above.margin_rel == Approx(-0.5));
  CHECK_THAT(above.sentence, Catch::StartsWith("1.5 loss is above 0.25 loss to 1 loss"));
  const CheckResult below = banded(with_losses({0.125}), 0.25, 1);
  CHECK(below.status == CheckStatus::failed);
  CHECK(*below.margin_rel == Approx(-0.5));
  CHECK_THAT(below.sentence, Catch::StartsWith("0.125 loss is below 0.25 loss to 1 loss"));
}

TEST_CASE("one repeat out of a band is not made good by the others, on either side", "[verdict]") {
  const CheckResult below = banded(with_losses({0.5, 0.125, 0.75}), 0.25, 1);
  CHECK(below.status == CheckStatus::failed);
  CHECK(below.repeat == 1);
  CHECK(*below.measured == 0.125);
  const CheckResult above = banded(with_losses({0.5, 0.75, 1.5}), 0.25, 1);
  CHECK(above.status == CheckStatus::failed);
  CHECK(above.repeat == 2);
  CHECK(banded(with_losses({0.5, 0.75, 1}), 0.25, 1).status == CheckStatus::passed);
}

}  // namespace
}  // namespace reprobench
