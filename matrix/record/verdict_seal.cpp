#include "matrix/record/verdict_seal.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/base/write_fully.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/run_documents.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

void append(const fs::path& path, const std::string& line) {
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  int error = file.is_open() ? write_fully(file.get(), line) : errno;
  if (error == 0 && fsync(file.get()) != 0) error = errno;
  if (error != 0) throw StoreError(fmt::format("cannot write {}: {}", path.string(), std::strerror(error)));
}

void cut_to(const fs::path& path, std::size_t bytes) {
  std::error_code error;
  fs::resize_file(path, bytes, error);
  if (error) throw StoreError(fmt::format("cannot write {}: {}", path.string(), error.message()));
}

// Without a last one that has no end.
std::string_view whole_lines(std::string_view text) { return text.substr(0, text.rfind('\n') + 1); }

}  // namespace

void write_sealed_verdict(const fs::path& run_folder, std::string_view text) {
  const fs::path path = run_folder / "journal.jsonl";
  const std::string text_of_journal = read_file(path);
  const std::string_view journal = whole_lines(text_of_journal);
  if (journal.size() < text_of_journal.size()) cut_to(path, journal.size());
  append(path, trace_line(written(JournalVerdict{sha256_of_text(text)}), std::ranges::count(journal, '\n')));
  // Last, so that a full disk or a kill leaves a run without a verdict, and never one that nothing vouches for.
  write_file_atomically(run_folder / "verdict.json", text);
}

std::string broken_verdict(const fs::path& run_folder) {
  if (!fs::exists(run_folder / "verdict.json")) return "";
  return broken_verdict(run_folder, read_journal(run_folder / "journal.jsonl").verdict_sha256);
}

std::string broken_verdict(const fs::path& run_folder, const std::string& judged_sha256) {
  const fs::path path = run_folder / "verdict.json";
  if (!fs::exists(path)) return "";
  if (judged_sha256.empty()) {
    return "verdict.json has no line in journal.jsonl that vouches for it; `report --rejudge` judges what there is";
  }
  return judged_sha256 == sha256_of_text(read_file(path)) ? "" : "verdict.json changed since it was judged";
}

std::string_view journal_before_verdicts(std::string_view journal) {
  // Within a text of a line its quotes are escaped.
  const std::size_t first = journal.find("\"kind\":\"verdict\"");
  return whole_lines(journal.substr(0, first));
}

}  // namespace reprobench
