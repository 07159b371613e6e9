#include <cerrno>
#include <system_error>

#include <unistd.h>

#include "matrix/base/pending_file.hpp"
#include "matrix/record/abandoned_files.hpp"
#include "matrix/record/plain_file.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kLargestDocumentBytes = 1ll << 30;  // a plan of 100,000 cells has a tenth of that
constexpr mode_t kOwnerOnly = 0600;                        // as all of the store

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  write_file_atomically(path, [&](const TextSink& sink) { sink(content); });
}

void write_file_atomically(const std::filesystem::path& path, const std::function<void(const TextSink&)>& write) {
  const FileDescriptor owned = own_hidden_names(path.parent_path());
  try {
    PendingFile file(path, kOwnerOnly);
    write([&](std::string_view part) { file.append(part); });
    file.publish();
  } catch (const std::system_error& error) {
    throw StoreError("cannot write " + path.string() + ": " + error.code().message());
  }
}

std::string read_file(const std::filesystem::path& path) {
  auto content = read_plain_file(path, kLargestDocumentBytes);
  if (const auto* problem = std::get_if<FileProblem>(&content)) {
    throw StoreError("cannot read " + path.string() + ": " + problem->text);
  }
  return std::get<std::string>(std::move(content));
}

bool is_read_only(const std::filesystem::path& folder) {
  return access(folder.c_str(), W_OK) != 0 && (errno == EROFS || errno == EACCES);
}

}  // namespace reprobench
