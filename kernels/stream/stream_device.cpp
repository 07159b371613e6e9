#include "kernels/stream/stream_device.hpp"

#include <algorithm>
#include <bit>

namespace reprobench {
namespace {

constexpr std::uint32_t kSeedA = 1;
constexpr std::uint32_t kSeedB = 0x5bd1'e995;
constexpr double kFactor = 3;

struct OperationRow {
  std::string_view word;
  std::uint64_t arrays;  // read and written
  StreamExpectation expected;
};

constexpr OperationRow kRows[] = {
    {"init", 1, {1, 0, kSeedA, kSeedB}},        {"copy", 2, {1, 0, kSeedA, kSeedB}},
    {"scale", 2, {kFactor, 0, kSeedA, kSeedB}}, {"add", 3, {1, 1, kSeedA, kSeedB}},
    {"triad", 3, {1, kFactor, kSeedA, kSeedB}}, {"read_sum", 1, {}},
};

const OperationRow& row(StreamOperation operation) { return kRows[static_cast<std::size_t>(operation)]; }

}  // namespace

std::string_view word(StreamOperation operation) { return row(operation).word; }

StreamArrays::StreamArrays(DeviceKernels& kernels, std::uint64_t elements)
    : kernels_(kernels),
      elements_(elements),
      a_(kernels.context(), elements),
      b_(kernels.context(), elements),
      c_(kernels.context(), elements),
      total_(kernels.context(), 1),
      wrong_(kernels.context(), 1) {
  const std::uint32_t blocks = kernels_.blocks_for_threads<StreamInit>(elements_ / 2);
  kernels_.launch<StreamInit>(nullptr, blocks, a_.data(), elements_, kSeedA);
  kernels_.launch<StreamInit>(nullptr, blocks, b_.data(), elements_, kSeedB);
  c_.fill_zero(nullptr);
  total_.fill_zero(nullptr);
  for (std::uint64_t i = 0; i < elements_; ++i) expected_sum_ += std::bit_cast<std::uint64_t>(stream_value(i, kSeedA));
  kernels_.context().synchronize();
}

std::uint64_t StreamArrays::moved_bytes(StreamOperation operation) const {
  return row(operation).arrays * elements_ * sizeof(double);
}

void StreamArrays::enqueue(StreamOperation operation, DeviceStream stream) {
  switch (operation) {
    case StreamOperation::init:
      return kernels_.launch<StreamInit>(stream, kernels_.blocks_for_threads<StreamInit>(elements_ / 2), a_.data(),
                                         elements_, kSeedA);
    case StreamOperation::copy:
      return kernels_.launch<StreamCopy>(stream, kernels_.blocks_for_threads<StreamCopy>(elements_ / 2), a_.data(),
                                         c_.data(), elements_);
    case StreamOperation::scale:
      return kernels_.launch<StreamScale>(stream, kernels_.blocks_for_threads<StreamScale>(elements_ / 2), a_.data(),
                                          c_.data(), elements_, kFactor);
    case StreamOperation::add:
      return kernels_.launch<StreamAdd>(stream, kernels_.blocks_for_threads<StreamAdd>(elements_ / 2), a_.data(),
                                        b_.data(), c_.data(), elements_);
    case StreamOperation::triad:
      return kernels_.launch<StreamTriad>(stream, kernels_.blocks_for_threads<StreamTriad>(elements_ / 2), a_.data(),
                                          b_.data(), c_.data(), elements_, kFactor);
    case StreamOperation::read_sum:
      ++sums_;
      return kernels_.launch<StreamReadSum>(stream, kernels_.blocks_for_threads<StreamReadSum>(elements_ / 2),
                                            DevicePointer<const std::uint64_t>(a_.data().address()), elements_,
                                            total_.data());
  }
}

std::uint64_t StreamArrays::wrong_elements(StreamOperation operation, DeviceStream stream) {
  std::uint64_t answer = 0;
  if (operation == StreamOperation::read_sum) {
    total_.copy_to({&answer, 1}, stream);
    kernels_.context().synchronize(stream);
    return answer == sums_ * expected_sum_ ? 0 : 1;
  }
  wrong_.fill_zero(stream);
  const auto& array = operation == StreamOperation::init ? a_ : c_;
  kernels_.launch<StreamCheck>(stream, kernels_.blocks_for_threads<StreamCheck>(elements_), array.data(), elements_,
                               row(operation).expected, wrong_.data());
  wrong_.copy_to({&answer, 1}, stream);
  kernels_.context().synchronize(stream);
  return answer;
}

}  // namespace reprobench
