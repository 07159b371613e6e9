#include "matrix/spec/files/weights_file.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/safetensors.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/contract/checksum_list.hpp"
#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/files/input_text.hpp"
#include "matrix/spec/files/json_reader.hpp"
#include "matrix/spec/files/tensor_file.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kUsualFile = "model.safetensors";
constexpr std::string_view kUsualIndex = "model.safetensors.index.json";
constexpr std::size_t kMostShardErrors = 100;

// The shards that an index names, each checked, and held against what the index says of it.
class ShardCheck {
 public:
  ShardCheck(const WeightsIndex& index, const std::filesystem::path& path) : path_(path) {
    for (const WeightsIndex::Tensor& tensor : index.tensors) named_[tensor.shard].emplace(tensor.name, tensor.mark);
  }

  // SHA-256 by name.
  std::map<std::string, std::string> read() {
    std::map<std::string, std::string> digests;
    for (const auto& [shard, tensors] : named_) {
      const std::filesystem::path file = path_.parent_path() / shard;
      if (!std::filesystem::exists(file)) {
        diagnostics_.error(tensors.begin()->second, "RB027",
                           fmt::format("`{}` is not beside the index; {} tensor{} would be in it", shard,
                                       tensors.size(), tensors.size() == 1 ? "" : "s"));
        continue;
      }
      try {
        const TensorFile found = read_tensor_file(file.string());
        digests[shard] = found.sha256;
        compare(shard, found.tensors, tensors);
      } catch (const SpecError& error) {
        diagnostics_.add(error);
      }
      if (diagnostics_.size() >= kMostShardErrors) break;
    }
    diagnostics_.throw_if_any();
    return digests;
  }

 private:
  void compare(const std::string& shard, const std::vector<SafetensorsEntry>& tensors,
               const std::map<std::string, Mark>& named) {
    std::set<std::string> found;
    for (const SafetensorsEntry& tensor : tensors) {
      found.insert(tensor.name);
      const auto [first, is_new] = shard_of_.try_emplace(tensor.name, shard);
      if (!is_new) {
        error({path_.string(), 0, 0},
              fmt::format("tensor `{}` is in `{}` and in `{}`", tensor.name, first->second, shard));
      } else if (!named.contains(tensor.name)) {
        error({path_.string(), 0, 0},
              fmt::format("`{}` has tensor `{}`, which the index does not place there", shard, tensor.name));
      }
    }
    for (const auto& [name, mark] : named) {
      if (!found.contains(name)) error(mark, fmt::format("`{}` has no tensor `{}`", shard, name));
    }
  }

  void error(const Mark& mark, std::string what) {
    if (diagnostics_.size() < kMostShardErrors) diagnostics_.error(mark, "RB041", std::move(what));
  }

  std::filesystem::path path_;
  std::map<std::string, std::map<std::string, Mark>> named_;  // by shard
  std::map<std::string, std::string> shard_of_;               // of a tensor, as the files have it
  Diagnostics diagnostics_;
};

WeightsFile read_index(const std::string& path) {
  const std::string text = read_input_file(path, kMaxJsonBytes);
  const auto digests = ShardCheck(parse_weights_index(text, path), std::filesystem::absolute(path)).read();
  WeightsFile weights;
  weights.file = std::filesystem::absolute(path).string();
  for (const auto& [shard, _] : digests) weights.shards.push_back(shard);
  weights.sha256 =
      sha256_of_text(checksum_list(std::filesystem::path(path).filename().string(), sha256_of_text(text), digests));
  return weights;
}

std::string file_in(const std::filesystem::path& folder) {
  const bool has_file = std::filesystem::exists(folder / kUsualFile);
  const bool has_index = std::filesystem::exists(folder / kUsualIndex);
  const Mark mark{folder.string(), 0, 0};
  if (has_file && has_index) {
    throw_spec_error(mark, "RB027", fmt::format("the folder has `{}` and `{}`", kUsualFile, kUsualIndex),
                     "name the one of the two that is meant");
  }
  if (has_file || has_index) return (folder / (has_file ? kUsualFile : kUsualIndex)).string();
  std::set<std::string> others;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") others.insert(entry.path().filename().string());
  }
  throw_spec_error(
      mark, "RB027", fmt::format("the folder has neither `{}` nor `{}`", kUsualFile, kUsualIndex),
      others.empty() ? "weights are .safetensors files" : fmt::format("it has {}", fmt::join(others, ", ")));
}

}  // namespace

WeightsFile read_weights_file(const std::string& path) {
  const std::string file = std::filesystem::is_directory(path) ? file_in(path) : path;
  if (std::filesystem::path(file).extension() == ".json") return read_index(file);
  const TensorFile found = read_tensor_file(file);
  return {found.file, {}, found.sha256};
}

}  // namespace reprobench
