// What is refused before a package runs; ci/package_test.sh runs real ones.
#include <fstream>

#include "ci/catch.hpp"
#include "matrix/contract/plain_sha256.hpp"
#include "matrix/contract/probe.hpp"
#include "suites/worker/own_file.hpp"
#include "suites/worker/probes/error_bound.hpp"
#include "suites/worker/probes/package_loader.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

struct PackagePlace {
  explicit PackagePlace(const std::string& text) {
    std::ofstream(file(), std::ios::binary) << text;
    request.cell_id = "cell";
    request.nonce = "0123456789abcdef";
    request.workload = {"", "base", 0, 0, std::string(kPackageProbe), 2};
    request.workload.package_file = file().string();
    request.workload.package_sha256 = plain_sha256_of_text(text);
    request.device = "cpu";
    request.knobs = with_defaults({});
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

TEST_CASE("a forward pass may be off by twice eager's error, or by the floor of class B2", "[probe]") {
  CHECK(forward_error_bound_rel(1e-8, 1000) == Approx(2e-6));
  CHECK(forward_error_bound_rel(1e-8, 999) == Approx(3e-6));
  CHECK(forward_error_bound_rel(4e-6, 5000) == Approx(8e-6));
  CHECK(forward_error_bound_rel(4e-6, 10) == Approx(12e-6));
}

}  // namespace
}  // namespace reprobench
