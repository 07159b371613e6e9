// The file of the index: made, opened, locked, and replaced as a whole. What stands in it is result_index.hpp's.
#pragma once

#include <filesystem>
#include <functional>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/record/sqlite_database.hpp"

namespace reprobench {

inline constexpr const char* kIndexName = "index.db";

// Throws StoreError: the index is none of ours because of `check`, or whatever SQLite said.
[[noreturn]] void refuse_index(const std::string& check);
[[noreturn]] void refuse_index(const SqliteError& error);

// Locks the index of a store, LOCK_SH or LOCK_EX, until the descriptor is closed. Waits up to 5 s, then throws
// StoreError. Whoever has the database open holds a shared lock; whoever replaces the file holds the other.
FileDescriptor lock_index(const std::filesystem::path& store, int mode);

// The index appears under its name complete or not at all, so an empty file is always somebody else's doing. Needs a
// lock, throws StoreError.
void make_index_if_missing(const std::filesystem::path& store);

// An open connection to an index of ours. Throws StoreError naming the check that failed.
sqlite3* open_index(const std::filesystem::path& path);

// A new index that `fill` has written takes the place of the old one in one rename, once it is on the disk. If anything
// fails, the old one is as it was, and StoreError, SqliteError or a filesystem_error is thrown. Needs LOCK_EX.
void replace_index(const std::filesystem::path& store, const std::function<void(sqlite3*)>& fill);

}  // namespace reprobench
