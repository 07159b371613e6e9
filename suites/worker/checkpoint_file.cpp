#include "suites/worker/checkpoint_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include "matrix/contract/number.hpp"
#include "suites/worker/host_tensor.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/tensor_record.hpp"

namespace reprobench {
namespace {

constexpr const char* kCheckpointFormat = "reprobench/checkpoint 1";
constexpr const char* kChecksumKey = "checksum";
constexpr std::string_view kNumberPrefix = "optimizer.";

// Where memory comes from, when kernels are loaded and who makes batches: the same bits whatever they are. Every other
// knob may change them.
constexpr std::array<std::string_view, 5> kKnobsOfNoBit = {"allocator", "cuda_allocator", "cuda_module_loading",
                                                           "loader_prefetch", "loader_threads"};

std::string contract_text() {
  return std::to_string(kContractVersion.major) + "." + std::to_string(kContractVersion.minor);
}

// What must agree, by the words it is refused with.
SafetensorsMetadata owner_metadata(const CheckpointOwner& owner) {
  SafetensorsMetadata metadata{{"format", kCheckpointFormat},
                               {"contract", contract_text()},
                               {"model", owner.model},
                               {"preset", owner.preset},
                               {"workload_digest", owner.workload_digest},
                               {"world", owner.world}};
  for (const auto& [name, value] : owner.knobs) {
    if (std::ranges::find(kKnobsOfNoBit, name) == kKnobsOfNoBit.end()) metadata["knob." + name] = value;
  }
  return metadata;
}

// By name, as a map has them; every text with its length, every tensor with type and shape.
Digest checksum_of(const std::map<std::string, at::Tensor>& tensors, const SafetensorsMetadata& metadata) {
  DigestBuilder builder;
  for (const auto& [key, value] : metadata) {
    if (key != kChecksumKey) builder.append(key).append(value);
  }
  for (const auto& [name, tensor] : tensors) {
    const std::span bytes(static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes());
    const std::vector<std::int64_t> shape(tensor.sizes().begin(), tensor.sizes().end());
    builder.append(name).append(tensor_digest(dtype_name(tensor), shape, bytes));
  }
  return builder.finish();
}

[[noreturn]] void refuse_checkpoint(const char* word, const std::string& why) {
  throw CheckpointRefused(std::string(word) + ": " + why);
}

TensorFile read_whole(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path))) {
    refuse_checkpoint("unreadable", "it is no plain file");
  }
  try {
    return read_tensors(path);
  } catch (const RunFailure& failure) {
    refuse_checkpoint("unreadable", failure.what());
  }
}

}  // namespace

Digest write_checkpoint(const std::filesystem::path& path, const TrainState& state, const CheckpointOwner& owner,
                        const CheckpointPosition& position) {
  std::map<std::string, at::Tensor> tensors;
  for (const StateTensor& tensor : state.tensors()) tensors.emplace(tensor.name, on_host(*tensor.value));
  SafetensorsMetadata metadata = owner_metadata(owner);
  metadata["steps_done"] = std::to_string(position.steps_done);
  metadata["chain"] = to_hex(position.chain);
  metadata["written_by"] = position.written_by;
  // Makes the checksum one that only a reader of this very file can know.
  metadata["written_monotonic_ns"] =
      std::to_string(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
  for (const auto& [name, value] : state.optimizer().numbers()) {
    metadata[std::string(kNumberPrefix) + name] = hex64(std::bit_cast<std::uint64_t>(value));
  }
  const Digest checksum = checksum_of(tensors, metadata);
  metadata[kChecksumKey] = to_hex(checksum);
  write_tensors(path, {tensors.begin(), tensors.end()}, metadata);
  return checksum;
}

Checkpoint::Checkpoint(const std::filesystem::path& path, const TrainState& state, const CheckpointOwner& owner)
    : file_(read_whole(path)) {
  const auto said = digest_from_hex(metadata(kChecksumKey));
  checksum_ = checksum_of(file_.tensors, file_.metadata);
  if (!said || *said != checksum_) refuse_checkpoint("changed", "what is in it has not its checksum");
  check_owner(owner);
  check_tensors(state);
  read_position(state);
}

const std::string& Checkpoint::metadata(const std::string& key) const {
  const auto found = file_.metadata.find(key);
  if (found == file_.metadata.end()) refuse_checkpoint("foreign", "it says no `" + key + "`");
  return found->second;
}

void Checkpoint::check_owner(const CheckpointOwner& owner) const {
  const SafetensorsMetadata expected = owner_metadata(owner);
  for (const char* first :
       {"format", "contract", "model", "preset"}) {  // the plainest reason before what follows from it
    if (metadata(first) != expected.at(first)) {
      refuse_checkpoint("foreign", std::string(first) + " " + metadata(first) + ", this run has " + expected.at(first));
    }
  }
  for (const auto& [key, value] : expected) {
    if (metadata(key) != value) refuse_checkpoint("foreign", key + " " + metadata(key) + ", this run has " + value);
  }
  for (const auto& [key, value] : file_.metadata) {
    if (key.starts_with("knob.") && !expected.contains(key)) {
      refuse_checkpoint("foreign", key + " " + value + ", which this run does not know");
    }
  }
}

void Checkpoint::check_tensors(const TrainState& state) const {
  for (const StateTensor& tensor : state.tensors()) {
    const auto found = file_.tensors.find(tensor.name);
    if (found == file_.tensors.end()) refuse_checkpoint("foreign", "tensor `" + tensor.name + "` is missing");
    if (found->second.sizes() != tensor.value->sizes() || found->second.scalar_type() != tensor.value->scalar_type()) {
      refuse_checkpoint("foreign", "tensor `" + tensor.name + "` has another shape or type");
    }
  }
  if (file_.tensors.size() != state.tensors().size()) {
    refuse_checkpoint("foreign", "it holds " + std::to_string(file_.tensors.size()) + " tensors, this run has " +
                                     std::to_string(state.tensors().size()));
  }
}

void Checkpoint::read_position(const TrainState& state) {
  const std::string& steps = metadata("steps_done");
  const auto [end, error] = std::from_chars(steps.data(), steps.data() + steps.size(), position_.steps_done);
  if (error != std::errc() || end != steps.data() + steps.size() || position_.steps_done < 1) {
    refuse_checkpoint("foreign", "steps_done `" + steps + "` is no number of steps");
  }
  const auto chain = digest_from_hex(metadata("chain"));
  if (!chain) refuse_checkpoint("foreign", "its chain is no digest");
  position_.chain = *chain;
  position_.written_by = metadata("written_by");
  for (const auto& [name, unused] : state.optimizer().numbers()) {
    const auto bits = parse_hex(metadata(std::string(kNumberPrefix) + name));
    if (!bits) refuse_checkpoint("foreign", "the optimizer's `" + name + "` is no number");
    numbers_[name] = std::bit_cast<double>(*bits);
  }
}

void Checkpoint::restore(TrainState& state, const LeftOut& left_out) const {
  const c10::NoGradGuard no_grad;
  for (const StateTensor& tensor : state.tensors()) {
    const bool is_left = (tensor.role == TensorRole::parameter && left_out.parameters) ||
                         (tensor.role == TensorRole::optimizer_state && left_out.optimizer) ||
                         (tensor.role == TensorRole::buffer && left_out.buffers) ||
                         (tensor.role == TensorRole::scaler_state && left_out.scaler);
    if (is_left) continue;
    at::Tensor target = *tensor.value;
    target.copy_(file_.tensors.at(tensor.name));
  }
  if (!left_out.optimizer) state.optimizer().set_numbers(numbers_);
}

}  // namespace reprobench
