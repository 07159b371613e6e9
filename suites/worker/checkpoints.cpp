#include "suites/worker/checkpoints.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include <ATen/core/Tensor.h>

#include "suites/worker/device.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kFilePrefix = "checkpoint-";
constexpr std::string_view kFileSuffix = ".safetensors";

std::string checkpoint_name(std::int64_t step) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "checkpoint-%08lld.safetensors", static_cast<long long>(step));
  return name.data();
}

// Nothing for a file of another name.
std::optional<std::int64_t> step_in_name(const std::string& name) {
  if (!name.starts_with(kFilePrefix) || !name.ends_with(kFileSuffix)) return std::nullopt;
  const std::string digits = name.substr(kFilePrefix.size(), name.size() - kFilePrefix.size() - kFileSuffix.size());
  const bool is_number = !digits.empty() && digits.size() <= 15 &&
                         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? std::optional(std::stoll(digits)) : std::nullopt;
}

// By step.
std::map<std::int64_t, std::string> checkpoints_in(const std::filesystem::path& folder) {
  std::map<std::int64_t, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (const auto step = step_in_name(name)) files[*step] = name;
  }
  return files;
}

// A writer that was killed leaves its hidden file behind (contract/pending_file.hpp).
void remove_unfinished(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("." + std::string(kFilePrefix)) && name.ends_with(".tmp")) {
      std::filesystem::remove(entry.path());
    }
  }
}

struct ResumeFault {
  std::string_view kind;
  LeftOut left_out;
  bool forgets_position = false;
};

// Ways in which going on from a checkpoint goes wrong without a word, so that the check on it has something to find.
constexpr ResumeFault kResumeFaults[] = {
    {"resume_from_step_0", {.parameters = true, .optimizer = true, .buffers = true, .scaler = true}, true},
    {"resume_without_optimizer_state", {.optimizer = true}},
    {"resume_without_buffers", {.buffers = true}},
    {"resume_without_loss_scale", {.scaler = true}},
    {"resume_without_data_position", {}, true},
};

ResumeFault planted_fault(const CellRequest& request, std::int64_t first_step) {
  if (!request.inject || !is_of_resuming(*request.inject)) return {};
  if (request.inject->step != first_step) {
    throw RunFailure("bad_request", "inject: the run goes on with step " + std::to_string(first_step) + ", where `" +
                                        request.inject->kind + "` has to be planted, not at step " +
                                        std::to_string(request.inject->step));
  }
  const auto* const row = std::ranges::find(kResumeFaults, request.inject->kind, &ResumeFault::kind);
  if (row == std::end(kResumeFaults)) {
    throw RunFailure("bad_request", "inject: there is no kind `" + request.inject->kind + "`");
  }
  return *row;
}

CheckpointOwner owner_of(const CellRequest& request, const Digest& workload, const KnobValues& knobs) {
  return {request.workload.model, request.workload.preset, to_hex(workload),
          "rank " + std::to_string(request.rank) + " of " + std::to_string(request.world_size), knobs};
}

}  // namespace

Checkpoints::Checkpoints(const CellRequest& request, const Digest& workload, TrainState& state, ComputeDevice& device,
                         CellResult& result)
    : asked_(request.checkpoint),
      owner_(owner_of(request, workload, result.knobs_resolved)),
      nonce_(request.nonce),
      state_(state),
      device_(device),
      result_(result),
      chain_before_(workload) {
  if (request.world_size > 1 && (asked_ || request.workload.resume_after > 0)) {
    throw RunFailure("unsupported", "checkpoints of several ranks: nobody has made them write the same step");
  }
  if (asked_) open_folder(request);
  if (request.inject && is_of_resuming(*request.inject) && !resumed_) {
    throw RunFailure("bad_request", "inject: this process goes on from no checkpoint");
  }
}

void Checkpoints::open_folder(const CellRequest& request) {
  folder_ = asked_->folder;
  result_.checkpoints.emplace();
  std::filesystem::create_directories(folder_);
  remove_unfinished(folder_);
  if (asked_->resume) resume(request);
}

void Checkpoints::resume(const CellRequest& request) {
  const auto files = checkpoints_in(folder_);
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    try {
      const Checkpoint checkpoint(folder_ / file->second, state_, owner_);
      if (checkpoint.position().steps_done != file->first) {
        throw CheckpointRefused("foreign: it is of step " + std::to_string(checkpoint.position().steps_done));
      }
      return take_from(checkpoint, file->second, request);
    } catch (const CheckpointRefused& refused) {
      refused_.insert(file->second);
      result_.checkpoints->refused.push_back({file->second, refused.what()});
    }
  }
}

void Checkpoints::take_from(const Checkpoint& checkpoint, const std::string& file, const CellRequest& request) {
  const CheckpointPosition& position = checkpoint.position();
  if (position.steps_done >= last_step_of(request)) {
    throw CheckpointRefused("foreign: it is of step " + std::to_string(position.steps_done) +
                            ", after which this run has none");
  }
  first_step_ = position.steps_done + 1;
  const ResumeFault fault = planted_fault(request, first_step_);
  checkpoint.restore(state_, fault.left_out);
  forgotten_steps_ = fault.forgets_position ? position.steps_done : 0;
  chain_before_ = position.chain;
  resumed_ = ResumedFrom{position.steps_done,    file,          to_hex(checkpoint.checksum()), position.written_by,
                         to_hex(position.chain), state_digest()};
  result_.checkpoints->resumed = resumed_;
}

// As the trace's final line has them, and from memory: what was left out shows.
std::string Checkpoints::state_digest() const {
  DigestBuilder root;
  for (const TensorRole role :
       {TensorRole::parameter, TensorRole::optimizer_state, TensorRole::buffer, TensorRole::scaler_state}) {
    for (const StateTensor& tensor : state_.tensors()) {
      if (tensor.role == role) append_tensor(root, tensor.name, to_string(role), to_hex(device_.digest(*tensor.value)));
    }
  }
  return to_hex(root.finish());
}

bool Checkpoints::is_due(std::int64_t step) const {
  if (!asked_) return false;
  return step == asked_->stop_after || (asked_->every_steps > 0 && step % asked_->every_steps == 0);
}

void Checkpoints::write(std::int64_t step, const Digest& chain) {
  device_.synchronize();
  const std::string file = checkpoint_name(step);
  const Digest checksum = write_checkpoint(folder_ / file, state_, owner_, {step, chain, nonce_});
  refused_.erase(file);  // it was just replaced
  auto& written = result_.checkpoints->written;
  std::erase_if(written, [&](const WrittenCheckpoint& other) { return other.step == step; });
  written.push_back({step, file, to_hex(checksum)});
  drop_older(step);
}

// Only what lies behind is counted: a newer file was refused when the run began. One that was refused is no checkpoint
// that could be gone on from, so it neither counts nor goes.
void Checkpoints::drop_older(std::int64_t newest) {
  auto files = checkpoints_in(folder_);
  std::erase_if(files, [&](const auto& file) { return file.first > newest || refused_.contains(file.second); });
  while (static_cast<std::int64_t>(files.size()) > std::max<std::int64_t>(asked_->keep, 1)) {
    const auto oldest = files.begin();
    std::filesystem::remove(folder_ / oldest->second);
    std::erase_if(result_.checkpoints->written,
                  [&](const WrittenCheckpoint& written) { return written.step == oldest->first; });
    files.erase(oldest);
  }
}

}  // namespace reprobench
