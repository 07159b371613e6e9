#include "suites/worker/weights/own_tensor_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "matrix/contract/version.hpp"
#include "suites/worker/data/own_file.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;  // a multiple of every element's size

}  // namespace

OwnTensorFile::OwnTensorFile(std::filesystem::path path)
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

void OwnTensorFile::read(const Take& take) {
  std::vector<const SafetensorsEntry*> order;
  for (const SafetensorsEntry& tensor : tensors_) order.push_back(&tensor);
  std::ranges::sort(order, {},
                    [](const SafetensorsEntry* tensor) { return std::pair(tensor->begin_bytes, tensor->end_bytes); });
  std::vector<std::byte> piece;
  for (const SafetensorsEntry* tensor : order) {
    const std::uint64_t bytes = tensor->end_bytes - tensor->begin_bytes;
    for (std::uint64_t at = 0; at < bytes; at += piece.size()) {
      piece.resize(std::min<std::uint64_t>(bytes - at, kPieceBytes));
      fill(piece);
      take(*tensor, at, std::span<const std::byte>(piece));
    }
  }
}

void OwnTensorFile::refuse(const std::string& why) const {
  throw RunFailure(kInputChanged, path_.string() + " " + why);
}

void OwnTensorFile::fill(std::span<std::byte> bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::read(fd_.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
    if (count == 0) refuse("is shorter than it was a moment ago");
    done += static_cast<std::size_t>(count);
  }
  sha_.update({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace reprobench
