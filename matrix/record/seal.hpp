// Seals record the files by which a run was judged. The size and SHA-256 of every file of an attempt are in the journal
// from the moment the attempt ended. The seal of the plan is in the journal's first line. Those of plan and journal are
// in verdict.json, whose own seal is in the journal's last line (verdict_seal.hpp). A later reader of the run learns
// from them whether these are still the files. They find changes; they do not keep a forger out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "matrix/contract/document/description.hpp"

namespace reprobench {

struct SealedFile {
  std::string name;  // below the attempt's folder: "rank-0/trace.jsonl"
  std::int64_t size_bytes = 0;
  std::string sha256;  // empty above kLargestHashedBytes

  friend bool operator==(const SealedFile&, const SealedFile&) = default;
};

// Larger files are not hashed. A worker can make an enormous file, a sparse one at no cost, and that must not keep the
// runner from its other attempts.
inline constexpr std::int64_t kLargestHashedBytes = std::int64_t{4} << 30;

template <>
struct Description<SealedFile> {
  static constexpr About about = About::part("sealed_file");
  static void fields(auto& field, SealedFile& file) {
    field("name", file.name, rule::not_empty.says("Below the attempt's folder."));
    field("size_bytes", file.size_bytes, rule::at_least(0));
    field("sha256", file.sha256, rule::hex(64, true).says("Empty above 4 GiB."));
  }
};

// The files in order of name. A file that is no plain file (a link, a FIFO, a file with two names) is left out, because
// readers refuse it. Throws StoreError if a plain file cannot be read.
std::vector<SealedFile> seal_files(const std::filesystem::path& attempt_folder);

// "rank-0/trace.jsonl changed since it was judged". Empty if the files are the sealed ones, no more and no fewer.
// Throws StoreError as seal_files does.
std::string broken_seal(const std::filesystem::path& attempt_folder, const std::vector<SealedFile>& sealed);

// The seal of the files that record what was to run and what did.
struct RunSeal {
  std::string plan_sha256;
  std::string journal_sha256;

  friend bool operator==(const RunSeal&, const RunSeal&) = default;
};

template <>
struct Description<RunSeal> {
  static constexpr About about = About::part("run_seal", "The run's own files when it was judged.");
  static void fields(auto& field, RunSeal& seal) {
    field("plan_sha256", seal.plan_sha256, rule::hex(64));
    field("journal_sha256", seal.journal_sha256, rule::hex(64));
  }
};

// Throws StoreError if one of the two cannot be read.
RunSeal seal_of_run(const std::filesystem::path& run_folder);

}  // namespace reprobench
