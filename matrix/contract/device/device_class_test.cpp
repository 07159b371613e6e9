#include "matrix/contract/device/device_class.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("a class of devices is read as it is written", "[contract]") {
  for (const char* text : {"cpu", "sm_70", "sm_90", "sm_120"}) {
    INFO(text);
    REQUIRE(DeviceClass::parse(text));
    CHECK(DeviceClass::parse(text)->text() == text);
    CHECK(DeviceClass::parse(text)->is_gpu() == (std::string(text) != "cpu"));
  }
  for (const char* text : {"", "gpu", "sm_", "sm_9", "sm_90a", "sm_-90", "sm_00", "sm_1200", "SM_90", "cpu "}) {
    INFO(text);
    CHECK_FALSE(DeviceClass::parse(text));
  }
}

TEST_CASE("a compute capability names a class, and the other way round", "[contract]") {
  CHECK(DeviceClass::of_capability("9.0") == DeviceClass(9, 0));
  CHECK(DeviceClass::of_capability("12.1")->text() == "sm_121");
  CHECK(DeviceClass(12, 1).compute_capability() == "12.1");
  CHECK(DeviceClass(9, 0).compute_capability() == "9.0");
  CHECK(DeviceClass().compute_capability().empty());
  for (const char* text : {"", "9", "9.", ".0", "9.0a", "9.00", "0.0", "-9.0"}) {
    INFO(text);
    CHECK_FALSE(DeviceClass::of_capability(text));
  }
}

TEST_CASE("classes of GPUs are ordered by number and not by text", "[contract]") {
  CHECK(DeviceClass(9, 0) < DeviceClass(12, 0));
  CHECK(DeviceClass() < DeviceClass(7, 0));
  CHECK(DeviceClass::parse("cpu") != DeviceClass::parse("sm_90"));
}

}  // namespace
}  // namespace reprobench
