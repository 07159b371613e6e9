// How the loop works with a device that runs asynchronously to the host, and with steps that are recorded once. The
// device of these tests pretends both, in host memory.
#include <chrono>
#include <deque>
#include <fstream>

#include <ATen/core/Tensor.h>

#include "ci/catch.hpp"
#include "matrix/base/number.hpp"
#include "suites/worker/device.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"
#include "suites/worker/train_loop.hpp"

namespace reprobench {
namespace {

// What it has read back is handed out late, as it was when it was asked for.
class LateDevice final : public ComputeDevice {
 public:
  explicit LateDevice(bool records) : records_(records) {}

  c10::Device where() const override { return at::kCPU; }
  void synchronize() override {}
  std::unique_ptr<StepTimer> start_step() override { return cpu_->start_step(); }

  std::unique_ptr<PendingReadback> read_back(std::span<const at::Tensor> tensors, const at::Tensor& scalar) override {
    ++pending;
    most_pending = std::max(most_pending, pending);
    return std::make_unique<Late>(cpu_->read_back(tensors, scalar));
  }

  Digest digest(const at::Tensor& tensor) override { return cpu_->digest(tensor); }
  Sketch sketch(const at::Tensor& tensor) override { return cpu_->sketch(tensor); }
  bool records_steps() const override { return records_; }
  std::unique_ptr<RecordedWork> record(const std::function<void()>& work) override {
    ++recordings;
    return std::make_unique<Repeated>(work);
  }
  std::size_t steps_in_flight() const override { return 4; }
  DeviceMemory memory() const override { return {100, 200, 300, 400}; }
  std::int64_t free_bytes() const override { return 500; }
  WatchedWork launched_by(const std::function<void()>& work) override { return cpu_->launched_by(work); }
  DeviceFacts facts() const override {
    DeviceFacts facts;
    facts.name = "Pretended";
    facts.uuid = "GPU-1";
    return facts;
  }

  static int pending;
  static int most_pending;
  static int recordings;

 private:
  struct Late final : PendingReadback {
    explicit Late(std::unique_ptr<PendingReadback> prompt) : inner(std::move(prompt)) {}
    Readback take() override {
      --pending;
      return inner->take();
    }
    std::unique_ptr<PendingReadback> inner;
  };
  struct Repeated final : RecordedWork {
    explicit Repeated(std::function<void()> recorded) : work(std::move(recorded)) {}
    void replay() override { work(); }
    std::function<void()> work;
  };

