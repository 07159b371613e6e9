// Packages that are refused before they run, and the measurements of those that run. Functions play the packages, on
// the CPU. ci/package_test.sh runs real ones.
#include <algorithm>
#include <fstream>
#include <functional>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>

#include "ci/catch.hpp"
#include "matrix/base/plain_sha256.hpp"
#include "matrix/contract/probe.hpp"
#include "suites/worker/data/own_file.hpp"
#include "suites/worker/probes/package_loader.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

using Tensors = std::vector<at::Tensor>;
using TensorsByName = std::map<std::string, at::Tensor>;

// A package of mlp/base that computes what eager does, unless a test says something else.
struct PlayedPackage final : ForwardPackage {
  PlayedPackage() {
    held = {{"fc1.weight", at::ones({128, 784})},
            {"fc1.bias", at::ones({128})},
            {"fc2.weight", at::ones({10, 128})},
            {"fc2.bias", at::ones({10})}};
  }

  const std::map<std::string, std::string>& metadata() const override { return told; }
  TensorsByName constants() const override { return held; }
  void put(const TensorsByName& weights) override { held = weights; }
  Tensors run(const Tensors& inputs) override {
    ++calls;
    return compute(inputs);
  }
  at::Tensor forward(const at::Tensor& input) const {
    const at::Tensor hidden = at::relu(at::linear(input.flatten(1), held.at("fc1.weight"), held.at("fc1.bias")));
    return at::linear(hidden, held.at("fc2.weight"), held.at("fc2.bias"));
  }

  std::map<std::string, std::string> told = {{"AOTI_DEVICE_KEY", "cpu"},
                                             {"reprobench.model", "mlp"},
                                             {"reprobench.preset", "base"},
                                             {"reprobench.batch_size", "32"},
                                             {"reprobench.inputs", "input"}};
  TensorsByName held;
  int calls = 0;
  std::function<Tensors(const Tensors&)> compute = [this](const Tensors& inputs) {
    return Tensors{forward(inputs.at(0))};
  };
};

CellRequest package_request() {
  CellRequest request;
  request.cell_id = "cell";
  request.nonce = "0123456789abcdef";
  request.workload = {"", "base", 0, 0, std::string(kPackageProbe), 2};
  request.workload.package_file = "/my/mine.pt2";
  request.device = "cpu";
  request.knobs = with_defaults({});
  return request;
}

std::vector<ProbeMeasurement> measured_of(ForwardPackage& package, const CellRequest& request = package_request()) {
  const TemporaryFolder folder;
  const auto device = open_cpu();
  CellResult result;
  result.knobs_resolved = request.knobs;
  TraceWriter trace(folder.path() / "trace.jsonl");
  ProbeRun run(request, folder.path(), *device, trace, result, kTestData);
  measure_package(run, package);
  return result.measurements;
}

std::string refusal_of(PlayedPackage& package) {
  try {
    measured_of(package);
  } catch (const RunFailure& failure) {
    return failure.cause() + ": " + failure.what();
  }
  return "";
}

std::string refusal_of_told(const std::string& key, const std::string& value) {
  PlayedPackage package;
  package.told[key] = value;
  return refusal_of(package);
}

// Of a package with such a result, which is of a batch of 32: what is wrong with it.
std::string wrong_with(const std::function<at::Tensor(const at::Tensor&)>& change) {
  PlayedPackage package;
  package.compute = [&](const Tensors& inputs) { return Tensors{change(package.forward(inputs.at(0)))}; };
  const std::vector<ProbeMeasurement> measurements = measured_of(package);
  REQUIRE(measurements.size() >= 2);
  CHECK(measurements[0].status == MeasurementStatus::measured);
  if (measurements[1].status == MeasurementStatus::measured) return "";
  CHECK(measurements[1].status == MeasurementStatus::wrong);
  CHECK(measurements[1].samples.empty());
  CHECK(measurements.size() == 2);  // nothing was counted of a wrong result
  return measurements[1].finding;
}

TEST_CASE("a package with eager's operators has eager's bits, and both are timed", "[probe]") {
  PlayedPackage package;
  const std::vector<ProbeMeasurement> measurements = measured_of(package);
  REQUIRE(measurements.size() == 3);
  CHECK(measurements[0].operation == "eager_forward");
  CHECK(measurements[1].operation == "package_forward");
  CHECK(measurements[1].labels == Labels{{"model", "mlp/base"}, {"batch", "32"}});
  CHECK(measurements[1].finding == "has eager's bits");
  CHECK(measurements[0].samples.size() == 2);
  CHECK(measurements[1].samples.size() == 2);
  CHECK(measurements[0].digest == measurements[1].digest);
  CHECK(measurements[0].digest.size() == 32);
  CHECK(*measurements[1].error_rel > 0);
  CHECK(*measurements[1].error_rel <= *measurements[1].error_bound_rel);
  CHECK(measurements[2].operation == "package_differs");
  CHECK(measurements[2].samples == std::vector<double>{0});
}

