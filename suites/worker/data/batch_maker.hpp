// Makes the batches of a run on the host: which samples belong to a step, and their fields. The train loop's own thread
// and those that load ahead of it call the same functions.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/batch_loader.hpp"
#include "models/data_set.hpp"
#include "models/model_spec.hpp"
#include "models/sample_order.hpp"
#include "models/sequence_lengths.hpp"
#include "suites/worker/ranks/layout.hpp"

namespace reprobench {

class BatchMaker {
 public:
  // Throws as BatchSource's constructor.
  BatchMaker(const Model& model, const ModelPreset& preset, std::span<const DataSetRow> rows,
             const std::filesystem::path& data_folder, std::uint64_t seed, std::int64_t batch_size,
             const Layout& layout, const std::optional<std::string>& own_data = std::nullopt,
             bool buckets_lengths = false);

  const DataSet& data() const { return *data_; }
  const std::vector<FieldSpec>& fields() const { return fields_; }
  std::int64_t micro_batch_size() const { return micro_batch_size_; }

  // This rank's samples of a step, in order.
  std::vector<std::int64_t> samples(std::int64_t step);
  Digest order_digest(std::int64_t steps);  // the order of all ranks

  // The length of the sequences of a step; 0: all samples are as fields() has them.
  std::int64_t length(std::int64_t step) const { return lengths_ ? lengths_->of_step(step) : 0; }

  // Writes one field of `samples` at that length, sample after sample.
  void write(std::span<const std::int64_t> samples, std::size_t field, std::int64_t length, std::byte* to) const;
  void make(std::int64_t step, LoadedBatch& batch);
  std::size_t sample_bytes(std::size_t field, std::int64_t length) const;

  // For the fault `loader_slow`: from now on every batch takes 50 ms more to make.
  void slow_down() { is_slow_ = true; }
  void wait_if_slow() const;

 private:
  std::unique_ptr<DataSet> data_;
  std::vector<FieldSpec> fields_;
  Layout layout_;
  std::int64_t micro_batch_size_;
  std::mutex mutex_;  // of the order, which is shuffled anew every epoch
  SampleOrder order_;
  std::optional<SequenceLengths> lengths_;
  std::atomic<bool> is_slow_ = false;
};

}  // namespace reprobench
