// What an attempt left in its folder, as values and nothing more: how it ended is judged from them in matrix/evidence.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "matrix/contract/exit_record.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/record/telemetry_reader.hpp"
#include "matrix/record/trace_reader.hpp"

namespace reprobench {

// A document of this attempt, or what is wrong with it; exactly one of the two is there.
template <class Document>
struct ReadDocument {
  std::optional<Document> value;
  std::string problem;  // "result.json: missing", "result.json: cell_id 9f3c.. does not match expected 71aa.."
};

struct AttemptFiles {
  ReadDocument<ExitRecord> exit;
  ReadDocument<CellResult> result;
  std::optional<Trace> trace;                // nothing: the file does not exist
  std::optional<TelemetryRecord> telemetry;  // nothing: it had no GPU
  std::string last_words;                    // the last line of stderr that says something, control characters as `?`
};

// `request` is what the coordinator wrote, never what is on disk: documents that echo another nonce or cell are none of
// this attempt's. Never throws for what the files hold.
AttemptFiles read_attempt_files(const std::filesystem::path& folder, const CellRequest& request);

}  // namespace reprobench
