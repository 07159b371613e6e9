#include "matrix/exec/resident.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "matrix/base/json_parse.hpp"
#include "matrix/base/write_fully.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/contract/turns.hpp"
#include "matrix/record/plain_file.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw StoreError("cannot write " + path.string() + ": " + std::strerror(error));
}

}  // namespace

Resident::Resident(const CellRequest& request, const std::filesystem::path& attempt_folder) : request_(request) {
  CellRequest of_rank = request;
  for (of_rank.rank = 0; of_rank.rank < request.world_size; ++of_rank.rank) {
    const auto folder = attempt_folder / rank_folder_name(of_rank.rank);
    RankFiles& rank = ranks_.emplace_back(RankFiles{folder / "turns.jsonl", folder / "trace.jsonl"});
    rank.turns_file =
        FileDescriptor(open(rank.turns.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
    if (!rank.turns_file.is_open()) fail(rank.turns, errno);
    append(rank, turns_header(of_rank));
  }
  ++lines_;
}

void Resident::append(RankFiles& rank, const nlohmann::json& body) {
  if (const int error = write_fully(rank.turns_file.get(), trace_line(body, lines_))) fail(rank.turns, error);
}

void Resident::give_turn(std::int64_t block) {
  const Turn turn = turn_of(request_, block);
  for (RankFiles& rank : ranks_) append(rank, to_json(turn));
  ++lines_;
  last_asked_ = turn.last_step;
}

// Only to know whose turn is next: what the lines prove is judged from the whole file, once the attempt has ended.
void Resident::read_trace_growth(RankFiles& rank) {
  if (!rank.trace_file.is_open()) {
    auto opened = open_plain_file(rank.trace);
    if (auto* file = std::get_if<FileDescriptor>(&opened)) rank.trace_file = std::move(*file);
  }
  char buffer[16 << 10];
  ssize_t count = 0;
  while (rank.trace_file.is_open() && (count = read(rank.trace_file.get(), buffer, sizeof buffer)) > 0) {
    rank.cut_line.append(buffer, static_cast<std::size_t>(count));
  }
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = rank.cut_line.find('\n', begin)) != std::string::npos; begin = end + 1) {
    rank.has_header = true;
    const std::string_view line = std::string_view(rank.cut_line).substr(begin, end - begin);
    if (line.find("\"kind\":\"step\"") == std::string_view::npos) continue;
    const auto body = json_or_discarded(line);
    const auto step = body.is_object() ? body.find("step") : body.end();
    if (body.is_object() && step != body.end() && step->is_number_integer()) rank.last_step = step->get<std::int64_t>();
  }
  rank.cut_line.erase(0, begin);
}

bool Resident::is_ready() {
  return std::all_of(ranks_.begin(), ranks_.end(), [](RankFiles& rank) {
    if (!rank.has_header) read_trace_growth(rank);
    return rank.has_header;
  });
}

bool Resident::has_done_its_turn() {
  return std::all_of(ranks_.begin(), ranks_.end(), [&](RankFiles& rank) {
    if (rank.last_step < last_asked_) read_trace_growth(rank);
    return rank.last_step >= last_asked_;
  });
}

}  // namespace reprobench
