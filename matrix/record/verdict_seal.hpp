// The seal of a run's verdict in its journal: its SHA-256, in one line for each time the run is judged. The verdict in
// turn holds the SHA-256 of the journal, which therefore leaves these lines out.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace reprobench {

// Appends the verdict's line to the journal and then writes verdict.json. If a kill cut the last line of the journal,
// what is left of that line, which nobody reads, is removed first. Throws StoreError.
void write_sealed_verdict(const std::filesystem::path& run_folder, std::string_view text);

// "verdict.json changed since it was judged", or that the journal has no line for it. Empty if it is the one that was
// judged, or if there is none. Throws StoreError.
std::string broken_verdict(const std::filesystem::path& run_folder);

// The same for a journal that was read already; `judged_sha256` is that of its last verdict, or empty.
std::string broken_verdict(const std::filesystem::path& run_folder, const std::string& judged_sha256);

// The part of the journal that the verdict's own seal covers: its whole lines when it was first judged.
std::string_view journal_before_verdicts(std::string_view journal);

}  // namespace reprobench
