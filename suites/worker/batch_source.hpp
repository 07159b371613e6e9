// The batches of a run: data set, sample order and the tensors a step reads, one for each field of the data set. The
// tensors are allocated once and overwritten by every load(), on a GPU by a copy in the queue of its work.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "kernels/digest/digest.hpp"
#include "models/data_set.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/train_state.hpp"

namespace reprobench {

class BatchSource final : public Batch {
 public:
  // Looks the model's data set up in `rows`. Throws RunFailure "bad_request" for a batch size the data cannot fill,
  // "unsupported" for an unknown data set, and std::runtime_error if the data cannot be read.
  BatchSource(const Model& model, const ModelPreset& preset, std::span<const DataSetRow> rows,
              const std::filesystem::path& data_folder, std::uint64_t seed, std::int64_t batch_size,
              Precision precision, const c10::Device& device);
  ~BatchSource() override;
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;

  void load(std::int64_t step);  // 1-based

  // (B, ...) of the fields' layouts, in the data set's order; real numbers are float64 for fp64, else float32.
  std::span<const FieldSpec> fields() const;
  const at::Tensor& tensor(std::size_t field) const;
  const at::Tensor& field(std::string_view name) const override;

  std::int64_t batch_size() const;
  std::span<const std::int64_t> samples() const;  // of the last load

  // Of the whole data set as loaded and cut into samples, and of the order of the first `steps` batches. The latter
  // moves the source's position.
  Digest data_digest() const;
  Digest order_digest(std::int64_t steps);

 private:
  struct Tensors;
  std::unique_ptr<Tensors> tensors_;
};

}  // namespace reprobench
