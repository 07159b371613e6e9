// The batches of a run: data set, sample order and the tensors a step reads, one for each field of the data set and
// each micro-batch that this rank does. The tensors are allocated once and overwritten by every load(), on a GPU by a
// copy in the queue of its work. Each micro-batch has memory of its own, so its addresses are as good as those of a
// batch of its size. The source's own threads may make the next batches meanwhile (models/batch_loader.hpp): the bytes
// are the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernels/digest/digest.hpp"
#include "matrix/contract/knob.hpp"
#include "models/data_set.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/ranks/layout.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {

// The threads that make batches, and the lengths of sequences in them. Without threads, the caller of load() makes
// them.
struct LoaderSettings {
  int threads = 0;
  int ahead = 0;  // batches that the threads make beyond the one in use
  std::int64_t last_step = 0;
  bool buckets_lengths = false;  // sequences are as long as models/sequence_lengths.hpp says of their step
};

// The settings by the knobs `loader_threads`, `loader_prefetch` and `sequence_lengths`. Throws RunFailure
// "bad_request".
LoaderSettings loader_settings_of(const Settings& settings, std::int64_t last_step);

class BatchSource {
 public:
  // Looks the model's data set up in `rows`; `own_data` is the text of a user's file that replaces it. `batch_size` is
  // that of all ranks. Throws RunFailure "bad_request" for a batch size the data cannot fill, "unsupported" for an
  // unknown data set, and std::runtime_error if the data cannot be read.
  BatchSource(const Model& model, const ModelPreset& preset, std::span<const DataSetRow> rows,
              const std::filesystem::path& data_folder, std::uint64_t seed, std::int64_t batch_size,
              Precision precision, const c10::Device& device, const Layout& layout = {},
              const LoaderSettings& loading = {}, const std::optional<std::string>& own_data = std::nullopt);
  ~BatchSource();
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;

  // 1-based. Threads that load ahead begin with the first call. Throws RunFailure "data_loader" with the text of the
  // error in reading.
  void load(std::int64_t step);

  // How long the last load() had to wait for samples: until another thread had made them, or while it made them itself.
  std::int64_t waited_ns() const;

  // For the fault `loader_slow`.
  void slow_down();

  const Layout& layout() const;

  // Fields and tensors of this rank's micro-batches, which are numbered from 0. A tensor is (B, ...) by its field's
  // layout, in the data set's order; real numbers are float64 for fp64, else float32. Where lengths change, it is (B,
  // length) of the step loaded last: another tensor each time, over the same memory.
  std::span<const FieldSpec> fields() const;
  const at::Tensor& tensor(std::size_t field, std::int64_t micro_batch = 0) const;
  const Batch& micro_batch(std::int64_t number) const;

  std::int64_t micro_batch_size() const;
  std::int64_t length(std::int64_t step) const;   // of sequences; 0: it does not change
  std::span<const std::int64_t> samples() const;  // of the last load, this rank's

  // Digests of the whole data set as loaded and cut into samples, and of the order of the first `steps` batches of all
  // ranks. The latter moves the source's position.
  Digest data_digest() const;
  std::optional<RecordCounts> record_counts() const;
  Digest order_digest(std::int64_t steps);

 private:
  void load_here(std::int64_t step);
  void take_loaded(std::int64_t step);

  struct Tensors;
  std::unique_ptr<Tensors> tensors_;
};

}  // namespace reprobench
