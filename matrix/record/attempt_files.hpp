// The files of an attempt's ranks as values, without judgement. matrix/evidence judges from them how the attempt ended.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/exit_record.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/record/telemetry_reader.hpp"
#include "matrix/record/trace_reader.hpp"

namespace reprobench {

// A document of this rank, or the problem with it; exactly one of the two is set.
template <class Document>
struct ReadDocument {
  std::optional<Document> value;
  std::string problem;  // "result.json: missing", "result.json: cell_id 9f3c.. does not match expected 71aa.."
};

struct RankFiles {
  ReadDocument<ExitRecord> exit;
  ReadDocument<CellResult> result;
  std::optional<Trace> trace;  // nothing: the file does not exist
  std::string last_words;      // the last line of stderr that is not blank, control characters as `?`
};

struct AttemptFiles {
  std::vector<RankFiles> ranks;              // as many as the cell's world size, rank N at [N]
  std::optional<TelemetryRecord> telemetry;  // nothing: it had no GPU
};

// The folder with the files of a rank: `rank-N` in the attempt's folder.
std::filesystem::path rank_folder(const std::filesystem::path& attempt_folder, int rank);

// `exit.json` of that rank, whichever attempt wrote it.
ReadDocument<ExitRecord> read_exit_record(const std::filesystem::path& rank_folder);

// `request` is the one that the coordinator wrote, never one from disk. Documents that echo another nonce, cell or rank
// are not this rank's. Never throws because of the files' content.
RankFiles read_rank_files(const std::filesystem::path& attempt_folder, const CellRequest& request);
AttemptFiles read_attempt_files(const std::filesystem::path& folder, const CellRequest& request);

}  // namespace reprobench
