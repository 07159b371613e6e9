#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "matrix/contract/safetensors.hpp"

namespace reprobench {
namespace {

std::size_t element_size(const SafetensorsTensor& tensor) {
  const SafetensorsDtype* dtype = safetensors_dtype(tensor.dtype);
  if (dtype == nullptr)
    throw ContractError("safetensors: tensor `" + tensor.name + "` has no type `" + tensor.dtype + "`");
  return dtype->bytes;
}

void check_tensor(const SafetensorsTensor& tensor) {
  if (tensor.name == "__metadata__") throw ContractError("safetensors: no tensor may be called `__metadata__`");
  std::uint64_t bytes = element_size(tensor);
  bool fits = true;
  for (const std::int64_t size : tensor.shape) {
    fits = fits && size >= 0 && !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
  }
  if (!fits || bytes != tensor.bytes.size()) {
    throw ContractError("safetensors: tensor `" + tensor.name + "` has " + std::to_string(tensor.bytes.size()) +
                        " bytes, not those of its type and shape");
  }
}

// Length, JSON and the spaces that align the data.
std::string header_of(const std::vector<SafetensorsTensor>& tensors, const SafetensorsMetadata& metadata) {
  nlohmann::json object = nlohmann::json::object();
  if (!metadata.empty()) object["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const SafetensorsTensor& tensor : tensors) {
    if (object.contains(tensor.name)) throw ContractError("safetensors: two tensors are called `" + tensor.name + "`");
    object[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text;
  try {
    text = object.dump();
  } catch (const nlohmann::json::type_error&) {
    throw ContractError("safetensors: a name or a word of the metadata is not UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string header;
  for (int i = 0; i < 8; ++i)
    header.push_back(static_cast<char>(static_cast<std::uint64_t>(text.size()) >> (8 * i) & 255));
  return header + text;
}

[[noreturn]] void throw_write_error(int error, const std::filesystem::path& path) {
  throw std::system_error(error, std::generic_category(), "cannot write " + path.string());
}

// A file that is not there under its own name before it is complete and on the disk.
class PendingFile {
 public:
  explicit PendingFile(const std::filesystem::path& path)
      : path_(path), temporary_(path.string() + "." + std::to_string(getpid()) + ".tmp") {
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd_ < 0) throw_write_error(errno, path_);
  }
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile() {
    if (fd_ < 0) return;
    close(fd_);
    unlink(temporary_.c_str());
  }

  void append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw_write_error(errno, path_);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }

  void publish() {
    if (fsync(fd_) != 0) throw_write_error(errno, path_);
    std::filesystem::rename(temporary_, path_);
    close(fd_);
    fd_ = -1;
    const std::filesystem::path parent = path_.has_parent_path() ? path_.parent_path() : ".";
    const int folder = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) throw_write_error(errno, parent);
    const int error = fsync(folder) == 0 ? 0 : errno;
    close(folder);
    if (error != 0) throw_write_error(error, parent);
  }

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int fd_ = -1;
};

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::vector<SafetensorsTensor> tensors,
                       const SafetensorsMetadata& metadata) {
  for (const SafetensorsTensor& tensor : tensors) check_tensor(tensor);
  std::sort(tensors.begin(), tensors.end(), [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
    const std::size_t size_a = element_size(a);
    const std::size_t size_b = element_size(b);
    return size_a != size_b ? size_a > size_b : a.name < b.name;
  });
  const std::string header = header_of(tensors, metadata);
  PendingFile file(path);
  file.append(std::as_bytes(std::span(header)));
  for (const SafetensorsTensor& tensor : tensors) file.append(tensor.bytes);
  file.publish();
}

}  // namespace reprobench
