// Whether the times of two cells on GPUs may be held against each other, at the edges of what is allowed.
#include "ci/catch.hpp"
#include "matrix/verdict/metrics/time_validity.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

struct Reading {
  double power_cap_share = 0;
  std::int64_t clock_mhz = 1'000;
};

CellEvidence with_readings(const std::string& slug, const std::vector<Reading>& readings) {
  CellEvidence cell{slug, "sm_90", "", {}};
  for (const Reading& reading : readings) {
    AttemptRecord attempt = sample::attempt(static_cast<int>(cell.repeats.size()), 1000, "same", 2);
    attempt.telemetry = TelemetrySummary{};
    attempt.telemetry->power_cap_share = reading.power_cap_share;
    attempt.telemetry->ranges[static_cast<std::size_t>(Quantity::sm_clock_mhz)] =
        TelemetryRange{0, reading.clock_mhz, 9'999};
    cell.repeats.push_back(std::move(attempt));
  }
  return cell;
}

std::string doubt(const CellEvidence& cell, const CellEvidence& reference) {
  const auto found = doubt_about_times(cell, &reference);
  return found ? found->sentence : "none";
}

std::string doubt_between(Reading ours, Reading theirs) {
  return doubt(with_readings("cell", {ours}), with_readings("reference", {theirs}));
}

TEST_CASE("a quarter of the readings more at the power limit is allowed, and no more, whichever side has it",
          "[verdict][gpu]") {
  CHECK(doubt_between({0.25}, {0}) == "none");
  CHECK(doubt_between({0}, {0.25}) == "none");
  CHECK(doubt_between({0.5}, {0.25}) == "none");
  CHECK(doubt_between({0.26}, {0}) == "held at the power limit in 26 % of the readings, reference in 0 %");
  CHECK(doubt_between({0.1}, {0.9}) == "held at the power limit in 10 % of the readings, reference in 90 %");
}

TEST_CASE("clocks may be 5 % of the larger apart, and no more, whichever side is faster", "[verdict][gpu]") {
  CHECK(doubt_between({0, 1'900}, {0, 2'000}) == "none");
  CHECK(doubt_between({0, 2'000}, {0, 1'900}) == "none");
  CHECK(doubt_between({0, 1'899}, {0, 2'000}) == "the SM clock was at 1899 MHz, reference's at 2000 MHz");
  CHECK(doubt_between({0, 2'000}, {0, 1'899}) == "the SM clock was at 2000 MHz, reference's at 1899 MHz");
  CHECK(doubt_between({0, 0}, {0, 0}) == "none");
}

TEST_CASE("clocks are not asked for where both sides were at the power limit for more than a quarter",
          "[verdict][gpu]") {
  CHECK(doubt_between({0.26, 1'000}, {0.26, 2'000}) == "none");
  CHECK(doubt_between({0.25, 1'000}, {0.5, 2'000}) == "the SM clock was at 1000 MHz, reference's at 2000 MHz");
  CHECK(doubt_between({0.5, 1'000}, {0.25, 2'000}) == "the SM clock was at 1000 MHz, reference's at 2000 MHz");
}

TEST_CASE("the middle of the repeats stands for a cell", "[verdict][gpu]") {
  const CellEvidence reference = with_readings("reference", {{0, 1'000}, {0, 1'000}, {0, 1'000}});
  CHECK(doubt(with_readings("cell", {{1, 9'000}, {0, 1'000}, {0, 1'000}}), reference) == "none");
  CHECK(doubt(with_readings("cell", {{0, 9'000}, {0, 1'200}, {0, 100}}), reference) ==
        "the SM clock was at 1200 MHz, reference's at 1000 MHz");
}

TEST_CASE("a side without a clock is held to its power limit alone", "[verdict][gpu]") {
  CellEvidence cell = with_readings("cell", {{0, 500}});
  cell.repeats[0].telemetry->ranges[static_cast<std::size_t>(Quantity::sm_clock_mhz)].reset();
  const CellEvidence reference = with_readings("reference", {{0, 1'000}});
  CHECK(doubt(cell, reference) == "none");
  CHECK(doubt(reference, cell) == "none");
  CHECK(doubt(cell, with_readings("reference", {{0.3, 1'000}})) ==
        "held at the power limit in 0 % of the readings, reference in 30 %");
}

TEST_CASE("each side is asked by itself first, and the repeat that cannot be used is named", "[verdict][gpu]") {
  CellEvidence cell = with_readings("cell", {{0, 1'000}, {0, 1'000}});
  const CellEvidence reference = with_readings("reference", {{0, 1'000}});
  cell.repeats[1].telemetry->problem = "NVML hung";
  CHECK(doubt(cell, reference) == "repeat 1 of cell: what its GPU did is not known: NVML hung");
  CHECK(doubt(reference, cell) == "repeat 1 of cell: what its GPU did is not known: NVML hung");
  CHECK(doubt_about_times(cell, nullptr)->reason.code() == "no_telemetry");
  cell.repeats[1].telemetry->invalid_reason = "throttled";
  cell.repeats[1].telemetry->invalid_sentence = "too hot";
  CHECK(doubt(cell, reference) == "repeat 1 of cell: too hot");
  cell.repeats[1].telemetry.reset();
  CHECK(doubt(cell, reference) == "none");  // it had no GPU
  cell.repeats[1].lead().result->fingerprint.device_name = "NVIDIA H100";
  CHECK(doubt(cell, reference) == "repeat 1 of cell: nobody watched its GPU");
  CHECK_FALSE(doubt_about_times(reference, nullptr));
}

}  // namespace
}  // namespace reprobench
