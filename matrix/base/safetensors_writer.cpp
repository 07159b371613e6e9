#include <algorithm>

#include <nlohmann/json.hpp>

#include "matrix/base/pending_file.hpp"
#include "matrix/base/safetensors.hpp"

namespace reprobench {
namespace {

std::size_t element_size(const SafetensorsTensor& tensor) {
  const SafetensorsDtype* dtype = safetensors_dtype(tensor.dtype);
  if (dtype == nullptr)
    throw ContractError("safetensors: tensor `" + tensor.name + "` has no type `" + tensor.dtype + "`");
  return dtype->bytes;
}

void check_tensor(const SafetensorsTensor& tensor) {
  if (tensor.name == "__metadata__") throw ContractError("safetensors: no tensor may be called `__metadata__`");
  std::uint64_t bytes = element_size(tensor);
  bool fits = true;
  for (const std::int64_t size : tensor.shape) {
    fits = fits && size >= 0 && !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
  }
  if (!fits || bytes != tensor.bytes.size()) {
    throw ContractError("safetensors: tensor `" + tensor.name + "` has " + std::to_string(tensor.bytes.size()) +
                        " bytes, not those of its type and shape");
  }
}

// Length, JSON and the spaces that align the data.
std::string header_of(const std::vector<SafetensorsTensor>& tensors, const SafetensorsMetadata& metadata) {
  nlohmann::json object = nlohmann::json::object();
  if (!metadata.empty()) object["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    if (object.contains(tensor.name)) throw ContractError("safetensors: two tensors are called `" + tensor.name + "`");
    object[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text;
  try {
    text = object.dump();
  } catch (const nlohmann::json::type_error&) {
    throw ContractError("safetensors: a name or a word of the metadata is not UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string header;
  for (int i = 0; i < 8; ++i)
    header.push_back(static_cast<char>(static_cast<std::uint64_t>(text.size()) >> (8 * i) & 255));
  return header + text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::vector<SafetensorsTensor> tensors,
                       const SafetensorsMetadata& metadata) {
  for (const SafetensorsTensor& tensor : tensors) check_tensor(tensor);
  std::sort(tensors.begin(), tensors.end(), [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
    const std::size_t size_a = element_size(a);
    const std::size_t size_b = element_size(b);
    return size_a != size_b ? size_a > size_b : a.name < b.name;
  });
  const std::string header = header_of(tensors, metadata);
  PendingFile file(path, 0644);
  file.append(header);
  for (const SafetensorsTensor& tensor : tensors) {
    file.append({reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
  }
  file.publish();
}

}  // namespace reprobench
