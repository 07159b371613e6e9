// Seals: by what files a run was judged. Every file of an attempt stands in the journal by size and SHA-256 from the
// moment the attempt ended, the plan in the journal's first line, plan and journal in verdict.json, and that in the
// journal's last line (verdict_seal.hpp). Whoever reads the run later learns whether these are still the files. They
// find changes, they do not keep a forger out.
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

// A file that a worker made enormous, a sparse one costs it nothing, must not keep the runner from its other attempts.
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

// In order of name. What is no plain file (a link, a FIFO, a file with two names) is left out, as readers refuse it.
// Throws StoreError where a plain file cannot be read.
std::vector<SealedFile> seal_files(const std::filesystem::path& attempt_folder);

// "rank-0/trace.jsonl changed since it was judged"; empty: the files are the sealed ones, no more and no fewer. Throws
// StoreError as seal_files does.
std::string broken_seal(const std::filesystem::path& attempt_folder, const std::vector<SealedFile>& sealed);

// Of the files that tell what was to run and what did.
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

// Throws StoreError where one of the two cannot be read.
RunSeal seal_of_run(const std::filesystem::path& run_folder);

}  // namespace reprobench