TEST_CASE("what ran of a forward pass is shown, each once, and no one word stands for all of it", "[probe]") {
  PlayedPackage package;
  const std::vector<ProbeMeasurement> measurements = measured_of(package);
  for (const std::size_t i : {0, 1}) {
    CAPTURE(measurements[i].operation, measurements[i].kernels);
    CHECK(measurements[i].algorithm.empty());
    CHECK(measurements[i].algorithm_unknown ==
          "it is many operations, each done its own way: the kernels are all that ran");
    CHECK(std::ranges::count(measurements[i].kernels, "aten::addmm") == 1);
  }
}

TEST_CASE("a package that rounds elsewhere is right, and its other bits are counted", "[probe]") {
  PlayedPackage package;
  package.compute = [&](const Tensors& inputs) {
    at::Tensor result = package.forward(inputs.at(0));
    result[0][0].mul_(1 + 2 * std::numeric_limits<float>::epsilon());
    return Tensors{result};
  };
  const std::vector<ProbeMeasurement> measurements = measured_of(package);
  REQUIRE(measurements.size() == 3);
  CHECK_THAT(measurements[1].finding,
             Catch::StartsWith("1 of 320 elements have other bits than eager's, which is off"));
  CHECK(measurements[2].samples == std::vector<double>{1});
  CHECK(measurements[0].digest != measurements[1].digest);
}

TEST_CASE("a package whose result is not eager's is wrong, and says in what", "[probe]") {
  CHECK(wrong_with([](const at::Tensor& result) { return result; }).empty());
  CHECK_THAT(wrong_with([](const at::Tensor& result) { return result + 1e-4; }), Catch::StartsWith("off by "));
  CHECK_THAT(wrong_with([](const at::Tensor& result) { return result * 0; }),
             Catch::StartsWith("off by 1.0 from fp64"));
  CHECK_THAT(wrong_with([](const at::Tensor& result) { return result / 0 * 0; }), Catch::StartsWith("off by \"nan\""));
  CHECK(wrong_with([](const at::Tensor& result) { return result.narrow(0, 0, 31); }) ==
        "the result has another shape than eager's");
  CHECK(wrong_with([](const at::Tensor& result) { return result.flatten(); }) ==
        "the result has another shape than eager's");
  CHECK(wrong_with([](const at::Tensor& result) { return result.to(at::kDouble); }) ==
        "the result has another type than eager's");
}

TEST_CASE("a package that looks at nothing that it is given is wrong, also if it knows the batch that is timed",
          "[probe]") {
  PlayedPackage first_alone;
  at::Tensor kept;
  first_alone.compute = [&](const Tensors& inputs) {
    if (!kept.defined()) kept = first_alone.forward(inputs.at(0));
    return Tensors{kept.clone()};
  };
  CHECK_THAT(measured_of(first_alone).at(1).finding, Catch::StartsWith("off by "));
  PlayedPackage plain;
  Tensors given;
  plain.compute = [&](const Tensors& inputs) {
    given = inputs;
    return Tensors{plain.forward(inputs.at(0))};
  };
  measured_of(plain);  // whose last batch is the timed one
  PlayedPackage knowing;
  knowing.compute = [&](const Tensors&) { return Tensors{knowing.forward(given.at(0))}; };
  const std::vector<ProbeMeasurement> measurements = measured_of(knowing);
  CHECK(measurements.size() == 2);
  CHECK(measurements.at(1).status == MeasurementStatus::wrong);
  CHECK_THAT(measurements.at(1).finding, Catch::StartsWith("right for the first batch and not for the second: off by"));
}

TEST_CASE("a package that makes no result or several is refused", "[probe]") {
  PlayedPackage none;
  none.compute = [](const Tensors&) { return Tensors{}; };
  CHECK(refusal_of(none) == "input_refused: the package makes 0 results, the model one");
  PlayedPackage fewer_later;
  fewer_later.compute = [&](const Tensors& inputs) {
    return fewer_later.calls == 1 ? Tensors{fewer_later.forward(inputs.at(0))} : Tensors{};
  };
  CHECK(refusal_of(fewer_later) == "input_refused: the package makes 0 results, the model one");
  PlayedPackage two;
  two.compute = [&](const Tensors& inputs) { return Tensors(2, two.forward(inputs.at(0))); };
  CHECK(refusal_of(two) == "input_refused: the package makes 2 results, the model one");
  PlayedPackage throws;
  throws.compute = [](const Tensors&) -> Tensors { throw std::runtime_error("a check of its own"); };
  CHECK_THAT(refusal_of(throws), Catch::StartsWith("input_refused: the package does not take the batch of 32"));
}

