#include "matrix/record/seal.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include "matrix/base/sha256.hpp"
#include "matrix/record/plain_file.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/verdict_seal.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, int error) {
  throw StoreError("cannot read " + path.string() + ": " + std::strerror(error));
}

std::string sha256_of(int fd, const fs::path& path) {
  Sha256 sha;
  std::vector<char> buffer(256 << 10);
  for (;;) {
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, errno);
    if (count == 0) return to_hex(sha.finish());
    sha.update({buffer.data(), static_cast<std::size_t>(count)});
  }
}

std::string sha256_of(const fs::path& path) {
  const auto opened = open_plain_file(path);
  if (const auto* problem = std::get_if<FileProblem>(&opened)) {
    throw StoreError("cannot read " + path.string() + ": " + problem->text);
  }
  return sha256_of(std::get<FileDescriptor>(opened).get(), path);
}

// `is_read` says of a file's name and size whether its content is looked at.
template <class IsRead>
std::vector<SealedFile> files_below(const fs::path& attempt_folder, IsRead is_read) {
  std::vector<SealedFile> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(attempt_folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto opened = open_plain_file(entry->path());
    if (std::holds_alternative<FileProblem>(opened)) {
      if (entry->is_regular_file() && access(entry->path().c_str(), R_OK) != 0) fail(entry->path(), errno);
      continue;
    }
    const int fd = std::get<FileDescriptor>(opened).get();
    struct stat status {};
    if (fstat(fd, &status) != 0) fail(entry->path(), errno);
    const std::string name = entry->path().lexically_relative(attempt_folder).generic_string();
    const bool is_hashed = status.st_size <= kLargestHashedBytes && is_read(name, status.st_size);
    files.push_back({name, status.st_size, is_hashed ? sha256_of(fd, entry->path()) : ""});
  }
  if (error) throw StoreError("cannot read " + attempt_folder.string() + ": " + error.message());
  std::sort(files.begin(), files.end(), [](const SealedFile& a, const SealedFile& b) { return a.name < b.name; });
  return files;
}

}  // namespace

std::vector<SealedFile> seal_files(const fs::path& attempt_folder) {
  return files_below(attempt_folder, [](const std::string&, std::int64_t) { return true; });
}

std::string broken_seal(const fs::path& attempt_folder, const std::vector<SealedFile>& sealed) {
  if (!fs::exists(attempt_folder)) return "its folder is missing since it was judged";
  std::map<std::string, std::int64_t> sizes;
  for (const SealedFile& file : sealed) sizes.emplace(file.name, file.size_bytes);
  const auto has_its_size = [&](const std::string& name, std::int64_t bytes) {
    const auto of_seal = sizes.find(name);
    return of_seal != sizes.end() && of_seal->second == bytes;
  };
  std::map<std::string, SealedFile> found;
  for (SealedFile& file : files_below(attempt_folder, has_its_size)) found.emplace(file.name, std::move(file));
  for (const SealedFile& file : sealed) {
    const auto here = found.find(file.name);
    if (here == found.end()) return file.name + " is missing since it was judged";
    if (here->second != file) return file.name + " changed since it was judged";
    found.erase(here);
  }
  return found.empty() ? "" : found.begin()->first + " appeared since it was judged";
}

RunSeal seal_of_run(const fs::path& run_folder) {
  const fs::path journal = run_folder / "journal.jsonl";
  const auto opened = open_plain_file(journal);
  if (const auto* problem = std::get_if<FileProblem>(&opened)) {
    throw StoreError("cannot read " + journal.string() + ": " + problem->text);
  }
  return {sha256_of(run_folder / "plan.json"), sha256_of_text(journal_before_verdicts(read_file(journal)))};
}

}  // namespace reprobench
