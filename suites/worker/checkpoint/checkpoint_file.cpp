#include "suites/worker/checkpoint/checkpoint_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include "matrix/base/number.hpp"
#include "matrix/contract/version.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/state/train_state.hpp"

namespace reprobench {
namespace {

constexpr const char* kCheckpointFormat = "reprobench/checkpoint 2";
constexpr const char* kChecksumKey = "checksum";
constexpr std::string_view kNumberPrefix = "optimizer.";

std::string contract_text() {
  return std::to_string(kContractVersion.major) + "." + std::to_string(kContractVersion.minor);
}

// What must agree, by the words it is refused with.
SafetensorsMetadata owner_metadata(const CheckpointOwner& owner) {
  SafetensorsMetadata metadata{{"format", kCheckpointFormat},
                               {"contract", contract_text()},
                               {"model", owner.model},
                               {"preset", owner.preset},
                               {"workload_digest", owner.workload_digest}};
  for (const auto& [name, value] : owner.knobs) {
    const Knob* knob = find_knob(name);
    if (knob == nullptr || !knob->keeps_bits) metadata["knob." + name] = value;
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

Digest write_checkpoint(const std::filesystem::path& path, const NamedTensors& tensors, const OptimizerNumbers& numbers,
                        const CheckpointOwner& owner, const CheckpointPosition& position) {
  SafetensorsMetadata metadata = owner_metadata(owner);
  metadata["steps_done"] = std::to_string(position.steps_done);
  metadata["chain"] = to_hex(position.chain);
  metadata["written_by"] = position.written_by;
  metadata["ranks"] = std::to_string(position.ranks);
  // Makes the checksum one that only a reader of this very file can know.
  metadata["written_monotonic_ns"] =
      std::to_string(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
  for (const auto& [name, value] : numbers) {
    metadata[std::string(kNumberPrefix) + name] = hex64(std::bit_cast<std::uint64_t>(value));
  }
  const Digest checksum = checksum_of({tensors.begin(), tensors.end()}, metadata);
  metadata[kChecksumKey] = to_hex(checksum);
  write_tensors(path, tensors, metadata);
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
  const std::vector<WholeTensor> tensors = whole_tensors(state);
  for (const WholeTensor& tensor : tensors) {
    const auto found = file_.tensors.find(tensor.name);
    if (found == file_.tensors.end()) refuse_checkpoint("foreign", "tensor `" + tensor.name + "` is missing");
    if (found->second.sizes() != tensor.like->sizes() || found->second.scalar_type() != tensor.like->scalar_type()) {
      refuse_checkpoint("foreign", "tensor `" + tensor.name + "` has another shape or type");
    }
  }
  if (file_.tensors.size() != tensors.size()) {
    refuse_checkpoint("foreign", "it holds " + std::to_string(file_.tensors.size()) + " tensors, this run has " +
                                     std::to_string(tensors.size()));
  }
}

std::int64_t Checkpoint::count_in(const std::string& key) const {
  const std::string& text = metadata(key);
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1) {
    refuse_checkpoint("foreign", key + " `" + text + "` is no number of them");
  }
  return count;
}

void Checkpoint::read_position(const TrainState& state) {
  position_.steps_done = count_in("steps_done");
  position_.ranks = count_in("ranks");
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

const at::Tensor& Checkpoint::tensor(const std::string& name) const { return file_.tensors.at(name); }

void Checkpoint::restore(TrainState& state, const LeftOut& left_out) const {
  const c10::NoGradGuard no_grad;
  for (const WholeTensor& tensor : whole_tensors(state)) {
    const bool is_left = (tensor.role == TensorRole::parameter && left_out.parameters) ||
                         (tensor.role == TensorRole::optimizer_state && left_out.optimizer) ||
                         (tensor.role == TensorRole::buffer && left_out.buffers) ||
                         (tensor.role == TensorRole::scaler_state && left_out.scaler);
    if (is_left || tensor.here == nullptr) continue;
    const at::Tensor& whole = file_.tensors.at(tensor.name);
    const bool is_misplaced = left_out.places && tensor.is_shared_out;
    at::Tensor target = *tensor.here;
    target.copy_(own_part(tensor, is_misplaced ? whole.view({-1}).roll(1) : whole));
  }
  state.parameters_were_written();
  if (!left_out.optimizer) state.optimizer().set_numbers(numbers_);
}

}  // namespace reprobench
