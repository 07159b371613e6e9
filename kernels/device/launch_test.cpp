#include "kernels/device/launch.hpp"

#include "ci/catch.hpp"
#include "kernels/digest/digest_kernels.hpp"

namespace reprobench {
namespace {

using Spans = DevicePointer<const TensorSpan>;
using WritableSpans = DevicePointer<TensorSpan>;
using Lanes = DevicePointer<DigestLanes>;

static_assert(LaunchableWith<DigestBlocks, Spans, std::uint32_t, std::uint64_t, Lanes>);
static_assert(LaunchableWith<DigestBlocks, WritableSpans, std::uint32_t, std::uint64_t, Lanes>, "const may be added");
static_assert(!LaunchableWith<DigestBlocks, Spans, std::uint32_t, std::uint64_t, DevicePointer<const DigestLanes>>,
              "but not taken away");
static_assert(!LaunchableWith<DigestBlocks, Spans, std::uint32_t, std::uint64_t, DevicePointer<std::uint64_t>>,
              "the one-lane kernel's result is not the two-lane kernel's");
static_assert(!LaunchableWith<DigestBlocks, Spans, int, std::uint64_t, Lanes>, "integers are not converted");
static_assert(!LaunchableWith<DigestBlocks, Spans, std::uint64_t, std::uint32_t, Lanes>, "nor swapped");
static_assert(!LaunchableWith<DigestBlocks, Spans, std::uint32_t, std::uint64_t>, "nothing may be left out");
static_assert(!LaunchableWith<DigestBlocks, const TensorSpan*, std::uint32_t, std::uint64_t, Lanes>,
              "a host pointer is no device pointer");
static_assert(!std::is_constructible_v<DevicePointer<float>, DevicePointer<const float>>);
static_assert(!std::is_convertible_v<std::uint64_t, DevicePointer<float>>, "an address becomes a pointer by name only");

TEST_CASE("a launch passes the addresses of copies, in the order of the parameters", "[device]") {
  LaunchArguments<void(std::uint32_t, double, DevicePointer<float>)> packed(7, 0.5, DevicePointer<float>(4096));
  void** const addresses = packed.addresses();
  CHECK(*static_cast<std::uint32_t*>(addresses[0]) == 7);
  CHECK(*static_cast<double*>(addresses[1]) == 0.5);
  CHECK(*static_cast<std::uint64_t*>(addresses[2]) == 4096);
}

TEST_CASE("a device pointer moves by elements", "[device]") {
  CHECK((DevicePointer<double>(256) + 3).address() == 256 + 24);
}

}  // namespace
}  // namespace reprobench
