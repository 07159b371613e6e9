#include "matrix/evidence/telemetry_summary.hpp"

#include <algorithm>
#include <fstream>

#include "ci/catch.hpp"
#include "matrix/contract/device/clock_event.hpp"
#include "matrix/contract/device/xid.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/evidence/sample_readings.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

// Readings of one GPU: two before the trace begins, `training` while it grows, two after its last byte.
TelemetryRecord recorded(int training = 20) {
  TelemetryRecord record;
  record.header = {"aaa", "0011", kPeriod_ns, {{"GPU-a", "00000000:3B:00.0", "NVIDIA H100"}}};
  for (int i = 0; i < training + 4; ++i) {
    TelemetrySample sample = healthy_reading(i);
    sample.trace_bytes = std::clamp(i - 1, 0, training) * 100;
    record.samples.push_back(sample);
  }
  record.end = TelemetryEnd{training + 4, 0, {}, ""};
  return record;
}

TEST_CASE("readings count from the trace's first byte to its last", "[evidence][gpu]") {
  const TelemetrySummary summary = summarise_telemetry(recorded());
  CHECK(summary.samples == 24);
  CHECK(summary.training_samples == 20);
  CHECK(summary.invalid_reason.empty());
  CHECK(summary.problem.empty());
  CHECK(summary[Quantity::thermal_violation_ns]->most == 0);
  CHECK_FALSE(summary[Quantity::power_mw]);
}

TEST_CASE("a GPU that no reading is of, or that falls silent, is a hole", "[evidence][gpu]") {
  TelemetryRecord record = recorded();
  record.header.gpus.push_back({"GPU-b", "00000000:5E:00.0", "NVIDIA H100"});
  CHECK(summarise_telemetry(record).problem == "no reading of GPU-b was taken");
  TelemetrySample of_second = record.samples.front();
  of_second.gpu = 1;
  record.samples.insert(record.samples.begin() + 1, of_second);
  CHECK(summarise_telemetry(record).problem == "no reading of GPU-b in the last 2.3 s");
  of_second.at_ns = 13 * kPeriod_ns;
  of_second.trace_bytes = record.samples[14].trace_bytes;
  record.samples.insert(record.samples.begin() + 15, of_second);
  CHECK(summarise_telemetry(record).problem == "no reading for 1.3 s");
  record.samples.erase(record.samples.begin() + 1);
  CHECK(summarise_telemetry(record).problem.empty());
}

TEST_CASE("throttling before and after the training is recorded and does not count", "[evidence][gpu]") {
  TelemetryRecord record = recorded();
  set(record.samples.front(), Quantity::clock_events, 8);
  set(record.samples.back(), Quantity::clock_events, 8);
  CHECK(summarise_telemetry(record).invalid_reason.empty());
  set(record.samples[10], Quantity::clock_events, 8);
  CHECK(summarise_telemetry(record).invalid_reason == "throttled");
  CHECK(summarise_telemetry(record).invalidated_samples == 1);
}

TEST_CASE("the share of readings at the power limit is of those that count", "[evidence][gpu]") {
  TelemetryRecord record = recorded();
  CHECK(summarise_telemetry(record).power_cap_share == 0);
  for (const std::size_t i : {0, 4, 8, 12, 16, 19, 23}) {  // the first and the last are no part of the training
    set(record.samples[i], Quantity::clock_events, i % 8 == 0 ? 4 : 5);
  }
  const TelemetrySummary summary = summarise_telemetry(record);
  CHECK(summary.power_cap_share == 0.25);
  CHECK(summary.clock_events.at("sw_power_cap") == 5);
  CHECK(summary.clock_events.at("gpu_idle") == 3);
  CHECK(summary.invalid_reason.empty());
}

TEST_CASE("time lost to temperature between two readings shows in the violation counter", "[evidence][gpu]") {
  TelemetryRecord record = recorded();
  for (std::size_t i = 10; i < record.samples.size(); ++i) {
    set(record.samples[i], Quantity::thermal_violation_ns, 5'000'007);
  }
  const TelemetrySummary summary = summarise_telemetry(record);
  CHECK(summary.invalid_reason == "throttled");
  CHECK(summary.invalid_sentence == "the GPU was held back by its temperature for 5.0 ms");
}

TEST_CASE("a clock that moves by more than 5 % between the halves is `clock`, one that wanders is not",
          "[evidence][gpu]") {
  TelemetryRecord record = recorded(40);
  for (std::size_t i = 0; i < record.samples.size(); ++i) {
    set(record.samples[i], Quantity::sm_clock_mhz, i % 2 == 0 ? 1'980 : 1'700);
  }
  CHECK(summarise_telemetry(record).invalid_reason.empty());
  for (std::size_t i = 0; i < record.samples.size(); ++i) {
    set(record.samples[i], Quantity::sm_clock_mhz, i < 22 ? 1'980 : 1'850);
  }
  CHECK(summarise_telemetry(record).invalid_reason == "clock");
}

