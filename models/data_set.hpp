// What the train loop knows of a data set: how many samples there are, and the named fields of each: images, tokens,
// labels, as many as there are. A data set is a folder models/data/NAME/ whose data_set.cpp defines
// `std::unique_ptr<DataSet> open_NAME(const std::filesystem::path& data_folder, const ModelPreset& preset)`; CMake
// turns the folders into the table behind data_sets().
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/digest/digest.hpp"

namespace reprobench {

struct ModelPreset;

enum class ElementType { float32, int64 };

struct FieldSpec {
  std::string name;  // what a model asks its batch for, and a trace shows: "input", "image", "tokens"
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;  // of one sample; empty: one number
};

class DataSet {
 public:
  virtual ~DataSet() = default;

  virtual std::int64_t size() const = 0;              // samples
  virtual std::vector<FieldSpec> fields() const = 0;  // at least one, each name once

  // Writes one field of a sample, row-major. 0 <= sample < size(); `field` is its place in fields(). Called from
  // several threads at once, and in any order: the bytes follow from sample and field alone.
  virtual void copy(std::int64_t sample, std::size_t field, std::byte* to) const = 0;

  // Of everything samples are made from, and of how they are cut from it.
  virtual Digest digest() const = 0;
};

struct DataSetRow {
  std::string_view name;  // of the folder
  // Cuts samples of the preset's sizes. Throws std::runtime_error with the file and what is wrong with it, or with the
  // size that the data cannot fill.
  std::unique_ptr<DataSet> (*open)(const std::filesystem::path& data_folder, const ModelPreset& preset);
};

// All data sets, by folder name.
std::span<const DataSetRow> data_sets();

}  // namespace reprobench
