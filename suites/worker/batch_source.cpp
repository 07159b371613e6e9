#include "suites/worker/batch_source.hpp"

#include <stdexcept>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "models/data_set.hpp"
#include "models/sample_order.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

std::unique_ptr<DataSet> open_data(const Model& model, const ModelPreset& preset,
                                   const std::filesystem::path& data_folder) {
  auto data = open_data_set(model.dataset(), data_folder, preset.context_length);
  if (data == nullptr) {
    throw RunFailure("unsupported", "no data set is called `" + std::string(model.dataset()) + "`");
  }
  return data;
}

SampleOrder make_order(std::uint64_t seed, std::int64_t count, std::int64_t batch_size) {
  try {
    return {seed, count, batch_size};
  } catch (const std::invalid_argument& error) {
    throw RunFailure("bad_request", error.what());
  }
}

}  // namespace

// One of the two tensors of a batch. Samples are written in the data set's type and widened where the run computes in
// float64, which is exact. For a GPU they are written to page-locked memory, from which it copies by itself; every
// batch takes new memory, because LibTorch's allocator knows which copies are still to come and this program does not.
class BatchTensor {
 public:
  BatchTensor(const SampleLayout& layout, std::int64_t batch_size, Precision precision, const c10::Device& device)
      : shape_{batch_size}, device_(device) {
    shape_.insert(shape_.end(), layout.shape.begin(), layout.shape.end());
    const bool is_real = layout.type == ElementType::float32;
    type_ = is_real ? at::kFloat : at::kLong;
    make_samples();
    const bool widens = is_real && precision == Precision::fp64;
    batch_ = device.is_cpu() && !widens
                 ? samples_
                 : at::empty(shape_, at::TensorOptions(device).dtype(widens ? at::kDouble : type_));
    sample_bytes_ = samples_.nbytes() / static_cast<std::size_t>(batch_size);
  }

  void begin() {
    if (!device_.is_cpu()) make_samples();
  }
  // Where sample `row` of the batch is written; finish() once all are.
  std::byte* row(std::size_t row) const { return static_cast<std::byte*>(samples_.data_ptr()) + row * sample_bytes_; }
  void finish() const {
    if (!batch_.is_same(samples_)) batch_.copy_(samples_, /*non_blocking=*/true);
  }

  const at::Tensor& tensor() const { return batch_; }

 private:
  void make_samples() { samples_ = at::empty(shape_, at::TensorOptions(type_).pinned_memory(!device_.is_cpu())); }

  std::vector<std::int64_t> shape_;
  c10::Device device_;
  at::ScalarType type_ = at::kFloat;
  at::Tensor samples_;
  at::Tensor batch_;
  std::size_t sample_bytes_ = 0;
};

struct BatchSource::Tensors {
  std::unique_ptr<DataSet> data;
  SampleOrder order;
  std::span<const std::int64_t> samples;
  BatchTensor input;
  BatchTensor target;
};

BatchSource::BatchSource(const Model& model, const ModelPreset& preset, const std::filesystem::path& data_folder,
                         std::uint64_t seed, std::int64_t batch_size, Precision precision, const c10::Device& device) {
  auto data = open_data(model, preset, data_folder);
  SampleOrder order = make_order(seed, data->size(), batch_size);
  const SampleLayout input = data->input();
  const SampleLayout target = data->target();
  tensors_ = std::make_unique<Tensors>(Tensors{std::move(data),
                                               std::move(order),
                                               {},
                                               BatchTensor(input, batch_size, precision, device),
                                               BatchTensor(target, batch_size, precision, device)});
}

BatchSource::~BatchSource() = default;

void BatchSource::load(std::int64_t step) {
  Tensors& t = *tensors_;
  t.samples = t.order.batch(step);
  t.input.begin();
  t.target.begin();
  for (std::size_t i = 0; i < t.samples.size(); ++i) {
    t.data->copy_input(t.samples[i], t.input.row(i));
    t.data->copy_target(t.samples[i], t.target.row(i));
  }
  t.input.finish();
  t.target.finish();
}

const at::Tensor& BatchSource::input() const { return tensors_->input.tensor(); }
const at::Tensor& BatchSource::target() const { return tensors_->target.tensor(); }
std::span<const std::int64_t> BatchSource::samples() const { return tensors_->samples; }

Digest BatchSource::data_digest() const { return tensors_->data->digest(); }

Digest BatchSource::order_digest(std::int64_t steps) {
  Digest digest;
  for (std::int64_t step = 1; step <= steps; ++step) {
    digest = chain_digest(digest, block_digest(std::as_bytes(tensors_->order.batch(step))));
  }
  return digest;
}

}  // namespace reprobench
