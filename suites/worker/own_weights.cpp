#include "suites/worker/own_weights.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "matrix/contract/checksum_list.hpp"
#include "matrix/contract/file_descriptor.hpp"
#include "matrix/contract/plain_sha256.hpp"
#include "suites/worker/own_file.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/weight_elements.hpp"
#include "suites/worker/weight_names.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;  // a multiple of every element's size

// One safetensors file from front to back; everything that was read is in the digest.
class WeightFile {
 public:
  explicit WeightFile(std::filesystem::path path)
      : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    struct stat status {};
    if (!fd_.is_open() || fstat(fd_.get(), &status) != 0)
      refuse(std::string("cannot be opened any more: ") + std::strerror(errno));
    if (!S_ISREG(status.st_mode)) refuse("is not there any more as a file");
    const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
    try {
      std::vector<std::byte> head(std::min<std::uint64_t>(file_bytes, 8));
      fill(head);
      const std::uint64_t head_bytes = safetensors_head_bytes(path_.string(), head, file_bytes);
      std::vector<std::byte> rest(head_bytes - head.size());
      fill(rest);
      head.insert(head.end(), rest.begin(), rest.end());
      tensors_ = parse_safetensors(path_.string(), head, file_bytes).tensors;
    } catch (const ContractError& error) {
      throw RunFailure(kInputChanged, std::string("not the file that was planned: ") + error.what());
    }
  }

  const std::filesystem::path& path() const { return path_; }
  const std::vector<SafetensorsEntry>& tensors() const { return tensors_; }  // by name

  // Hands over each tensor's elements in the order of the file, in pieces: take(entry, first element, bytes).
  template <class Take>
  void read(Take take) {
    std::vector<const SafetensorsEntry*> order;
    for (const SafetensorsEntry& tensor : tensors_) order.push_back(&tensor);
    std::ranges::sort(order, {},
                      [](const SafetensorsEntry* tensor) { return std::pair(tensor->begin_bytes, tensor->end_bytes); });
    std::vector<std::byte> piece;
    for (const SafetensorsEntry* tensor : order) {
      const std::size_t element_bytes = std::max<std::size_t>(1, weight_element_bytes(tensor->dtype));
      std::uint64_t left = tensor->end_bytes - tensor->begin_bytes;
      for (std::int64_t first = 0; left > 0; left -= piece.size()) {
        piece.resize(std::min<std::uint64_t>(left, kPieceBytes));
        fill(piece);
        take(*tensor, first, std::span<const std::byte>(piece));
        first += static_cast<std::int64_t>(piece.size() / element_bytes);
      }
    }
  }

  std::string sha256() { return sha_.finish(); }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw RunFailure(kInputChanged, path_.string() + " " + why);
  }

  void fill(std::span<std::byte> bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::read(fd_.get(), bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
      if (count == 0) refuse("is shorter than it was a moment ago");
      done += static_cast<std::size_t>(count);
    }
    sha_.update({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  std::filesystem::path path_;
  FileDescriptor fd_;
  std::vector<SafetensorsEntry> tensors_;
  PlainSha256 sha_;
};

std::vector<WeightFile> opened(const WorkloadRequest& workload) {
  const std::filesystem::path path = workload.weights_file;
  std::vector<WeightFile> files;
  if (workload.weights_shards.empty()) files.emplace_back(path);
  for (const std::string& name : workload.weights_shards) files.emplace_back(path.parent_path() / name);
  return files;
}

std::vector<SafetensorsEntry> entries_of(const std::vector<WeightFile>& files) {
  std::vector<SafetensorsEntry> entries;
  for (const WeightFile& file : files) entries.insert(entries.end(), file.tensors().begin(), file.tensors().end());
  return entries;
}

std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += (text.empty() ? "" : "; ") + sentence;
  return text;
}

// As the workload names what those files hold; all of them have been read.
std::string identity_of(const WorkloadRequest& workload, std::vector<WeightFile>& files) {
  if (workload.weights_shards.empty()) return files.front().sha256();
  std::map<std::string, std::string> shards;
  for (WeightFile& file : files) shards[file.path().filename().string()] = file.sha256();
  const std::filesystem::path index = workload.weights_file;
  return plain_sha256_of_text(
      checksum_list(index.filename().string(), plain_sha256_of_text(text_of_own_file(index)), shards));
}

// Makes tensors of the elements as they come.
class Filling {
 public:
  Filling(const WeightNames& names, std::map<std::string, std::unique_ptr<at::Tensor>>& tensors)
      : names_(names), tensors_(tensors) {
    for (const auto& [_, target] : names.targets) {
      tensors_[target.name] = std::make_unique<at::Tensor>(at::empty(target.shape, at::kFloat));
    }
    for (const auto& [copy, original] : names.copies) hashed_[original];
  }

  void take(const SafetensorsEntry& entry, std::int64_t first, std::span<const std::byte> bytes) {
    const auto target = names_.targets.find(entry.name);
    const auto copy = names_.copies.find(entry.name);
    if (target == names_.targets.end() && copy == names_.copies.end()) return;
    values_.resize(bytes.size() / weight_element_bytes(entry.dtype));
    widen_or_round(entry.dtype, bytes, values_);
    note_not_finite(entry, first);
    if (copy != names_.copies.end()) hash(copies_[entry.name]);
    if (target != names_.targets.end()) fill(target->second, entry, first);
  }

  std::vector<std::string> problems() {
    for (auto& [name, sha] : copies_) {
      const std::string& original = names_.copies.at(name);
      if (originals_.find(original) == originals_.end()) originals_[original] = hashed_.at(original).finish();
      if (sha.finish() == originals_.at(original)) continue;
      problems_.push_back("`" + name + "` is not `" + original + "`, which the model has in its place");
    }
    return std::move(problems_);
  }

 private:
  void note_not_finite(const SafetensorsEntry& entry, std::int64_t first) {
    const std::size_t at = first_not_finite(values_);
    if (at == values_.size() || not_finite_ == entry.name) return;
    not_finite_ = entry.name;
    problems_.push_back("`" + entry.name + "` has no finite fp32 number at element " +
                        std::to_string(first + static_cast<std::int64_t>(at)));
  }

  void fill(const WeightTarget& target, const SafetensorsEntry& entry, std::int64_t first) {
    float* const to = static_cast<float*>(tensors_.at(target.name)->data_ptr());
    if (target.is_transposed) {
      place_transposed(values_, first, entry.shape[0], entry.shape[1], to);
    } else {
      std::copy(values_.begin(), values_.end(), to + first);
    }
    if (const auto original = hashed_.find(target.name); original != hashed_.end()) hash(original->second);
  }

  void hash(PlainSha256& sha) const {
    sha.update({reinterpret_cast<const char*>(values_.data()), values_.size() * sizeof(float)});
  }

  const WeightNames& names_;
  std::map<std::string, std::unique_ptr<at::Tensor>>& tensors_;
  std::map<std::string, PlainSha256> hashed_;  // by our name: what the file has a second time
  std::map<std::string, PlainSha256> copies_;  // by the name in the file
  std::map<std::string, std::string> originals_;
  std::vector<float> values_;
  std::vector<std::string> problems_;
  std::string not_finite_;  // the latest tensor that was reported
};

}  // namespace

