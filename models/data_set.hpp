// A data set as the train loop knows it: how many samples there are, and any number of named fields of each, such as
// images, tokens or labels. A data set is a folder models/data/NAME/ whose data_set.cpp defines, in namespace
// `reprobench::data::NAME`, `std::unique_ptr<DataSet> open(const std::filesystem::path& data_folder, const ModelPreset&
// preset)`; CMake turns the folders into the table behind data_sets(). A data set that a file of the user's may replace
// also has an own_data.cpp with `open_own(std::string_view text, const ModelPreset& preset)`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/digest/digest.hpp"

namespace reprobench {

struct ModelPreset;

enum class ElementType { float32, int64 };

struct FieldSpec {
  std::string name;  // the name by which models ask for it and traces show it: "input", "image", "tokens"
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;  // of one sample; empty: one number
};

// How many records of a file became samples. Records that do not fit at all become none; longer ones are cut.
struct RecordCounts {
  std::int64_t records = 0;
  std::int64_t samples = 0;
  std::int64_t cut = 0;
};

class DataSet {
 public:
  virtual ~DataSet() = default;

  virtual std::int64_t size() const = 0;              // samples
  virtual std::vector<FieldSpec> fields() const = 0;  // at least one; names differ

  // Writes one field of a sample, row-major. 0 <= sample < size(); `field` is its place in fields(). Called from
  // several threads at once, and in any order: the bytes follow from sample and field alone.
  virtual void copy(std::int64_t sample, std::size_t field, std::byte* to) const = 0;

  // For samples that are sequences of tokens, where the one extent of every field is the sequence's length.
  // copy_sequence() writes a field at another length, no longer than in fields(). It has a target wherever the whole
  // sample has one.
  virtual bool has_sequences() const { return false; }
  virtual void copy_sequence(std::int64_t /*sample*/, std::size_t /*field*/, std::int64_t /*length*/,
                             std::byte* /*to*/) const {
    throw std::logic_error("samples of this data set are no sequences");
  }

  // For samples that are cut from records of a file.
  virtual std::optional<RecordCounts> record_counts() const { return std::nullopt; }

  // The digest of everything that samples are made from, and of how they are cut from it.
  virtual Digest digest() const = 0;
};

struct DataSetRow {
  std::string_view name;  // of the folder
  // Cuts samples of the preset's sizes. Throws std::runtime_error with the file and what is wrong with it, or with the
  // size that the data cannot fill.
  std::unique_ptr<DataSet> (*open)(const std::filesystem::path& data_folder, const ModelPreset& preset);
  // The same for the text of a file of the user's; null: this data has no such form.
  std::unique_ptr<DataSet> (*open_own)(std::string_view text, const ModelPreset& preset) = nullptr;
};

// All data sets, by folder name.
std::span<const DataSetRow> data_sets();

}  // namespace reprobench
