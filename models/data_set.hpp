// What the train loop knows of a data set: samples of two tensors, an input and a target. A data set is a folder of
// models/data/ and a row in data_set.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/digest/digest.hpp"

namespace reprobench {

enum class ElementType { float32, int64 };

struct SampleLayout {
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;  // of one sample; empty: one number
};

class DataSet {
 public:
  virtual ~DataSet() = default;

  virtual std::int64_t size() const = 0;  // samples
  virtual SampleLayout input() const = 0;
  virtual SampleLayout target() const = 0;

  // Writes a sample in its layout, row-major. 0 <= sample < size().
  virtual void copy_input(std::int64_t sample, std::byte* to) const = 0;
  virtual void copy_target(std::int64_t sample, std::byte* to) const = 0;

  // Of everything samples are made from, and of how they are cut from it.
  virtual Digest digest() const = 0;
};

// Opens the data set of that name; `context_length` is the preset's. Null if there is none of that name. Throws
// std::runtime_error with the file and what is wrong with it.
std::unique_ptr<DataSet> open_data_set(std::string_view name, const std::filesystem::path& data_folder,
                                       std::int64_t context_length);

}  // namespace reprobench
