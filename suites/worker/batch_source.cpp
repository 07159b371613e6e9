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

// The tensors of one micro-batch, by field.
struct MicroBatch final : Batch {
  const at::Tensor& field(std::string_view name) const override {
    const auto found = std::ranges::find(fields, name, &FieldSpec::name);
    if (found == fields.end()) throw std::out_of_range("no field of the batch is called `" + std::string(name) + "`");
    return tensors[static_cast<std::size_t>(found - fields.begin())].tensor();
  }

  std::span<const FieldSpec> fields;
  std::vector<BatchTensor> tensors;  // one for each field
};

struct BatchSource::Tensors {
  std::unique_ptr<DataSet> data;
  SampleOrder order;
  Layout layout;
  std::int64_t size;  // of a micro-batch
  std::vector<FieldSpec> fields;
  std::vector<MicroBatch> micro_batches = {};  // this rank's
  std::span<const std::int64_t> samples = {};
};

BatchSource::BatchSource(const Model& model, const ModelPreset& preset, std::span<const DataSetRow> rows,
                         const std::filesystem::path& data_folder, std::uint64_t seed, std::int64_t batch_size,
                         Precision precision, const c10::Device& device, const Layout& layout) {
  auto data = open_data(model, preset, rows, data_folder);
  SampleOrder order = make_order(seed, data->size(), batch_size);
  std::vector<FieldSpec> fields = data->fields();
  const std::int64_t size = batch_size / layout.micro_batches();
  tensors_ = std::make_unique<Tensors>(Tensors{std::move(data), std::move(order), layout, size, std::move(fields)});
  for (std::int64_t i = 0; i < layout.accumulated; ++i) {
    MicroBatch& micro_batch = tensors_->micro_batches.emplace_back();
    micro_batch.fields = tensors_->fields;
    for (const FieldSpec& field : tensors_->fields) micro_batch.tensors.emplace_back(field, size, precision, device);
  }
}

BatchSource::~BatchSource() = default;

void BatchSource::load(std::int64_t step) {
  Tensors& t = *tensors_;
  const auto size = static_cast<std::size_t>(t.size);
  t.samples = t.order.batch(step).subspan(static_cast<std::size_t>(t.layout.first()) * size,
                                          static_cast<std::size_t>(t.layout.accumulated) * size);
  for (std::size_t number = 0; number < t.micro_batches.size(); ++number) {
    std::vector<BatchTensor>& tensors = t.micro_batches[number].tensors;
    for (BatchTensor& tensor : tensors) tensor.begin();
    for (std::size_t row = 0; row < size; ++row) {
      for (std::size_t field = 0; field < tensors.size(); ++field) {
        t.data->copy(t.samples[number * size + row], field, tensors[field].row(row));
      }
    }
    for (const BatchTensor& tensor : tensors) tensor.finish();
  }
}

const Layout& BatchSource::layout() const { return tensors_->layout; }
std::span<const FieldSpec> BatchSource::fields() const { return tensors_->fields; }
const at::Tensor& BatchSource::tensor(std::size_t field, std::int64_t micro_batch) const {
  return tensors_->micro_batches[static_cast<std::size_t>(micro_batch)].tensors[field].tensor();
}
const Batch& BatchSource::micro_batch(std::int64_t number) const {
  return tensors_->micro_batches[static_cast<std::size_t>(number)];
}

std::int64_t BatchSource::micro_batch_size() const { return tensors_->size; }
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
