#include "suites/worker/probes/call_tensors.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include <ATen/core/Tensor.h>

#include "suites/worker/data/own_file.hpp"
#include "suites/worker/probes/single_call.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/weights/own_tensor_file.hpp"

namespace reprobench {
namespace {

std::vector<DeclaredTensor> taken_of(const std::vector<DeclaredCall>& calls) {
  std::vector<DeclaredTensor> taken;
  for (const DeclaredCall& call : calls) {
    for (const DeclaredTensor& tensor : call.tensors()) {
      if (!tensor.from.empty()) taken.push_back(tensor);
    }
  }
  return taken;
}

// LibTorch takes any other byte for a truth value that no comparison makes.
std::string truth_problem(const SafetensorsEntry& entry, std::uint64_t first, std::span<const std::byte> bytes) {
  const auto neither = std::ranges::find_if(bytes, [](std::byte one) { return std::to_integer<int>(one) > 1; });
  if (neither == bytes.end()) return "";
  return "`" + entry.name + "` is of truth values and holds " + std::to_string(std::to_integer<int>(*neither)) +
         " at element " + std::to_string(first + static_cast<std::uint64_t>(neither - bytes.begin()));
}

}  // namespace

CallTensors::CallTensors(const WorkloadRequest& workload, const std::vector<DeclaredCall>& calls) {
  const std::vector<DeclaredTensor> taken = taken_of(calls);
  if (workload.tensors_file.empty()) {
    if (taken.empty()) return;
    throw RunFailure("bad_request", "a call takes `" + taken.front().from + "` of a file, and the workload names none");
  }
  OwnTensorFile file(workload.tensors_file);
  std::string refusal;  // told once the file is known to be the one that was planned
  for (const DeclaredTensor& declared : taken) {
    const auto entry = std::ranges::find(file.tensors(), declared.from, &SafetensorsEntry::name);
    const bool is_held = entry != file.tensors().end() && entry->dtype == safetensors_name(declared.dtype) &&
                         entry->shape == declared.shape;
    if (!is_held) {
      refusal =
          workload.tensors_file + " has no tensor `" + declared.from + "` of the type and shape that a call declares";
    } else if (!tensors_.contains(declared.from)) {
      tensors_[declared.from] = std::make_unique<at::Tensor>(empty_as(declared));
    }
  }
  file.read([&](const SafetensorsEntry& entry, std::uint64_t at_byte, std::span<const std::byte> bytes) {
    const auto kept = tensors_.find(entry.name);
    if (kept == tensors_.end()) return;
    std::memcpy(static_cast<std::byte*>(kept->second->data_ptr()) + at_byte, bytes.data(), bytes.size());
    if (entry.dtype == "BOOL" && refusal.empty()) refusal = truth_problem(entry, at_byte, bytes);
  });
  check_is_planned(workload.tensors_file, file.sha256(), workload.tensors_sha256);
  if (!refusal.empty()) throw RunFailure(kInputRefused, refusal);
}

CallTensors::~CallTensors() = default;

const at::Tensor& CallTensors::holding(const DeclaredTensor& declared) const { return *tensors_.at(declared.from); }

}  // namespace reprobench
