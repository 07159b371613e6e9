#include "matrix/record/sqlite_database.hpp"

#include <filesystem>

namespace reprobench {
namespace {

[[noreturn]] void fail(sqlite3* db) { throw SqliteError(sqlite3_errcode(db), sqlite3_errmsg(db)); }

}  // namespace

void execute_sql(sqlite3* db, const std::string& sql) {
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(db);
}

std::int64_t query_integer(sqlite3* db, const std::string& sql) {
  Statement statement(db, sql);
  return statement.step() ? statement.integer(0) : 0;
}

sqlite3* open_database(const std::string& path, bool create) {
  sqlite3* db = nullptr;
  // NOFOLLOW refuses a link anywhere in the path; the store may be one, its index may not.
  const std::filesystem::path file = path;
  const std::string real = (std::filesystem::canonical(file.parent_path()) / file.filename()).string();
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | (create ? SQLITE_OPEN_CREATE : 0);
  if (sqlite3_open_v2(real.c_str(), &db, flags, nullptr) != SQLITE_OK) {
    const SqliteError error(sqlite3_errcode(db), sqlite3_errmsg(db));
    sqlite3_close(db);
    throw error;
  }
  try {
    sqlite3_busy_timeout(db, 30'000);
    // FULL: with NORMAL a power loss could take commits that were already reported.
    execute_sql(db, "PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL");
  } catch (...) {
    sqlite3_close(db);
    throw;
  }
  return db;
}

Statement::Statement(sqlite3* db, const std::string& sql) : db_(db) {
  check(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement_, nullptr));
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) fail(db_);
}

Statement& Statement::bind(const std::string& text) {
  check(sqlite3_bind_text(statement_, next_parameter_++, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::bind(std::int64_t value) {
  check(sqlite3_bind_int64(statement_, next_parameter_++, value));
  return *this;
}

Statement& Statement::bind(std::optional<double> value) {
  check(value ? sqlite3_bind_double(statement_, next_parameter_, *value)
              : sqlite3_bind_null(statement_, next_parameter_));
  ++next_parameter_;
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) fail(db_);
  return false;
}

void Statement::run() {
  while (step()) {
  }
  check(sqlite3_reset(statement_));
  next_parameter_ = 1;
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes == nullptr ? "" : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

}  // namespace reprobench
