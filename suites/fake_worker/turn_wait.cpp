#include "suites/fake_worker/turn_wait.hpp"

#include <chrono>
#include <thread>

#include "matrix/contract/trace.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPoll{1};

nlohmann::json body_of(const std::string& line, std::int64_t number) {
  auto parsed = parse_trace_line(line, number);
  if (const auto* problem = std::get_if<std::string>(&parsed)) throw ContractError("turns: " + *problem);
  return std::get<nlohmann::json>(std::move(parsed));
}

}  // namespace

void TurnWait::until_allowed(std::int64_t step) {
  while (last_step_ < step) {
    if (!file_.is_open()) file_.open(folder_ / "turns.jsonl");
    std::string part;
    std::getline(file_, part);
    line_ += part;
    if (file_.eof() || !file_.is_open()) {
      file_.clear();
      std::this_thread::sleep_for(kPoll);
      continue;
    }
    const nlohmann::json body = body_of(line_, lines_);
    line_.clear();
    if (lines_ == 0) {
      require_turns_header(body, request_);
    } else {
      last_step_ = turn_from_json(body, request_, lines_ - 1).last_step;
    }
    ++lines_;
  }
}

void wait_for_ranks(const CellRequest& request, const fs::path& folder, std::int64_t step) {
  std::ofstream(folder / "arrived", std::ios::app) << '.';
  for (int rank = 0; rank < request.world_size; ++rank) {
    const fs::path file = folder.parent_path() / ("rank-" + std::to_string(rank)) / "arrived";
    std::error_code not_there_yet;
    for (;;) {
      const auto size = fs::file_size(file, not_there_yet);
      if (!not_there_yet && static_cast<std::int64_t>(size) >= step) break;
      std::this_thread::sleep_for(kPoll);
    }
  }
}

}  // namespace reprobench
