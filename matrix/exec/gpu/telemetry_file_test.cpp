// telemetry.jsonl as it is written, read again by who reads it.
#include "matrix/exec/gpu/telemetry_file.hpp"

#include <fstream>

#include "ci/catch.hpp"
#include "ci/thrown.hpp"
#include "matrix/exec/sample_plan.hpp"
#include "matrix/record/telemetry_reader.hpp"

namespace reprobench {
namespace {

const TelemetryHeader kTelemetryHeader{"aaa", "0011", 100'000'000, {{"GPU-a", "00000000:3B:00.0", "NVIDIA H100"}}};

std::int64_t steady_us() {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TEST_CASE("a telemetry file counts what it holds, and takes nothing once it is closed", "[exec][gpu]") {
  const TemporaryFolder folder;
  const auto path = folder.path / "telemetry.jsonl";
  const std::int64_t before_us = steady_us();
  TelemetryFile file(path, kTelemetryHeader);
  const std::int64_t after_us = steady_us();
  CHECK(file.age_ns() >= 0);
  CHECK(file.age_ns() < 60'000'000'000);
  TelemetrySample sample;
  sample.at_ns = 5;
  file.append(sample);
  file.append(sample);
  file.append(sample);
  file.append(TelemetryEvent{7, 0, TelemetryEventKind::xid, 79});
  file.append(TelemetryEvent{8, 0, TelemetryEventKind::lost, 15});
  CHECK_FALSE(read_telemetry(path, "0011")->end);
  file.close({"nvmlDeviceGetEncoderStats"}, "it went quiet");
  file.append(sample);
  file.append(TelemetryEvent{9, 0, TelemetryEventKind::xid, 31});
  file.close({}, "again");
  const TelemetryRecord record = read_telemetry(path, "0011").value();
  CHECK(record.problem.empty());
  CHECK((std::filesystem::status(path).permissions() & std::filesystem::perms::mask) ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  CHECK(record.header.cell_id == "aaa");
  CHECK(record.header.monotonic_us >= before_us);
  CHECK(record.header.monotonic_us <= after_us);
  CHECK(record.samples.size() == 3);
  REQUIRE(record.events.size() == 2);
  CHECK(record.events[0].code == 79);
  REQUIRE(record.end);
  CHECK(record.end->samples == 3);
  CHECK(record.end->events == 2);
  CHECK(record.end->absent == std::vector<std::string>{"nvmlDeviceGetEncoderStats"});
  CHECK(record.end->problem == "it went quiet");
}

TEST_CASE("a telemetry file is new, and its folder is there", "[exec][gpu]") {
  const TemporaryFolder folder;
  const auto path = folder.path / "telemetry.jsonl";
  std::ofstream(path) << "of somebody else";
  const auto refusal = [](const std::filesystem::path& at) {
    return message_of<StoreError>([&] { TelemetryFile(at, kTelemetryHeader); });
  };
  CHECK(refusal(path) == path.string() + ": File exists");
  CHECK(refusal(folder.path / "no" / "t.jsonl") ==
        (folder.path / "no" / "t.jsonl").string() + ": No such file or directory");
}

}  // namespace
}  // namespace reprobench
