#include "matrix/inquiry/source_judgement.hpp"

#include <utility>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

OperatorTensor tensor_of(std::vector<std::int64_t> shape) {
  OperatorTensor tensor;
  tensor.shape = std::move(shape);
  return tensor;
}

TEST_CASE("a capture takes 24 bytes for each number that goes in or comes out", "[inquiry]") {
  DifferenceSource source;
  source.call.emplace();
  OperatorRecord& call = source.call->measured;
  call.inputs = {tensor_of({2, 3}), tensor_of({})};
  call.outputs = {tensor_of({5})};
  CHECK(capture_bytes(source) == 24 * (6 + 1 + 5));
  const OperatorRecord copy = call;
  source.call.reset();
  OperatorRegion& region = source.region.emplace();
  region.measured.at.inputs = {tensor_of({4})};
  region.measured.calls = {copy, copy};
  region.expected.calls = {copy};  // of the other side
  CHECK(capture_bytes(source) == 24 * (4 + 12 + 12));
}

TEST_CASE("extents whose product leaves 64 bits are too much to capture, not too little", "[inquiry]") {
  DifferenceSource source;
  source.call.emplace();
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  source.call->measured.inputs = {tensor_of({kMost, kMost}), tensor_of({kMost})};
  CHECK(capture_bytes(source) == std::int64_t{1} << 60);
}

}  // namespace
}  // namespace reprobench
