#include "matrix/record/run_directory.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/base/write_fully.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/contract/rank_request.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/record/run_documents.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void fail(const std::string& doing, const fs::path& path, int error) {
  throw StoreError(fmt::format("cannot {} {}: {}", doing, path.string(), std::strerror(error)));
}

// Like mkdir -p, private to the user: a run may hold environment variables and data of the user's.
void make_folders(const fs::path& path) {
  if (path.has_parent_path() && path != path.parent_path() && !fs::exists(path.parent_path())) {
    make_folders(path.parent_path());
  }
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) fail("make folder", path, errno);
}

std::string utc_now() {
  const time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string holder_text() {
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  return fmt::format("pid {} on host {} since {}", getpid(), host, utc_now());
}

// The text of a lock file. Its holder writes it right after locking, so a reader that was faster waits a moment.
std::string read_holder(int fd) {
  constexpr timespec kMoment{0, 10'000'000};
  char text[512];
  for (int tries = 0; tries < 20; ++tries) {
    const ssize_t count = pread(fd, text, sizeof text, 0);
    if (count > 0) return {text, static_cast<std::size_t>(count)};
    nanosleep(&kMoment, nullptr);
  }
  return "an unnamed process";
}

// flock: the kernel frees it when its holder dies, however it dies, so there is no stale lock to break.
FileDescriptor take_lock(const fs::path& folder, const std::string& run_id) {
  const fs::path path = folder / "lock";
  FileDescriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.is_open()) fail("open", path, errno);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) fail("lock", path, errno);
    throw StoreError(fmt::format("run {} is held by {}", run_id, read_holder(fd.get())));
  }
  if (ftruncate(fd.get(), 0) != 0) fail("write", path, errno);
  if (const int error = write_fully(fd.get(), holder_text())) fail("write", path, error);
  return fd;
}

std::string attempt_folder(const CellRequest& request) {
  return fmt::format("cells/{}/r{}a{}.{}", request.cell_id, request.repeat, request.attempt, request.nonce);
}

// Not synced: what a power loss takes from an attempt in flight is run again anyway.
void write_new_file(const fs::path& path, const std::string& content) {
  FileDescriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.is_open()) fail("write", path, errno);
  if (const int error = write_fully(fd.get(), content)) fail("write", path, error);
  if (close(fd.release()) != 0) fail("write", path, errno);
}

// Writes the requests of a segment's ranks, each in its folder.
void make_rank_folders(const CellRequest& attempt, AttemptSegment segment, const fs::path& attempt_folder) {
  const CellRequest of_segment = request_of_segment(attempt, segment, attempt_folder);
  for (int rank = 0; rank < of_segment.world_size; ++rank) {
    const fs::path folder = segment_folder(attempt_folder, segment) / rank_folder_name(rank);
    if (mkdir(folder.c_str(), 0700) != 0) fail("make folder", folder, errno);
    const CellRequest request = request_of_rank(of_segment, rank);
    write_new_file(folder / "request.json", to_json(request).dump(1) + "\n");
  }
}

JournalAttempt named_in_journal(const CellRequest& request) {
  return {request.cell_id, request.repeat, request.attempt, request.nonce};
}

}  // namespace

