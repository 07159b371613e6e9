// What killed processes left in a store: files and folders under hidden names that would have become something whole.
// Each has a lock that the kernel frees when its owner dies, however it dies, so a name alone condemns nothing.
#pragma once

#include <filesystem>

#include "matrix/base/file_descriptor.hpp"

namespace reprobench {

// While the descriptor is open, hidden names in this folder count as owned. Closed if the folder cannot be locked: then
// nobody else can lock it either, and what is in it is left alone.
FileDescriptor own_hidden_names(const std::filesystem::path& folder);

// The functions below remove what has no owner. They throw nothing: what cannot be removed is left to the next call.

// Temporaries of write_file_atomically and of the report generator, `.NAME.<16 hex>.tmp`.
void remove_abandoned_files(const std::filesystem::path& folder);

// Run directories that a merge had not finished, `.NAME.merging`, of a folder of runs.
void remove_abandoned_merges(const std::filesystem::path& runs);

// Indexes that were being built, `.index.PID.db`. The caller holds the index's exclusive lock.
void remove_abandoned_indexes(const std::filesystem::path& store);
bool has_unfinished_index(const std::filesystem::path& store);

}  // namespace reprobench
