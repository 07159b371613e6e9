// The safetensors file format: tensors by name, readable by the public Python package of that name and by every stack.
//
//   8 bytes   length N of the header, little-endian
//   N bytes   {"__metadata__": {text: text}, "NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN, END]},
//   ...}
//             then spaces up to a multiple of 8
//   the rest  the tensors, row-major, little-endian, without holes; offsets count from here
// As in the public implementation, the header has at most 100 MB, and every byte belongs to exactly one tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/base/contract_error.hpp"

namespace reprobench {

// One row for each type: its name in the file, its name in traces (torch's), and its size.
struct SafetensorsDtype {
  std::string_view name;        // "BF16"
  std::string_view torch_name;  // "bfloat16"
  std::size_t bytes;
};

std::span<const SafetensorsDtype> safetensors_dtypes();

// Null for a type that this build does not know. Files may hold such tensors; their bytes are then opaque.
const SafetensorsDtype* safetensors_dtype(std::string_view name);
const SafetensorsDtype* safetensors_dtype_of_torch(std::string_view torch_name);

using SafetensorsMetadata = std::map<std::string, std::string>;

struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // as in the file, "F32"
  std::vector<std::int64_t> shape;
  std::uint64_t begin_bytes = 0;  // in the file, counted from its start
  std::uint64_t end_bytes = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  // by name
  SafetensorsMetadata metadata;
};

// The header of a whole file in memory, fully checked. Throws ContractError, one sentence that begins with "SOURCE:
// byte OFFSET: ". Causes are a file that is cut, a header that is too long or no JSON, a name twice, a range outside
// the file, overlapping ranges, holes, and a size that does not follow from type and shape.
SafetensorsHeader parse_safetensors(const std::string& source, std::span<const std::byte> file);

// The same for a file of which only the head, all up to the first tensor, is in memory.
SafetensorsHeader parse_safetensors(const std::string& source, std::span<const std::byte> head,
                                    std::uint64_t file_bytes);

// How many bytes the head of a file has, from its first eight bytes, or from all if it is shorter. Throws as above.
std::uint64_t safetensors_head_bytes(const std::string& source, std::span<const std::byte> first,
                                     std::uint64_t file_bytes);

// A tensor to be written; the caller keeps ownership of the bytes.
struct SafetensorsTensor {
  std::string name;
  std::string dtype;  // "F32"
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // contiguous, row-major
};

// Writes a file under a temporary name beside `path`, syncs and renames it, so a reader sees the old file, the new one
// or none. The tensors are ordered by size of their elements, largest first, then by name. So every tensor is aligned,
// and equal tensors give equal files. Throws ContractError for a name twice or not in UTF-8, or a size that does not
// follow from type and shape. Throws std::system_error if the file cannot be written.
void write_safetensors(const std::filesystem::path& path, std::vector<SafetensorsTensor> tensors,
                       const SafetensorsMetadata& metadata);

}  // namespace reprobench
