// A JSON document that is kept beside a worker and may be deleted at any time: answers that would cost a process again.
// The file is the SHA-256 of all that follows it, an end of line, and the document, so a damaged one is never believed.
#pragma once

#include <cstdint>
#include <filesystem>

#include <nlohmann/json.hpp>

namespace reprobench {

struct KeptDocument {
  nlohmann::json value;     // discarded: there is none, or it is damaged
  bool is_damaged = false;  // a file is there, and is not what was written
};

// Never throws; reads at most `most_bytes`.
KeptDocument read_kept_document(const std::filesystem::path& file, std::int64_t most_bytes);

// Replaces the file as a whole. False if it cannot be written, which costs a question again and nothing else.
bool keep_document(const std::filesystem::path& file, const nlohmann::json& document);

}  // namespace reprobench
