#include "matrix/contract/device/device_facts.hpp"

#include "ci/catch.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

// As LibTorch 2.9.0 prints its own.
constexpr const char* kFlags =
    "-gencode;arch=compute_70,code=sm_70;-gencode;arch=compute_80,code=sm_80;-gencode;arch=compute_90,code=sm_90;"
    "-gencode;arch=compute_100,code=sm_100;-gencode;arch=compute_120,code=sm_120";

TEST_CASE("machine code covers devices of its major version from its minor version on", "[device]") {
  CHECK(coverage_of(kFlags, "8.0") == Coverage::native);
  CHECK(coverage_of(kFlags, "8.6") == Coverage::native);
  CHECK(coverage_of(kFlags, "9.0") == Coverage::native);
  CHECK(coverage_of(kFlags, "10.3") == Coverage::native);
  CHECK(coverage_of("arch=compute_86,code=sm_86", "8.0") == Coverage::none);
  CHECK(coverage_of(kFlags, "11.0") == Coverage::none);
  CHECK(coverage_of(kFlags, "6.1") == Coverage::none);
}

TEST_CASE("PTX covers what is newer than it, and machine code is preferred", "[device]") {
  const std::string flags = std::string(kFlags) + ";-gencode;arch=compute_120,code=compute_120";
  CHECK(coverage_of(flags, "12.1") == Coverage::native);
  CHECK(coverage_of(flags, "13.0") == Coverage::ptx);
  CHECK(coverage_of(flags, "11.0") == Coverage::none);
}

TEST_CASE("architecture-specific code runs on its own architecture alone", "[device]") {
  CHECK(coverage_of("arch=compute_90a,code=sm_90a", "9.0") == Coverage::native);
  CHECK(coverage_of("arch=compute_100a,code=sm_100a", "10.3") == Coverage::none);
  CHECK(coverage_of("arch=compute_90a,code=compute_90a", "10.0") == Coverage::none);
}

TEST_CASE("a text without architectures leaves coverage unknown", "[device]") {
  CHECK(coverage_of("", "9.0") == Coverage::unknown);
  CHECK(coverage_of("code=something", "9.0") == Coverage::unknown);
}

TEST_CASE("a device class is written without the dot", "[device]") {
  CHECK(device_class("9.0") == "sm_90");
  CHECK(device_class("12.1") == "sm_121");
}

TEST_CASE("device facts survive the document, and a missing field is named", "[device]") {
  DeviceFacts device;
  device.name = "NVIDIA H100 80GB HBM3";
  device.compute_capability = "9.0";
  device.sm_count = 132;
  device.memory_bytes = 85'045'870'592;
  device.ecc = true;
  device.compute = Coverage::ptx;
  nlohmann::json document = written(device);
  CHECK(written(read_document<DeviceFacts>(document)) == document);
  document.erase("sm_count");
  CHECK_THROWS_WITH(read_document<DeviceFacts>(document), "device_facts: `sm_count` is missing");
  document["sm_count"] = 132;
  document["compute"] = "sometimes";
  CHECK_THROWS_AS(read_document<DeviceFacts>(document), ContractError);
}

}  // namespace
}  // namespace reprobench
