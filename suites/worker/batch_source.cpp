#include "suites/worker/batch_source.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "models/data/digits/digits.hpp"
#include "models/sample_order.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

Digits load_dataset(std::string_view name, const std::filesystem::path& folder) {
  if (name == "digits") return load_digits(folder);
  throw RunFailure("unsupported", "no data set is called `" + std::string(name) + "`");
}

SampleOrder make_order(std::uint64_t seed, std::int64_t count, std::int64_t batch_size) {
  try {
    return {seed, count, batch_size};
  } catch (const std::invalid_argument& error) {
    throw RunFailure("bad_request", error.what());
  }
}

}  // namespace

struct BatchSource::Tensors {
  Digits digits;
  SampleOrder order;
  std::span<const std::int64_t> samples;
  at::Tensor input;
  at::Tensor target;
};

BatchSource::BatchSource(std::string_view dataset, const std::filesystem::path& data_folder, std::uint64_t seed,
                         std::int64_t batch_size, Precision precision) {
  Digits digits = load_dataset(dataset, data_folder);
  SampleOrder order = make_order(seed, digits.count, batch_size);
  const auto dtype = precision == Precision::fp64 ? at::kDouble : at::kFloat;
  tensors_ = std::make_unique<Tensors>(Tensors{std::move(digits),
                                               std::move(order),
                                               {},
                                               at::empty({batch_size, kDigitPixels}, dtype),
                                               at::empty({batch_size}, at::kLong)});
}

BatchSource::~BatchSource() = default;

void BatchSource::load(std::int64_t step) {
  Tensors& t = *tensors_;
  t.samples = t.order.batch(step);
  auto* labels = static_cast<std::int64_t*>(t.target.data_ptr());
  const bool is_double = t.input.scalar_type() == at::kDouble;
  auto* rows = static_cast<std::byte*>(t.input.data_ptr());
  const std::size_t row_bytes = t.input.nbytes() / t.samples.size();
  for (std::size_t i = 0; i < t.samples.size(); ++i, rows += row_bytes) {
    const float* image = t.digits.images.data() + t.samples[i] * kDigitPixels;
    labels[i] = t.digits.labels[static_cast<std::size_t>(t.samples[i])];
    if (is_double) {
      std::copy(image, image + kDigitPixels, reinterpret_cast<double*>(rows));
    } else {
      std::memcpy(rows, image, row_bytes);
    }
  }
}

const at::Tensor& BatchSource::input() const { return tensors_->input; }
const at::Tensor& BatchSource::target() const { return tensors_->target; }
std::span<const std::int64_t> BatchSource::samples() const { return tensors_->samples; }

Digest BatchSource::data_digest() const {
  const Digits& digits = tensors_->digits;
  const std::int64_t image_shape[] = {digits.count, kDigitPixels};
  const std::int64_t label_shape[] = {digits.count};
  return DigestBuilder()
      .append(tensor_digest("float32", image_shape, std::as_bytes(std::span(digits.images))))
      .append(tensor_digest("int64", label_shape, std::as_bytes(std::span(digits.labels))))
      .finish();
}

Digest BatchSource::order_digest(std::int64_t steps) {
  Digest digest;
  for (std::int64_t step = 1; step <= steps; ++step) {
    digest = chain_digest(digest, block_digest(std::as_bytes(tensors_->order.batch(step))));
  }
  return digest;
}

}  // namespace reprobench