void require_not_held(const fs::path& run_folder, const std::string& run_id) {
  const FileDescriptor fd(open((run_folder / "lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.is_open()) return;  // a run that was copied without its lock file
  if (flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) fail("lock", run_folder / "lock", errno);
  throw StoreError(fmt::format("run {} is held by {}", run_id, read_holder(fd.get())));
}

RunDirectory::RunDirectory(fs::path folder, int lock_fd)
    : folder_(std::move(folder)), lock_fd_(lock_fd), journal_sha_(std::make_unique<Sha256>()) {}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : folder_(std::move(other.folder_)),
      lock_fd_(std::exchange(other.lock_fd_, -1)),
      journal_fd_(std::exchange(other.journal_fd_, -1)),
      journal_seq_(other.journal_seq_),
      plan_sha256_(std::move(other.plan_sha256_)),
      journal_sha_(std::move(other.journal_sha_)) {}

RunDirectory::~RunDirectory() {
  if (journal_fd_ >= 0) close(journal_fd_);
  if (lock_fd_ >= 0) close(lock_fd_);
}

RunDirectory RunDirectory::create(const fs::path& store, const std::optional<fs::path>& folder, const RunInfo& info,
                                  const Plan& plan) {
  const fs::path path = fs::absolute(folder ? *folder : store / "runs" / info.run_id);
  make_folders(path / "cells");
  make_folders(path / "inputs");
  RunDirectory run(path, take_lock(path, info.run_id).release());
  if (fs::exists(path / "run.json")) throw StoreError(path.string() + " already holds a run");
  const fs::path journal = path / "journal.jsonl";
  run.journal_fd_ = open(journal.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (run.journal_fd_ < 0) fail("make", journal, errno);
  Sha256 plan_sha;
  write_file_atomically(path / "plan.json", [&](const TextSink& sink) {
    write_plan(plan, [&](std::string_view part) {
      plan_sha.update(part);
      sink(part);
    });
  });
  run.plan_sha256_ = to_hex(plan_sha.finish());
  run.append_journal(written(JournalHeader{info.run_id, run.plan_sha256_}));
  // Last: its presence says that the run directory is complete.
  write_file_atomically(path / "run.json", run_document(info).dump(1) + "\n");
  return run;
}

// One write(2) a line and no fsync. A killed runner loses nothing that was written: the page cache is the kernel's.
// Only a power loss takes the last seconds, and then attempts without a begun line or an exit record were never
// counted; finish() syncs everything once before it says that the run has ended. An fsync a line would cost more than
// all the rest of an attempt, and its disk traffic would fall into the next attempt's timings.
void RunDirectory::append_journal(const json& entry) {
  const std::string line = trace_line(entry, journal_seq_);
  if (const int error = write_fully(journal_fd_, line)) fail("write", folder_ / "journal.jsonl", error);
  journal_sha_->update(line);
  ++journal_seq_;
}

fs::path RunDirectory::make_attempt_folder(const CellRequest& request) const {
  const fs::path path = folder_ / attempt_folder(request);
  const fs::path cell = path.parent_path();
  if (mkdir(cell.c_str(), 0700) != 0 && errno != EEXIST) fail("make folder", cell, errno);
  if (mkdir(path.c_str(), 0700) != 0) fail("make folder", path, errno);
  return path;
}

void RunDirectory::journal_begin(const CellRequest& request) {
  append_journal(written(JournalBegin{named_in_journal(request), attempt_folder(request)}));
}

std::string rank_folder_name(int rank) { return fmt::format("rank-{}", rank); }

fs::path RunDirectory::begin_attempt(const CellRequest& request) {
  const fs::path path = make_attempt_folder(request);
  make_rank_folders(request, AttemptSegment::whole, path);
  journal_begin(request);
  return path;
}

fs::path RunDirectory::begin_segment(const CellRequest& request, AttemptSegment segment) {
  const fs::path attempt = folder_ / attempt_folder(request);
  const fs::path path = segment_folder(attempt, segment);
  if (mkdir(path.c_str(), 0700) != 0) fail("make folder", path, errno);
  make_rank_folders(request, segment, attempt);
  return path;
}

// What is broken counts for nothing, whatever its files hold. A large one may be what broke it, and cost nothing to
// make.
constexpr std::uintmax_t kMostBytesOfBroken = std::uintmax_t{64} << 20;

void RunDirectory::adopt_attempt(const CellRequest& request, const fs::path& source, AttemptEnd end,
                                 const std::string& detail, std::optional<int> rank) {
  const fs::path path = make_attempt_folder(request);
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    const fs::path copy = path / entry.path().lexically_relative(source);
    if (entry.is_symlink()) continue;
    if (entry.is_directory()) make_folders(copy);
    if (!entry.is_regular_file()) continue;
    if (end == AttemptEnd::store && entry.file_size() > kMostBytesOfBroken) continue;
    fs::copy_file(entry.path(), copy);
  }
  journal_begin(request);
  end_attempt(request, end, detail, rank);
}

void RunDirectory::end_attempt(const CellRequest& request, AttemptEnd end, const std::string& detail,
                               std::optional<int> rank) {
  append_journal(
      written(JournalEnd{named_in_journal(request), end, detail, rank, seal_files(folder_ / attempt_folder(request))}));
}

void RunDirectory::note_diagnosis(const CellDiagnosis& diagnosis) { append_journal(written(diagnosis)); }

void RunDirectory::keep_input(const std::string& name, std::string_view content) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
    throw StoreError("`" + name + "` is no file name for inputs/");
  }
  write_file_atomically(folder_ / "inputs" / name, content);
}

RunSeal RunDirectory::finish(const RunInfo& info) {
  append_journal(written(JournalFinish{info.interrupted}));
  // Everything the attempts left is on disk before run.json says that the run has ended.
  if (syncfs(journal_fd_) != 0) fail("sync", folder_, errno);
  const RunSeal written_here{plan_sha256_, to_hex(journal_sha_->finish())};
  const RunSeal found = seal_of_run(folder_);
  const auto refuse = [&](const char* name) {
    throw StoreError(fmt::format("{} changed while the run went on: nothing is judged", (folder_ / name).string()));
  };
  if (found.plan_sha256 != written_here.plan_sha256) refuse("plan.json");
  if (found.journal_sha256 != written_here.journal_sha256) refuse("journal.jsonl");
  write_file_atomically(folder_ / "run.json", run_document(info).dump(1) + "\n");
  return found;
}

}  // namespace reprobench
