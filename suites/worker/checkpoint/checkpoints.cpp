#include "suites/worker/checkpoint/checkpoints.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <map>

#include <ATen/core/Tensor.h>

#include "matrix/base/digits.hpp"
#include "suites/worker/device.hpp"
#include "suites/worker/parallelism/parallelism.hpp"
#include "suites/worker/record/host_tensor.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kFilePrefix = "checkpoint-";
constexpr const char* kWeightsPrefix = "weights-";
constexpr std::string_view kFileSuffix = ".safetensors";

std::string file_name(const char* prefix, std::int64_t step) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "%s%08lld.safetensors", prefix, static_cast<long long>(step));
  return name.data();
}
std::string checkpoint_name(std::int64_t step) { return file_name("checkpoint-", step); }
std::string weights_name(std::int64_t step) { return file_name(kWeightsPrefix, step); }

// Nothing for a file of another name.
std::optional<std::int64_t> step_in_name(const std::string& name) {
  if (!name.starts_with(kFilePrefix) || !name.ends_with(kFileSuffix)) return std::nullopt;
  const std::string digits = name.substr(kFilePrefix.size(), name.size() - kFilePrefix.size() - kFileSuffix.size());
  const bool is_number = digits.size() <= 15 && is_all_digits(digits);
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

// A writer that was killed leaves its hidden file behind (base/pending_file.hpp).
void remove_unfinished(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool is_ours =
        name.starts_with("." + std::string(kFilePrefix)) || name.starts_with(std::string(".") + kWeightsPrefix);
    if (is_ours && name.ends_with(".tmp")) {
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
    {"resume_shard_misplaced", {.places = true}},
};

ResumeFault planted_fault(const CellRequest& request, std::int64_t first_step, const Sharding& sharding) {
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
  if (row->left_out.places && !sharding.is_on()) {
    throw RunFailure("bad_request", "inject: `" + request.inject->kind + "` is of what ranks share out (`zero_stage`)");
  }
  return *row;
}

CheckpointOwner owner_of(const CellRequest& request, const Digest& workload, const KnobValues& knobs) {
  return {request.workload.model, request.workload.preset, to_hex(workload), knobs};
}

WholeNumbers numbers_of(const Digest& digest) {
  return {std::bit_cast<std::int64_t>(digest.low), std::bit_cast<std::int64_t>(digest.high)};
}

Digest digest_of_numbers(const WholeNumbers& numbers) {
  return {std::bit_cast<std::uint64_t>(numbers[0]), std::bit_cast<std::uint64_t>(numbers[1])};
}

std::vector<std::int64_t> steps_of(const std::map<std::int64_t, std::string>& files) {
  std::vector<std::int64_t> newest_first;
  for (auto file = files.rbegin(); file != files.rend(); ++file) newest_first.push_back(file->first);
  return newest_first;
}

}  // namespace

Checkpoints::Checkpoints(const CellRequest& request, const Digest& workload, const CheckpointedRun& run,
                         CellResult& result)
    : asked_(request.checkpoint),
      owner_(owner_of(request, workload, result.knobs_resolved)),
      nonce_(request.nonce),
      model_(run.model),
      preset_(run.preset),
      state_(run.state),
      parallelism_(run.parallelism),
      device_(run.device),
      gathered_(gathered_type_of(run.model, run.preset, setting_in<&Settings::gathered_weights>(request.knobs))),
      result_(result),
      chain_before_(workload) {
  if (asked_) open_folder(request);
  if (request.inject && is_of_resuming(*request.inject) && !resumed_) {
    throw RunFailure("bad_request", "inject: this process goes on from no checkpoint");
  }
}

bool Checkpoints::writes() const { return parallelism_.layout().rank == 0; }

void Checkpoints::open_folder(const CellRequest& request) {
  folder_ = asked_->folder;
  result_.checkpoints.emplace();
  std::filesystem::create_directories(folder_);
  if (writes()) remove_unfinished(folder_);
  if (asked_->resume) resume(request);
}

// The candidates are those that rank 0 sees; the first that every rank takes is gone on from by all.
void Checkpoints::resume(const CellRequest& request) {
  std::map<std::int64_t, std::string> files = checkpoints_in(folder_);
  for (const std::int64_t step : parallelism_.said_by_first(steps_of(files))) {
    const std::string file = files.contains(step) ? files.at(step) : checkpoint_name(step);
    std::unique_ptr<Checkpoint> checkpoint;
    std::string reason;
    try {
      checkpoint = open(step, file, request);
    } catch (const CheckpointRefused& refused) {
      reason = refused.what();
    }
    const std::string elsewhere = refused_elsewhere(checkpoint.get());
    if (checkpoint != nullptr && elsewhere.empty()) return take_from(*checkpoint, file, request);
    refused_.insert(file);
    result_.checkpoints->refused.push_back({file, reason.empty() ? elsewhere : reason});
  }
}

// Throws CheckpointRefused.
std::unique_ptr<Checkpoint> Checkpoints::open(std::int64_t step, const std::string& file,
                                              const CellRequest& request) const {
  auto checkpoint = std::make_unique<Checkpoint>(folder_ / file, state_, owner_);
  const std::int64_t steps_done = checkpoint->position().steps_done;
  if (steps_done != step) throw CheckpointRefused("foreign: it is of step " + std::to_string(steps_done));
  if (steps_done >= last_step_of(request)) {
    throw CheckpointRefused("foreign: it is of step " + std::to_string(steps_done) + ", after which this run has none");
  }
  return checkpoint;
}

// Why the ranks do not all take it, of those that are not this one; empty: they do. `checkpoint`: null if this one does
// not.
std::string Checkpoints::refused_elsewhere(const Checkpoint* checkpoint) const {
  WholeNumbers own{0, 0, 0};
  if (checkpoint != nullptr) {
    own = numbers_of(checkpoint->checksum());
    own.push_back(1);
  }
  const std::vector<WholeNumbers> all = parallelism_.said_by_all(own);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] == own) continue;
    const bool takes_it = all[rank].back() != 0;
    return "elsewhere: rank " + std::to_string(rank) + (takes_it ? " read another checksum" : " does not take it");
  }
  return "";
}

