#include "suites/worker/weights/own_weights.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "matrix/base/plain_sha256.hpp"
#include "matrix/contract/checksum_list.hpp"
#include "suites/worker/data/own_file.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/weights/own_tensor_file.hpp"
#include "suites/worker/weights/weight_elements.hpp"
#include "suites/worker/weights/weight_names.hpp"

namespace reprobench {
namespace {

std::vector<OwnTensorFile> opened(const WorkloadRequest& workload) {
  const std::filesystem::path path = workload.weights_file;
  std::vector<OwnTensorFile> files;
  if (workload.weights_shards.empty()) files.emplace_back(path);
  for (const std::string& name : workload.weights_shards) files.emplace_back(path.parent_path() / name);
  return files;
}

std::vector<SafetensorsEntry> entries_of(const std::vector<OwnTensorFile>& files) {
  std::vector<SafetensorsEntry> entries;
  for (const OwnTensorFile& file : files) entries.insert(entries.end(), file.tensors().begin(), file.tensors().end());
  return entries;
}

std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += (text.empty() ? "" : "; ") + sentence;
  return text;
}

// As the workload names what those files hold; all of them have been read.
std::string identity_of(const WorkloadRequest& workload, std::vector<OwnTensorFile>& files) {
  if (workload.weights_shards.empty()) return files.front().sha256();
  std::map<std::string, std::string> shards;
  for (OwnTensorFile& file : files) shards[file.path().filename().string()] = file.sha256();
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

  void take(const SafetensorsEntry& entry, std::uint64_t at_byte, std::span<const std::byte> bytes) {
    const auto target = names_.targets.find(entry.name);
    const auto copy = names_.copies.find(entry.name);
    if (target == names_.targets.end() && copy == names_.copies.end()) return;
    const std::size_t element_bytes = weight_element_bytes(entry.dtype);
    const auto first = static_cast<std::int64_t>(at_byte / element_bytes);
    values_.resize(bytes.size() / element_bytes);
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
  std::vector<OwnTensorFile> files = opened(workload);
  const std::vector<SafetensorsEntry> entries = entries_of(files);
  WeightNames names = match_weights(model, preset, entries);
  std::vector<std::string> problems = std::move(names.problems);
  if (!problems.empty()) names = {};  // the files are still read, to say whether they are those that were planned
  Filling filling(names, tensors_);
  for (OwnTensorFile& file : files) {
    file.read([&](const SafetensorsEntry& entry, std::uint64_t at_byte, std::span<const std::byte> bytes) {
      filling.take(entry, at_byte, bytes);
    });
  }
  check_is_planned(workload.weights_file, identity_of(workload, files), workload.weights_sha256);
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