TEST_CASE("a package that does not say what it is of, or says what is not here, is refused", "[probe]") {
  for (const char* key : {"model", "preset", "batch_size", "inputs"}) {
    PlayedPackage silent;
    silent.told.erase(std::string("reprobench.") + key);
    CHECK_THAT(refusal_of(silent), Catch::Contains(std::string("its metadata has no `reprobench.") + key + "`"));
  }
  PlayedPackage nowhere;
  nowhere.told.erase("AOTI_DEVICE_KEY");
  CHECK(refusal_of(nowhere) == "input_refused: the package does not say for which device it is compiled");
  CHECK(refusal_of_told("AOTI_DEVICE_KEY", "cuda") ==
        "input_refused: the package is compiled for cuda, and the cell runs on cpu");
  CHECK_THAT(refusal_of_told("reprobench.model", "other"), Catch::Contains("a model `other`, which is none of ours"));
  CHECK_THAT(refusal_of_told("reprobench.preset", "huge"), Catch::Contains("`mlp/huge`, and the model has no such"));
  for (const char* size : {"", "0", "-1", "32 ", "3e1", "99999999999999999999"}) {
    CHECK_THAT(refusal_of_told("reprobench.batch_size", size), Catch::Contains("which is no number of samples"));
  }
  CHECK_THAT(refusal_of_told("reprobench.batch_size", "1000000"), Catch::Contains("of a batch that cannot be had"));
  CHECK(refusal_of_told("reprobench.inputs", "input,mask") ==
        "input_refused: the package takes `mask` of a batch, whose fields are `input`, `target`");
  PlayedPackage with_statistics;
  with_statistics.told["reprobench.model"] = "resnet";
  with_statistics.told["reprobench.preset"] = std::string(model_called("resnet").presets().front().name);
  CHECK_THAT(refusal_of(with_statistics),
             Catch::StartsWith("unsupported: the forward pass of `resnet` overwrites running statistics"));
}

TEST_CASE("a package's weights are the model's, all of them and no other number", "[probe]") {
  PlayedPackage package;
  package.held.erase("fc1.bias");
  package.held["fc2.weight"] = at::ones({128, 10});
  package.held["fc2.bias"] = at::ones({10}, at::kDouble);
  package.held["scale"] = at::ones({1});
  package.held["table"] = at::ones({4}, at::kLong);
  CHECK(
      refusal_of(package) ==
      "input_refused: /my/mine.pt2 is not of this model: it has no `fc1.bias`; its `fc2.bias` is [10] of Double, the "
      "model's [10] of Float; its `fc2.weight` is [128, 10] of Float, the model's [10, 128] of Float; the model has no "
      "`scale`, which is in it");
  CHECK(package.calls == 0);
  PlayedPackage with_table;
  with_table.held["table"] = at::ones({4}, at::kLong);
  CHECK(refusal_of(with_table).empty());
}

TEST_CASE("a planted fault is in the result that it names", "[probe]") {
  for (const std::string operation : {"eager_forward", "package_forward"}) {
    CellRequest request = package_request();
    request.inject = Injection{};
    request.inject->kind = "result_wrong";
    request.inject->step = 1;
    request.inject->tensor = operation;
    PlayedPackage package;
    for (const ProbeMeasurement& one : measured_of(package, request)) {
      CHECK((one.status == MeasurementStatus::wrong) == (one.operation == operation));
    }
  }
}

struct PackagePlace {
  explicit PackagePlace(const std::string& text) : request(package_request()) {
    std::ofstream(file(), std::ios::binary) << text;
    request.workload.package_file = file().string();
    request.workload.package_sha256 = plain_sha256_of_text(text);
  }
  std::filesystem::path file() const { return folder.path() / "mine.pt2"; }

  std::string refusal() const {
    CellResult result;
    try {
      run_probe(request, folder.path(), result, kTestData);
    } catch (const RunFailure& failure) {
      return failure.cause() + ": " + failure.what();
    }
    return "";
  }

  TemporaryFolder folder;
  CellRequest request;
};

TEST_CASE("a stack without the loader of packages says so, and one with it runs no garbage", "[probe]") {
  const PackagePlace place("PK\x03\x04 and nothing of use");
  if (why_no_packages().empty()) {
    CHECK_THAT(place.refusal(), Catch::StartsWith("input_refused: " + place.file().string() + " is not loaded"));
  } else {
    CHECK(place.refusal() == "unsupported: " + why_no_packages());
  }
  CHECK_FALSE(std::filesystem::exists(place.folder.path() / "package.pt2"));
}

TEST_CASE("a package that changed after the plan is not loaded", "[probe]") {
  if (!why_no_packages().empty()) return;
  PackagePlace place("PK");
  place.request.workload.package_sha256 = std::string(64, '0');
  CHECK_THAT(place.refusal(), Catch::StartsWith("input_changed: " + place.file().string()));
  std::filesystem::remove(place.file());
  CHECK_THAT(place.refusal(), Catch::StartsWith("input_changed: "));
}

TEST_CASE("a package is run in fp32, and only where one is named", "[probe]") {
  PackagePlace place("PK");
  place.request.knobs["precision"] = "bf16";
  CHECK(place.refusal() == "unsupported: a package is held against eager in fp32, and `precision` is bf16");
  if (!why_no_packages().empty()) return;
  PackagePlace none("PK");
  none.request.workload.package_file.clear();
  none.request.workload.package_sha256.clear();
  CHECK(none.refusal() == "bad_request: the probe `package` was given no package");
}

}  // namespace
}  // namespace reprobench
