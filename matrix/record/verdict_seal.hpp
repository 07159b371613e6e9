// The verdict of a run in its journal: by SHA-256, one line each time it is judged. The verdict in turn holds the sum
// of the journal, so that sum leaves these lines out.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace reprobench {

// Writes verdict.json and appends its line to the journal. A journal whose last line was cut by a kill takes none, and
// that verdict is not sealed. Throws StoreError.
void write_sealed_verdict(const std::filesystem::path& run_folder, std::string_view text);

// "verdict.json changed since it was judged"; empty: it is the one that was judged, or there is none, or the journal
// tells of none. Throws StoreError.
std::string broken_verdict(const std::filesystem::path& run_folder);

// The same of a journal that was read already: `judged_sha256` is its last verdict's, or empty.
std::string broken_verdict(const std::filesystem::path& run_folder, const std::string& judged_sha256);

// What the verdict's own seal is of: the journal as it was when it was first judged.
std::string_view journal_before_verdicts(std::string_view journal);

}  // namespace reprobench
