#include "suites/worker/batch_source.hpp"

#include <algorithm>
#include <stdexcept>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "models/sample_order.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

std::unique_ptr<DataSet> open_data(const Model& model, const ModelPreset& preset, std::span<const DataSetRow> rows,
                                   const std::filesystem::path& data_folder) {
  const auto row = std::ranges::find(rows, model.dataset(), &DataSetRow::name);
  if (row == rows.end()) {
    throw RunFailure("unsupported", "no data set is called `" + std::string(model.dataset()) + "`");
  }
  return row->open(data_folder, preset);
}

SampleOrder make_order(std::uint64_t seed, std::int64_t count, std::int64_t batch_size) {
  try {
    return {seed, count, batch_size};
  } catch (const std::invalid_argument& error) {
    throw RunFailure("bad_request", error.what());
  }
}

}  // namespace

// The tensor of one field of a batch. Samples are written in the data set's type and widened where the run computes in
// float64, which is exact. For a GPU they are written to page-locked memory, from which it copies by itself; every
// batch takes new memory, because LibTorch's allocator knows which copies are still to come and this program does not.
class BatchTensor {
 public:
  BatchTensor(const FieldSpec& layout, std::int64_t batch_size, Precision precision, const c10::Device& device)
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
  std::int64_t batch_size;
  std::vector<FieldSpec> fields;
  std::vector<BatchTensor> batch = {};  // one for each field
  std::span<const std::int64_t> samples = {};
};

BatchSource::BatchSource(const Model& model, const ModelPreset& preset, std::span<const DataSetRow> rows,
                         const std::filesystem::path& data_folder, std::uint64_t seed, std::int64_t batch_size,
                         Precision precision, const c10::Device& device) {
  auto data = open_data(model, preset, rows, data_folder);
  SampleOrder order = make_order(seed, data->size(), batch_size);
  std::vector<FieldSpec> fields = data->fields();
  tensors_ = std::make_unique<Tensors>(Tensors{std::move(data), std::move(order), batch_size, std::move(fields)});
  for (const FieldSpec& field : tensors_->fields) tensors_->batch.emplace_back(field, batch_size, precision, device);
}

BatchSource::~BatchSource() = default;

void BatchSource::load(std::int64_t step) {
  Tensors& t = *tensors_;
  t.samples = t.order.batch(step);
  for (BatchTensor& tensor : t.batch) tensor.begin();
  for (std::size_t i = 0; i < t.samples.size(); ++i) {
    for (std::size_t field = 0; field < t.batch.size(); ++field) {
      t.data->copy(t.samples[i], field, t.batch[field].row(i));
    }
  }
  for (const BatchTensor& tensor : t.batch) tensor.finish();
}

std::span<const FieldSpec> BatchSource::fields() const { return tensors_->fields; }
const at::Tensor& BatchSource::tensor(std::size_t field) const { return tensors_->batch[field].tensor(); }

const at::Tensor& BatchSource::field(std::string_view name) const {
  const auto found = std::ranges::find(tensors_->fields, name, &FieldSpec::name);
  if (found == tensors_->fields.end())
    throw std::out_of_range("no field of the batch is called `" + std::string(name) + "`");
  return tensor(static_cast<std::size_t>(found - tensors_->fields.begin()));
}

std::int64_t BatchSource::batch_size() const { return tensors_->batch_size; }
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
