// The cost of recording: which side is measured when, how a step's time is made of runs, and that only one side
// records.
#include "suites/worker/telemetry_cost.hpp"

#include <fstream>

#include "ci/catch.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

constexpr RecordedCase kShort = {"mlp", "small", 8, 5, Recorded::steps, "root digests"};

// Readings in ns, one a call; a run is between two.
std::vector<double> readings;

// The folder whose trace tells, at every reading, how many steps the run before it recorded.
std::filesystem::path traced;
std::vector<int> steps_recorded;

double next_reading() {
  std::ifstream file(traced / "trace.jsonl");
  std::string line;
  int steps = 0;
  while (std::getline(file, line)) steps += line.find(R"("kind":"step")") != std::string::npos ? 1 : 0;
  steps_recorded.push_back(steps);
  const double reading = readings.front();
  readings.erase(readings.begin());
  return reading;
}

TEST_CASE("a step's time is a long run less one of a single step, and the sides take turns at being first",
          "[worker]") {
  const TemporaryFolder folder;
  traced = folder.path();
  steps_recorded.clear();
  // Pair 0: off takes 1000 ns and 200 for one step, on 1800 and 600. Pair 1: on 2000 and 400, off 1600 and 400.
  readings = {0, 1000, 1000, 1200, 2000, 3800, 3800, 4400, 5000, 7000, 7000, 7400, 8000, 9600, 9600, 10000};
  const RecordingCost cost = recording_cost(kShort, "cpu", folder.path(), kTestData, 2, &next_reading);
  CHECK(readings.empty());
  CHECK(cost.off_ns == std::vector<double>{200, 300});
  CHECK(cost.on_ns == std::vector<double>{300, 400});

  CHECK(steps_recorded == std::vector<int>{0, 0, 0, 0, 0, 5, 5, 1, 1, 5, 5, 1, 1, 0, 0, 0});
}

TEST_CASE("the median of an odd number of values is the middle one, whatever their order", "[worker]") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({5}) == 5);
  CHECK(median({9, 1, 8, 2, 7}) == 7);
}

TEST_CASE("both clocks advance with what a process does", "[worker]") {
  for (const ClockNs clock : {&process_cpu_ns, &monotonic_ns}) {
    const double start = clock();
    double sum = 0;
    for (int i = 0; i < 1000; ++i) sum += clock();
    CHECK(clock() > start);
    CHECK(sum > 0);
  }
}

}  // namespace
}  // namespace reprobench
