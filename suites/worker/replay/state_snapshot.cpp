#include "suites/worker/replay/state_snapshot.hpp"

#include <bit>

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include "matrix/base/number.hpp"
#include "suites/worker/record/tensor_file.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

constexpr const char* kFormat = "reprobench/state 1";

std::string bits_of(double value) { return hex64(std::bit_cast<std::uint64_t>(value)); }

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw RunFailure("bad_request", path.filename().string() + ": " + why);
}

const std::string& field(const std::filesystem::path& path, const TensorFile& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) refuse(path, "metadata `" + key + "` is missing");
  return found->second;
}

std::uint64_t hex_field(const std::filesystem::path& path, const TensorFile& file, const std::string& key) {
  const auto value = parse_hex(field(path, file, key));
  if (!value) refuse(path, "metadata `" + key + "` is not hex");
  return *value;
}

void restore(const std::filesystem::path& path, const TensorFile& file, const std::string& name,
             const at::Tensor& target) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) refuse(path, "tensor `" + name + "` is missing");
  if (found->second.sizes() != target.sizes()) refuse(path, "tensor `" + name + "` has another shape");
  const c10::NoGradGuard no_grad;
  at::Tensor destination = target;
  destination.copy_(found->second);
}

}  // namespace

void write_snapshot(const std::filesystem::path& path, const TrainState& state, const SnapshotPosition& position) {
  NamedTensors tensors;
  for (const StateTensor& tensor : state.tensors()) tensors.emplace_back(tensor.name, *tensor.value);
  SafetensorsMetadata metadata{{"format", kFormat},
                               {"steps_done", std::to_string(position.steps_done)},
                               {"seed", std::to_string(position.seed)},
                               {"workload_digest", to_hex(position.workload)},
                               {"chain", to_hex(position.chain)}};
  for (const auto& [name, value] : state.optimizer().numbers()) metadata[name] = bits_of(value);
  write_tensors(path, tensors, metadata);
}

Digest read_snapshot(const std::filesystem::path& path, TrainState& state, const SnapshotPosition& expected) {
  const TensorFile file = read_tensors(path);
  if (field(path, file, "format") != kFormat) refuse(path, "is a state of another format");
  if (field(path, file, "steps_done") != std::to_string(expected.steps_done)) {
    refuse(path, "is the state after step " + field(path, file, "steps_done") + ", not " +
                     std::to_string(expected.steps_done));
  }
  if (field(path, file, "seed") != std::to_string(expected.seed)) refuse(path, "has another seed");
  if (file.tensors.size() != state.tensors().size()) refuse(path, "holds the tensors of another model");
  for (const StateTensor& tensor : state.tensors()) restore(path, file, tensor.name, *tensor.value);
  state.parameters_were_written();
  OptimizerNumbers numbers = state.optimizer().numbers();
  for (auto& [name, value] : numbers) value = std::bit_cast<double>(hex_field(path, file, name));
  state.optimizer().set_numbers(numbers);
  const auto chain = digest_from_hex(field(path, file, "chain"));
  if (!chain) refuse(path, "metadata `chain` is no digest");
  return *chain;
}

}  // namespace reprobench