std::vector<std::string> problems_of_weights(const WorkloadRequest& workload, const Model& model,
                                             const ModelPreset& preset, std::span<const Model* const> all) {
  try {
    const std::vector<SafetensorsEntry> entries = entries_of(opened(workload));
    const std::vector<std::string> problems = match_weights(model, preset, entries).problems;
    if (problems.empty()) return {};
    return told_problems(model, preset, entries, all, problems);
  } catch (const RunFailure&) {
    return {};
  }
}

OwnWeights::OwnWeights(const WorkloadRequest& workload, const Model& model, const ModelPreset& preset,
                       std::span<const Model* const> all) {
  if (model.published_naming().by.empty()) {
    throw RunFailure("bad_request", "model `" + std::string(model.name()) + "` takes no weights of the user's");
  }
  std::vector<WeightFile> files = opened(workload);
  const std::vector<SafetensorsEntry> entries = entries_of(files);
  WeightNames names = match_weights(model, preset, entries);
  std::vector<std::string> problems = std::move(names.problems);
  if (!problems.empty()) names = {};  // the files are still read, to say whether they are those that were planned
  Filling filling(names, tensors_);
  for (WeightFile& file : files) {
    file.read([&](const SafetensorsEntry& entry, std::int64_t first, std::span<const std::byte> bytes) {
      filling.take(entry, first, bytes);
    });
  }
  if (const std::string found = identity_of(workload, files); found != workload.weights_sha256) {
    throw RunFailure(kInputChanged, workload.weights_file + " does not hold what was planned: it has SHA-256 " + found +
                                        " now, and the workload names " + workload.weights_sha256);
  }
  if (problems.empty()) problems = filling.problems();
  if (!problems.empty()) throw RunFailure(kInputRefused, joined(told_problems(model, preset, entries, all, problems)));
  use_ = {static_cast<std::int64_t>(tensors_.size()), names.drawn, names.passed_over};
}

OwnWeights::OwnWeights(OwnWeights&&) noexcept = default;
OwnWeights::~OwnWeights() = default;

at::Tensor OwnWeights::take(const std::string& name) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return {};
  at::Tensor tensor = std::move(*found->second);
  tensors_.erase(found);
  return tensor;
}

void OwnWeights::check_all_taken() const {
  if (tensors_.empty()) return;
  throw std::logic_error("`" + tensors_.begin()->first + "` was read from the user's weights and is used nowhere");
}

}  // namespace reprobench
