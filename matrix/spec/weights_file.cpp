#include "matrix/spec/weights_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include "matrix/contract/checksum_list.hpp"
#include "matrix/contract/file_descriptor.hpp"
#include "matrix/contract/safetensors.hpp"
#include "matrix/contract/sha256.hpp"
#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/input_text.hpp"
#include "matrix/spec/json_reader.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kUsualFile = "model.safetensors";
constexpr std::string_view kUsualIndex = "model.safetensors.index.json";
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kMostShardErrors = 100;

struct ReadFile {
  std::string sha256;
  std::vector<SafetensorsEntry> tensors;
};

// One safetensors file from front to back; what is checked is what is hashed.
class Reading {
 public:
  explicit Reading(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    struct stat status {};
    if (!fd_.is_open() || fstat(fd_.get(), &status) != 0) refuse(std::strerror(errno));
    if (!S_ISREG(status.st_mode)) refuse("it is not a regular file");
    left_bytes_ = static_cast<std::uint64_t>(status.st_size);
  }

  ReadFile all() {
    const std::uint64_t file_bytes = left_bytes_;
    ReadFile file;
    try {
      std::string head = next(8);
      head += next(safetensors_head_bytes(path_, std::as_bytes(std::span(head)), file_bytes) - head.size());
      file.tensors = parse_safetensors(path_, std::as_bytes(std::span(head)), file_bytes).tensors;
    } catch (const ContractError& error) {
      const std::string_view what = error.what();
      throw_spec_error(
          {path_, 0, 0}, "RB041",
          "no whole safetensors file: " + std::string(what.substr(std::min(what.size(), path_.size() + 2))),
          "fetch it again, or write it with the `safetensors` package");
    }
    while (left_bytes_ > 0) next(kPieceBytes);
    file.sha256 = to_hex(sha_.finish());
    return file;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw_spec_error({path_, 0, 0}, "RB027", "cannot be read: " + why);
  }

  // So many bytes, or all that are left.
  std::string next(std::uint64_t count) {
    std::string bytes(std::min(count, left_bytes_), '\0');
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t got = ::read(fd_.get(), bytes.data() + done, bytes.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse(std::strerror(errno));
      if (got == 0) refuse("it becomes shorter while it is read");
      done += static_cast<std::size_t>(got);
    }
    left_bytes_ -= bytes.size();
    sha_.update(bytes);
    return bytes;
  }

  std::string path_;
  FileDescriptor fd_;
  std::uint64_t left_bytes_ = 0;
  Sha256 sha_;
};

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
        const ReadFile found = Reading(file.string()).all();
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
  return {std::filesystem::absolute(file).string(), {}, Reading(file).all().sha256};
}

}  // namespace reprobench