  bool records_;
  std::unique_ptr<ComputeDevice> cpu_ = open_cpu();
};

int LateDevice::pending = 0;
int LateDevice::most_pending = 0;
int LateDevice::recordings = 0;

std::unique_ptr<ComputeDevice> open_late(const std::string&, const DeviceOptions&) {
  LateDevice::pending = LateDevice::most_pending = LateDevice::recordings = 0;
  return std::make_unique<LateDevice>(false);
}

std::unique_ptr<ComputeDevice> open_recording(const std::string&, const DeviceOptions&) {
  LateDevice::pending = LateDevice::most_pending = LateDevice::recordings = 0;
  return std::make_unique<LateDevice>(true);
}

CellRequest some_request(std::int64_t steps) {
  CellRequest request;
  request.cell_id = "0123456789ab";
  request.nonce = "0123456789abcdef";
  request.suite = "smoke";
  request.workload = {"mlp", "small", steps, 32};
  request.device = "cpu";
  request.knobs = with_defaults({});
  return request;
}

struct Ran {
  CellResult result;
  nlohmann::json header;
  std::vector<nlohmann::json> steps;
};

Ran run_on(OpenDevice open, const CellRequest& request) {
  const TemporaryFolder folder;
  Ran ran;
  run_training(request, folder.path(), REPROBENCH_SOURCE_ROOT "/models/data", ran.result, Telemetry::on, open);
  std::ifstream trace(folder.path() / "trace.jsonl");
  for (std::string line; std::getline(trace, line);) {
    nlohmann::json record = nlohmann::json::parse(line);
    if (record["kind"] == "header") ran.header = record;
    if (record["kind"] == "step") ran.steps.push_back(std::move(record));
  }
  return ran;
}

TEST_CASE("a device that lags behind gives the same trace as one that does not", "[worker]") {
  const Ran prompt = run_on(&open_device, some_request(60));
  const Ran late = run_on(&open_late, some_request(60));
  REQUIRE(late.steps.size() == 60);
  for (std::size_t i = 0; i < late.steps.size(); ++i) {
    INFO("step " << i + 1);
    CHECK(late.steps[i]["step"] == prompt.steps[i]["step"]);
    CHECK(late.steps[i]["loss"] == prompt.steps[i]["loss"]);
    CHECK(late.steps[i]["root"] == prompt.steps[i]["root"]);
  }
  CHECK(late.result.chain == prompt.result.chain);
  CHECK(late.result.steps_completed == 60);
  CHECK(LateDevice::most_pending == 4);
  CHECK(LateDevice::pending == 0);
}

TEST_CASE("a step's time stamp is that of its end, however late it was read back", "[worker]") {
  const OpenDevice open = GENERATE(&open_device, &open_late);
  const auto before = std::chrono::steady_clock::now();
  const Ran ran = run_on(open, some_request(60));
  const auto after = std::chrono::steady_clock::now();
  const std::int64_t began_us = ran.header.at("monotonic_us");
  CHECK(began_us >= std::chrono::duration_cast<std::chrono::microseconds>(before.time_since_epoch()).count());
  std::int64_t last_ns = 0;
  for (const nlohmann::json& step : ran.steps) {
    const std::int64_t ended_ns = step.at("ended_ns");
    CHECK(ended_ns - step.at("step_time_ns").get<std::int64_t>() >= last_ns);  // one step after the other
    last_ns = ended_ns;
  }
  CHECK(began_us * 1'000 + last_ns <= std::chrono::nanoseconds(after.time_since_epoch()).count());
}

TEST_CASE("a device's memory and kind reach the result, without what tells two cards of a kind apart", "[worker]") {
  const Ran ran = run_on(&open_late, some_request(3));
  CHECK(ran.result.peak_allocated_bytes == 300);
  CHECK(ran.result.peak_reserved_bytes == 400);
  CHECK(ran.steps.back()["allocated_bytes"] == 100);
  CHECK(ran.result.fingerprint.device_name == "Pretended");
  REQUIRE(ran.result.fingerprint.device);
  CHECK(ran.result.fingerprint.device->uuid.empty());
  CHECK_FALSE(run_on(&open_device, some_request(1)).result.fingerprint.device);
}

TEST_CASE("a loss that is no number is seen although later steps are under way", "[worker]") {
  CellRequest request = some_request(30);
  request.inject = Injection{"weight_nan", 5, "fc1.weight", 0};
  const TemporaryFolder folder;
  CellResult result;
  try {
    run_training(request, folder.path(), REPROBENCH_SOURCE_ROOT "/models/data", result, Telemetry::on, &open_late);
    FAIL("the run ended well");
  } catch (const RunFailure& failure) {
    CHECK(failure.cause() == "non_finite_loss");
    CHECK(std::string(failure.what()).find("at step 5") != std::string::npos);
  }
  CHECK(result.steps_completed == 5);
}

TEST_CASE("steps recorded once and repeated train like steps that are run", "[worker]") {
  const Ran run = run_on(&open_device, some_request(60));
  const Ran recorded = run_on(&open_recording, some_request(60));
  const Ran again = run_on(&open_recording, some_request(60));
  CHECK(LateDevice::recordings == 1);
  CHECK(recorded.result.chain == again.result.chain);
  CHECK(recorded.result.workload_digest == run.result.workload_digest);
  REQUIRE(recorded.steps.size() == 60);
  for (std::size_t i = 0; i < 60; ++i) {
    const double expected = *exact_float_from_json(run.steps[i]["loss"]);
    INFO("step " << i + 1);
    CHECK(*exact_float_from_json(recorded.steps[i]["loss"]) == Approx(expected).epsilon(1e-4));
  }
  // Steps that did nothing would keep the loss of the first ones.
  CHECK(*exact_float_from_json(recorded.steps[59]["loss"]) < 0.9 * *exact_float_from_json(recorded.steps[3]["loss"]));
  CHECK(recorded.steps[0]["phases"]["backward_ns"].get<std::int64_t>() > 1000);
  CHECK(recorded.steps[59]["phases"]["forward_ns"].get<std::int64_t>() >
        recorded.steps[59]["phases"]["backward_ns"].get<std::int64_t>());
}

TEST_CASE("what needs to see inside a step is refused with recorded steps", "[worker]") {
  const auto cause = [](auto change) -> std::string {
    CellRequest request = some_request(5);
    change(request);
    const TemporaryFolder folder;
    CellResult result;
    try {
      run_training(request, folder.path(), REPROBENCH_SOURCE_ROOT "/models/data", result, Telemetry::on,
                   &open_recording);
    } catch (const RunFailure& failure) {
      return failure.cause();
    }
    return "";
  };
  CHECK(cause([](CellRequest&) {}).empty());
  CHECK(cause([](CellRequest& request) { request.trace = TraceLevel::tensor; }) == "unsupported");
  CHECK(cause([](CellRequest& request) { request.knobs["sequence_lengths"] = "bucketed"; }) == "unsupported");
  CHECK(cause([](CellRequest& request) { request.knobs["optimizer_layout"] = "flat"; }) == "unsupported");
  CHECK(cause([](CellRequest& request) {
          request.inject = Injection{"weight_ulp", 2, "fc1.weight", 0};
        }) == "unsupported");
}

TEST_CASE("a GPU is refused with a reason where none can be used", "[worker]") {
  CellRequest request = some_request(1);
  request.device = "sm_90";
  const TemporaryFolder folder;
  CellResult result;
  std::string problem;
  if (!visible_devices(problem).empty()) return;  // a GPU is here
  CHECK_FALSE(problem.empty());
  CHECK_THROWS_AS(run_training(request, folder.path(), REPROBENCH_SOURCE_ROOT "/models/data", result), RunFailure);
}

}  // namespace
}  // namespace reprobench
