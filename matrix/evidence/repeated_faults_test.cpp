#include "matrix/evidence/repeated_faults.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

AttemptRecord failed_on(const std::string& uuid, int xid, AttemptEnd end = AttemptEnd::gpu_hw) {
  AttemptRecord attempt;
  attempt.end = end;
  TelemetrySummary& telemetry = attempt.telemetry.emplace();
  telemetry.gpus = {{uuid, "00000000:3B:00.0", "NVIDIA H100"}};
  telemetry.events = {{1, 0, TelemetryEventKind::xid, xid}};
  return attempt;
}

TEST_CASE("a device's fault is the stack's once a second device had the same under that stack", "[evidence][gpu]") {
  RepeatedFaults faults;
  const AttemptRecord first = failed_on("GPU-a", 79);
  CHECK_FALSE(faults.is_of_stack("stack-a", first));
  faults.add("stack-a", first);
  CHECK_FALSE(faults.is_of_stack("stack-a", first));
  faults.add("stack-a", failed_on("GPU-a", 79));  // the same device again
  CHECK_FALSE(faults.is_of_stack("stack-a", first));
  faults.add("stack-a", failed_on("GPU-b", 48));  // another fault
  CHECK_FALSE(faults.is_of_stack("stack-a", first));
  faults.add("stack-b", failed_on("GPU-b", 79));  // another stack
  CHECK_FALSE(faults.is_of_stack("stack-a", first));
  faults.add("stack-a", failed_on("GPU-b", 79));
  CHECK(faults.is_of_stack("stack-a", first));
  CHECK_FALSE(faults.is_of_stack("stack-a", failed_on("GPU-b", 48)));
  CHECK_FALSE(faults.is_of_stack("stack-b", first));
  faults.add("stack-a", failed_on("GPU-c", 79));
  CHECK(faults.is_of_stack("stack-a", first));
}

TEST_CASE("an attempt that ended otherwise, was not watched or saw no fault is held against no stack",
          "[evidence][gpu]") {
  RepeatedFaults faults;
  faults.add("stack-a", failed_on("GPU-a", 79));
  faults.add("stack-a", failed_on("GPU-b", 79, AttemptEnd::crash));
  AttemptRecord unwatched = failed_on("GPU-b", 79);
  unwatched.telemetry.reset();
  faults.add("stack-a", unwatched);
  AttemptRecord unseen = failed_on("GPU-b", 79);
  unseen.telemetry->events.clear();
  faults.add("stack-a", unseen);
  CHECK_FALSE(faults.is_of_stack("stack-a", failed_on("GPU-a", 79)));
  faults.add("stack-a", failed_on("GPU-b", 79));
  CHECK(faults.is_of_stack("stack-a", failed_on("GPU-a", 79)));
  CHECK_FALSE(faults.is_of_stack("stack-a", failed_on("GPU-a", 79, AttemptEnd::crash)));
  CHECK_FALSE(faults.is_of_stack("stack-a", unwatched));
  CHECK_FALSE(faults.is_of_stack("stack-a", unseen));
}

}  // namespace
}  // namespace reprobench
