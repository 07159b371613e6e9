#include "matrix/provision/wheel_unpack.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "matrix/base/write_fully.hpp"
#include "matrix/provision/library_name.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/sha256.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kRecordSuffix = ".dist-info/RECORD";
constexpr std::size_t kBufferBytes = 1 << 20;

// Libraries of the torch wheel that only a GPU uses. The rest of torch/lib stays: a library this table does not know is
// better unpacked in vain than missing.
constexpr std::array<std::string_view, 10> kGpuLibraries = {
    "libtorch_cuda", "libc10_cuda", "libcaffe2_nvrtc", "libtorch_nvshmem", "libcudnn",
    "libnccl",       "libcublas",   "libcufft",        "libcusparse",      "libcusolver"};
constexpr std::array<std::string_view, 2> kPythonLibraries = {"libtorch_python", "libshm"};

// The zip reader of libarchive on one wheel.
class WheelReader {
 public:
  explicit WheelReader(const std::filesystem::path& wheel)
      : name_(wheel.filename().string()), archive_(archive_read_new(), archive_read_free) {
    if (archive_ == nullptr || archive_read_support_format_zip_seekable(archive_.get()) != ARCHIVE_OK ||
        archive_read_open_filename(archive_.get(), wheel.c_str(), kBufferBytes) != ARCHIVE_OK) {
      fail("RB075", fmt::format("cannot be opened: {}", error_text()));
    }
  }

  // Name of the next entry; empty after the last.
  std::string next() {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(archive_.get(), &entry);
    if (status == ARCHIVE_EOF) return "";
    if (status != ARCHIVE_OK) fail("RB075", error_text());
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr) fail("RB073", "an entry has no readable name");
    return name;
  }

  // Calls `sink` with the entry's bytes piece by piece.
  void read(const std::string& entry, const std::function<void(std::string_view)>& sink) {
    for (;;) {
      const la_ssize_t count = archive_read_data(archive_.get(), buffer_.data(), buffer_.size());
      if (count == 0) return;
      if (count < 0) fail("RB075", fmt::format("entry \"{}\" is damaged: {}", entry, error_text()));
      sink({buffer_.data(), static_cast<std::size_t>(count)});
    }
  }

  [[noreturn]] void fail(const char* code, const std::string& what) const {
    throw ProvisionError(fmt::format("{}: error[{}]: {}", name_, code, what));
  }

 private:
  std::string error_text() const {
    const char* text = archive_ == nullptr ? nullptr : archive_error_string(archive_.get());
    return text == nullptr ? "the zip data are damaged" : text;
  }

  std::string name_;
  std::unique_ptr<archive, decltype(&archive_read_free)> archive_;
  std::vector<char> buffer_ = std::vector<char>(kBufferBytes);
};

// A new file that ends up complete or not at all: the destructor removes what was not finished.
class NewFile {
 public:
  explicit NewFile(std::filesystem::path path) : path_(std::move(path)) {
    std::filesystem::create_directories(path_.parent_path());
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (descriptor_ < 0) fail();
  }
  ~NewFile() {
    if (descriptor_ < 0) return;
    close(descriptor_);
    unlink(path_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view bytes) {
    if (const int error = write_fully(descriptor_, bytes)) fail(error);
  }

  void finish() {
    const int descriptor = std::exchange(descriptor_, -1);
    if (close(descriptor) != 0) fail();
  }

 private:
  [[noreturn]] void fail(int error = errno) const {
    const char* hint = error == ENOSPC ? "; free some space or choose another folder with --store" : "";
    throw ProvisionError(fmt::format("{}: cannot be written: {}{}", path_.string(), std::strerror(error), hint));
  }

  std::filesystem::path path_;
  int descriptor_ = -1;
};

// First field of a line of RECORD, which is CSV: quoted where the name holds a comma or a quote.
std::string take_csv_field(std::string_view& line) {
  std::string field;
  bool quoted = false;
  std::size_t at = 0;
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '"' && quoted && at + 1 < line.size() && line[at + 1] == '"') {
      field += line[++at];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      break;
    } else if (c != '\r') {
      field += c;
    }
  }
  line.remove_prefix(std::min(at + 1, line.size()));
  return field;
}

std::map<std::string, std::string> read_record(const std::filesystem::path& wheel) {
  WheelReader reader(wheel);
  std::string text;
  bool found = false;
  for (std::string name = reader.next(); !name.empty(); name = reader.next()) {
    if (!name.ends_with(kRecordSuffix) || std::count(name.begin(), name.end(), '/') != 1) continue;
    if (found) reader.fail("RB076", "it has two RECORD files; nothing was extracted");
    found = true;
    reader.read(name, [&](std::string_view bytes) { text += bytes; });
  }
  if (!found) reader.fail("RB076", "it has no RECORD; nothing was extracted");
  return hashes_of_record(text);
}

