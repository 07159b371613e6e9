// One sampler for all attempts of a run.
#include "matrix/exec/gpu/gpu_telemetry.hpp"

#include <filesystem>
#include <iterator>
#include <thread>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/host/fake_nvml_scene.hpp"
#include "matrix/record/telemetry_reader.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;

std::ptrdiff_t thread_count() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

TEST_CASE("all attempts are watched by one thread, each in its own file until it stops", "[exec][process][gpu]") {
  const FakeNvmlScene machine(nlohmann::json{{"gpus", {fake_gpu("GPU-a"), fake_gpu("GPU-b")}}});
  TelemetrySettings settings;
  settings.library = FakeNvmlScene::library();
  settings.kernel_log = "/dev/null";
  settings.period = milliseconds(20);
  const TemporaryFolder one;
  const TemporaryFolder two;
  NvmlTelemetry telemetry(settings);
  const auto before = thread_count();
  const auto first = telemetry.start({"aaa", "0011", 20'000'000, {{"GPU-a", "00000000:3B:00.0", "H100"}}}, one.path);
  const auto with_one = thread_count();
  const auto second = telemetry.start({"bbb", "0022", 20'000'000, {{"GPU-b", "00000000:3B:00.0", "H100"}}}, two.path);
  CHECK(with_one <= before + 1);
  CHECK(thread_count() <= with_one);
  std::this_thread::sleep_for(milliseconds(200));
  first->stop();
  const auto count_of = [](const TemporaryFolder& folder, const char* nonce) {
    const auto record = read_telemetry(folder.path / "telemetry.jsonl", nonce);
    REQUIRE(record);
    return record->samples.size();
  };
  const std::size_t of_first = count_of(one, "0011");
  CHECK(of_first > 1);
  std::this_thread::sleep_for(milliseconds(200));
  second->stop();
  CHECK(count_of(one, "0011") == of_first);
  CHECK(count_of(two, "0022") > of_first);
  CHECK(read_telemetry(two.path / "telemetry.jsonl", "0022")->end->problem.empty());
}

TEST_CASE("an Xid is put down with its GPU by every attempt that has that GPU, and by no other",
          "[exec][process][gpu]") {
  const FakeNvmlScene machine(nlohmann::json{{"gpus", {fake_gpu("GPU-a"), fake_gpu("GPU-b")}}});
  TelemetrySettings settings;
  settings.library = FakeNvmlScene::library();
  settings.kernel_log = "/dev/null";
  settings.period = milliseconds(20);
  const TelemetryGpu gpu_a{"GPU-a", "00000000:3B:00.0", "H100"};
  const TelemetryGpu gpu_b{"GPU-b", "00000000:3C:00.0", "H100"};
  const TemporaryFolder one;
  const TemporaryFolder two;
  const TemporaryFolder three;
  NvmlTelemetry telemetry(settings);
  const auto both = telemetry.start({"aaa", "0011", 20'000'000, {gpu_a, gpu_b}}, one.path);
  const auto second = telemetry.start({"bbb", "0022", 20'000'000, {gpu_b}}, two.path);
  const auto first = telemetry.start({"ccc", "0033", 20'000'000, {gpu_a}}, three.path);
  std::this_thread::sleep_for(milliseconds(200));
  machine.command({{"gpu", "GPU-b"}, {"xid", 31}});
  std::this_thread::sleep_for(milliseconds(300));
  for (const auto* recording : {&both, &second, &first}) (*recording)->stop();
  const auto xids_of = [](const TemporaryFolder& folder, const char* nonce) {
    std::string xids;
    const TelemetryRecord record = read_telemetry(folder.path / "telemetry.jsonl", nonce).value();
    for (const TelemetryEvent& event : record.events) {
      xids += std::to_string(event.gpu) + ":" + std::to_string(event.code) + " ";
    }
    return xids;
  };
  CHECK(xids_of(one, "0011") == "1:31 ");
  CHECK(xids_of(two, "0022") == "0:31 ");
  CHECK(xids_of(three, "0033").empty());
}

TEST_CASE("a library that does not answer is named in the file, with how long it was silent", "[exec][process][gpu]") {
  const FakeNvmlScene machine(nlohmann::json{{"gpus", nlohmann::json::array({fake_gpu("GPU-a")})}});
  TelemetrySettings settings;
  settings.library = FakeNvmlScene::library();
  settings.kernel_log = "/dev/null";
  settings.period = milliseconds(20);
  settings.patience = milliseconds(300);
  const TemporaryFolder folder;
  NvmlTelemetry telemetry(settings);
  const auto recording =
      telemetry.start({"aaa", "0011", 20'000'000, {{"GPU-a", "00000000:3B:00.0", "H100"}}}, folder.path);
  std::this_thread::sleep_for(milliseconds(200));
  machine.command({{"hang_ms", 3'000}});
  std::this_thread::sleep_for(milliseconds(100));
  const auto begin = std::chrono::steady_clock::now();
  recording->stop();
  CHECK(std::chrono::steady_clock::now() - begin < milliseconds(2'000));
  const auto record = read_telemetry(folder.path / "telemetry.jsonl", "0011");
  REQUIRE(record);
  REQUIRE(record->end);
  const std::string& problem = record->end->problem;
  CHECK(problem.starts_with("NVML has not answered for "));
  CHECK(problem.ends_with(" s"));
  const double silent_s = std::stod(problem.substr(std::string("NVML has not answered for ").size()));
  CHECK(silent_s >= 0.3);
  CHECK(silent_s < 2.9);
}

}  // namespace
}  // namespace reprobench
