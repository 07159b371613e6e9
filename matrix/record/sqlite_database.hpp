// The small part of SQLite's C interface that the index needs, with errors as exceptions and handles that close
// themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include <sqlite3.h>

namespace reprobench {

class SqliteError : public std::runtime_error {
 public:
  SqliteError(int error_code, const std::string& message) : std::runtime_error(message), code(error_code) {}
  int code;  // SQLITE_CORRUPT is 11, SQLITE_NOTADB is 26
};

// Throws SqliteError.
void execute_sql(sqlite3* db, const std::string& sql);
std::int64_t query_integer(sqlite3* db, const std::string& sql);

// Opens a database for reading and writing, with the settings of all our connections.
sqlite3* open_database(const std::string& path, bool create);

// One prepared statement. Parameters are bound in order; everything throws SqliteError.
class Statement {
 public:
  Statement(sqlite3* db, const std::string& sql);
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& text);
  Statement& bind(std::int64_t value);
  Statement& bind(std::optional<double> value);  // nothing: NULL
  bool step();                                   // true: there is a row
  void run();                                    // runs to the end, then ready for the next row's parameters

  std::string text(int column) const;
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  void check(int code) const;

  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  int next_parameter_ = 1;
};

// Rolls back unless committed.
class Transaction {
 public:
  explicit Transaction(sqlite3* db) : db_(db) { execute_sql(db_, "BEGIN IMMEDIATE"); }
  ~Transaction() {
    if (!committed_) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    execute_sql(db_, "COMMIT");
    committed_ = true;
  }

 private:
  sqlite3* db_;
  bool committed_ = false;
};

}  // namespace reprobench
