#include "suites/worker/data/batch_source.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <stdexcept>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "models/batch_loader.hpp"
#include "suites/worker/data/batch_maker.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

constexpr int kMostThreads = 256;
constexpr int kMostPrefetched = 1024;

template <auto Member>
int bounded(const Settings& settings, int most) {
  if (settings.*Member <= most) return static_cast<int>(settings.*Member);
  throw RunFailure("bad_request", words_of<Member>(settings) + " is more than " + std::to_string(most));
}

std::int64_t nanoseconds_since(std::chrono::steady_clock::time_point moment) {
  return (std::chrono::steady_clock::now() - moment) / std::chrono::nanoseconds(1);
}

}  // namespace

LoaderSettings loader_settings_of(const Settings& settings, std::int64_t last_step) {
  const int threads = bounded<&Settings::loader_threads>(settings, kMostThreads);
  const int prefetched = bounded<&Settings::loader_prefetch>(settings, kMostPrefetched);
  return {threads, threads * prefetched, last_step, settings.sequence_lengths == SampleLengths::bucketed};
}

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
    if (device.is_cpu()) all_samples_ = samples_;
    all_of_batch_ = batch_;
  }

  // For samples as the data set has them (0), or for sequences of that length.
  void begin(std::int64_t length) {
    if (length > 0) shape_[1] = length;
    if (!device_.is_cpu()) make_samples();
    if (length == 0) return;
    if (device_.is_cpu()) samples_ = beginning_of(all_samples_);
    batch_ = all_of_batch_.is_same(all_samples_) ? samples_ : beginning_of(all_of_batch_);
  }
  // Where the samples of the batch are written, one after the other; finish() once all are.
  std::byte* bytes() const { return static_cast<std::byte*>(samples_.data_ptr()); }
  void finish() const {
    if (!batch_.is_same(samples_)) batch_.copy_(samples_, /*non_blocking=*/true);
  }

  const at::Tensor& tensor() const { return batch_; }

 private:
  void make_samples() { samples_ = at::empty(shape_, at::TensorOptions(type_).pinned_memory(!device_.is_cpu())); }

  at::Tensor beginning_of(const at::Tensor& all) const {
    return all.flatten().narrow(0, 0, shape_[0] * shape_[1]).view(shape_);
  }

  std::vector<std::int64_t> shape_;
  c10::Device device_;
  at::ScalarType type_ = at::kFloat;
  at::Tensor samples_;
  at::Tensor batch_;
  at::Tensor all_samples_;  // room for the longest sequences
  at::Tensor all_of_batch_;
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
  BatchMaker maker;
  Layout layout;
  LoaderSettings loading;
  std::vector<MicroBatch> micro_batches = {};  // this rank's
  std::vector<std::int64_t> samples = {};
  std::int64_t waited_ns = 0;
  std::unique_ptr<BatchLoader> loader = {};  // its threads end before what they read goes
};

BatchSource::BatchSource(const Model& model, const ModelPreset& preset, std::span<const DataSetRow> rows,
                         const std::filesystem::path& data_folder, std::uint64_t seed, std::int64_t batch_size,
                         Precision precision, const c10::Device& device, const Layout& layout,
                         const LoaderSettings& loading, const std::optional<std::string>& own_data)
    : tensors_(
          new Tensors{{model, preset, rows, data_folder, seed, batch_size, layout, own_data, loading.buckets_lengths},
                      layout,
                      loading}) {
  const std::vector<FieldSpec>& all = tensors_->maker.fields();
  for (std::int64_t i = 0; i < layout.of_rank(); ++i) {
    MicroBatch& micro_batch = tensors_->micro_batches.emplace_back();
    micro_batch.fields = all;
    for (const FieldSpec& field : all) {
      micro_batch.tensors.emplace_back(field, micro_batch_size(), precision, device);
    }
  }
}

BatchSource::~BatchSource() = default;

// Whatever reading data throws is told with the step it was read for.
void BatchSource::load(std::int64_t step) {
  try {
    Tensors& t = *tensors_;
    const bool begins = t.loader == nullptr && t.loading.threads > 0 && step <= t.loading.last_step;
    if (begins) {
      t.loader = std::make_unique<BatchLoader>([&t](std::int64_t of, LoadedBatch& batch) { t.maker.make(of, batch); },
                                               t.loading.threads, t.loading.ahead, step, t.loading.last_step);
    }
    // A planted fault asks for other steps in between.
    if (t.loader != nullptr && t.loader->next() == step) {
      take_loaded(step);
    } else {
      load_here(step);
    }
  } catch (const RunFailure&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw RunFailure("data_loader", "the batch of step " + std::to_string(step) + ": " + error.what());
  }
}

void BatchSource::load_here(std::int64_t step) {
  Tensors& t = *tensors_;
  const auto began = std::chrono::steady_clock::now();
  t.maker.wait_if_slow();
  t.samples = t.maker.samples(step);
  const auto size = static_cast<std::size_t>(micro_batch_size());
  for (std::size_t number = 0; number < t.micro_batches.size(); ++number) {
    std::vector<BatchTensor>& tensors = t.micro_batches[number].tensors;
    for (std::size_t field = 0; field < tensors.size(); ++field) {
      tensors[field].begin(t.maker.length(step));
      t.maker.write(std::span(t.samples).subspan(number * size, size), field, t.maker.length(step),
                    tensors[field].bytes());
      tensors[field].finish();
    }
  }
  t.waited_ns = nanoseconds_since(began);
}

void BatchSource::take_loaded(std::int64_t step) {
  Tensors& t = *tensors_;
  const auto began = std::chrono::steady_clock::now();
  const LoadedBatch& batch = t.loader->take();
  t.waited_ns = nanoseconds_since(began);
  t.samples = batch.samples;
  const auto size = static_cast<std::size_t>(micro_batch_size());
  for (std::size_t number = 0; number < t.micro_batches.size(); ++number) {
    std::vector<BatchTensor>& tensors = t.micro_batches[number].tensors;
    for (std::size_t field = 0; field < tensors.size(); ++field) {
      const std::size_t bytes = size * t.maker.sample_bytes(field, t.maker.length(step));
      tensors[field].begin(t.maker.length(step));
      std::memcpy(tensors[field].bytes(), batch.fields[field].data() + number * bytes, bytes);
      tensors[field].finish();
    }
  }
}

std::int64_t BatchSource::waited_ns() const { return tensors_->waited_ns; }
void BatchSource::slow_down() { tensors_->maker.slow_down(); }

const Layout& BatchSource::layout() const { return tensors_->layout; }
std::span<const FieldSpec> BatchSource::fields() const { return tensors_->maker.fields(); }
const at::Tensor& BatchSource::tensor(std::size_t field, std::int64_t micro_batch) const {
  return tensors_->micro_batches[static_cast<std::size_t>(micro_batch)].tensors[field].tensor();
}
const Batch& BatchSource::micro_batch(std::int64_t number) const {
  return tensors_->micro_batches[static_cast<std::size_t>(number)];
}

std::int64_t BatchSource::length(std::int64_t step) const { return tensors_->maker.length(step); }
std::int64_t BatchSource::micro_batch_size() const { return tensors_->maker.micro_batch_size(); }
std::span<const std::int64_t> BatchSource::samples() const { return tensors_->samples; }

Digest BatchSource::data_digest() const { return tensors_->maker.data().digest(); }
std::optional<RecordCounts> BatchSource::record_counts() const { return tensors_->maker.data().record_counts(); }
Digest BatchSource::order_digest(std::int64_t steps) { return tensors_->maker.order_digest(steps); }

}  // namespace reprobench
