#include "matrix/record/index_file.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kApplicationId = 0x52504231;  // "RPB1"
constexpr std::int64_t kSchemaVersion = 1;

constexpr const char* kSchema = R"sql(
  CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, folder TEXT NOT NULL, matrix TEXT NOT NULL, started_utc TEXT NOT NULL,
    verdict TEXT NOT NULL, exit_code INTEGER NOT NULL, cells INTEGER NOT NULL, crc32c TEXT NOT NULL) STRICT;
  CREATE TABLE cells (
    run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, cell_id TEXT NOT NULL, slug TEXT NOT NULL,
    outcome TEXT NOT NULL, reason TEXT NOT NULL, workload_digest TEXT NOT NULL, chain TEXT NOT NULL,
    PRIMARY KEY (run_id, cell_id)) STRICT;
  CREATE INDEX cells_by_id ON cells (cell_id);
  CREATE TABLE checks (
    run_id TEXT NOT NULL, cell_id TEXT NOT NULL, metric TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL,
    measured REAL, reference REAL, ratio REAL, unit TEXT NOT NULL,
    FOREIGN KEY (run_id, cell_id) REFERENCES cells ON DELETE CASCADE) STRICT;
  CREATE INDEX checks_by_cell ON checks (run_id, cell_id);
)sql";

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

void sync(const fs::path& path, int flags) {
  const FileDescriptor fd(open(path.c_str(), flags | O_CLOEXEC));
  if (fd.is_open() && fsync(fd.get()) == 0) return;
  throw StoreError(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
}

// A new index below a hidden name, which is removed with its owner. It has no write-ahead log: SQLite takes the log
// into the file when the last connection is closed, and says nothing if that fails. Here every failure is that of a
// COMMIT, and one fsync at the end stands for all.
class NewIndex {
 public:
  explicit NewIndex(const fs::path& store) : path_(store / fmt::format(".index.{}.db", getpid())) {
    remove();
    db_.reset(open_database(path_.string(), /*create=*/true));
    execute_sql(db_.get(), "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF");
    execute_sql(db_.get(),
                fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kSchemaVersion));
    execute_sql(db_.get(), kSchema);
  }
  NewIndex(const NewIndex&) = delete;
  NewIndex& operator=(const NewIndex&) = delete;
  ~NewIndex() {
    db_.reset();
    remove();
  }

  sqlite3* db() const { return db_.get(); }
  const fs::path& path() const { return path_; }

  // Closed, and all of it on the disk.
  void finish() {
    db_.reset();
    sync(path_, O_RDONLY);
  }

 private:
  void remove() {
    std::error_code ignored;  // what cannot be removed now is left to the next call
    fs::remove(path_, ignored);
  }

  fs::path path_;
  Database db_;
};

// What the log of the old index has, taken into its file: without its log the file alone would be an index cut short
// for whoever is killed between removing the log and the rename. What cannot be opened as a database, or is none, has
// nothing to lose.
void empty_old_log(const fs::path& store) {
  if (!fs::exists(fs::symlink_status(store / (std::string(kIndexName) + "-wal")))) return;
  Database old;
  try {
    old.reset(open_database((store / kIndexName).string(), /*create=*/false));
  } catch (const SqliteError&) {
    return;
  }
  try {
    execute_sql(old.get(), "PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (const SqliteError& error) {
    if (error.code != SQLITE_NOTADB && error.code != SQLITE_CORRUPT) refuse_index(error);
  }
}

}  // namespace

void refuse_index(const std::string& check) {
  throw StoreError(fmt::format(
      "{} is not a reprobench store ({}); run directories are intact, run `reprobench db rebuild`", kIndexName, check));
}

void refuse_index(const SqliteError& error) {
  if (error.code == SQLITE_NOTADB || error.code == SQLITE_CORRUPT) refuse_index(fmt::format("SQLite {}", error.code));
  throw StoreError(fmt::format("{}: {} (SQLite {})", kIndexName, error.what(), error.code));
}

FileDescriptor lock_index(const fs::path& store, int mode) {
  // A writer holds the index for the time of one run's rows; 5 s are longer than any.
  constexpr int kLockTries = 250;
  constexpr timespec kMoment{0, 20'000'000};
  const fs::path path = store / "index.lock";
  FileDescriptor fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.is_open()) throw StoreError(fmt::format("cannot open {}: {}", path.string(), std::strerror(errno)));
  for (int tries = 0; flock(fd.get(), mode | LOCK_NB) != 0; ++tries) {
    if (tries == kLockTries) {
      throw StoreError(fmt::format("{} is in use by another process", (store / kIndexName).string()));
    }
    nanosleep(&kMoment, nullptr);
  }
  return fd;
}

void make_index_if_missing(const fs::path& store) {
  const fs::path path = store / kIndexName;
  if (fs::exists(path)) return;
  try {
    NewIndex made(store);
    made.finish();
    if (link(made.path().c_str(), path.c_str()) != 0 && errno != EEXIST) {
      throw StoreError(fmt::format("cannot make {}: {}", path.string(), std::strerror(errno)));
    }
  } catch (const SqliteError& error) {
    refuse_index(error);
  }
}

sqlite3* open_index(const fs::path& path) {
  if (fs::file_size(path) == 0) refuse_index("0 bytes");
  try {
    Database db(open_database(path.string(), /*create=*/false));
    const std::int64_t application = query_integer(db.get(), "PRAGMA application_id");
    if (application != kApplicationId) refuse_index(fmt::format("application_id {}", application));
    const std::int64_t version = query_integer(db.get(), "PRAGMA user_version");
    if (version != kSchemaVersion) {
      refuse_index(fmt::format("schema {}, this version reads {}", version, kSchemaVersion));
    }
    execute_sql(db.get(), "PRAGMA journal_mode = WAL");
    {
      Statement check(db.get(), "PRAGMA quick_check(1)");
      if (!check.step() || check.text(0) != "ok") refuse_index("SQLite 11");
    }
    return db.release();
  } catch (const SqliteError& error) {
    refuse_index(error);
  }
}

void replace_index(const fs::path& store, const std::function<void(sqlite3*)>& fill) {
  NewIndex made(store);
  fill(made.db());
  made.finish();
  empty_old_log(store);
  // The old write-ahead log belongs to the old file; SQLite would replay it into the new one.
  fs::remove(store / (std::string(kIndexName) + "-wal"));
  fs::remove(store / (std::string(kIndexName) + "-shm"));
  fs::rename(made.path(), store / kIndexName);
  sync(store, O_RDONLY | O_DIRECTORY);
}

}  // namespace reprobench
