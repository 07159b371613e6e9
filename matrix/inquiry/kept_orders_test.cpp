// Orders that are kept beside a worker. The worker here is a file that is never started.
#include "matrix/inquiry/kept_orders.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/inquiry/kept_orders_fixture.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

const std::string kSum = "sum(f32[4])";
const std::string kDot = "dot(f32[4], f32[4])";

class KeptScene {
 public:
  KeptScene() {
    std::ofstream(folder_ / "worker") << "a program";
    worker.command = {folder_ / "worker"};
    worker.kept_answers = folder_;
    request.workload = {"", std::string(kOrdersPreset), 0, 0, "operators", 1};
    request.knobs = with_defaults({});
    request.device = "cpu";
    host.cpu_model = "a CPU";
  }

  KeptOrders kept() const { return {worker, request, host}; }
  std::vector<std::string> missing() const { return kept().missing({kSum, kDot}); }
  void keep(const std::vector<ProbeMeasurement>& measurements) const {
    CellResult result = SampleAttempt().result;
    result.measurements = measurements;
    kept().keep(result);
  }
  fs::path file() const { return folder_ / KeptOrders::kFileName; }
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(file(), std::ios::binary).rdbuf();
    return text.str();
  }
  const fs::path& folder() const { return folder_; }

  WorkerCommand worker;
  CellRequest request;
  HostFacts host;

 private:
  TemporaryFolder place_;
  fs::path folder_ = place_.path;
};

TEST_CASE("an order that was found is not probed again, and one that was not is", "[inquiry]") {
  const KeptScene scene;
  CHECK(scene.missing() == std::vector{kSum, kDot});
  scene.keep({ordered_call(kSum)});
  CHECK(scene.missing() == std::vector{kDot});
  CHECK(scene.kept().problem().empty());
  scene.keep({ordered_call(kDot)});
  CHECK(scene.missing().empty());
  const CellResult answer = scene.kept().with_kept(nullptr, {kDot, kSum});
  REQUIRE(answer.measurements.size() == 2);
  CHECK(answer.measurements[0] == ordered_call(kDot));
  CHECK(answer.measurements[1] == ordered_call(kSum));
}

TEST_CASE("what was probed now stands before what was kept", "[inquiry]") {
  const KeptScene scene;
  scene.keep({ordered_call(kSum), ordered_call(kDot)});
  CellResult probed = SampleAttempt().result;
  probed.measurements = {ordered_call(kSum)};
  probed.measurements[0].call->outputs[0].order->classes[0].order = "((0 1) (2 3))";
  const CellResult answer = scene.kept().with_kept(&probed, {kSum, kDot});
  REQUIRE(answer.measurements.size() == 2);
  CHECK(answer.measurements[0] == probed.measurements[0]);
  CHECK(answer.measurements[1] == ordered_call(kDot));
}

TEST_CASE("another worker, thread count, instruction set or CPU is probed anew, and no damage is told", "[inquiry]") {
  KeptScene scene;
  scene.keep({ordered_call(kSum), ordered_call(kDot)});
  REQUIRE(scene.missing().empty());
  SECTION("worker") { std::ofstream(scene.folder() / "worker") << "another program"; }
  SECTION("variables") { scene.worker.environment["LD_LIBRARY_PATH"] = "/elsewhere"; }
  SECTION("threads") { scene.request.knobs["threads"] = "2"; }
  SECTION("instruction set") { scene.request.knobs["cpu_isa"] = "avx2"; }
  SECTION("CPU") { scene.host.cpu_model = "another CPU"; }
  SECTION("microcode") { scene.host.cpu_revision = "another"; }
  SECTION("a lesser CPU") { scene.host.cpu_limits["ATEN_CPU_CAPABILITY"] = "avx2"; }
  CHECK(scene.missing() == std::vector{kSum, kDot});
  CHECK(scene.kept().problem().empty());
}

TEST_CASE("one stack with two settings keeps the orders of both", "[inquiry]") {
  KeptScene scene;
  scene.keep({ordered_call(kSum)});
  scene.request.knobs["threads"] = "2";
  scene.keep({ordered_call(kDot)});
  CHECK(scene.missing() == std::vector{kSum});
  scene.request.knobs = with_defaults({});
  CHECK(scene.missing() == std::vector{kDot});
}

TEST_CASE("a file that is cut or edited is left aside and named, at any byte, and is whole after the next probe",
          "[inquiry]") {
  const KeptScene scene;
  scene.keep({ordered_call(kSum), ordered_call(kDot)});
  const std::string whole = scene.text();
  const auto is_left_aside = [&](const std::string& text) {
    std::ofstream(scene.file(), std::ios::binary) << text;
    return scene.missing().size() == 2 && scene.kept().problem().starts_with(scene.file().string() + " is damaged");
  };
  for (std::size_t at = 0; at < whole.size(); at += at < 80 ? 1 : 61) {
    std::string edited = whole;
    edited[at] = edited[at] == '1' ? '2' : '1';
    CAPTURE(at);
    REQUIRE(is_left_aside(edited));
    REQUIRE(is_left_aside(whole.substr(0, at)));
  }
  CHECK(is_left_aside(whole + " "));
  scene.keep({ordered_call(kSum), ordered_call(kDot)});
  CHECK(scene.missing().empty());
  CHECK(scene.kept().problem().empty());
}

TEST_CASE("what may come out otherwise another time is not kept", "[inquiry]") {
  CHECK(is_lasting(ordered_call(kSum)));
  ProbeMeasurement one = ordered_call(kSum);
  CallOutput& output = one.call->outputs[0];
  SECTION("its own result contradicts the order") {
    output.order->not_replayed = 1;
    output.order->first_not_replayed = 0;
  }
  SECTION("a search without an answer") {
    output.order = CallOrder{};
    output.order->problem = "it takes longer than 20 s";
  }
  SECTION("no order was asked for") { output.order = {}; }
  SECTION("bits that do not repeat") { one.call->repeats = false; }
  SECTION("a call that did not run") { one.call->end = CallEnd::refused; }
  SECTION("no record") { one.call = {}; }
  CHECK_FALSE(is_lasting(one));
}

TEST_CASE("that an output is never probed is known for good", "[inquiry]") {
  ProbeMeasurement one = ordered_call("relu(f32[4])");
  one.call->outputs[0].order = CallOrder{};
  one.call->outputs[0].order->problem = "nothing is added up in it";
  CHECK(is_lasting(one));
  one.labels["call"] = kSum;  // of which an order could be found another time
  CHECK_FALSE(is_lasting(one));
}

TEST_CASE("a worker without a folder, and calls on a user's tensors, keep nothing", "[inquiry]") {
  KeptScene scene;
  SECTION("folder") { scene.worker.kept_answers.clear(); }
  SECTION("tensors") { scene.request.workload.tensors_sha256 = std::string(64, 'a'); }
  scene.keep({ordered_call(kSum), ordered_call(kDot)});
  CHECK(scene.missing().size() == 2);
  CHECK_FALSE(fs::exists(scene.file()));
}

}  // namespace
}  // namespace reprobench
