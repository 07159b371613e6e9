#include "matrix/contract/turn_wait.hpp"

#include <time.h>

#include "matrix/base/folder_changes.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

std::int64_t now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

nlohmann::json body_of(const std::string& line, std::int64_t number) {
  auto parsed = parse_trace_line(line, number);
  if (const auto* problem = std::get_if<std::string>(&parsed)) throw ContractError("turns: " + *problem);
  return std::get<nlohmann::json>(std::move(parsed));
}

}  // namespace

// All that were written since the last look.
void TurnWait::read_lines() {
  if (!file_.is_open()) file_.open(folder_ / "turns.jsonl");
  while (file_.is_open()) {
    std::string part;
    std::getline(file_, part);
    line_ += part;
    if (file_.eof()) {
      file_.clear();
      return;
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

void TurnWait::until_allowed(std::int64_t step, const std::function<bool()>& is_stopped) {
  if (!must_wait(step)) return;
  const TurnsWait began{now_ns(CLOCK_MONOTONIC), now_ns(CLOCK_PROCESS_CPUTIME_ID)};
  FolderChanges changes(folder_);
  for (read_lines(); must_wait(step) && !is_stopped(); read_lines()) changes.sleep();
  waited_.time_ns += now_ns(CLOCK_MONOTONIC) - began.time_ns;
  waited_.cpu_ns += now_ns(CLOCK_PROCESS_CPUTIME_ID) - began.cpu_ns;
}

}  // namespace reprobench
