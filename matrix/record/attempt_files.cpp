#include "matrix/record/attempt_files.hpp"

#include <fmt/format.h>

#include "matrix/base/json_parse.hpp"
#include "matrix/record/plain_file.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kLargestExitRecordBytes = 64 << 10;
constexpr std::int64_t kLargestResultBytes = 16 << 20;
constexpr std::int64_t kTailBytes = 4 << 10;
constexpr std::size_t kLongestQuoteBytes = 200;

template <class Document>
ReadDocument<Document> document_in(const fs::path& path, std::int64_t limit_bytes, Document (*from_json)(const json&)) {
  const std::string name = path.filename().string() + ": ";
  const auto content = read_plain_file(path, limit_bytes);
  if (const auto* problem = std::get_if<FileProblem>(&content)) return {std::nullopt, name + problem->text};
  const auto& text = std::get<std::string>(content);
  const ParsedJson parsed = parse_json(text);
  if (!parsed.problem.empty()) return {std::nullopt, name + fmt::format("{} ({} bytes)", parsed.problem, text.size())};
  try {
    return {from_json(parsed.value), ""};
  } catch (const std::exception& error) {
    return {std::nullopt, name + error.what()};
  }
}

template <class Document>
ReadDocument<Document> only_of(const CellRequest& request, const char* name, ReadDocument<Document> document) {
  if (!document.value) return document;
  if (document.value->nonce != request.nonce) {
    return {std::nullopt,
            fmt::format("{}: nonce {} does not match expected {}", name, document.value->nonce, request.nonce)};
  }
  if (document.value->rank == request.rank) return document;
  return {std::nullopt,
          fmt::format("{}: rank {} does not match expected {}", name, document.value->rank, request.rank)};
}

std::string last_line_of_stderr(const fs::path& folder) {
  std::string tail = read_tail(folder / "stderr.log", kTailBytes);
  const std::size_t end = tail.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  tail.resize(end + 1);
  std::string line = tail.substr(tail.find_last_of('\n') + 1).substr(0, kLongestQuoteBytes);
  for (char& c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) c = '?';
  }
  return line;
}

}  // namespace

fs::path rank_folder(const fs::path& attempt_folder, int rank) { return attempt_folder / rank_folder_name(rank); }

ReadDocument<ExitRecord> read_exit_record(const fs::path& rank_folder) {
  return document_in(rank_folder / "exit.json", kLargestExitRecordBytes, &exit_record_from_json);
}

RankFiles read_rank_files(const fs::path& attempt_folder, const CellRequest& request) {
  const fs::path folder = rank_folder(attempt_folder, request.rank);
  RankFiles files;
  files.exit = only_of(request, "exit.json", read_exit_record(folder));
  auto result = document_in(folder / "result.json", kLargestResultBytes, &result_from_json);
  if (result.value && result.value->cell_id != name_without_host(request.cell_id)) {
    result = {std::nullopt, fmt::format("result.json: cell_id {} does not match expected {}", result.value->cell_id,
                                        request.cell_id)};
  }
  files.result = only_of(request, "result.json", std::move(result));
  Trace trace =
      read_trace(folder / "trace.jsonl", request.cell_id, request.nonce, first_step_of(request), request.rank);
  if (trace.problem != "trace.jsonl: missing") files.trace = std::move(trace);
  files.last_words = last_line_of_stderr(folder);
  return files;
}

AttemptFiles read_attempt_files(const fs::path& folder, const CellRequest& request) {
  AttemptFiles files;
  CellRequest of_rank = request;
  for (of_rank.rank = 0; of_rank.rank < request.world_size; ++of_rank.rank) {
    files.ranks.push_back(read_rank_files(folder, of_rank));
  }
  files.telemetry = read_telemetry(folder / "telemetry.jsonl", request.nonce);
  return files;
}

}  // namespace reprobench