void Checkpoints::take_from(const Checkpoint& checkpoint, const std::string& file, const CellRequest& request) {
  const CheckpointPosition& position = checkpoint.position();
  first_step_ = position.steps_done + 1;
  const ResumeFault fault = planted_fault(request, first_step_, state_.sharding());
  checkpoint.restore(state_, fault.left_out);
  forgotten_steps_ = fault.forgets_position ? position.steps_done : 0;
  chain_before_ = position.chain;
  resumed_ = ResumedFrom{position.steps_done,           file,
                         to_hex(checkpoint.checksum()), position.written_by,
                         to_hex(position.chain),        state_digest(checkpoint)};
  result_.checkpoints->resumed = resumed_;
}

// From memory, so that what was left out shows, in the order that ResumedFrom::state has.
std::string Checkpoints::state_digest(const Checkpoint& checkpoint) const {
  std::vector<WholeTensor> tensors = whole_tensors(state_);
  const bool is_of_one_rank = parallelism_.layout().ranks == 1 && checkpoint.position().ranks == 1;
  std::ranges::stable_sort(tensors, [&](const WholeTensor& a, const WholeTensor& b) {
    if (a.role != b.role) return a.role < b.role;
    return !is_of_one_rank && a.name < b.name;
  });
  DigestBuilder root;
  for (const WholeTensor& tensor : tensors) {
    const at::Tensor whole = with_own_part(tensor, checkpoint.tensor(tensor.name));
    append_tensor(root, tensor.name, to_string(tensor.role), to_hex(device_.digest(whole)));
  }
  return to_hex(root.finish());
}

bool Checkpoints::is_due(std::int64_t step) const {
  if (!asked_) return false;
  return step == asked_->stop_after || (asked_->every_steps > 0 && step % asked_->every_steps == 0);
}

bool Checkpoints::stops_if(bool is_asked) const {
  if (!asked_) return is_asked;
  const std::vector<WholeNumbers> all = parallelism_.said_by_all({is_asked ? 1 : 0});
  return std::ranges::any_of(all, [](const WholeNumbers& said) { return said.front() != 0; });
}

Digest Checkpoints::chain_of_all(const Digest& chain) const {
  std::vector<Digest> chains;
  for (const WholeNumbers& said : parallelism_.said_by_all(numbers_of(chain)))
    chains.push_back(digest_of_numbers(said));
  return chain_of_ranks(chains);
}

// Running statistics are each rank's own, of its micro-batches: there is no one state that all could go on from.
void Checkpoints::check_buffers(std::int64_t step) const {
  if (parallelism_.layout().ranks == 1) return;
  for (const StateTensor& tensor : state_.tensors()) {
    if (tensor.role != TensorRole::buffer) continue;
    const std::vector<WholeNumbers> all = parallelism_.said_by_all(numbers_of(device_.digest(*tensor.value)));
    if (std::ranges::all_of(all, [&](const WholeNumbers& said) { return said == all.front(); })) continue;
    throw RunFailure("unsupported", "a checkpoint of several ranks: each has a `" + tensor.name +
                                        "` of its own after step " + std::to_string(step));
  }
}

void Checkpoints::write(std::int64_t step, const Digest& chain) {
  device_.synchronize();
  const Digest chain_of_ranks = chain_of_all(chain);
  check_buffers(step);
  NamedTensors tensors;
  for (const WholeTensor& tensor : whole_tensors(state_)) {
    const at::Tensor whole = put_together(tensor, parallelism_);
    if (writes()) tensors.emplace_back(tensor.name, on_host(whole));
  }
  if (writes()) write_files(step, chain_of_ranks, tensors);
}

// The checkpoint last: one that is there has its weights beside it.
void Checkpoints::write_files(std::int64_t step, const Digest& chain_of_ranks, const NamedTensors& tensors) {
  if (gathered_) {
    const std::string name = weights_name(step);
    const std::string sha256 = write_gathered_weights(folder_ / name, tensors, *gathered_, model_, preset_);
    std::erase_if(result_.checkpoints->weights, [&](const WrittenWeights& other) { return other.step == step; });
    result_.checkpoints->weights.push_back({step, name, sha256});
  }
  const std::string file = checkpoint_name(step);
  const CheckpointPosition position{step, chain_of_ranks, nonce_, parallelism_.layout().ranks};
  const Digest checksum = write_checkpoint(folder_ / file, tensors, state_.optimizer().numbers(), owner_, position);
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
    std::filesystem::remove(folder_ / weights_name(oldest->first));
    std::erase_if(result_.checkpoints->weights,
                  [&](const WrittenWeights& written) { return written.step == oldest->first; });
    std::erase_if(result_.checkpoints->written,
                  [&](const WrittenCheckpoint& written) { return written.step == oldest->first; });
    files.erase(oldest);
  }
}

}  // namespace reprobench