// RECORD and its signatures cannot hold their own hash.
bool needs_no_hash(std::string_view name) {
  return name.ends_with(kRecordSuffix) || name.ends_with(".dist-info/RECORD.jws") ||
         name.ends_with(".dist-info/RECORD.p7s");
}

UnpackedFile unpack_entry(WheelReader& reader, const ZipEntry& entry, const std::filesystem::path& target,
                          const std::map<std::string, std::string>& record,
                          const std::function<void(std::int64_t)>& on_bytes) {
  NewFile file(target / entry.name);
  Sha256 sha;
  std::int64_t size_bytes = 0;
  reader.read(entry.name, [&](std::string_view bytes) {
    size_bytes += static_cast<std::int64_t>(bytes.size());
    if (size_bytes > entry.size_bytes) {
      reader.fail("RB075", fmt::format("entry \"{}\" is longer than the directory says", entry.name));
    }
    sha.update(bytes);
    file.write(bytes);
    on_bytes(static_cast<std::int64_t>(bytes.size()));
  });
  if (size_bytes != entry.size_bytes) {
    reader.fail("RB075",
                fmt::format("entry \"{}\" is cut after {} of {} bytes", entry.name, size_bytes, entry.size_bytes));
  }
  const auto digest = sha.finish();
  if (!needs_no_hash(entry.name)) {
    const auto expected = record.find(entry.name);
    const std::string got = "sha256=" + to_base64url(digest);
    if (expected == record.end()) {
      reader.fail("RB076", fmt::format("entry \"{}\" is not listed in RECORD", entry.name));
    }
    if (expected->second != got) {
      reader.fail("RB076",
                  fmt::format("entry \"{}\": RECORD says {}, the content is {}", entry.name, expected->second, got));
    }
  }
  file.finish();
  return {.path = entry.name, .size_bytes = size_bytes, .sha256 = to_hex(digest)};
}

}  // namespace

std::map<std::string, std::string> hashes_of_record(const std::string& text) {
  std::map<std::string, std::string> hashes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::string_view rest = line;
    const std::string name = take_csv_field(rest);
    hashes[name] = take_csv_field(rest);
  }
  return hashes;
}

bool is_shared_library(std::string_view name) {
  return name.ends_with(".so") || name.find(".so.") != std::string_view::npos;
}

bool is_wanted(std::string_view name, bool with_gpu) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.ends_with('/')) return false;
  if (name.substr(0, slash).ends_with(".dist-info")) return true;
  const std::string_view file = name.substr(name.rfind('/') + 1);
  if (name.starts_with("torch/")) {
    if (name == "torch/version.py" || name.starts_with("torch/include/")) return true;
    if (!name.starts_with("torch/lib/") || !is_shared_library(file)) return false;
    return !begins_with_one_of(file, kPythonLibraries) && (with_gpu || !begins_with_one_of(file, kGpuLibraries));
  }
  if (name.starts_with("nvidia/")) {
    if (file.ends_with(".py")) return false;
    // The compiler's own headers, which those of CUDA 12's runtime include. The compiler itself is never run.
    if (name.starts_with("nvidia/cuda_nvcc/")) return with_gpu && name.starts_with("nvidia/cuda_nvcc/include/");
    return with_gpu || (name.find("/lib/") != std::string_view::npos && is_shared_library(file));
  }
  return false;
}

std::vector<UnpackedFile> unpack_wheel(const std::filesystem::path& wheel, const std::filesystem::path& target,
                                       const std::function<bool(std::string_view)>& wanted,
                                       const UnpackProgress& progress, const ZipLimits& limits) {
  std::map<std::string, ZipEntry> selected;
  std::int64_t total_bytes = 0;
  for (const ZipEntry& entry : read_zip_directory(wheel, limits)) {
    if (entry.is_folder() || !wanted(entry.name)) continue;
    selected.emplace(entry.name, entry);
    total_bytes += entry.size_bytes;
  }
  const std::map<std::string, std::string> record = read_record(wheel);
  WheelReader reader(wheel);
  std::vector<UnpackedFile> files;
  std::int64_t done_bytes = 0;
  for (std::string name = reader.next(); !name.empty(); name = reader.next()) {
    const auto entry = selected.find(name);
    if (entry == selected.end()) continue;
    files.push_back(unpack_entry(reader, entry->second, target, record, [&](std::int64_t count) {
      done_bytes += count;
      if (progress) progress(done_bytes, total_bytes);
    }));
  }
  if (files.size() != selected.size()) reader.fail("RB075", "entries of the directory are missing from the archive");
  return files;
}

}  // namespace reprobench
