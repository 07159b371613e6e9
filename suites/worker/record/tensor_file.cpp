#include "suites/worker/record/tensor_file.hpp"

#include <cstring>
#include <fstream>
#include <iterator>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "suites/worker/record/host_tensor.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

at::ScalarType scalar_type_of(const std::string& dtype) {
  if (dtype == "F32") return at::kFloat;
  if (dtype == "F64") return at::kDouble;
  if (dtype == "BF16") return at::kBFloat16;
  if (dtype == "F16") return at::kHalf;
  if (dtype == "I64") return at::kLong;
  if (dtype == "BOOL") return at::kBool;
  throw RunFailure("bad_request", "a replay takes no tensors of " + dtype);
}

std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw RunFailure("bad_request", path.string() + " cannot be opened");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

void write_tensors(const std::filesystem::path& path, const NamedTensors& tensors,
                   const SafetensorsMetadata& metadata) {
  NamedTensors contiguous;
  std::vector<SafetensorsTensor> entries;
  contiguous.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    contiguous.emplace_back(name, on_host(tensor));
    const at::Tensor& dense = contiguous.back().second;
    const SafetensorsDtype* dtype = safetensors_dtype_of_torch(dtype_name(dense));
    if (dtype == nullptr) throw RunFailure("unsupported", "no file holds tensors of " + dtype_name(dense));
    entries.push_back({name,
                       std::string(dtype->name),
                       {dense.sizes().begin(), dense.sizes().end()},
                       {static_cast<const std::byte*>(dense.data_ptr()), dense.nbytes()}});
  }
  write_safetensors(path, std::move(entries), metadata);
}

TensorFile read_tensors(const std::filesystem::path& path) {
  const std::string bytes = read_bytes(path);
  SafetensorsHeader header;
  try {
    header = parse_safetensors(path.filename().string(), std::as_bytes(std::span(bytes)));
  } catch (const ContractError& error) {
    throw RunFailure("bad_request", error.what());
  }
  TensorFile file;
  file.metadata = std::move(header.metadata);
  for (const SafetensorsEntry& entry : header.tensors) {
    at::Tensor tensor = at::empty(entry.shape, scalar_type_of(entry.dtype));
    std::memcpy(tensor.data_ptr(), bytes.data() + entry.begin_bytes, entry.end_bytes - entry.begin_bytes);
    file.tensors.emplace(entry.name, std::move(tensor));
  }
  return file;
}

}  // namespace reprobench