TEST_CASE("a process that cannot be seen is ours if it is the only one, and a stranger beside one of ours",
          "[evidence][gpu]") {
  TelemetryRecord record = recorded();
  for (TelemetrySample& sample : record.samples) {
    sample.own_pids.clear();
    sample.hidden_pids = {77};
  }
  CHECK(summarise_telemetry(record).invalid_reason.empty());
  for (TelemetrySample& sample : record.samples) sample.hidden_pids = {77, 78};
  CHECK(summarise_telemetry(record).invalid_reason == "contended");
  for (TelemetrySample& sample : record.samples) {
    sample.own_pids = {4'242};
    sample.hidden_pids = {77};
  }
  CHECK(summarise_telemetry(record).invalid_reason == "contended");
}

TEST_CASE("a process of ours that ends between two questions is no stranger", "[evidence][gpu]") {
  TelemetryRecord record = recorded();
  record.samples[10].hidden_pids = {77};
  CHECK(summarise_telemetry(record).invalid_reason.empty());
  record.samples[11].hidden_pids = {77};
  CHECK(summarise_telemetry(record).invalid_reason == "contended");
}

TEST_CASE("holes in the telemetry are named", "[evidence][gpu]") {
  TelemetryRecord record = recorded();
  SECTION("a gap") {
    for (std::size_t i = 10; i < record.samples.size(); ++i) record.samples[i].at_ns += 20 * kPeriod_ns;
    CHECK(summarise_telemetry(record).problem == "no reading for 2.1 s");
  }
  SECTION("no end") {
    record.end.reset();
    CHECK(summarise_telemetry(record).problem == "it ends before the attempt does: the coordinator died");
  }
  SECTION("no reading") {
    record.samples.clear();
    CHECK(summarise_telemetry(record).problem == "no reading was taken");
  }
}

TEST_CASE("a chart's points are spread evenly over the readings", "[evidence][gpu]") {
  const TelemetrySummary summary = summarise_telemetry(recorded(500));
  REQUIRE(summary.series.size() == 48);
  CHECK(summary.series.front().at_ns == 0);
  CHECK(summary.series.back().at_ns == 503 * kPeriod_ns);
}

TEST_CASE("an Xid is named with its GPU, and the device's comes before the program's", "[evidence][gpu]") {
  TelemetryRecord record = recorded();
  record.events = {{5, 0, TelemetryEventKind::xid, 31}};
  CHECK(worst_fault(summarise_telemetry(record))->sentence == "Xid 31 (MMU fault) on GPU-a");
  CHECK_FALSE(worst_fault(summarise_telemetry(record))->is_device);
  record.events.push_back({6, 0, TelemetryEventKind::xid, 119});
  CHECK(worst_fault(summarise_telemetry(record))->fault == "xid 119");
  CHECK(worst_fault(summarise_telemetry(record))->is_device);
}

TEST_CASE("each Xid is of the class that reliability rule R12 gives it", "[evidence][gpu]") {
  for (const int number : {13, 31, 43, 45, 68, 109}) CHECK(class_of_xid(number) == XidClass::application);
  for (const int number : {48, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120, 1, 140}) {
    CHECK(class_of_xid(number) == XidClass::device);
  }
}

TEST_CASE("clock event bits are words, and an unknown one keeps its number", "[evidence][gpu]") {
  CHECK(clock_event_words(0x08 | 0x04 | 0x1000) == std::vector<std::string>{"sw_power_cap", "hw_slowdown", "0x1000"});
  CHECK(invalidating_events(0xfff) == 0xe8);
}

// telemetry.jsonl as the coordinator writes it.
std::string text_of(const TelemetryRecord& record) {
  std::int64_t lines = 0;
  std::string text = trace_line(to_json(record.header), lines++);
  for (const TelemetrySample& sample : record.samples) text += trace_line(to_json(sample), lines++);
  for (const TelemetryEvent& event : record.events) text += trace_line(to_json(event), lines++);
  if (record.end) text += trace_line(to_json(*record.end), lines++);
  return text;
}

TEST_CASE("the file gives back what was written, and says what is wrong with one that was altered", "[evidence][gpu]") {
  const TemporaryFolder folder;
  const auto path = folder.path / "telemetry.jsonl";
  TelemetryRecord record = recorded(3);
  record.header.monotonic_us = GENERATE(std::optional<std::int64_t>(), std::optional<std::int64_t>(86'400'000'000));
  record.events = {{5, 0, TelemetryEventKind::lost, 15}};
  const std::string text = text_of(record);
  std::ofstream(path) << text;
  const auto back = read_telemetry(path, "0011");
  REQUIRE(back);
  CHECK(back->problem.empty());
  CHECK(text_of(*back) == text);

  CHECK_FALSE(read_telemetry(folder.path / "none.jsonl", "0011"));
  CHECK(read_telemetry(path, "ffff")->problem.find("does not match expected ffff") != std::string::npos);
  std::ofstream(path) << text.substr(0, text.size() - 20);
  CHECK(read_telemetry(path, "0011")->problem.find("line cut after") != std::string::npos);
  std::string altered = text;
  altered[text.find("1980")] = '2';
  std::ofstream(path) << altered;
  CHECK_FALSE(read_telemetry(path, "0011")->problem.empty());
}

}  // namespace
}  // namespace reprobench
