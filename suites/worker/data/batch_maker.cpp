#include "suites/worker/data/batch_maker.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

constexpr auto kSlowBatch = std::chrono::milliseconds(50);

std::unique_ptr<DataSet> open_data(const Model& model, const ModelPreset& preset, std::span<const DataSetRow> rows,
                                   const std::filesystem::path& data_folder,
                                   const std::optional<std::string>& own_data) {
  const auto row = std::ranges::find(rows, model.dataset(), &DataSetRow::name);
  if (row == rows.end()) {
    throw RunFailure("unsupported", "no data set is called `" + std::string(model.dataset()) + "`");
  }
  if (!own_data) return row->open(data_folder, preset);
  if (row->open_own == nullptr) {
    throw RunFailure("bad_request", "model `" + std::string(model.name()) + "` takes no file in place of its data");
  }
  return row->open_own(*own_data, preset);
}

SampleOrder make_order(std::uint64_t seed, std::int64_t count, std::int64_t batch_size) {
  try {
    return {seed, count, batch_size};
  } catch (const std::invalid_argument& error) {
    throw RunFailure("bad_request", error.what());
  }
}

}  // namespace

BatchMaker::BatchMaker(const Model& model, const ModelPreset& preset, std::span<const DataSetRow> rows,
                       const std::filesystem::path& data_folder, std::uint64_t seed, std::int64_t batch_size,
                       const Layout& layout, const std::optional<std::string>& own_data, bool buckets_lengths)
    : data_(open_data(model, preset, rows, data_folder, own_data)),
      fields_(data_->fields()),
      layout_(layout),
      micro_batch_size_(batch_size / layout.micro_batches()),
      order_(make_order(seed, data_->size(), batch_size)) {
  if (!buckets_lengths) return;
  if (!data_->has_sequences()) {
    throw RunFailure("unsupported", "`sequence_lengths: bucketed`: samples of `" + std::string(model.dataset()) +
                                        "`, which " + std::string(model.name()) + " reads, are no sequences of tokens");
  }
  lengths_.emplace(seed, preset.context_length);
}

std::vector<std::int64_t> BatchMaker::samples(std::int64_t step) {
  const auto first = static_cast<std::size_t>(layout_.first() * micro_batch_size_);
  const auto count = static_cast<std::size_t>(layout_.of_rank() * micro_batch_size_);
  const std::lock_guard lock(mutex_);
  const auto own = order_.batch(step).subspan(first, count);
  return {own.begin(), own.end()};
}

Digest BatchMaker::order_digest(std::int64_t steps) {
  const std::lock_guard lock(mutex_);
  Digest digest;
  for (std::int64_t step = 1; step <= steps; ++step) {
    digest = chain_digest(digest, block_digest(std::as_bytes(order_.batch(step))));
  }
  return digest;
}

std::size_t BatchMaker::sample_bytes(std::size_t field, std::int64_t length) const {
  std::size_t bytes = fields_[field].type == ElementType::float32 ? sizeof(float) : sizeof(std::int64_t);
  if (length > 0) return bytes * static_cast<std::size_t>(length);
  for (const std::int64_t extent : fields_[field].shape) bytes *= static_cast<std::size_t>(extent);
  return bytes;
}

void BatchMaker::write(std::span<const std::int64_t> samples, std::size_t field, std::int64_t length,
                       std::byte* to) const {
  const std::size_t bytes = sample_bytes(field, length);
  for (std::size_t row = 0; row < samples.size(); ++row) {
    std::byte* place = to + row * bytes;
    length > 0 ? data_->copy_sequence(samples[row], field, length, place) : data_->copy(samples[row], field, place);
  }
}

void BatchMaker::make(std::int64_t step, LoadedBatch& batch) {
  wait_if_slow();
  batch.samples = samples(step);
  batch.fields.resize(fields_.size());
  for (std::size_t field = 0; field < fields_.size(); ++field) {
    batch.fields[field].resize(batch.samples.size() * sample_bytes(field, length(step)));
    write(batch.samples, field, length(step), batch.fields[field].data());
  }
}

void BatchMaker::wait_if_slow() const {
  if (is_slow_) std::this_thread::sleep_for(kSlowBatch);
}

}  // namespace reprobench
